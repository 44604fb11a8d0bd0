"""Wrong values are refused with a message that says what is right, before anything is asked or made."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.xdist_group("validation")  # made once, not once for each worker

NET = {"name": "x", "cidr": "10.0.0.0/16"}
HOSTS = {"name": "x", "vpc_id": "vpc-1", "subnet_ids": ["subnet-1"]}
CLUSTER = {**HOSTS, "cidr": "10.0.0.0/16"}
BACKUP = {"name": "x", "zones": ["a"]}
# module, good values, the wrong one, words of the message
WRONG = [
    ("networking", NET, {"name": "Staging"}, "lowercase letters"),
    ("networking", NET, {"cidr": "10.0.0.0/8"}, "between /16 and /24"),
    ("networking", NET, {"cidr": "10.0.3.4/16"}, "written with its network address"),
    ("networking", NET, {"cidr": "ten"}, "must be an IPv4 range"),
    ("networking", NET, {"zone_count": 4}, "must be 1, 2 or 3"),
    ("networking", NET, {"subnet_bits": 2}, "between 3 and 8"),
    ("consul-cluster", CLUSTER, {"node_count": 2}, "must be 1, 3, 5 or 7"),
    ("consul-cluster", CLUSTER, {"subnet_ids": []}, "at least one subnet"),
    ("consul-cluster", CLUSTER, {"image_owner": "0"}, "12 digits"),
    ("consul-cluster", CLUSTER, {"minions": ["x-1", "x-1"]}, "every host once"),
    ("consul-cluster", CLUSTER, {"salt_master": "a b"}, "a host name or an address"),
    ("vault-cluster", CLUSTER, {"volume_size": 0}, "from 1 to 16384"),
    ("vault-cluster", CLUSTER, {"cidr": "10.0.0.0"}, "an IPv4 range"),
    ("boundary-cluster", CLUSTER, {"node_count": 0}, "from 1 to 20"),
    ("boundary-cluster", CLUSTER, {"worker_count": 1.5}, "from 0 to 20"),
    ("hera-framework", CLUSTER, {"port": 70000}, "from 1 to 65535"),
    ("hecate-proxy", HOSTS, {"allowed_cidrs": ["everyone"]}, "IPv4 range"),
    ("hecate-proxy", HOSTS, {"upstreams": [{"name": "a b", "port": 1, "addresses": ["1"]}]}, "becomes a host name"),
    ("hecate-proxy", HOSTS, {"upstreams": [{"name": "hera", "port": 1}] * 2}, "the same name"),
    ("hecate-proxy", HOSTS, {"upstreams": [{"name": "hera", "port": 0}]}, "from 1 to 65535"),
    ("hecate-proxy", HOSTS, {"upstreams": [{"name": "wiki", "port": 1}]}, "must bring its addresses"),
    ("hecate-proxy", HOSTS, {"upstreams": [{"name": "hera", "port": 1, "health_path": "ok"}]}, "start with /"),
    ("hecate-proxy", HOSTS, {"health_check": {"interval": 2, "timeout": 5}}, "shorter than"),
    ("hecate-proxy", HOSTS, {"health_check": {"failures": 0}}, "at least 1"),
    ("offsite-backup", BACKUP, {"zones": []}, "at least one availability zone"),
    ("offsite-backup", BACKUP, {"generation": "a b"}, "1 to 64 letters"),
]


@pytest.fixture(scope="module")
def findings(terraform_in):
    """Call → messages about it, for all wrong calls and one right call per module in one configuration."""
    calls = {f"wrong_{index}": (module, {**good, **bad}) for index, (module, good, bad, _) in enumerate(WRONG)}
    calls.update({f"right_{module}": (module, good) for module, good, _, _ in WRONG})
    root = {
        "module": {name: {"source": f"../modules/{module}", **values} for name, (module, values) in calls.items()}
    }
    terraform = terraform_in("validation")
    (terraform.folder / "main.tf.json").write_text(json.dumps(root))
    terraform.init()
    found: dict[str, list[str]] = {name: [] for name in calls}
    for item in terraform.validate():
        context = (item.get("snippet") or {}).get("context") or ""
        found.setdefault(context.rpartition(".")[2], []).append(f"{item['summary']} {item['detail']}")
    return found


def test_right_values_are_accepted(findings):
    assert {name: said for name, said in findings.items() if not name.startswith("wrong_") and said} == {}


@pytest.mark.parametrize("index", range(len(WRONG)), ids=[f"{each[0]}-{json.dumps(each[2])}" for each in WRONG])
def test_a_wrong_value_is_refused_with_what_is_right(findings, index):
    [message] = findings[f"wrong_{index}"]
    assert WRONG[index][3] in message


@pytest.mark.parametrize("environment", ["staging", "production"])
def test_an_environment_is_valid(terraform_in, environment):
    terraform = terraform_in(f"environments/{environment}")
    terraform.init()
    assert terraform.validate() == []


def test_all_files_are_formatted(terraform_in):
    assert terraform_in(".").unformatted() == []
