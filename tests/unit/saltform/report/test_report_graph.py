from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings

from saltform.errors import SaltformError
from saltform.graph import Graph
from saltform.report import svg
from saltform.report.graph import dot, mermaid, tree
from saltform.report.graph import svg as picture_of
from tests.support.graphs import acyclic

STAGING = Graph(
    {
        "networking": [],
        "consul": ["networking"],
        "dns": ["networking"],
        "vault": ["networking", "consul", "dns"],
        "backups": ["networking", "consul", "dns", "vault"],
        "alone": [],
    }
)
NASTY = '"><script>alert(1)</script>\n\x1b[2J\\'
SVG = "{http://www.w3.org/2000/svg}"


def test_the_tree_shows_each_component_once_below_its_last_need():
    assert tree(STAGING).splitlines() == [
        "alone",
        "networking",
        "├─ consul",
        "└─ dns",
        "   └─ vault  (also needs consul)",
        "      └─ backups",
        "",
        "6 components in 4 layers",
    ]


def test_an_empty_environment_is_a_tree_of_nothing():
    assert tree(Graph({})).strip() == "0 components in 0 layers"


def test_a_very_long_chain_does_not_run_out_of_stack():
    chain = Graph({f"c{n:04}": [f"c{n - 1:04}"] if n else [] for n in range(3000)})
    assert "3000 components in 3000 layers" in tree(chain)


def test_dot_draws_arrows_in_the_order_of_a_deploy_without_the_implied_ones():
    text = dot(STAGING)
    assert text.startswith("digraph components {")
    arrows = set(re.findall(r'"(\w+)" -> "(\w+)"', text))
    assert arrows == {
        ("networking", "consul"), ("networking", "dns"), ("consul", "vault"), ("dns", "vault"),
        ("vault", "backups"),
    }  # fmt: skip


def test_mermaid_gives_every_node_a_safe_id_and_its_name_as_label():
    text = mermaid(Graph({"end": [], "class-a": ["end"]}), {"end": "awaiting approval"})
    assert text.splitlines()[:4] == ["graph LR", '  c0("class-a")', '  c1("end")', "  c1 --> c0"]
    assert "  class c1 awaiting_approval" in text


def test_a_name_cannot_break_out_of_any_format():
    graph = Graph({NASTY: [], "b": [NASTY]})
    assert "\x1b" not in tree(graph) + dot(graph) + mermaid(graph) + picture_of(graph, NASTY)
    assert "<" not in mermaid(graph)
    assert '\\"><script>' in dot(graph)
    assert list(ElementTree.fromstring(picture_of(graph, NASTY)).iter(f"{SVG}script")) == []


def test_the_picture_has_a_box_for_each_component_with_its_name_and_colour():
    root = ElementTree.fromstring(picture_of(STAGING, "staging", {"dns": "failed"}))
    assert sorted(node.text for node in root.iter(f"{SVG}text")) == sorted(STAGING.needs)
    fills = {group.find(f"{SVG}text").text: group.find(f"{SVG}rect").get("fill") for group in root.iter(f"{SVG}g")}
    assert fills["dns"] == "#ffebe9"
    assert fills["vault"] != fills["dns"]


def test_the_same_graph_is_always_the_same_picture():
    edges = {f"c{n:02}": [f"c{(n * k) // 7:02}" for k in range(1, 4) if n] for n in range(60)}
    pictures = {picture_of(Graph(edges)) for _ in range(5)}
    pictures.add(picture_of(Graph(dict(reversed(edges.items())))))
    assert len(pictures) == 1


def test_a_picture_nobody_could_read_is_refused_with_what_to_do_instead():
    crowd = Graph({f"c{number}": [] for number in range(svg.MOST + 1)})
    with pytest.raises(SaltformError, match="too many components") as raised:
        picture_of(crowd)
    assert "format=mermaid" in raised.value.fix


def test_an_empty_graph_is_an_empty_picture():
    assert list(ElementTree.fromstring(picture_of(Graph({}))).iter(f"{SVG}rect")) == []


def test_a_long_name_is_cut_in_its_box_and_whole_in_its_tooltip():
    root = ElementTree.fromstring(picture_of(Graph({"x" * 90: []})))
    assert len(next(root.iter(f"{SVG}text")).text) == svg.LONGEST
    assert "x" * 90 in [title.text for title in root.iter(f"{SVG}title")]


# grandalf alone puts two boxes of this one over each other.
CROWDED = Graph(
    {
        "c00": [], "c01": ["c00"], "c02": ["c01"], "c03": [], "c04": ["c02"], "c05": ["c02"], "c06": ["c01", "c03"],
        "c07": ["c02"], "c08": ["c00"], "c09": ["c01"], "c10": ["c07"], "c11": ["c01"],
    }
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(acyclic(most=20).map(Graph))
@example(CROWDED)
def test_no_two_boxes_overlap_and_every_arrow_goes_right(graph):
    picture = svg.lay_out(graph.reduced())
    assert set(picture.boxes) == set(graph.needs)
    boxes = list(picture.boxes.values())
    for number, (x, y, width) in enumerate(boxes):
        assert x >= 0
        assert y >= -0.01
        assert x + width <= picture.width + 0.01
        assert y + svg.BOX_HEIGHT <= picture.height + 0.01
        for other_x, other_y, other_width in boxes[number + 1 :]:
            apart = x + width <= other_x + 0.01 or other_x + other_width <= x + 0.01
            assert apart or abs(y - other_y) >= svg.BOX_HEIGHT + svg.ROW_GAP - 0.01
    for points in picture.arrows:
        assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert len(picture.arrows) == sum(len(needs) for needs in graph.reduced().needs.values())


@settings(deadline=None, max_examples=60)
@given(acyclic(most=20).map(Graph))
def test_the_tree_has_every_component_exactly_once(graph):
    shown = [re.sub(r"^[│├└─ ]*|  \(.*$", "", line) for line in tree(graph).splitlines()[:-2]]
    assert sorted(shown) == sorted(graph.needs)
