"""Checks that many actions make on their parameters, with AWS's codes and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hive_emulator.errors import ApiError


def invalid(value: Any, parameter: str, expected: str) -> ApiError:
    shown = str(value)[:300]
    return ApiError(
        "InvalidParameterValue", f"Value ({shown}) for parameter {parameter} is invalid. Expected: {expected}."
    )


def missing(parameter: str) -> ApiError:
    return ApiError("MissingParameter", f"The request must contain the parameter {parameter}")


def combination(message: str) -> ApiError:
    return ApiError("InvalidParameterCombination", message)


def refuse(params: dict[str, Any], *unsupported: str) -> None:
    """Says which parameter is not supported, rather than ignoring it. One that is false or empty asks for nothing."""
    for parameter in unsupported:
        if params.get(parameter):
            raise ApiError("UnsupportedOperation", f"The parameter {parameter} is not supported here.")


def one_of(params: dict[str, Any], parameter: str, allowed: Sequence[str], default: str) -> str:
    """The parameter's value, which must be one of ``allowed``."""
    value = params.get(parameter, default)
    if value not in allowed:
        raise invalid(value, parameter, ", ".join(allowed))
    return value


def within(value: int, parameter: str, lowest: int, highest: int) -> int:
    if not lowest <= value <= highest:
        raise invalid(value, parameter, f"{lowest} to {highest}")
    return value


def name(params: dict[str, Any], parameter: str) -> str:
    """A name that the caller has to give: up to 255 ASCII characters."""
    value = params.get(parameter, "").strip()
    if not value:
        raise missing(parameter)
    if len(value) > 255 or not value.isascii():
        raise invalid(value, parameter, "up to 255 ASCII characters")
    return value
