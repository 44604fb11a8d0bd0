"""``hive-emulator`` as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from hive_emulator.testing import NotReady, RunningHive, running_emulator, running_nats, start_emulator


def command(*words: str, folder: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "COLUMNS": "100", "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-m", "hive_emulator", *words, "--data-dir", str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, env=environ, check=check, timeout=120)


def test_tls_is_the_default_with_a_private_ca_that_clients_can_trust(tmp_path: Path) -> None:
    with running_emulator(tmp_path, http=False) as hive:
        assert hive.endpoint.startswith("https://127.0.0.1:")
        assert hive.client("sts").get_caller_identity()["Account"] == "000000000001"
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(hive.endpoint + "/health")
        strict = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        strict.verify_flags |= ssl.VERIFY_X509_STRICT
        with urllib.request.urlopen(hive.endpoint + "/health", context=strict) as answer:
            assert answer.status == 200
        ca = (tmp_path / "ca.pem").read_bytes()
    with running_emulator(tmp_path, http=False) as hive:
        assert hive.client("sts").get_caller_identity()
        assert (tmp_path / "ca.pem").read_bytes() == ca


def test_everything_secret_in_the_data_folder_is_for_the_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    with running_emulator(folder, http=False, store="embedded") as hive:
        hive.client("ec2").create_key_pair(KeyName="k")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    private = {"credentials", "admin-token", "ca-key.pem", "ca.pem", "server-127.0.0.1.pem", "hive.db"}
    assert {name: oct(modes[name]) for name in private} == dict.fromkeys(private, oct(0o600))
    assert all(mode & 0o077 == 0 for name, mode in modes.items() if name.startswith("hive.db"))


def test_the_one_line_says_where_and_how(tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    argv = [sys.executable, "-m", "hive_emulator", "serve", "--port", "0", "--data-dir", str(folder)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert rest == ""
    assert line.startswith("Hive is ready on https://127.0.0.1:")
    assert f"AWS_CA_BUNDLE='{folder}/ca.pem'" in line
    assert f"eval \"$(hive-emulator env --data-dir '{folder}')\"" in line


def test_env_is_all_that_a_shell_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_emulator(tmp_path, http=False):
        for name in ("HIVE_ACCESS_KEY_ID", "HIVE_SECRET_ACCESS_KEY"):  # of another one: serve was not told these
            monkeypatch.setenv(name, "other")
        exports = command("env", folder=tmp_path).stdout
        probe = "import boto3; print(boto3.client('sts').get_caller_identity()['Account'])"
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        script = f'{exports}\n"{sys.executable}" -c "{probe}"'
        asked = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=environ, check=True)
        assert asked.stdout.strip() == "000000000001"


def test_status_reset_and_snapshots(tmp_path: Path) -> None:
    with running_emulator(tmp_path, store="embedded") as hive:
        ec2 = hive.client("ec2")
        made = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        table = command("status", folder=tmp_path).stdout
        assert "000000000001" in table
        assert [line.split("│")[2].strip() for line in table.splitlines() if "│ vpc " in line] == ["2"]
        saved = tmp_path / "saved.json"
        saved.touch(0o644)
        assert "records saved" in command("snapshot", "save", str(saved), folder=tmp_path).stdout
        assert stat.S_IMODE(saved.stat().st_mode) == 0o600
        command("reset", folder=tmp_path)
        assert hive.endpoint in command("status", folder=tmp_path).stdout
        assert [vpc["IsDefault"] for vpc in ec2.describe_vpcs()["Vpcs"]] == [True]
        command("snapshot", "load", str(saved), folder=tmp_path)
        assert made in [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]]
        assert len(ec2.describe_vpcs()["Vpcs"]) == 2
    with running_emulator(tmp_path, store="embedded") as hive:
        assert made in [vpc["VpcId"] for vpc in hive.client("ec2").describe_vpcs()["Vpcs"]]
        failed = command("snapshot", "save", "/no/such/folder/file", folder=tmp_path, check=False)
        assert failed.stderr == "hive-emulator: /no/such/folder/file can't be written: No such file or directory\n"


def test_status_cuts_no_name_short_however_many_regions_there_are(tmp_path: Path) -> None:
    regions = ["us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-north-1", "eu-west-1", "eu-west-2"]
    with running_emulator(tmp_path) as hive:
        for region in regions:
            hive.client("ec2", region).describe_vpcs()
        table = command("status", folder=tmp_path).stdout
    assert "│ internet-gateway    │" in table and "│ security-group-rule │" in table
    assert "…" not in table


def test_status_does_not_count_what_has_ended_as_being_there(tmp_path: Path) -> None:
    with running_emulator(tmp_path) as hive:
        ec2 = hive.client("ec2")
        image = ec2.describe_images(Filters=[{"Name": "name", "Values": ["*debian-12*amd64*"]}])["Images"][0]
        made = ec2.run_instances(ImageId=image["ImageId"], MinCount=3, MaxCount=3)["Instances"]
        ec2.terminate_instances(InstanceIds=[made[0]["InstanceId"], made[1]["InstanceId"]])
        subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        nat = ec2.create_nat_gateway(SubnetId=subnet, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
        ec2.delete_nat_gateway(NatGatewayId=nat)
        lines = [line.split("│") for line in command("status", folder=tmp_path).stdout.splitlines() if "│" in line]
        rows = {cells[1].strip(): cells[2].strip() for cells in lines}
        assert (rows["instance"], rows["instance (terminated)"]) == ("1", "2")
        assert (rows.get("natgateway"), rows["natgateway (deleted)"]) == (None, "1")


HALF_A_CHARACTER = '{"records": [["000000000001", "ap-southeast-2", "vpc", "vpc-1", {"VpcId": "\\ud800"}]]}'


@pytest.mark.parametrize(
    "text", ["", "no", "[]", '{"records": [1]}', '{"format": 9, "records": []}', HALF_A_CHARACTER]
)
def test_what_is_no_snapshot_changes_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with running_emulator(tmp_path) as hive:
        before = hive.client("ec2").describe_vpcs()["Vpcs"]
        failed = command("snapshot", "load", str(tmp_path / "bad.json"), folder=tmp_path, check=False)
        assert failed.returncode == 1
        assert failed.stderr.startswith(f"hive-emulator: {hive.endpoint} refused: not a snapshot")
        assert hive.client("ec2").describe_vpcs()["Vpcs"] == before


def test_a_port_in_use_is_said_with_a_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        failed = command("serve", "--http", "--port", port, folder=tmp_path, check=False)
    assert failed.returncode == 1
    assert f"can't listen on 127.0.0.1:{port}" in failed.stderr
    assert "--port 0" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_data_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    failed = command("serve", "--port", "0", folder=tmp_path / "file", check=False)
    assert failed.returncode == 1
    assert f"--data-dir {tmp_path}/file can't be used: File exists" in failed.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--store", "redis"], "expected embedded, memory or nats://HOST:PORT"),
        (["--capacity", "t3.micro"], "expected something like --capacity t3.micro=2"),
        (["--capacity", "t3.mikro=2"], "capacity: 't3.mikro' is not known; did you mean t3.micro?"),
        (["--quota", "colours=1"], "quotas: 'colours' is not known; there are instances, vcpus"),
        (["--port", "99999"], "--port is 99999, expected 0 to 65535"),
        (["--account", "12"], "expected 12 digits"),
        (["--on-launch", "run 'this"], '--on-launch is "run \'this", which is no command: No closing quotation'),
        (["--on-stop", " "], "--on-stop is empty, expected a command"),
        (["--faults", "/no/such/file"], "--faults /no/such/file: No such file or directory"),
        (["--faults", "/dev/null"], "--faults /dev/null: not JSON"),
        (["--host", "192.0.2.1"], "can't listen on 192.0.2.1:0: Cannot assign requested address.\n"),
        (["--host", "1::2::3"], "can't listen on 1::2::3:0: "),  # no address, and no name that DNS is asked for
        (["--host", ""], "--host is empty, expected an address such as 127.0.0.1"),
        (["--store", "nats://me:sekret@127.0.0.1:1"], "no NATS server at nats://127.0.0.1:1: "),
    ],
)
def test_a_wrong_option_is_explained(tmp_path: Path, options: list[str], words: str) -> None:
    failed = command("serve", "--port", "0", *options, folder=tmp_path, check=False)
    assert failed.returncode == 1
    assert words in failed.stderr
    assert "Traceback" not in failed.stderr
    assert "sekret" not in failed.stderr and "Unknown error" not in failed.stderr


def test_a_fault_that_no_call_would_ever_meet_is_refused_at_the_start(tmp_path: Path) -> None:
    given = tmp_path / "faults.json"
    given.write_text('[{"action": "CreateVpcs", "drop": true}]')
    failed = command("serve", "--port", "0", "--faults", str(given), folder=tmp_path, check=False)
    words = "fault 1: no call fits the action 'CreateVpcs'; did you mean CreateVpc?\n"
    assert (failed.returncode, failed.stderr) == (1, f"hive-emulator: --faults {given}: {words}")


def test_half_a_key_in_the_environment_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(NotReady, match="missing: HIVE_SECRET_ACCESS_KEY"):
        start_emulator(tmp_path, environ={"HIVE_ACCESS_KEY_ID": "AKIA"})


def test_without_an_emulator_the_commands_say_how_to_start_one(tmp_path: Path) -> None:
    for words in (["status"], ["env"], ["reset"], ["snapshot", "save", str(tmp_path / "x")]):
        failed = command(*words, folder=tmp_path, check=False)
        assert failed.returncode == 1
        assert f"hive-emulator serve --data-dir {tmp_path}" in failed.stderr


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("", "no emulator has been started with"),
        ('{"endpoint": "http://127.0.0.1:1", "region": "r"}', "can't be used: No such file or directory"),
    ],
)
def test_half_a_data_folder_is_explained(tmp_path: Path, note: str, words: str) -> None:
    (tmp_path / "endpoint.json").write_text(note)
    failed = command("status", folder=tmp_path, check=False)
    assert (failed.returncode, "Traceback" in failed.stderr) == (1, False)
    assert words in failed.stderr and str(tmp_path) in failed.stderr


def test_two_emulators_on_one_nats_store_serve_the_same_cloud(tmp_path: Path) -> None:
    def started(name: str, url: str) -> RunningHive:
        (tmp_path / name).mkdir()
        keys = {"HIVE_ACCESS_KEY_ID": "AKIASHARED", "HIVE_SECRET_ACCESS_KEY": "shared"}
        return start_emulator(tmp_path / name, store=url, environ=keys)

    with running_nats(tmp_path) as url:
        one, other = started("one", url), started("other", url)
        try:
            first, second = one.client("ec2"), other.client("ec2")
            assert first.describe_vpcs()["Vpcs"] == second.describe_vpcs()["Vpcs"]
            for _ in range(10):
                made = first.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
                assert second.describe_vpcs(VpcIds=[made])["Vpcs"]
                second.delete_vpc(VpcId=made)
                assert made not in [vpc["VpcId"] for vpc in first.describe_vpcs()["Vpcs"]]
        finally:
            for hive in (one, other):
                hive.stop()
                hive.process.stdout.close()


def faults_of(hive: RunningHive) -> list[dict[str, Any]]:
    token = (hive.data_dir / "admin-token").read_text().strip()
    request = urllib.request.Request(hive.endpoint + "/_hive/faults", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def test_a_stop_finishes_what_is_under_way(tmp_path: Path) -> None:
    (tmp_path / "faults.json").write_text('[{"action": "CreateVpc", "latency_ms": 700, "times": 1}]')
    with running_emulator(tmp_path, store="embedded", options=["--faults", str(tmp_path / "faults.json")]) as hive:
        from concurrent.futures import ThreadPoolExecutor

        hive.client("ec2").describe_vpcs()
        with ThreadPoolExecutor(1) as pool:
            making = pool.submit(hive.client("ec2").create_vpc, CidrBlock="10.0.0.0/16")
            while faults_of(hive)[0]["times"]:  # until the request is there
                time.sleep(0.01)
            assert hive.stop() == 0
            made = making.result()["Vpc"]["VpcId"]
    with running_emulator(tmp_path, store="embedded") as hive:
        assert hive.client("ec2").describe_vpcs(VpcIds=[made])["Vpcs"]


def test_loading_a_snapshot_leaves_no_more_memory_taken_than_a_start_with_it(tmp_path: Path) -> None:
    def megabytes(hive: RunningHive) -> float:
        return int(Path(f"/proc/{hive.process.pid}/statm").read_text().split()[1]) * 4096 / 1024**2

    saved = str(tmp_path / "saved.json")
    with running_emulator(tmp_path, store="embedded", options=["--quiet"]) as hive:
        ec2 = hive.client("ec2")
        image = ec2.describe_images(Filters=[{"Name": "name", "Values": ["debian-12-amd64-*"]}])["Images"][0][
            "ImageId"
        ]
        for _ in range(3):
            ec2.run_instances(ImageId=image, MinCount=1000, MaxCount=1000, InstanceType="t3.micro")
        command("snapshot", "save", saved, folder=tmp_path)
        command("snapshot", "load", saved, folder=tmp_path)
        ec2.describe_vpcs()
        loaded = megabytes(hive)
    with running_emulator(tmp_path, store="embedded", options=["--quiet"]) as hive:
        hive.client("ec2").describe_vpcs()
        assert loaded < 1.5 * megabytes(hive)
