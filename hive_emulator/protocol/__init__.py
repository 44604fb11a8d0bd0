"""AWS's query protocols, generic from botocore's service models: parameters in, XML out."""

from __future__ import annotations
