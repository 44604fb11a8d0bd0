"""Rules that judge a plan: built-in ones, Python functions and Rego. Whatever goes wrong with a rule, it denies."""

from __future__ import annotations

from saltform.policy.judge import Judge
from saltform.policy.verdicts import Verdict

__all__ = ["Judge", "Verdict"]
