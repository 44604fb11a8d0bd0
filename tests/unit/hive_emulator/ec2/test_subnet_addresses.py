"""Whatever comes and goes: no address is held twice, and the count is right."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hive_emulator.errors import ApiError
from hive_emulator.testing import Desk

# A step makes an interface (with so many addresses, or one with this last byte) or deletes one of those there.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("any"), st.integers(1, 4)),
        st.tuples(st.just("wanted"), st.integers(0, 15)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
    ),
    max_size=25,
)


def make(desk, subnet, kind, number):
    if kind == "wanted":
        return desk("CreateNetworkInterface", SubnetId=subnet, PrivateIpAddress=f"10.0.0.{number}")
    return desk("CreateNetworkInterface", SubnetId=subnet, SecondaryPrivateIpAddressCount=number - 1)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_addresses_are_given_out_once_and_counted(steps):
    desk = Desk()
    vpc = desk("CreateVpc", CidrBlock="10.0.0.0/28")["Vpc"]["VpcId"]
    subnet = desk("CreateSubnet", VpcId=vpc, CidrBlock="10.0.0.0/28")["Subnet"]["SubnetId"]
    made: list[str] = []
    for kind, number in steps:
        if kind == "delete" and made:
            desk("DeleteNetworkInterface", NetworkInterfaceId=made.pop(number % len(made)))
        elif kind != "delete":
            try:
                made.append(make(desk, subnet, kind, number)["NetworkInterface"]["NetworkInterfaceId"])
            except ApiError as error:
                assert error.code in (
                    "InsufficientFreeAddressesInSubnet",
                    "InvalidIPAddress.InUse",
                    "InvalidParameterValue",
                )
    interfaces = desk("DescribeNetworkInterfaces", Filters=[{"Name": "subnet-id", "Values": [subnet]}])
    held = [
        address["PrivateIpAddress"]
        for each in interfaces["NetworkInterfaces"]
        for address in each["PrivateIpAddresses"]
    ]
    assert len(set(held)) == len(held)
    assert set(held) <= {f"10.0.0.{number}" for number in range(4, 15)}
    [shown] = desk("DescribeSubnets", SubnetIds=[subnet])["Subnets"]
    assert shown["AvailableIpAddressCount"] == 11 - len(held)
