"""What every run log must do, wherever it is kept. A fixture `open_log` opens the same one anew."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest

from saltform.errors import RunLogError, UnknownName
from saltform.runlog import ALL, ComponentRecord, RunRecord, StepRecord
from saltform.runlog.approvals import Decision, Request
from saltform.runlog.audit import broken
from saltform.runlog.database import migrations
from saltform.runlog.drift import Check, Finding
from saltform.runlog.minions import MinionToken
from saltform.runlog.releases import Promoted

FINDING = Finding("staging", "net", "aws_vpc.a", "tags.Name", "a", ["b", {"c": None}], "t0", "t1", "run-1")


def run(id_="1", environment="staging"):
    return RunRecord(id_, environment, "deploy", "ada", {"only": True}, graph={"a": []})


def component(name="web", **members):
    base = {"environment": "staging", "component": name, "release": "r", "fingerprint": "f", "lineage": "l"}
    base |= {"serial": 3, "run": "1", "born": "1", "applied": "now", "binary_path": "embedded"}
    return ComponentRecord(**(base | members))


class RunLogContract:
    """Each database's tests are this class plus what is its own."""

    @pytest.fixture
    def log(self, open_log):
        return open_log()

    def test_a_run_and_its_steps_are_read_back_as_written(self, log):
        record = run()
        log.begin(record)
        step = log.begin_step("1", "web")
        assert log.steps("1")[0].status == "running"
        step.status, step.details, step.serial = "applied", {"counts": {"add": 2}}, 7
        log.end_step("1", step)
        log.add_steps("1", [StepRecord("db", "skipped", "needs web")])
        record.status, record.exit_code, record.notes = "done", 0, ["said"]
        log.end(record)
        read = log.run("1")
        assert (read.author, read.options, read.exit_code, read.notes, read.graph) == (
            "ada",
            {"only": True},
            0,
            ["said"],
            {"a": []},
        )
        assert [(item.component, item.status, item.serial) for item in log.steps("1")] == [
            ("web", "applied", 7),
            ("db", "skipped", None),
        ]
        assert log.steps("1")[0].details == {"counts": {"add": 2}}

    def test_the_newest_run_is_first_and_last_names_it(self, log):
        for number, environment in enumerate(["staging", "production", "staging"]):
            log.begin(run(str(number), environment))
        assert [item.id for item in log.runs()] == ["2", "1", "0"]
        assert [item.id for item in log.runs("staging", limit=1)] == ["2"]
        assert log.run("last").id == "2"

    def test_runs_of_one_kind_are_found_behind_any_number_of_others(self, log):
        deploy = run("0")
        log.begin(deploy)
        for number in range(1, 30):
            log.begin(dataclasses.replace(run(f"{number:02}"), verb="drift", status="done"))
        assert [item.id for item in log.runs("staging", limit=1, verbs=("deploy", "destroy"))] == ["0"]
        assert [item.id for item in log.runs(statuses=("running",))] == ["0"]
        assert log.runs("production", verbs=("deploy",)) == []
        assert "0" not in {item.id for item in log.runs(limit=ALL, after=deploy.started)}
        assert len(log.runs(limit=ALL)) == 30

    def test_what_was_cut_short_is_found_behind_any_number_of_others(self, log):
        log.begin(run("00"))
        log.begin_step("00", "web")
        for number in range(1, 30):
            log.begin(dataclasses.replace(run(f"{number:02}"), verb="drift", status="done"))
            log.add_steps(f"{number:02}", [StepRecord("web", "unchanged"), StepRecord("db", "failed")])
        log.begin(run("30"))
        log.add_steps("30", [StepRecord("web", "failed", "boom")])
        log.begin(run("31", "production"))
        log.add_steps("31", [StepRecord("web", "failed")])
        found = log.cut_short("staging", "web")
        assert [(item.id, step.status, step.reason) for item, step in found] == [
            ("30", "failed", "boom"),
            ("00", "running", ""),
        ]

    def test_the_last_change_is_found_whatever_came_after_it(self, log):
        assert log.releases.last_change("staging") == ""
        for number, status in enumerate(("applied", "failed", "planned")):
            log.begin(run(str(number)))
            log.add_steps(str(number), [StepRecord("web", status, release="r")])
        assert log.releases.last_change("staging") == "1"
        assert log.releases.last_change("production") == ""

    def test_an_unknown_run_is_named_with_the_known_ones(self, log):
        log.begin(run("20260101"))
        with pytest.raises(UnknownName, match="'20260102'") as caught:
            log.run("20260102")
        assert "20260101" in caught.value.detail

    def test_which_components_have_a_state_is_what_their_records_say(self, log):
        for record in (component(), component("half", fingerprint=""), component("empty", serial=0)):
            log.keep_component(record)
        assert log.applied("staging") == {"web"}
        assert {name for name, record in log.components("staging").items() if record.has_state} == {"web"}

    def test_components_are_kept_renamed_and_forgotten(self, log):
        log.keep_component(component())
        log.keep_component(component(serial=4))
        assert log.components("staging")["web"].serial == 4
        log.rename_component("staging", "web", "shop")
        assert list(log.components("staging")) == ["shop"]
        log.forget_component("staging", "shop")
        assert log.components("staging") == {}

    def test_a_new_name_takes_along_what_is_known_under_the_old_one(self, log):
        log.keep_component(component())
        log.drift.keep([dataclasses.replace(FINDING, component="web", known_until="t9")])
        log.drift.keep_check(Check("staging", "web", "acknowledged", "t0", "t1", "1"))
        log.drift.keep_check(Check("staging", "shop", "never applied", "t0", "t1", "1"))
        log.releases.keep_promoted(Promoted("staging", "web", "r", "embedded", "1", "t0"))
        log.rename_component("staging", "web", "shop")
        assert [item.known_until for item in log.drift.findings("staging", "shop")] == ["t9"]
        assert {name: check.status for name, check in log.drift.checks("staging").items()} == {"shop": "acknowledged"}
        assert list(log.releases.promoted("staging")) == ["shop"]

    def test_tokens_of_two_runs_that_wait_are_not_mixed_up(self, log):
        for digest, run_id in (("a", "1"), ("b", "2")):
            token = MinionToken(digest, "staging", "web", "web-1", run_id)
            log.minions.propose("staging", "web", run_id, [token])
        assert log.minions.issue("staging", "web", "1", "t5") == ["a"]
        assert (log.minions.token("a").expires, log.minions.token("b").expires) == ("t5", "")

    def test_a_release_is_kept_once_and_found_by_its_digest(self, log):
        log.keep_release("d", {"module": 1}, "1")
        log.keep_release("d", {"module": 1}, "2")
        assert log.release("d") == {"module": 1}
        with pytest.raises(UnknownName):
            log.release("e")

    def test_leases_are_on_record_until_removed(self, log):
        log.add_lease("database/creds/x/1", "1", "web")
        assert [row["id"] for row in log.leases()] == ["database/creds/x/1"]
        log.remove_lease("database/creds/x/1")
        assert log.leases() == []

    def test_many_threads_and_a_second_process_share_one_run_log(self, log, open_log):
        other = open_log()
        for number in range(2):
            (log, other)[number].begin(run(str(number)))

        def work(number):
            owner = (log, other)[number % 2]
            step = owner.begin_step(str(number % 2), f"c{number}")
            step.status = "applied"
            owner.end_step(str(number % 2), step)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(40)))
        assert len(log.steps("0")) == len(other.steps("1")) == 20
        assert {step.status for step in other.steps("0")} == {"applied"}

    def test_all_of_a_transaction_is_there_or_nothing(self, log, open_log):
        log.begin(run())
        with pytest.raises(AttributeError):
            log.add_steps("1", [StepRecord("web", "skipped"), None])
        assert open_log().steps("1") == []
        log.add_steps("1", [StepRecord("web", "skipped")])
        assert len(open_log().steps("1")) == 1

    def test_many_that_open_a_new_one_at_once_all_get_the_whole_schema(self, open_log):
        with ThreadPoolExecutor(8) as pool:
            logs = list(pool.map(lambda _: open_log(), range(8)))
        for number, each in enumerate(logs):
            each.begin(run(str(number)))
        assert len(logs[0].runs()) == 8
        assert {each._database._version() for each in logs} == {len(migrations())}

    def test_a_newer_schema_is_refused(self, log, open_log):
        log._database._set_version(999)
        with pytest.raises(RunLogError, match="newer version"):
            open_log()

    def test_a_finding_comes_back_as_it_was_kept(self, log):
        log.drift.keep([FINDING])
        assert log.drift.findings("staging") == log.drift.findings("staging", "net") == [FINDING]
        assert log.drift.findings("staging", "other") == log.drift.findings("production") == []

    def test_a_resolved_finding_is_gone_until_it_is_seen_again(self, log):
        log.drift.keep([FINDING])
        log.drift.keep([dataclasses.replace(FINDING, resolved="t2", known_until="t9")])
        assert log.drift.findings("staging") == []
        again = dataclasses.replace(FINDING, first_seen="t3")
        log.drift.keep([again])
        assert log.drift.findings("staging") == [again]

    def test_all_findings_of_a_check_are_kept_or_none(self, log):
        broken = dataclasses.replace(FINDING, address="aws_vpc.b", before_value=object())
        with pytest.raises(TypeError):
            log.drift.keep([FINDING, broken])
        assert log.drift.findings("staging") == []

    def test_the_last_check_of_each_component_is_kept(self, log):
        first = Check("staging", "net", "clean", "t0", "t0", "run-1")
        log.drift.keep_check(first)
        log.drift.keep_check(dataclasses.replace(first, status="drifted", since="t1", checked="t1"))
        assert {name: check.status for name, check in log.drift.checks("staging").items()} == {"net": "drifted"}

    def test_of_several_masters_one_gets_the_check_until_it_is_due_again(self, open_log):
        one, other = open_log(), open_log()
        assert one.drift.claim("staging", "net", "t0", "t5", "run-1")
        assert not other.drift.claim("staging", "net", "t5", "t5", "run-2")
        one.drift.keep_check(Check("staging", "net", "drifted", "t5", "t5", "run-1"))
        assert other.drift.claim("staging", "net", "t6", "t9", "run-3")
        check = one.drift.checks("staging")["net"]
        assert (check.status, check.since, check.checked, check.run) == ("drifted", "t5", "t9", "run-3")

    def test_many_writers_make_one_audit_chain(self, open_log):
        logs = [open_log() for _ in range(4)]
        about = {"action": "deploy", "author": "ada", "origin": "shell", "host": "master1", "run": "1"}

        def write(number):
            return logs[number % 4].audit.append("staging", "2026-11-16T00:00:00.000Z", about, {"ö": number})

        with ThreadPoolExecutor(4) as pool:
            newest = max(pool.map(write, range(20)), key=lambda anchor: anchor.number)
        audit = logs[0].audit
        assert (newest.number, audit.environments()) == (20, ["staging"])
        assert list(broken(audit.entries("staging"), audit.head("staging"), newest, "master1")) == []
        assert audit.entries("staging", "2026-11-17") == []

    def test_what_waits_for_approval_and_what_people_said(self, log):
        request = Request("1", "web", "staging", "p", "d", "f", 3, "l", {"why": ["ö"]}, "t0", "t9")
        log.approvals.ask(request)
        log.approvals.ask(dataclasses.replace(request, component="db"))
        assert log.approvals.of_run("1")["web"] == request
        assert [item.component for item in log.approvals.all()] == ["db", "web"]
        assert log.approvals.all("production") == []
        assert log.approvals.remind(request, "expiring")
        assert not log.approvals.remind(request, "expiring")
        said = Decision("1", "web", "d", "alice", "master", "approved", "", "t1")
        log.approvals.decide([said, dataclasses.replace(said, author="bob", moment="t2")])
        log.approvals.decide([dataclasses.replace(said, decision="rejected", moment="t3")])
        assert [(each.author, each.decision) for each in log.approvals.decisions("1")] == [
            ("bob", "approved"),
            ("alice", "rejected"),
        ]
        log.approvals.withdraw("1", "web")
        assert list(log.approvals.of_run("1")) == ["db"]
        log.approvals.withdraw("1")
        assert log.approvals.of_run("1") == {}

    def test_which_releases_components_have_had(self, log):
        """What ended well, in the order in which the runs began, and what was destroyed."""
        steps = [
            ("1", "web", "applied", "r1"),
            ("1", "db", "failed", "r9"),
            ("2", "web", "rolled back", "r2"),
            ("2", "db", "unchanged", ""),
            ("3", "web", "destroyed", "r2"),
        ]
        for number in ("1", "2", "3"):
            log.begin(run(number))
            found = [StepRecord(name, word, release=made_of) for id_, name, word, made_of in steps if id_ == number]
            log.add_steps(number, [dataclasses.replace(step, binary_path="tofu") for step in found])
        log.begin(run("4", "production"))
        log.add_steps("4", [StepRecord("web", "applied", release="r4")])
        history = log.releases.history("staging")
        assert [(had.run, had.component, had.release) for had in history] == [
            ("1", "web", "r1"),
            ("2", "web", "r2"),
            ("3", "web", ""),
        ]
        assert (log.releases.binary_of("r2"), log.releases.binary_of("r4")) == ("tofu", "")

    def test_what_was_promoted_is_kept_changed_and_forgotten(self, log):
        log.keep_release("abc1", {}, "1")
        log.keep_release("abd2", {}, "1")
        assert log.releases.starting_with("abc") == ["abc1"]
        assert sorted(log.releases.starting_with("ab")) == ["abc1", "abd2"]
        row = Promoted("production", "web", "abc1", "embedded", "1", "t0")
        log.releases.keep_promoted(row)
        log.releases.keep_promoted(dataclasses.replace(row, release="abd2"))
        assert log.releases.promoted("production") == {"web": dataclasses.replace(row, release="abd2")}
        assert log.releases.contents("production") == {"abd2": {}}
        log.releases.forget_promoted("production", "web")
        assert log.releases.promoted("production") == {}

    def test_a_token_goes_from_proposed_to_good_to_used_and_is_used_once(self, log, open_log):
        first = MinionToken("d1", "staging", "consul", "consul-1", "1")
        log.minions.propose("staging", "consul", "1", [MinionToken("d0", "staging", "consul", "consul-1", "1")])
        log.minions.propose("staging", "consul", "1", [first])  # in place of a plan that was never applied
        assert log.minions.of_component("staging", "consul") == [first]
        assert log.minions.use("d1", "consul-1", "t1") is False  # not good yet
        assert log.minions.issue("staging", "consul", "1", "t5") == ["d1"]
        assert log.minions.issue("staging", "consul", "1", "t6") == []
        assert log.minions.use("d1", "consul-2", "t1") is False
        assert log.minions.use("d1", "consul-1", "t5") is False
        with ThreadPoolExecutor(4) as many:
            used = [*many.map(lambda _: open_log().minions.use("d1", "consul-1", "t2"), range(4))]
        assert sorted(used) == [False, False, False, True]
        log.minions.give_back("d1")
        assert log.minions.use("d1", "consul-1", "t3") is True
        assert log.minions.token("d1") == dataclasses.replace(first, expires="t5", used="t3")

    def test_minions_move_with_their_component_and_are_forgotten_by_name(self, log):
        tokens = [MinionToken(f"d{n}", "staging", "consul", f"consul-{n}", "1") for n in (1, 2)]
        log.minions.propose("staging", "consul", "1", tokens)
        log.rename_component("staging", "consul", "mesh")
        assert (log.minions.ids("staging", "mesh"), log.minions.components("staging")) == (
            ("consul-1", "consul-2"),
            ["mesh"],
        )
        assert [token.component for token in log.minions.of_minions(["consul-2", "x"])] == ["mesh"]
        log.minions.forget("staging", "mesh", ["consul-1"])
        assert log.minions.ids("staging", "mesh") == ("consul-2",)

    def test_all_of_it_can_be_taken_out_and_brought_back(self, log):
        log.begin(run("1"))
        log.add_steps("1", [StepRecord("web", "applied", details={"said": 'ü "quoted"'})])
        log.keep_release("r", {"module": {"digest": "m"}}, "1")
        log.keep_component(component())
        log.audit.append("staging", "t1", {"action": "a", "author": "b", "origin": "c", "host": "d", "run": "1"}, {})
        lines = list(log.whole.lines())
        log.begin(run("2"))
        with log.whole.filled(lines):
            pass
        assert list(log.whole.lines()) == lines
        assert [item.id for item in log.runs()] == ["1"]
        with pytest.raises(ZeroDivisionError), log.whole.filled([]):
            raise ZeroDivisionError
        assert list(log.whole.lines()) == lines and not log.whole.empty()
        with log.whole.filled([]):
            pass
        assert log.whole.empty()

    def test_only_what_nobody_can_go_back_to_is_old(self, log):
        """Twelve releases of one component, a plan, and one that is promoted elsewhere."""
        for number in range(12):
            self._old_run(log, f"{number:02d}", f"release-{number:02d}")
        log.keep_component(component(release="release-11", run="11", born="00"))
        log.begin(run("plan"))
        log.begin(run("new"))
        log._database.write("UPDATE runs SET started = '2020', ended = '2020' WHERE id <> 'new'")
        pruning = log.pruning
        assert pruning.old_runs("2021") == {"01", "plan"}  # 00 made the component, the last ten can be gone back to
        assert pruning.unneeded_releases({"01"}, ()) == {"release-01"}
        assert pruning.unneeded_releases({"01"}, {"release-01"}) == set()  # pillar names it
        assert "module-01" not in pruning.modules(without={"release-01"})
        entries = len(log.audit.entries("staging"))
        pruning.forget({"01", "plan"}, {"release-01"}, "2021")
        assert {item.id for item in log.runs()} == {"new", "00", *(f"{number:02d}" for number in range(2, 12))}
        assert log.steps("01") == []
        assert len(log.audit.entries("staging")) == entries
        with pytest.raises(UnknownName):
            log.release("release-01")

    @staticmethod
    def _old_run(log, id_, release):
        log.begin(run(id_))
        log.keep_release(release, {"module": {"digest": f"module-{id_}"}}, id_)
        log.add_steps(id_, [StepRecord("web", "applied", release=release)])
        log.end(run(id_))
