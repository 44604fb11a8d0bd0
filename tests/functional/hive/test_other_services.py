"""Services that aren't here: their own clients can read the refusal, and it names the service."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hive_emulator.testing import RunningHive

ONCE = Config(retries={"total_max_attempts": 1})


@pytest.mark.parametrize(
    ("service", "method", "params"),
    [
        ("s3", "list_buckets", {}),
        ("s3", "create_bucket", {"Bucket": "mine"}),
        ("rds", "describe_db_instances", {}),
        ("elbv2", "describe_load_balancers", {}),
        ("autoscaling", "describe_auto_scaling_groups", {}),
        ("dynamodb", "list_tables", {}),
        ("kms", "list_keys", {}),
        ("sqs", "list_queues", {}),
        ("logs", "describe_log_groups", {}),
        ("lambda", "list_functions", {}),
        ("eks", "list_clusters", {}),
        ("efs", "describe_file_systems", {}),
        ("route53", "list_hosted_zones", {}),
        ("cloudwatch", "list_metrics", {}),
        ("arc-region-switch", "list_plans", {}),
    ],
)
def test_a_service_that_is_not_here_says_so_in_its_own_words(
    hive: RunningHive, service: str, method: str, params: dict[str, Any]
) -> None:
    with pytest.raises(ClientError) as caught:
        getattr(hive.client(service, config=ONCE), method)(**params)
    error = caught.value.response["Error"]
    assert error["Code"] == "UnknownOperationException"
    assert "Hive has no service '" in error["Message"]
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
