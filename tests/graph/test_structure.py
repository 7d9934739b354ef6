"""Any statement of who may depend on whom becomes one 0/1 matrix with names."""

import copy
import pickle
import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from weft import Graph, GraphError, GraphWarning
from weft.graph import Structure, read_binary_matrix

# Structures are drawn here, those that are strictly upper triangular too.
pytestmark = pytest.mark.filterwarnings("ignore:the matrix is strictly upper triangular")

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=100)
MATRICES = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6))
FORMS = {
    "array": lambda values: values,
    "float": lambda values: values.astype(float),
    "list": lambda values: values.tolist() if values.size else values,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_matrix,
    "tensor": torch.tensor,
    "table": pd.DataFrame,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@SEEDED
@given(values=MATRICES)
def test_any_matrix_is_a_structure(form, values):
    structure = Structure.of(form(values))
    matrix = structure.matrix
    assert isinstance(matrix, sp.csr_array)
    assert matrix.dtype == bool
    assert matrix.has_canonical_format
    assert np.array_equal(matrix.toarray(), values)
    assert np.array_equal(read_binary_matrix(form(values)).toarray(), values)
    assert structure.shape == values.shape == (len(structure.outputs), len(structure.inputs))
    assert structure.edges_count == values.sum()
    assert structure.graph is None


@SEEDED
@given(st.from_type(nx.DiGraph))
def test_a_graph_is_a_structure(digraph):
    graph = Graph.from_networkx(digraph)
    for structure in (Structure.of(graph), Structure.of(digraph)):
        assert structure.inputs == structure.outputs == graph.nodes
        assert np.array_equal(structure.matrix.toarray(), graph.adjacency())
        assert structure.same_as(Structure.of(graph))
    assert Structure.of(graph).graph is graph


def test_a_structure_may_have_cycles():
    structure = Structure.of(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "b")]))
    assert structure.inputs == structure.outputs == ("a", "b")
    assert structure.matrix.toarray().tolist() == [[False, True], [True, True]]


def test_a_structure_stays_what_it_is():
    structure = Structure.of([[1, 0]])
    assert Structure.of(structure) is structure
    with pytest.raises(AttributeError):
        structure.inputs = ("a",)


def test_rows_and_columns_have_names():
    square, wide = Structure.of([[0, 0], [1, 0]]), Structure.of([[1, 0, 1]])
    table = Structure.of(pd.DataFrame([[1, 0]], index=["effect"], columns=["dose", "age"]))
    assert square.inputs == square.outputs == ("x0", "x1")
    assert (wide.inputs, wide.outputs) == (("x0", "x1", "x2"), ("y0",))
    assert (table.inputs, table.outputs) == (("dose", "age"), ("effect",))
    assert square.edge(1, 0) == "x0 -> x1"
    assert wide.edge(0, 2) == "x2 -> y0"
    assert table.edge(0, 0) == "dose -> effect"


@SEEDED
@given(MATRICES)
def test_context_is_one_more_input_of_every_output(values):
    structure = Structure.of(values)
    wider = structure.with_context()
    assert np.array_equal(wider.matrix.toarray(), np.hstack([values, np.ones((len(values), 1), dtype=bool)]))
    assert wider.outputs == structure.outputs
    assert wider.inputs == (*structure.inputs, "context")
    assert wider.matrix.has_canonical_format


def test_context_gets_a_name_of_its_own():
    graph = Graph.from_edges([("context", "_context")])
    structure = Structure.of(graph).with_context().with_context()
    assert structure.inputs == ("context", "_context", "__context", "___context")
    assert structure.graph is None


@SEEDED
@given(MATRICES, MATRICES)
def test_same_as_compares_matrices_whatever_the_names(one, other):
    structure = Structure.of(one)
    renamed = Structure.of(pd.DataFrame(one).add_prefix("column "))
    assert structure.same_as(renamed)
    assert structure.same_as(Structure.of(other)) == (one.shape == other.shape and np.array_equal(one, other))


BAD_STRUCTURES = {
    "structure is a NoneType, expected a weft.Graph, a networkx.DiGraph or a 0/1 matrix.": None,
    "structure is a str, expected a weft.Graph, a networkx.DiGraph or a 0/1 matrix.": "digraph { a -> b }",
    "structure is a type, expected a weft.Graph": Graph,
    "structure holds 2 (first at row 0, column 1), expected only 0 and 1": [[0, 2, 1]],
    "structure holds nan (first at row 0, column 0), expected only 0 and 1": [[float("nan")]],
    "structure has shape (2,), expected a matrix of two dimensions: row i marks what output i may depend on": [1, 0],
    "structure is no matrix, expected rows of the same length": [[1], [0, 1]],
    "got an undirected networkx graph, expected a DiGraph": nx.Graph(),
}


@pytest.mark.parametrize("message", BAD_STRUCTURES)
def test_what_is_no_structure_is_refused(message):
    with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
        Structure.of(BAD_STRUCTURES[message])


@pytest.mark.parametrize(
    "matrix", [[[1]], np.ones((1, 1), dtype=bool), sp.csr_array([[1]]), sp.csr_array((2, 1), dtype=bool)], ids=type
)
def test_the_constructor_takes_what_it_will_hold(matrix):
    assert Structure(sp.csr_array([[True]]), ("a",), ("b",)).edge(0, 0) == "b -> a"
    with pytest.raises(
        GraphError, match=r"expected a boolean csr_array with a row for each of 1 outputs.*Structure\.of"
    ):
        Structure(matrix, ("a",), ("b",))


def test_a_matrix_goes_by_the_name_it_is_given():
    with pytest.raises(GraphError, match=r"^mask 3 holds 5 \(first"):
        read_binary_matrix([[5]], "mask 3")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_strictly_upper_matrix_may_be_the_wrong_way_round(form):
    upper = np.triu(np.ones((3, 3), dtype=bool), 1)
    with pytest.warns(GraphWarning, match=r"call Graph\.from_adjacency\(matrix, orientation='row_is_child'\)"):
        Structure.of(form(upper))
    for fine in (upper.T, upper[:2], upper | np.eye(3, dtype=bool), np.zeros((3, 3), dtype=bool)):
        Structure.of(form(fine))
    Structure.of(Graph.from_adjacency(form(upper), orientation="row_is_child"))


LOWER = sp.csr_array([[False, False], [True, False]])
CHAIN = Graph.from_edges([("a", "b")])
BAD_PARTS = {
    "outputs is None, expected a list of names": {"outputs": None},
    "inputs is the string 'ab', expected a list of names": {"inputs": "ab"},
    "inputs names 'a' twice": {"inputs": ["a", "a"]},
    "graph is 'a -> b', which has not these nodes and edges": {"graph": "a -> b"},
    "graph is Graph(2 nodes, 0 edges, depth 0: a, b), which has not": {"graph": Graph(["a", "b"], np.zeros((2, 2)))},
    "graph is Graph(2 nodes, 1 edge, depth 1: c, d), which has not": {"graph": Graph.from_edges([("c", "d")])},
    "matrix is not a valid sparse matrix": {
        "matrix": sp.csr_array((np.ones(1, dtype=bool), [7], [0, 0, 1]), shape=(2, 2)),
    },
}


@pytest.mark.parametrize("message", BAD_PARTS)
def test_the_constructor_refuses_parts_that_do_not_fit(message):
    parts = {"matrix": LOWER, "outputs": ("a", "b"), "inputs": ("a", "b"), "graph": CHAIN}
    assert Structure(**parts).graph is CHAIN
    with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
        Structure(**{**parts, **BAD_PARTS[message]})


def test_the_constructor_puts_its_parts_in_order():
    matrix = sp.csr_array((np.array([True, True, True, False]), [1, 0, 1, 0], [0, 3, 4]), shape=(2, 2))
    structure = Structure(matrix, ["a", "b"], iter(["c", "d"]))
    assert (structure.outputs, structure.inputs) == (("a", "b"), ("c", "d"))
    assert structure.matrix.has_canonical_format
    assert (structure.edges_count, structure.matrix.toarray().tolist()) == (2, [[True, True], [False, False]])
    assert matrix.nnz == 4


@pytest.mark.parametrize("copied", [lambda s: s, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_the_matrix_cannot_be_written_through(copied):
    structure = copied(Structure.of(CHAIN))
    assert (structure.graph, structure.inputs) == (CHAIN, ("a", "b"))
    for values in (structure.matrix.data, structure.matrix.indices, structure.matrix.indptr):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0


@pytest.mark.parametrize("place", [(5, 0), (0, 2), (-1, 0), (0, None), ("a", 0)])
def test_an_edge_that_is_nowhere_is_refused(place):
    with pytest.raises(GraphError, match=r"^(out|in)put is .*, expected a whole number from 0 to 1\.$"):
        Structure.of(CHAIN).edge(*place)


def test_a_structure_is_compared_with_a_structure():
    with pytest.raises(GraphError, match=r"^other is \[\[0\]\], expected a Structure: Structure\.of\(other\)\.$"):
        Structure.of(CHAIN).same_as([[0]])


def test_repr_is_short():
    assert repr(Structure.of([[1, 0, 1]])) == "Structure(1 x 3, 2 edges)"
    assert repr(Structure.of(CHAIN)) == "Structure(2 x 2, 1 edge, of Graph(2 nodes, 1 edge, depth 1: a, b))"
    assert len(repr(Structure.of(sp.csr_array((100_000, 100_000), dtype=bool)))) < 50


def test_a_structure_is_a_graph_if_it_can_be():
    graph = Graph.from_edges([("b", "a"), ("c", "a")])
    assert Structure.of(graph).dag() is graph
    assert Structure.of(graph.to_networkx()).dag() == graph
    assert Structure.of([[0, 0], [1, 0]]).dag().edges == (("x0", "x1"),)
    with pytest.raises(GraphError, match=r"^cycle: x0 -> x1 -> x0"):
        Structure.of([[0, 1], [1, 0]]).dag()
    with pytest.raises(GraphError, match=r"has the rows y0 and the columns x0, x1, expected the same names for both"):
        Structure.of([[1, 0]]).dag()
