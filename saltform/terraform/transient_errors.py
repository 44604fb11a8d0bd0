"""Which of Terraform's failures may pass by themselves, so that trying again can help."""

from __future__ import annotations

import re

from saltform.errors import SaltformError, TerraformError

# What it is called when we say that we wait, and how providers, SDKs and Terraform word it.
THROTTLED, STATE_LOCK_HELD = "throttled", "state lock held"
CLASSES = (
    (
        THROTTLED,
        r"\bThrottl(ed|ing)|Rate exceeded|RequestLimitExceeded|TooManyRequests|Too Many Requests|\bSlowDown\b"
        r"|status ?code:? 429",
    ),
    (
        "server error",
        r"status ?code:? 50[0234]\b"
        r"|\b50[0234] (Internal Server Error|Bad Gateway|Service Unavailable|Gateway Timeout)"
        r"|\bServiceUnavailable\b|\bInternalError\b|\bInternalFailure\b",
    ),
    ("connection lost", r"connection reset by peer|TLS handshake timeout|unexpected EOF|broken pipe"),
    (STATE_LOCK_HELD, r"Error acquiring the state lock"),
    (
        "provider did not start",
        r"timeout while waiting for plugin to start"
        r"|Failed to instantiate provider|Unrecognized remote plugin message",
    ),
)
_PATTERNS = tuple((name, re.compile(pattern, re.I)) for name, pattern in CLASSES)


def passing(error: SaltformError) -> str:
    """The class of a failure that may pass, or '' for one that won't.

    Every error of the process has to be of such a kind: a quota that is used up doesn't pass because another request
    was throttled.
    """
    if not isinstance(error, TerraformError) or error.data.get("errored_state"):
        return ""  # a state that was not stored: a new plan would build everything twice
    bad = [item for item in error.diagnostics if item.get("severity") == "error"]
    texts = [f"{item.get('summary', '')}\n{item.get('detail', '')}" for item in bad]
    found = [_class(text) for text in texts or [error.detail]]
    return found[0] if all(found) else ""


def throttled(error: SaltformError) -> bool:
    """Whether the provider said that it is asked too much, whatever else went wrong."""
    if not isinstance(error, TerraformError):
        return False
    said = [f"{item.get('summary', '')}\n{item.get('detail', '')}" for item in error.diagnostics] or [error.detail]
    return any(_class(text) == THROTTLED for text in said)


def _class(text: str) -> str:
    return next((name for name, pattern in _PATTERNS if pattern.search(text)), "")
