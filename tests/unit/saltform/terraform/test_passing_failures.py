"""Which failures are tried again."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltform.errors import SaltformError, Timeout
from saltform.terraform.diagnostics import failure
from saltform.terraform.transient_errors import passing


def failed(*texts: str) -> SaltformError:
    diagnostics = [{"severity": "error", "summary": text, "detail": ""} for text in texts]
    return failure("apply", "staging/web", 1, diagnostics, "", Path("/nowhere"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("error creating VPC: RequestLimitExceeded: Request limit exceeded.", "throttled"),
        ("Throttling: Rate exceeded\n\tstatus code: 400", "throttled"),
        ("UnknownError: \n\tstatus code: 503, request id: 1", "server error"),
        ("operation error EC2: RunInstances, https response error StatusCode: 502", "server error"),
        ("read tcp 10.0.0.1:1->10.0.0.2:443: read: connection reset by peer", "connection lost"),
        ("Error acquiring the state lock", "state lock held"),
        ("Failed to instantiate provider: timeout while waiting for plugin to start", "provider did not start"),
        ("InvalidSubnet.Range: the CIDR '10.503.0.0/16' is invalid.\n\tstatus code: 400", ""),
        ("VpcLimitExceeded: the maximum number of VPCs has been reached.\n\tstatus code: 400", ""),
        ("AuthFailure: credentials are not valid\n\tstatus code: 401", ""),
    ],
)
def test_only_what_may_pass_by_itself_is_named(text, kind):
    assert passing(failed(text)) == kind


def test_one_error_that_stays_is_enough_not_to_try_again():
    assert passing(failed("Throttling: Rate exceeded", "VpcLimitExceeded: no more")) == ""


def test_with_a_state_that_was_not_stored_nothing_is_tried_again(tmp_path):
    (tmp_path / "errored.tfstate").write_text("{}")
    diagnostics = [{"severity": "error", "summary": "Failed to save state", "detail": "connection reset by peer"}]
    assert passing(failure("apply", "staging/web", 1, diagnostics, "", tmp_path)) == ""


def test_a_time_out_is_not_tried_again():
    assert passing(Timeout("terraform apply took longer than 1 s", "connection reset by peer")) == ""
