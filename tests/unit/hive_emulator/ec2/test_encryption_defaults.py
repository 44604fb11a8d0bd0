"""EBS encryption by default, and an image's launch permissions taken back."""

from __future__ import annotations


def test_volumes_and_disks_of_instances_are_encrypted_while_it_is_on(desk, volume, launch, instance):
    assert desk("GetEbsEncryptionByDefault")["EbsEncryptionByDefault"] is False
    assert volume()["Encrypted"] is False
    desk("EnableEbsEncryptionByDefault")
    assert desk("GetEbsEncryptionByDefault")["EbsEncryptionByDefault"] is True
    assert volume()["Encrypted"] is True
    disk = instance(launch()["InstanceId"])["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]
    [root] = desk("DescribeVolumes", VolumeIds=[disk])["Volumes"]
    assert root["Encrypted"] is True
    desk("DisableEbsEncryptionByDefault")
    assert volume()["Encrypted"] is False


def test_the_key_for_it_is_set_and_reset(desk, volume):
    key = "arn:aws:kms:ap-southeast-2:000000000001:key/1234"
    assert desk("ModifyEbsDefaultKmsKeyId", KmsKeyId=key)["KmsKeyId"] == key
    assert volume(Encrypted=True)["KmsKeyId"] == key == desk("GetEbsDefaultKmsKeyId")["KmsKeyId"]
    assert desk("ResetEbsDefaultKmsKeyId")["KmsKeyId"] == "alias/aws/ebs"
    assert volume(Encrypted=True)["KmsKeyId"] != key


def test_launch_permissions_of_an_image_are_reset(desk, launch, refused):
    image = desk("CreateImage", InstanceId=launch()["InstanceId"], Name="mine")["ImageId"]
    desk("ModifyImageAttribute", ImageId=image, LaunchPermission={"Add": [{"Group": "all"}]})
    desk("ResetImageAttribute", ImageId=image, Attribute="launchPermission")
    assert desk("DescribeImageAttribute", ImageId=image, Attribute="launchPermission")["LaunchPermissions"] == []
    assert desk("DescribeImages", ImageIds=[image])["Images"][0]["Public"] is False
    with refused("InvalidParameterValue", "launchPermission"):
        desk("ResetImageAttribute", ImageId=image, Attribute="description")
