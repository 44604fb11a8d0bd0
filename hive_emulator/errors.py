"""The one error an action raises: AWS's code, AWS's words, AWS's status."""

from __future__ import annotations


class ApiError(Exception):
    """A refusal that the client sees. Everything the action had staged is dropped."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
