"""Pillar, environment, file and command: the contract, and what is each one's own. Vault's is functional."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta, timezone

import pytest

from saltform.credentials.lender import Lender
from saltform.errors import CredentialError
from saltform.process.scripted import Answer, ScriptedProcesses
from tests.support.credentials import KEYS, component, source
from tests.support.source_contract import SourceContract

DIGEST = b"a key for digests"


class TestPillar(SourceContract):
    @pytest.fixture(autouse=True)
    def _pillar(self):
        self.pillar = {"secrets": {}}

    def store(self, fields, **options):
        name = f"entry{len(self.pillar['secrets'])}"
        self.pillar["secrets"][name] = fields
        return source("pillar", path=f"secrets:{name}", **options)

    def absent(self):
        return source("pillar", path="secrets:nobody:home")

    def lender(self):
        return Lender(pillar=self.pillar, environ={}, digest_key=DIGEST)

    def test_a_single_value_needs_no_field(self):
        self.pillar["psk"] = "s3cr3t-psk"
        with self.lender() as lender:
            loan = lender.lend(component(secrets={"psk": source("pillar", path="psk")}))
            assert loan.environment == {"TF_VAR_psk": "s3cr3t-psk"}

    @pytest.mark.parametrize("value", ["sdb://vault/secret/hive", "-----BEGIN PGP MESSAGE-----\nabc"])
    def test_a_reference_that_salt_did_not_resolve_is_refused(self, value):
        asked = self.store({**KEYS, "AWS_SECRET_ACCESS_KEY": value})
        with self.lender() as lender, pytest.raises(CredentialError, match="holds a reference"):
            lender.lend(component(asked))

    def test_a_generic_kind_gets_only_what_is_mapped(self):
        asked = self.store({"TF_LOG_PATH": "/etc/cron.d/x", "LD_PRELOAD": "/tmp/x.so", "GIT_SSH_COMMAND": "id"})
        with self.lender() as lender:
            assert lender.lend(component(asked, kind="generic", source="a/b")).environment == {}

    def test_values_that_are_no_strings_become_json(self):
        asked = self.store({"psk": {"a": [1, True]}}, field="psk")
        with self.lender() as lender:
            assert lender.lend(component(secrets={"x": asked})).environment == {"TF_VAR_x": '{"a":[1,true]}'}


class TestEnvironment(SourceContract):
    @pytest.fixture(autouse=True)
    def _environ(self):
        self.environ = {"PATH": "/bin", "UNRELATED_TOKEN": "never lent, never searched"}

    def store(self, fields, **options):
        self.environ.update(fields)
        return source("environment", **options)

    def absent(self):
        return source("environment", map={"AWS_ACCESS_KEY_ID": "NOBODY"})

    def lender(self):
        return Lender(environ=self.environ, digest_key=DIGEST)

    def test_a_generic_kind_is_not_given_the_whole_environment(self):
        with self.lender() as lender:
            assert lender.lend(component(source("environment"), kind="generic", source="a/b")).environment == {}

    def test_one_variable_can_be_named(self):
        asked = source("environment", path="UNRELATED_TOKEN")
        with self.lender() as lender:
            assert list(lender.lend(component(asked, kind="generic")).environment) == ["UNRELATED_TOKEN"]
            assert list(lender.lend(component(secrets={"t": asked})).environment) == ["TF_VAR_t"]


class TestFile(SourceContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def store(self, fields, **options):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.json"
        path.write_text(json.dumps(fields))
        return source("file", path=str(path), format="json", **options)

    def absent(self):
        return source("file", path=str(self.folder / "nobody"))

    def lender(self):
        return Lender(environ={}, digest_key=DIGEST)

    def test_text_is_one_field(self):
        (self.folder / "token").write_text("hunter2hunter2\n")
        asked = source("file", path=str(self.folder / "token"), map={"HCLOUD_TOKEN": "content"})
        with self.lender() as lender:
            assert lender.lend(component(asked, kind="hetzner")).environment == {"HCLOUD_TOKEN": "hunter2hunter2"}

    def test_env_files_are_read_as_people_write_them(self):
        (self.folder / ".env").write_text(
            "# the keys\nexport AWS_ACCESS_KEY_ID='AKIA1'\n\nAWS_SECRET_ACCESS_KEY = \"a=b=c\"\nnonsense\n"
        )
        asked = source("file", path=str(self.folder / ".env"), format="env")
        with self.lender() as lender:
            loan = lender.lend(component(asked))
            assert loan.environment == {"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "a=b=c"}

    @pytest.mark.parametrize("content", ['{"a": "s3cr3t-', '["s3cr3t-value"]'])
    def test_broken_json_is_refused_without_quoting_it(self, content):
        (self.folder / "x.json").write_text(content)
        with self.lender() as lender, pytest.raises(CredentialError, match="not a JSON object") as caught:
            lender.lend(component(source("file", path=str(self.folder / "x.json"), format="json")))
        assert "s3cr3t" not in str(caught.value)

    def test_a_binary_file_is_refused(self):
        (self.folder / "x").write_bytes(b"\xff\xfe\x00")
        with self.lender() as lender, pytest.raises(CredentialError, match="Can't read"):
            lender.lend(component(source("file", path=str(self.folder / "x"))))

    def test_a_value_with_a_nul_is_refused(self):
        asked = self.store({**KEYS, "AWS_SECRET_ACCESS_KEY": "a\0b"})
        with self.lender() as lender, pytest.raises(CredentialError, match="NUL"):
            lender.lend(component(asked))


class TestCommand(SourceContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def store(self, fields, **options):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.json"
        path.write_text(json.dumps(fields))
        return source("command", path=["cat", str(path)], **options)

    def absent(self):
        return source("command", path="/nonexistent/credential-helper --profile x")

    def lender(self):
        return Lender(environ={"PATH": "/usr/bin:/bin"}, digest_key=DIGEST)

    def test_what_aws_defines_is_understood(self):
        said = {
            "Version": 1,
            "AccessKeyId": "AKIA1",
            "SecretAccessKey": "hunter2hunter2",
            "SessionToken": "t0ken-t0ken",
        }
        with self.lender() as lender:
            assert lender.lend(component(self.store(said))).environment == {
                "AWS_ACCESS_KEY_ID": "AKIA1",
                "AWS_SECRET_ACCESS_KEY": "hunter2hunter2",
                "AWS_SESSION_TOKEN": "t0ken-t0ken",
            }

    def test_an_expiration_makes_it_leased_and_it_is_asked_anew_before_it_ends(self):
        now, asked_at = [0.0], []

        def answer(call):
            asked_at.append(now[0])
            ends = datetime.now(timezone.utc) + timedelta(seconds=600)
            keys = {
                "AccessKeyId": "AKIA1",
                "SecretAccessKey": f"secret-{len(asked_at)}",
                "Expiration": ends.isoformat(),
            }
            return Answer([json.dumps({"Version": 1, **keys})])

        lender = Lender(environ={}, processes=ScriptedProcesses(answer), clock=lambda: now[0])
        asked = source("command", path="helper")
        assert lender.leased_variables(component(secrets={"k": asked})) == {"k"}
        loan = lender.lend(component(asked))
        assert loan.environment["AWS_SECRET_ACCESS_KEY"] == "secret-1"
        now[0] = 500.0
        assert loan.environment["AWS_SECRET_ACCESS_KEY"] == "secret-1"
        now[0] = 545.0
        assert loan.environment["AWS_SECRET_ACCESS_KEY"] == "secret-2"
        assert loan.masker.line("secret-1 secret-2") == "(sensitive) (sensitive)"
        assert asked_at == [0.0, 545.0]

    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            ("import sys; print('s3cr3t-out'); print('s3cr3t-err', file=sys.stderr); sys.exit(3)", "exit code 3"),
            ("print('s3cr3t-out, no JSON')", "JSON object"),
            ("print('[1]')", "JSON object"),
            ('print(\'{"Expiration": "yesterday"}\')', "ISO 8601"),
            ('print(\'{"Expiration": "2020-01-01T00:00:00Z"}\')', "expired"),
            ("import time; time.sleep(60)", "within 0.3 s"),
        ],
    )
    def test_a_failing_command_says_why_and_quotes_nothing(self, code, reason):
        asked = source("command", path=[sys.executable, "-c", code], timeout=0.3)
        if "sleep" not in code:
            asked = source("command", path=[sys.executable, "-c", code])
        with self.lender() as lender, pytest.raises(CredentialError) as caught:
            lender.lend(component(asked))
        assert reason in caught.value.detail
        assert "s3cr3t" not in str(caught.value)
        assert code not in str(caught.value), "arguments of a command may hold secrets too"
