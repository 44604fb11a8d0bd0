"""Which instance types there are, what they have, and where they are offered."""

from __future__ import annotations

from typing import Any

from hive_emulator.action import Call, action
from hive_emulator.ec2 import catalog, filters, paging, zones
from hive_emulator.errors import ApiError

_EBS, _DISK, _NET, _CPU = "EbsInfo.EbsOptimizedInfo", "InstanceStorageInfo", "NetworkInfo", "VCpuInfo"

FILTERS = filters.table(
    "DescribeInstanceTypes",
    {
        "auto-recovery-supported": "AutoRecoverySupported",
        "bare-metal": "BareMetal",
        "burstable-performance-supported": "BurstablePerformanceSupported",
        "current-generation": "CurrentGeneration",
        "dedicated-hosts-supported": "DedicatedHostsSupported",
        "ebs-info.attachment-limit-type": "EbsInfo.AttachmentLimitType",
        "ebs-info.ebs-optimized-info.baseline-bandwidth-in-mbps": f"{_EBS}.BaselineBandwidthInMbps",
        "ebs-info.ebs-optimized-info.baseline-iops": f"{_EBS}.BaselineIops",
        "ebs-info.ebs-optimized-info.baseline-throughput-in-mbps": f"{_EBS}.BaselineThroughputInMBps",
        "ebs-info.ebs-optimized-info.maximum-bandwidth-in-mbps": f"{_EBS}.MaximumBandwidthInMbps",
        "ebs-info.ebs-optimized-info.maximum-iops": f"{_EBS}.MaximumIops",
        "ebs-info.ebs-optimized-info.maximum-throughput-in-mbps": f"{_EBS}.MaximumThroughputInMBps",
        "ebs-info.ebs-optimized-support": "EbsInfo.EbsOptimizedSupport",
        "ebs-info.encryption-support": "EbsInfo.EncryptionSupport",
        "ebs-info.maximum-ebs-attachments": "EbsInfo.MaximumEbsAttachments",
        "ebs-info.nvme-support": "EbsInfo.NvmeSupport",
        "free-tier-eligible": "FreeTierEligible",
        "hibernation-supported": "HibernationSupported",
        "hypervisor": "Hypervisor",
        "instance-storage-info.disk.count": f"{_DISK}.Disks.Count",
        "instance-storage-info.disk.size-in-gb": f"{_DISK}.Disks.SizeInGB",
        "instance-storage-info.disk.type": f"{_DISK}.Disks.Type",
        "instance-storage-info.encryption-support": f"{_DISK}.EncryptionSupport",
        "instance-storage-info.nvme-support": f"{_DISK}.NvmeSupport",
        "instance-storage-info.total-size-in-gb": f"{_DISK}.TotalSizeInGB",
        "instance-storage-supported": "InstanceStorageSupported",
        "instance-type": "InstanceType",
        "memory-info.size-in-mib": "MemoryInfo.SizeInMiB",
        "network-info.bandwidth-weightings": f"{_NET}.BandwidthWeightings",
        "network-info.efa-info.maximum-efa-interfaces": f"{_NET}.EfaInfo.MaximumEfaInterfaces",
        "network-info.efa-supported": f"{_NET}.EfaSupported",
        "network-info.ena-support": f"{_NET}.EnaSupport",
        "network-info.encryption-in-transit-supported": f"{_NET}.EncryptionInTransitSupported",
        "network-info.flexible-ena-queues-support": f"{_NET}.FlexibleEnaQueuesSupport",
        "network-info.ipv4-addresses-per-interface": f"{_NET}.Ipv4AddressesPerInterface",
        "network-info.ipv6-addresses-per-interface": f"{_NET}.Ipv6AddressesPerInterface",
        "network-info.ipv6-supported": f"{_NET}.Ipv6Supported",
        "network-info.maximum-network-cards": f"{_NET}.MaximumNetworkCards",
        "network-info.maximum-network-interfaces": f"{_NET}.MaximumNetworkInterfaces",
        "network-info.network-performance": f"{_NET}.NetworkPerformance",
        "nitro-enclaves-support": "NitroEnclavesSupport",
        "nitro-tpm-info.supported-versions": "NitroTpmInfo.SupportedVersions",
        "nitro-tpm-support": "NitroTpmSupport",
        "processor-info.supported-architecture": "ProcessorInfo.SupportedArchitectures",
        "processor-info.supported-features": "ProcessorInfo.SupportedFeatures",
        "processor-info.sustained-clock-speed-in-ghz": "ProcessorInfo.SustainedClockSpeedInGhz",
        "reboot-migration-support": "RebootMigrationSupport",
        "supported-boot-mode": "SupportedBootModes",
        "supported-root-device-type": "SupportedRootDeviceTypes",
        "supported-usage-class": "SupportedUsageClasses",
        "supported-virtualization-type": "SupportedVirtualizationTypes",
        "vcpu-info.default-cores": f"{_CPU}.DefaultCores",
        "vcpu-info.default-threads-per-core": f"{_CPU}.DefaultThreadsPerCore",
        "vcpu-info.default-vcpus": f"{_CPU}.DefaultVCpus",
        "vcpu-info.valid-cores": f"{_CPU}.ValidCores",
        "vcpu-info.valid-threads-per-core": f"{_CPU}.ValidThreadsPerCore",
    },
)
OFFERING_FILTERS = filters.table(
    "DescribeInstanceTypeOfferings", {"instance-type": "InstanceType", "location": "Location"}
)


@action("DescribeInstanceTypes")
def describe_instance_types(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    known = catalog.types()
    wanted = list(dict.fromkeys(params.get("InstanceTypes", ())))
    unknown = [one for one in wanted if one not in known]
    if unknown:
        raise ApiError(
            "InvalidInstanceType",
            f"The following supplied instance types do not exist: [{', '.join(unknown)}]",
        )
    found = [known[one] for one in wanted] if wanted else list(known.values())
    found = filters.apply(found, params.get("Filters"), FILTERS)
    return paging.page("InstanceTypes", found, {"MaxResults": 100, **params}, "InstanceType", highest=100)


@action("DescribeInstanceTypeOfferings")
def describe_instance_type_offerings(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    by = params.get("LocationType", "region")
    places = {
        "region": [call.region],
        "availability-zone": call.config.zones(call.region),
        "availability-zone-id": [zones.zone_id(zone) for zone in call.config.zones(call.region)],
    }.get(by, [])
    offerings = [
        {"InstanceType": name, "LocationType": by, "Location": place, "_Key": f"{name} {place}"}
        for name in catalog.types()
        for place in places
    ]
    found = filters.apply(offerings, params.get("Filters"), OFFERING_FILTERS)
    return paging.page("InstanceTypeOfferings", found, params, "_Key")
