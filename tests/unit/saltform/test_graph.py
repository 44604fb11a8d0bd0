from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltform.errors import CycleError
from saltform.graph import Graph
from tests.support.graphs import acyclic

STAGING = {
    "networking": [],
    "consul": ["networking"],
    "vault": ["networking", "consul"],
    "backups": ["networking", "consul", "vault"],
}


@st.composite
def any_graph(draw):
    """Any graph, circles and all: the needs of each component are the bits of one number."""
    names = [f"c{number}" for number in range(draw(st.integers(1, 9)))]
    return {
        name: {names[bit] for bit in range(len(names)) if chosen >> bit & 1}
        for name in names
        for chosen in [draw(st.integers(0, 2 ** len(names) - 1))]
    }


def needs_of(edges, name):
    """Everything below a name, by the plainest method there is."""
    found = set()
    for need in edges[name]:
        found |= {need} | needs_of(edges, need)
    return found


def test_order_puts_needs_first_and_ties_by_name():
    graph = Graph({"b": ["z"], "a": ["z"], "z": [], "y": []})
    assert graph.order() == ["y", "z", "a", "b"]


def test_layers_and_depth_say_how_far_up_a_component_is():
    graph = Graph(STAGING)
    assert graph.layers() == [["networking"], ["consul"], ["vault"], ["backups"]]
    assert graph.depth == {"networking": 0, "consul": 1, "vault": 2, "backups": 3}


def test_closure_is_what_a_deploy_of_one_component_brings():
    assert Graph(STAGING).closure(["consul"]) == {"consul", "networking"}


def test_dependents_are_what_a_destroy_of_one_component_takes_along():
    assert Graph(STAGING).dependents(["consul"]) == {"vault", "backups"}


def test_reduced_leaves_out_what_a_longer_path_says():
    assert Graph(STAGING).reduced() == Graph(
        {"networking": [], "consul": ["networking"], "vault": ["consul"], "backups": ["vault"]}
    )


def test_a_subset_keeps_the_order_of_components_whose_link_was_left_out():
    chain = Graph({"a": ["b"], "b": ["c"], "c": []})
    assert chain.subset(["a", "c"]) == Graph({"a": ["c"], "c": []})


def test_a_need_that_is_not_in_the_graph_is_refused():
    with pytest.raises(ValueError, match="'a' needs 'b'"):
        Graph({"a": ["b"]})


def test_within_leaves_out_what_is_needed_from_beside():
    assert Graph.within({"a": ["b", "elsewhere"], "b": ["gone"]}) == Graph({"a": ["b"], "b": []})


def test_an_empty_graph_has_an_empty_order():
    assert Graph({}).order() == []
    assert Graph({}).find_cycle() is None
    assert Graph({}).subset([]) == Graph({})


def test_a_circle_is_shown_as_its_closed_path_in_the_direction_of_needing():
    graph = Graph({"c": ["a"], "a": ["b"], "b": ["c"], "d": ["a"]})
    assert graph.find_cycle() == ["a", "b", "c", "a"]
    with pytest.raises(CycleError) as raised:
        graph.order()
    assert raised.value.path == ["a", "b", "c", "a"]
    assert "a → b → c → a" in str(raised.value)


def test_a_component_that_needs_itself_is_a_circle():
    assert Graph({"a": ["a"]}).find_cycle() == ["a", "a"]


@settings(deadline=None)
@given(acyclic())
def test_every_component_comes_after_all_it_needs(edges):
    order = Graph(edges).order()
    assert sorted(order) == sorted(edges)
    place = {name: number for number, name in enumerate(order)}
    assert all(place[need] < place[name] for name in edges for need in edges[name])


@settings(deadline=None)
@given(acyclic(), st.randoms())
def test_the_order_does_not_depend_on_how_the_pillar_was_written(edges, random):
    shuffled = list(edges.items())
    random.shuffle(shuffled)
    assert Graph(dict(shuffled)).order() == Graph(edges).order()


@settings(deadline=None)
@given(acyclic())
def test_reversed_turns_every_edge_and_twice_is_the_same_graph(edges):
    graph = Graph(edges)
    place = {name: number for number, name in enumerate(graph.reversed_().order())}
    assert all(place[need] > place[name] for name in edges for need in edges[name])
    assert graph.reversed_().reversed_() == graph


@settings(deadline=None)
@given(acyclic(), st.data())
def test_closure_and_dependents_mirror_each_other(edges, data):
    names = data.draw(st.sets(st.sampled_from(sorted(edges))))
    graph = Graph(edges)
    assert graph.closure(names) == names.union(*(needs_of(edges, name) for name in names))
    assert graph.dependents(names) == {name for name in edges if needs_of(edges, name) & names} - names


@settings(deadline=None)
@given(acyclic(), st.data())
def test_a_subset_agrees_with_the_whole_about_who_waits_for_whom(edges, data):
    kept = data.draw(st.sets(st.sampled_from(sorted(edges))))
    part = Graph(edges).subset(kept)
    assert set(part.needs) == kept
    for name in kept:
        assert part.closure([name]) - {name} == needs_of(edges, name) & kept


@settings(deadline=None)
@given(acyclic())
def test_reduced_says_the_same_with_no_edge_too_many(edges):
    graph, reduced = Graph(edges), Graph(edges).reduced()
    for name in edges:
        assert reduced.closure([name]) == graph.closure([name])
        for one, other in itertools.permutations(reduced.needs[name], 2):
            assert one not in needs_of(edges, other)


@settings(deadline=None)
@given(any_graph())
def test_either_there_is_an_order_or_a_circle_that_is_really_there(edges):
    graph = Graph(edges)
    cycle = graph.find_cycle()
    if cycle is None:
        assert len(graph.order()) == len(edges)
        return
    assert cycle[0] == cycle[-1] == min(cycle)
    assert all(need in edges[name] for name, need in itertools.pairwise(cycle))
    with pytest.raises(CycleError):
        graph.order()
