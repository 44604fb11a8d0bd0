"""The environment of a terraform process: every name that we manage, once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from saltform.files import make_folder, write_atomic

INHERITED = ("PATH", "LANG", "LANGUAGE", "TZ")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
GIT_PROTOCOLS = "file:git:http:https:ssh"
CONSTANT = {
    "CHECKPOINT_DISABLE": "1",  # no question to the internet for a newer version
    "TF_IN_AUTOMATION": "1",
    "TF_INPUT": "0",
    "AWS_EC2_METADATA_DISABLED": "true",
    "GOGC": "400",  # 30 % less CPU time for large providers
    # `init` starts git for remote modules: no transport but these, and so no `ext::`, which runs a command.
    "GIT_ALLOW_PROTOCOL": GIT_PROTOCOLS,
}
LOCATIONS = ("HOME", "TF_CLI_CONFIG_FILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")
# Never lent: they change what terraform, its providers, git, a shell, an interpreter or the loader does, behind the
# engine's back. `TF_` is terraform's own steering, but for what carries values and keys.
STEERING = ("TF_", "LD_", "DYLD_", "GIT_", "LC_", "BASH_", "PYTHON", "PERL5", "RUBYOPT", "NODE_", "MALLOC_")
LENT_TO_TERRAFORM = ("TF_VAR_", "TF_HTTP_", "TF_TOKEN_")
REFUSED = (
    "AWS_PROFILE",
    "ENV",
    "GODEBUG",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "GOTRACEBACK",
    "IFS",
    "SHELL",
    "SSH_ASKPASS",
)
TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # a private CA is the provider's `ca:`, never lent
# A backend's keys are lent beside the provider's, and both may be AWS's: the backend is told to use this profile,
# whose credential process prints a variable of terraform's own environment. No file and no argument has the keys.
BACKEND_PROFILE = "saltform-backend"
BACKEND_VARIABLE = "SALTFORM_BACKEND_CREDENTIALS"
AWS_CONFIG = f"[profile {BACKEND_PROFILE}]\ncredential_process = printenv {BACKEND_VARIABLE}\n"
MANAGED = frozenset((*INHERITED, *PROXIES, *(p.lower() for p in PROXIES), *CONSTANT, *LOCATIONS, *REFUSED))


def steers(name: str) -> bool:
    """Does a variable of this name steer a process, instead of telling it who we are?"""
    if name.startswith(LENT_TO_TERRAFORM):
        return False
    return name in MANAGED or name in TRUST or name.startswith(STEERING)


def clean_environment(
    home: Path, cli_config: Path, extra: Mapping[str, str], ca: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The whole environment of a terraform process: built, not inherited.

    `extra` holds what was lent (credentials, variables), `ca` the certificate authority under the names that
    the provider's kind needs. Neither may name what is managed here.
    """
    given = {**(ca or {}), **extra}
    taken = sorted(name for name in given if steers(name) and not (name in TRUST and name not in extra))
    if taken:
        raise ValueError(f"managed by saltform.process, not to be set by a caller: {', '.join(taken)}")
    make_folder(home)
    aws_config, aws_credentials = home / "aws-config", home / "aws-credentials"
    for path, content in ((aws_config, AWS_CONFIG), (aws_credentials, "")):
        if not path.exists() or path.read_text() != content:
            write_atomic(path, content.encode(), durable=False)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in INHERITED or name.upper() in PROXIES or name.startswith("LC_")
    }
    inherited.setdefault("PATH", os.defpath)
    return {
        **inherited,
        **CONSTANT,
        "HOME": str(home),
        "TF_CLI_CONFIG_FILE": str(cli_config),
        "AWS_CONFIG_FILE": str(aws_config),
        "AWS_SHARED_CREDENTIALS_FILE": str(aws_credentials),
        **given,
    }
