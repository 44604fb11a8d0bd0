from __future__ import annotations

import threading
import time

from saltform.events import QueuedEvents, RecordedEvents, step_tag
from saltform.status import Status


def test_the_tag_of_a_step_names_run_component_and_status():
    assert step_tag("r1", "vault", Status.APPLIED) == "saltform/run/r1/vault/applied"
    assert step_tag("r1", "vault", Status.AWAITING_APPROVAL) == "saltform/run/r1/vault/awaiting_approval"


def test_recorded_events_keep_what_was_fired_as_it_was_then():
    events, data = RecordedEvents(), {"add": 1}
    events.fire("a/tag", data)
    data["add"] = 2
    events.close()
    assert events.fired == [("a/tag", {"add": 1})]


def test_events_from_many_threads_go_out_from_one_thread_and_each_threads_in_its_order():
    sent, senders = [], set()

    def send(tag, data):
        senders.add(threading.get_ident())
        sent.append((tag, data["n"]))

    events = QueuedEvents(send)
    threads = [
        threading.Thread(target=lambda tag=tag: [events.fire(tag, {"n": n}) for n in range(50)]) for tag in "abcd"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events.close()
    assert len(senders) == 1
    assert threading.get_ident() not in senders
    for tag in "abcd":
        assert [n for sent_tag, n in sent if sent_tag == tag] == list(range(50))


def test_a_bus_that_raises_is_asked_only_once_and_nobody_hears_of_it():
    asked = []

    def send(tag, data):
        asked.append(tag)
        raise RuntimeError("the master stopped")

    events = QueuedEvents(send)
    for tag in ("one", "two", "three"):
        events.fire(tag, {})
    events.close()
    assert asked == ["one"]


def test_a_bus_that_says_no_is_asked_only_once():
    asked = []
    events = QueuedEvents(lambda tag, data: asked.append(tag) or False)
    events.fire("one", {})
    events.fire("two", {})
    events.close()
    assert asked == ["one"]


def test_a_bus_that_hangs_does_not_hold_up_the_end_of_a_run():
    stuck = threading.Event()
    events = QueuedEvents(lambda tag, data: stuck.wait(30), patience=0.05)
    events.fire("one", {})
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 5
    stuck.set()


def test_what_is_fired_after_the_end_is_dropped():
    sent = []
    events = QueuedEvents(lambda tag, data: sent.append(tag))
    events.close()
    events.fire("late", {})
    assert sent == []
