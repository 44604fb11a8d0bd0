"""What every source of credentials must do. Each source's tests are this class plus what is its own.

A subclass gives `store(fields)`, which puts fields where the source finds them, `absent()`, a question that
can't be answered, and `lender()`.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from saltform.config.sources import validate
from saltform.config.types import CredentialSource
from saltform.credentials.lender import Lender
from saltform.errors import CredentialError
from tests.support.credentials import KEYS, component

SECRET = KEYS["AWS_SECRET_ACCESS_KEY"]
MULTI_LINE = '-----BEGIN KEY-----\nline one of the key\nline two, with ü and "quotes"\n-----END KEY-----'


class SourceContract:
    def store(self, fields: dict[str, Any], **options: Any) -> CredentialSource:
        raise NotImplementedError

    def absent(self) -> CredentialSource:
        raise NotImplementedError

    def lender(self) -> Lender:
        raise NotImplementedError

    def test_its_options_are_valid(self):
        assert validate(self.store(KEYS)) == []

    def test_the_fields_that_the_kind_knows_are_lent(self):
        asked = self.store({**KEYS, "unrelated_field": "not for a process"})
        with self.lender() as lender, lender.lend(component(asked)) as loan:
            assert loan.environment == KEYS
            assert loan.secrets == {SECRET}

    def test_a_map_renames_fields(self):
        renamed = {"AWS_ACCESS_KEY_ID": "user", "AWS_SECRET_ACCESS_KEY": "password"}
        asked = self.store({"user": "AKIA0000", "password": "hunter2hunter2"}, map=renamed)
        with self.lender() as lender, lender.lend(component(asked)) as loan:
            assert loan.environment == {"AWS_ACCESS_KEY_ID": "AKIA0000", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2"}

    def test_a_value_of_several_lines_survives(self):
        asked = self.store({"key": MULTI_LINE, "other": "x"}, map={"SOME_KEY": "key"})
        with self.lender() as lender, lender.lend(component(asked, kind="generic", source="a/b")) as loan:
            assert loan.environment == {"SOME_KEY": MULTI_LINE}
            assert loan.masker.line("it said: line one of the key") == "it said: (sensitive)"

    def test_a_field_can_be_a_secret_variable(self):
        asked = self.store({"psk": "s3cr3t-psk", "other": "x"}, field="psk")
        with self.lender() as lender, lender.lend(component(secrets={"psk": asked})) as loan:
            assert loan.environment == {"TF_VAR_psk": "s3cr3t-psk"}
            assert loan.secrets == {"s3cr3t-psk"}

    def test_a_missing_field_is_named_with_its_source(self):
        asked = self.store({"psk": "s3cr3t-psk"}, field="pks")
        with self.lender() as lender, pytest.raises(CredentialError) as caught:
            lender.lend(component(secrets={"psk": asked}))
        assert "'pks'" in caught.value.summary
        assert asked.kind in caught.value.summary
        assert caught.value.fix
        assert "s3cr3t" not in str(caught.value)

    def test_what_is_not_there_is_one_message_with_a_fix(self):
        with self.lender() as lender, pytest.raises(CredentialError) as caught:
            lender.lend(component(self.absent()))
        assert caught.value.fix
        assert caught.value.detail

    def test_partial_credentials_name_what_is_missing_and_who_was_asked(self):
        asked = self.store({"ARM_CLIENT_ID": "c", "ARM_CLIENT_SECRET": "hunter2hunter2", "ARM_SUBSCRIPTION_ID": "s"})
        with self.lender() as lender, pytest.raises(CredentialError) as caught:
            lender.lend(component(asked, kind="azure"))
        assert caught.value.summary == "Partial credentials for azure in component llm: missing ARM_TENANT_ID"
        assert asked.path in caught.value.detail
        assert "hunter2" not in str(caught.value)

    def test_a_later_source_wins(self):
        first, second = self.store(KEYS), self.store({"token": "hunter2hunter2"}, map={"AWS_SESSION_TOKEN": "token"})
        with self.lender() as lender, lender.lend(component(first, second)) as loan:
            assert loan.environment == {**KEYS, "AWS_SESSION_TOKEN": "hunter2hunter2"}

    def test_no_repr_shows_a_value(self):
        asked = self.store(KEYS)
        with self.lender() as lender, lender.lend(component(asked)) as loan:
            everything = [loan, lender, loan.masker, lender.take(asked, "x"), loan.served(), vars(loan)["_taken"]]
            assert SECRET not in repr(everything)

    def test_served_says_what_comes_from_where(self):
        asked = self.store(KEYS)
        with self.lender() as lender, lender.lend(component(asked)) as loan:
            (served,) = loan.served()
        assert served.variables == tuple(sorted(KEYS))
        assert served.source.startswith(asked.kind)

    def test_a_new_run_sees_a_changed_value(self):
        self.store({"psk": "the-first-psk"}, field="psk")
        with self.lender() as lender:
            before = lender.versions(component(secrets={"psk": self.store({"psk": "the-first-psk"}, field="psk")}))
        with self.lender() as lender:
            asked = self.store({"psk": "the-second-psk"}, field="psk")
            after = lender.versions(component(secrets={"psk": asked}))
            assert lender.lend(component(secrets={"psk": asked})).environment == {"TF_VAR_psk": "the-second-psk"}
        assert before["psk"] and after["psk"] and before != after
        assert "first" not in str(before)

    def test_many_components_at_once_ask_it_once(self, monkeypatch):
        asked, lender = self.store(KEYS), self.lender()
        source = lender._sources[asked.kind]
        questions, original = [], source.fetch
        monkeypatch.setattr(source, "fetch", lambda a: (questions.append(a), original(a))[1])
        lent: list[dict[str, str]] = []
        threads = [
            threading.Thread(target=lambda n=n: lent.append(lender.lend(component(asked, name=f"c{n}")).environment))
            for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lender.close()
        assert lent == [KEYS] * 20
        assert len(questions) == 1
