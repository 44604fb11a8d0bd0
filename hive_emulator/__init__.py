"""Hive's AWS-compatible endpoint on your desk: EC2, STS and a little IAM, durable, fast and real.

The way of a request: ``server`` (bytes) → ``handlers`` (one list) → ``protocol`` (parameters) → an action in
``ec2``/``sts``/``iam`` (behaviour) → ``cloud`` and ``store`` (records) → ``protocol`` (XML) → ``server``.
"""

from __future__ import annotations

__version__ = "0.1.0"
