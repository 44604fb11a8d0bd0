"""Who guesses has to wait, and nobody else."""

from __future__ import annotations

from hive_emulator.handlers.auth import Patience


def test_a_few_failures_are_free_and_each_further_one_takes_twice_as_long_up_to_a_limit() -> None:
    patience = Patience()
    waits = [patience.failed("10.0.0.1", "AKIAGUESS") for _ in range(14)]
    assert waits[:9] == [0, 0, 0, 0, 0, 0.1, 0.2, 0.4, 0.8]
    assert waits[-1] == Patience.longest


def test_another_key_and_another_address_do_not_wait_and_a_success_ends_it() -> None:
    patience = Patience()
    for _ in range(10):
        patience.failed("10.0.0.1", "AKIAGUESS")
    assert patience.failed("10.0.0.1", "AKIAOTHER") == 0
    assert patience.failed("10.0.0.2", "AKIAGUESS") == 0
    patience.succeeded("10.0.0.1", "AKIAGUESS")
    assert patience.failed("10.0.0.1", "AKIAGUESS") == 0
