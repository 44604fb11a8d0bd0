"""The application in this process: tokens, parameters, a virtual machine from create to destroy."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

import orjson

from proxmox_emulator import seeds
from proxmox_emulator.access.identity import hashed
from proxmox_emulator.admin import Admin
from proxmox_emulator.api.application import Application
from proxmox_emulator.cluster import Cluster
from proxmox_emulator.config import EmulatorConfig
from proxmox_emulator.records import Records


async def ask(app, method, path, secret="s", **form):
    async def receive():
        return {"type": "http.request", "body": urlencode(form).encode(), "more_body": False}

    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"authorization", f"PVEAPIToken=root@pam!t={secret}".encode())]
    raw = f"/api2/json{path}".encode()
    scope = {"type": "http", "method": method, "path": path, "raw_path": raw, "query_string": b"", "headers": headers}
    await app(scope, receive, send)
    return sent[0]["status"], orjson.loads(sent[1]["body"])


def make(folder):
    cluster = Cluster(EmulatorConfig(folder), Records(folder / "records.sqlite"))
    seeds.plant(cluster)
    cluster.records.put("token", "root@pam!t", {"privsep": 0, "secret": hashed("s")})
    return cluster, Application(cluster, Admin(cluster, "admin"))


def test_a_virtual_machine_from_create_to_destroy(tmp_path):
    async def story():
        cluster, app = make(tmp_path)
        vm = "/nodes/pve1/qemu"
        disk = "local-lvm:0,import-from=local:import/debian-12-genericcloud-amd64.qcow2"
        assert (await ask(app, "POST", vm, vmid=100, cores=2, agent="1", net0="virtio,bridge=vmbr0", scsi0=disk))[
            0
        ] == 200
        await cluster.tasks.idle()
        config = (await ask(app, "GET", f"{vm}/100/config"))[1]["data"]
        assert config["scsi0"] == "local-lvm:vm-100-disk-0,size=2G"
        assert config["net0"].startswith("virtio=BC:24:11:")
        await ask(app, "POST", f"{vm}/100/status/start")
        await cluster.tasks.idle()
        said = (await ask(app, "GET", f"{vm}/100/agent/network-get-interfaces"))[1]["data"]["result"]
        assert [each["name"] for each in said] == ["lo", "eth0"]
        assert (await ask(app, "DELETE", f"{vm}/100"))[1]["message"] == "VM 100 is running - destroy failed\n"
        await ask(app, "POST", f"{vm}/100/status/stop")
        await cluster.tasks.idle()
        await ask(app, "DELETE", f"{vm}/100")
        await cluster.tasks.idle()
        status, said = await ask(app, "GET", f"{vm}/100/config")
        assert status == 500
        assert said["message"] == "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist\n"
        assert not cluster.records.all("volume")

    asyncio.run(story())


def test_every_wrong_parameter_is_named_and_nothing_is_made(tmp_path):
    async def story():
        cluster, app = make(tmp_path)
        status, said = await ask(app, "POST", "/nodes/pve1/qemu", vmid=5, cores="x", what=1)
        assert status == 400
        assert said["errors"].keys() == {"vmid", "cores", "what"}
        assert not cluster.records.all("guest")

    asyncio.run(story())


def test_a_wrong_token_is_a_401(tmp_path):
    _, app = make(tmp_path)
    status, said = asyncio.run(ask(app, "GET", "/version", secret="other"))
    assert (status, said["message"]) == (401, "invalid token value!\n")
