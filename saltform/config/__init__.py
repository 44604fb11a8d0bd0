"""Pillar in, frozen typed objects out. All validation is here, and all problems are reported at once."""

from saltform.config.load import Infrastructure, load
from saltform.config.names import nearest, select, suggestion
from saltform.config.settings import load_settings
from saltform.config.types import (
    Backend,
    Component,
    CredentialSource,
    Environment,
    Input,
    Provider,
    Settings,
    Timeouts,
)

__all__ = [
    "Backend",
    "Component",
    "CredentialSource",
    "Environment",
    "Infrastructure",
    "Input",
    "Provider",
    "Settings",
    "Timeouts",
    "load",
    "load_settings",
    "nearest",
    "select",
    "suggestion",
]
