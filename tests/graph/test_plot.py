"""The picture has a box and a name for every node and an arrow for every edge, and leads from parents to children."""

import re
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch

from weft import Graph, GraphError
from weft.graph import chain, full, random_dag
from weft.graph._layout import lay_out

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=60)


@pytest.fixture(autouse=True)
def agg():
    with mpl.rc_context({"backend": "Agg"}):
        plt.switch_backend("Agg")
        yield
        plt.close("all")


def of_kind(ax, kind):
    return [patch for patch in ax.patches if isinstance(patch, kind)]


def boxes(ax):
    return np.array([[b.get_x(), b.get_y(), b.get_width(), b.get_height()] for b in of_kind(ax, FancyBboxPatch)])


@pytest.mark.parametrize("direction", ["right", "down"])
@pytest.mark.parametrize("labels", [True, False, None])
def test_every_node_and_edge_is_drawn_once(shape, direction, labels):
    ax = shape.plot(direction=direction, labels=labels)
    assert len(of_kind(ax, FancyBboxPatch)) == len(shape)
    assert len(of_kind(ax, FancyArrowPatch)) == shape.edges_count
    assert len(of_kind(ax, PathPatch)) == (0 if labels is False else len(shape))
    ax.figure.canvas.draw()


@pytest.mark.parametrize("direction", ["right", "down"])
def test_arrows_lead_from_parents_to_children(shape, direction):
    ax = shape.plot(direction=direction)
    corner = boxes(ax).reshape(-1, 4)
    axis, sign = (0, 1) if direction == "right" else (1, -1)
    start = sign * (corner[:, axis] + (0 if direction == "right" else corner[:, 3]))
    stop = sign * (corner[:, axis] + (corner[:, 2] if direction == "right" else 0))
    for parent, child in shape.edges:
        assert stop[shape.index(parent)] < start[shape.index(child)]


def test_boxes_do_not_overlap():
    corner = boxes(random_dag(40, parents=1.5, seed=4).plot())
    for k, (x, y, width, height) in enumerate(corner):
        other = np.delete(corner, k, axis=0)
        apart = (other[:, 0] >= x + width) | (other[:, 0] + other[:, 2] <= x)
        apart |= (other[:, 1] >= y + height) | (other[:, 1] + other[:, 3] <= y)
        assert apart.all()


def test_it_draws_on_the_axes_it_is_given_in_the_colors_it_is_given():
    _, ax = plt.subplots()
    assert chain(3).plot(ax, colors={"x1": "gold"}) is ax
    faces = [box.get_facecolor() for box in of_kind(ax, FancyBboxPatch)]
    assert faces[1] == mpl.colors.to_rgba("gold")
    assert faces[0] == faces[2] != faces[1]


def test_names_are_left_out_of_large_graphs_unless_told():
    assert of_kind(chain(81).plot(), PathPatch) == []
    assert len(of_kind(chain(80).plot(), PathPatch)) == 80
    assert len(of_kind(chain(81).plot(labels=True), PathPatch)) == 81


def test_many_arrows_are_one_collection():
    ax = full(60).plot()
    assert of_kind(ax, FancyArrowPatch) == []
    assert [len(each.get_paths()) for each in ax.collections] == [60 * 59 // 2]


@pytest.mark.parametrize("name", ["", " ", "$x^2$", "a\nb", "\t", "\\", "$", "é", "a" * 99, ("a", 1), 3.5])
def test_any_name_is_drawn(name):
    ax = Graph.from_edges([(name, "child")]).plot()
    assert all(patch.get_path().vertices.size for patch in of_kind(ax, PathPatch))
    ax.figure.canvas.draw()


BAD_PLOTS = {
    "direction is 'left', expected 'right' or 'down'": {"direction": "left"},
    "direction is 'rigt', expected 'right' or 'down' (did you mean 'right'?).": {"direction": "rigt"},
    "direction is None, expected": {"direction": None},
    "labels='yes', expected True, False or None": {"labels": "yes"},
    "ax=5, expected matplotlib axes": {"ax": 5},
    "colors='red', expected a mapping from names to colors": {"colors": "red"},
    "colors names 'markr', which is not a node (did you mean 'marker'?).": {"colors": {"markr": "red"}},
    "the color of 'dose' is 'redd', expected a matplotlib color": {"colors": {"dose": "redd"}},
}


@pytest.mark.parametrize("message", BAD_PLOTS)
def test_bad_arguments_are_refused(message):
    with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
        Graph.from_edges([("dose", "marker")]).plot(**BAD_PLOTS[message])


@pytest.mark.parametrize("graph", [chain(2001), full(202)], ids=["nodes", "edges"])
def test_what_no_picture_can_show_is_refused_with_its_size(graph):
    with pytest.raises(GraphError, match=f"got {len(graph):,} nodes and {graph.edges_count:,} edges, expected at most"):
        graph.plot()


# The layout


@st.composite
def layered(draw):
    graph = random_dag(draw(st.integers(0, 25)), parents=draw(st.floats(0, 2)), seed=draw(st.integers(0, 99)))
    sizes = draw(st.lists(st.floats(1, 50), min_size=len(graph), max_size=len(graph)))
    edges = [(graph.index(parent), graph.index(child)) for parent, child in graph.edges]
    return graph.levels, edges, np.array(sizes)


@SEEDED
@given(layered())
def test_nodes_and_bends_of_a_layer_keep_their_room(case):
    levels, edges, sizes = case
    bend = 5.0
    places, bends = lay_out(levels, edges, sizes, bend)
    assert len(places) == len(sizes)
    assert np.isfinite(places).all()
    layers = {level: [] for level in levels.tolist()}
    for level, place, size in zip(levels.tolist(), places, sizes, strict=True):
        layers[level].append((place, size))
    for (parent, child), course in zip(edges, bends, strict=True):
        assert [level for level, _ in course] == list(range(levels[parent] + 1, levels[child]))
        for level, place in course:
            layers[level].append((place, bend))
    for members in layers.values():
        members.sort()
        for (place, size), (next_place, next_size) in pairwise(members):
            assert next_place - place >= (size + next_size) / 2 - 1e-9


def test_a_tree_is_drawn_without_crossings():
    levels = np.array([0, 1, 1, 2, 2, 2, 2])
    edges = [(0, 1), (0, 2), (1, 4), (1, 6), (2, 3), (2, 5)]
    places, _ = lay_out(levels, edges, np.ones(7), 1.0)
    left, right = sorted((1, 2), key=lambda node: places[node])
    below = {1: (4, 6), 2: (3, 5)}
    assert max(places[node] for node in below[left]) < min(places[node] for node in below[right])


def test_a_chain_is_straight():
    graph = chain(6)
    places, _ = lay_out(graph.levels, [(i, i + 1) for i in range(5)], np.ones(6), 1.0)
    assert np.ptp(places) == 0
