"""What a call can be refused with: Proxmox's own status codes and words."""

from __future__ import annotations


class ApiError(Exception):
    """An error as the API answers it: a status, a message, and a text for each wrong parameter."""

    def __init__(self, message: str, status: int = 500, errors: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message, self.status, self.errors = message, status, errors or {}


def parameter_error(**errors: str) -> ApiError:
    """400, with every wrong parameter named (an underscore stands for the dash of an API name)."""
    return wrong_parameters({name.replace("_", "-"): text for name, text in errors.items()})


def wrong_parameters(errors: dict[str, str]) -> ApiError:
    """400, with every wrong parameter named."""
    return ApiError("Parameter verification failed.", 400, errors)


def forbidden(path: str, privileges: list[str], separator: str = ", ") -> ApiError:
    """403: who asks lacks a privilege on a path."""
    return ApiError(f"Permission check failed ({path}, {separator.join(privileges)})", 403)


def unauthorized(message: str) -> ApiError:
    """401: nobody is known by these credentials."""
    return ApiError(message, 401)
