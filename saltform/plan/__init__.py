"""What a plan means. Pure: Terraform's plan JSON in, changes, dangers and a digest out.

`read` gives a `Plan` that has no sensitive value in it; everything else works on that.
"""

from __future__ import annotations

from saltform.plan.comparing import digest, refines
from saltform.plan.dangers import Danger, dangers
from saltform.plan.reading import read
from saltform.plan.types import Attribute, Change, Plan
from saltform.plan.values import HIDDEN, UNKNOWN, Hidden, shown

__all__ = [
    "HIDDEN",
    "UNKNOWN",
    "Attribute",
    "Change",
    "Danger",
    "Hidden",
    "Plan",
    "dangers",
    "digest",
    "read",
    "refines",
    "shown",
]
