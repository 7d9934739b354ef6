"""Every way in gives the same graph, and says what is wrong with what it cannot read."""

import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Graph, GraphError, GraphWarning
from weft.graph import Structure

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=30)
DAGS = st.from_type(nx.DiGraph)

# How a matrix may be written, given as a NumPy array of 0 and 1.
MATRICES = {
    "bool": lambda values: values.astype(bool),
    "uint8": lambda values: values.astype(np.uint8),
    "int": lambda values: values,
    "float": lambda values: values.astype(float),
    "Fortran order": np.asfortranarray,
    "object": lambda values: values.astype(object),
    "nested list": lambda values: values.tolist(),
    "list of tensors": lambda values: list(torch.tensor(values)),
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "lil_array": sp.lil_array,
    "dok_array": sp.dok_array,
    "csr_matrix": sp.csr_matrix,
    "sparse bool": lambda values: sp.csr_array(values.astype(bool)),
    "tensor": torch.tensor,
    "bool tensor": lambda values: torch.tensor(values, dtype=torch.bool),
    "bfloat16 tensor with gradient": lambda v: torch.tensor(v, dtype=torch.bfloat16, requires_grad=True),
    "sparse tensor": lambda values: torch.tensor(values).to_sparse(),
    "DataFrame": pd.DataFrame,
}


def frame(digraph, permuted, kind=int):
    names = list(digraph)
    values = nx.to_numpy_array(digraph, dtype=kind)
    index = pd.Index(names, dtype=object)
    table = pd.DataFrame(values, index=index, columns=index)
    return table.iloc[permuted]


READERS = {
    "edges": lambda g: Graph.from_edges(list(g.edges), nodes=list(g)),
    "edge view": lambda g: Graph.from_edges(g.edges, nodes=g.nodes),
    "generator of lists": lambda g: Graph.from_edges(([a, b] for a, b in g.edges), nodes=iter(g)),
    "repeated edges": lambda g: Graph.from_edges([*g.edges, *g.edges], nodes=list(g)),
    "set of edges": lambda g: Graph.from_edges(set(g.edges), nodes=list(g)),
    "parents": lambda g: Graph.from_parents({b: list(g.predecessors(b)) for b in g}, nodes=list(g)),
    "children without parents left out": lambda g: Graph.from_parents(
        {b: g.pred[b] for b in g if g.pred[b]}, nodes=list(g)
    ),
    "sets of parents": lambda g: Graph.from_parents({b: set(g.predecessors(b)) for b in g}, nodes=list(g)),
    "networkx": Graph.from_networkx,
    "networkx with parallel edges": lambda g: Graph.from_networkx(nx.compose(nx.MultiDiGraph(g), nx.MultiDiGraph(g))),
    "constructor": lambda g: Graph(list(g), nx.to_scipy_sparse_array(g).T if g else np.zeros((0, 0))),
    "structure": lambda g: Structure.of(Structure.of(Graph.from_networkx(g))).graph,
}


def same(graph, digraph):
    return graph.nodes == tuple(digraph) and set(graph.edges) == set(digraph.edges)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@SEEDED
@given(digraph=DAGS)
def test_every_reader_reads_what_is_written(reader, digraph):
    assert same(reader(digraph), digraph)


@pytest.mark.parametrize("orientation", ["row_is_child", "row_is_parent"])
@pytest.mark.parametrize("form", MATRICES.values(), ids=MATRICES)
@SEEDED
@given(digraph=DAGS)
def test_every_matrix_is_read_in_its_orientation(form, orientation, digraph):
    row_is_parent = nx.to_numpy_array(digraph, dtype=int)
    values = row_is_parent if orientation == "row_is_parent" else row_is_parent.T
    assert same(Graph.from_adjacency(form(values), names=list(digraph), orientation=orientation), digraph)


@SEEDED
@given(DAGS, st.data())
def test_a_table_is_read_by_its_names(digraph, data):
    permuted = data.draw(st.permutations(range(len(digraph))))
    kind = data.draw(st.sampled_from([int, float, bool]))
    graph = Graph.from_adjacency(frame(digraph, permuted, kind), orientation="row_is_parent")
    assert same(graph, digraph)


def test_row_is_child_unless_told():
    assert Graph.from_adjacency([[0, 0], [1, 0]]).edges == (("x0", "x1"),)
    assert Graph(["a", "b"], [[0, 0], [1, 0]]).edges == (("a", "b"),)
    table = pd.DataFrame([[1, 0], [0, 0]], index=["b", "a"], columns=["a", "b"])
    assert Graph.from_adjacency(table).edges == Graph(["a", "b"], table).edges == (("a", "b"),)


def test_the_columns_name_a_table_without_index():
    assert Graph.from_adjacency(pd.DataFrame([[0, 0], [1, 0]], columns=["a", "b"])).edges == (("a", "b"),)


def test_a_table_may_have_columns_of_several_types():
    table = pd.DataFrame({"a": [0, 1], "b": [False, False]}, index=["a", "b"])
    nullable = pd.DataFrame({"a": pd.array([0, 1], dtype="Int64"), "b": pd.array([False, False], dtype="boolean")})
    assert Graph.from_adjacency(table).edges == Graph.from_adjacency(nullable).edges == (("a", "b"),)


def test_other_names_rename_a_table():
    table = pd.DataFrame([[0, 0], [1, 0]], index=["a", "b"], columns=["a", "b"])
    assert Graph.from_adjacency(table, names=["dose", "marker"]).edges == (("dose", "marker"),)


def test_an_explicit_zero_is_no_edge():
    stored = sp.csr_array((np.array([0, 1]), ([1, 2], [0, 0])), shape=(3, 3))
    assert Graph.from_adjacency(stored).edges == (("x0", "x2"),)
    assert stored.nnz == 2, "the caller's matrix is left as it was"


@pytest.mark.parametrize("matrix", [[], np.zeros((0, 0)), sp.csr_array((0, 0)), pd.DataFrame()], ids=repr)
def test_a_matrix_may_be_empty(matrix):
    assert len(Graph.from_adjacency(matrix)) == 0


def test_an_upper_triangle_without_orientation_warns():
    upper = [[0, 1], [0, 0]]
    with pytest.warns(GraphWarning, match="strictly upper triangular, and networkx writes row = parent") as caught:
        graph = Graph.from_adjacency(upper)
    assert caught[0].filename == __file__
    assert graph.edges == (("x1", "x0"),)
    assert Graph.from_adjacency(upper, orientation="row_is_child") == graph
    assert Graph(["x0", "x1"], upper) == graph
    assert Graph.from_adjacency(upper, orientation="row_is_parent").edges == (("x0", "x1"),)


# Names


@pytest.mark.parametrize(
    ("graph", "nodes"),
    [
        (Graph.from_edges([("c", "b"), ("a", "c")]), "cba"),
        (Graph.from_edges([("c", "b"), ("a", "c")], nodes=["a", "b", "c", "d"]), "abcd"),
        (Graph.from_parents({"b": ["c"], "c": ["a"]}), "bca"),
        (Graph.from_parents({"b": ["c"], "c": ["a"]}, nodes=["a", "b", "c"]), "abc"),
        (Graph.from_text("digraph { c -> b; a -> c }"), "cba"),
        (Graph.from_text("digraph { b; c -> b; a -> c }"), "bca"),
        (Graph.from_text("c,b\na,c"), "cba"),
        (Graph.from_text("child,parent\nb,c\nc,a"), "bca"),
    ],
)
def test_nodes_keep_their_order(graph, nodes):
    assert graph.nodes == tuple(nodes)
    assert set(graph.edges) == {("c", "b"), ("a", "c")}


@pytest.mark.parametrize(
    "pair", [(1, "1"), ((0, 1), (1, 0)), (b"a", "a"), (0.5, -1), (frozenset("a"), None.__class__)], ids=repr
)
def test_any_hashable_value_is_a_name(pair):
    assert Graph.from_edges([pair]).nodes == pair


@pytest.mark.parametrize(
    "edges",
    [np.array([[0, 1], [1, 2]]), torch.tensor([[0, 1], [1, 2]]), [(np.int64(0), 1), (1, np.int8(2))]],
    ids=["array", "tensor", "NumPy numbers"],
)
def test_numbers_of_arrays_become_numbers(edges):
    graph = Graph.from_edges(edges)
    assert graph.edges == ((0, 1), (1, 2))
    assert {type(name) for name in graph.nodes} == {int}


# Bad input

TABLE = pd.DataFrame([[0, 0], [1, 0]], index=["a", "b"], columns=["a", "b"])
UNDIRECTED = nx.Graph([("a", "b")])
NAN = float("nan")

BAD_EDGES = {
    "edges is 5, expected a list of (parent, child) pairs": 5,
    "edges is None, expected": None,
    "edges is array(3), expected": np.array(3),
    "edges is the string 'a -> b', expected a list of (parent, child) pairs; for text call Graph.from_text": "a -> b",
    "edges is a mapping, expected a list of (parent, child) pairs; for {child: [parents]} call Graph.from_parents": {
        "a": ["b"]
    },
    "edges is a networkx graph, expected a list of (parent, child) pairs; call Graph.from_networkx": nx.DiGraph(),
    "edges is a table, expected a list of (parent, child) pairs; call Graph.from_edges(table.itertuples": TABLE,
    "edges has shape (3, 3), expected a list of (parent, child) pairs; for an adjacency matrix call": np.eye(3),
    "edges has shape (2, 2), expected a list": sp.eye_array(2),
    "edges is a set, whose order changes from run to run: give a list, or fix the order": {("a", "b")},
    "the edge ('a',) has 1 elements, expected a pair (parent, child)": [("a",)],
    "the edge ('a', 'b', 3) has 3 elements, expected a pair (parent, child); to drop weights call": [("a", "b", 3)],
    "the edge 'ab' is a str, expected a pair (parent, child)": ["ab"],
    "the edge {'a': 1} is a dict, expected a pair": [{"a": 1}],
    "the edge frozenset({'a'}) is a frozenset, expected a pair": [frozenset("a")],
    "the edge 7 is a int, expected a pair": [7],
    "the edge a -> None: None is a NoneType and cannot name a node; expected a string, a number": [("a", None)],
    "the edge nan -> a: nan is a float and cannot name a node": [(NAN, "a")],
    "the edge a -> <NA>: <NA> is a NAType and cannot name a node": [("a", pd.NA)],
    "the edge a -> ['b']: ['b'] is a list and cannot name a node": [("a", ["b"])],
    "the edge a -> [1 2]: array([1, 2]) is a ndarray and cannot name a node": [("a", np.array([1, 2]))],
}


@pytest.mark.parametrize("message", BAD_EDGES)
def test_bad_edges_are_refused(message):
    with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
        Graph.from_edges(BAD_EDGES[message])


BAD_NODES = {
    "nodes names 'dose' twice; every node needs a name of its own": ["dose", "markr", "dose"],
    "nodes is the string 'dose', expected a list of names: nodes=['dose']": "dose",
    "nodes is a set, whose order changes from run to run: give a list, nodes=sorted(...)": {"dose", "markr"},
    "nodes is 3, expected a list of names": 3,
    "nodes is tensor(3), expected a list of names": torch.tensor(3),
    "nodes: ['a'] is a list and cannot name a node": ["dose", ["a"]],
    "nodes: None is a NoneType and cannot name a node": ["dose", "markr", None],
}


@pytest.mark.parametrize("message", BAD_NODES)
def test_bad_nodes_are_refused(message):
    for read in (
        lambda nodes: Graph.from_edges([("dose", "markr")], nodes=nodes),
        lambda nodes: Graph.from_parents({"markr": ["dose"]}, nodes=nodes),
    ):
        with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
            read(BAD_NODES[message])


def test_a_name_that_is_not_in_nodes_gets_the_closest_one():
    for read in (
        lambda nodes: Graph.from_edges([("dose", "markr")], nodes=nodes),
        lambda nodes: Graph.from_parents({"markr": []}, nodes=nodes),
    ):
        with pytest.raises(GraphError, match=r"names 'markr', which is not in nodes.*did you mean 'marker'\?"):
            read(["dose", "marker"])


BAD_PARENTS = {
    "parents is a list, expected a mapping {child: [parents]}; for a list of (parent, child) pairs": [("a", "b")],
    "parents is a DiGraph, expected a mapping": nx.DiGraph(),
    "parents is a NoneType, expected a mapping": None,
    "the parents of 'a' are the string 'bc', expected a list: ['bc']": {"a": "bc"},
    "the parents of 'a' are 3, expected a list of names": {"a": 3},
    "the parents of 'a' are None, expected a list of names": {"a": None},
    "the parents of 'a' are array(3), expected a list of names": {"a": np.array(3)},
    "the parents of 'a' are a set, whose order changes from run to run: give a list": {"a": {"b"}},
    "the key None: None is a NoneType and cannot name a node": {None: ["b"]},
    "the edge ['b'] -> a: ['b'] is a list and cannot name a node": {"a": [["b"]]},
    "cycle: a -> a. A Graph must be acyclic; remove this edge": {"a": ["a"]},
}


@pytest.mark.parametrize("message", BAD_PARENTS)
def test_bad_parents_are_refused(message):
    with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
        Graph.from_parents(BAD_PARENTS[message])


BAD_NETWORKX = {
    "got an undirected networkx graph, expected a DiGraph: direct its edges first": UNDIRECTED,
    "got an undirected networkx graph, expected a DiGraph: ": nx.MultiGraph([("a", "b"), ("a", "b")]),
    "cycle: a -> b -> a": nx.DiGraph([("a", "b"), ("b", "a")]),
    "cycle: 1 -> 2 -> 1": nx.MultiDiGraph([(1, 2), (1, 2), (2, 1)]),
    "nodes: nan is a float and cannot name a node": nx.DiGraph([(NAN, "a")]),
    "got a list, expected a networkx.DiGraph; for a matrix call Graph.from_adjacency": [("a", "b")],
    "got a Graph, expected a networkx.DiGraph": Graph.from_edges([]),
    "got a type, expected a networkx.DiGraph": nx.DiGraph,
}


@pytest.mark.parametrize("message", BAD_NETWORKX)
def test_bad_networkx_graphs_are_refused(message):
    with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
        Graph.from_networkx(BAD_NETWORKX[message])


WANTED = "expected a 0/1 matrix: a NumPy array, nested list, SciPy sparse matrix, torch tensor or pandas DataFrame"
ONLY = "expected only 0 and 1"
OUTSIDE = sp.csc_array((2, 2))
OUTSIDE.data, OUTSIDE.indices, OUTSIDE.indptr = np.ones(2), np.array([0, 7]), np.array([0, 1, 2])

BAD_MATRICES = {
    f"matrix holds 2 (first at row 0, column 1), {ONLY}; threshold it first: `matrix != 0`.": [[0, 2], [0, 0]],
    f"matrix holds -1.0, 0.5 (first at row 1, column 0), {ONLY}": [[0, 0], [0.5, -1]],
    f"matrix holds nan (first at row 1, column 0), {ONLY}": [[0, 0], [NAN, 0]],
    f"matrix holds inf (first at row 0, column 0), {ONLY}": torch.tensor([[float("inf")]]),
    f"matrix holds nan, {ONLY}": sp.csr_array([[0, 0], [NAN, 0]]),
    f"matrix holds 2.0, {ONLY}": sp.coo_array((np.ones(2), ([1, 1], [0, 0])), shape=(2, 2)),
    f"matrix holds values of type complex128, {ONLY}": [[0, 0], [1j, 0]],
    f"matrix holds values of type torch.complex64, {ONLY}": torch.zeros(2, 2, dtype=torch.complex64),
    f"matrix holds values of type <U1, {ONLY}": [["0", "1"], ["0", "0"]],
    f"matrix holds values of type object, {ONLY}": [[0, None], [0, 0]],
    f"matrix holds values of type datetime64[s], {ONLY}": np.zeros((2, 2), dtype="datetime64[s]"),
    "matrix has shape 2 x 3, expected a square one: a row and a column per node": [[0, 0, 0], [0, 0, 0]],
    "matrix has shape (2,), expected a matrix of two dimensions": [0, 1],
    "matrix has shape (0,), expected a matrix of two dimensions": np.zeros(0),
    "matrix has shape (3,), expected a matrix of two dimensions": sp.coo_array([0, 1, 0]),
    "matrix has shape (1, 1, 1), expected a matrix of two dimensions": torch.zeros(1, 1, 1).to_sparse(),
    "matrix is no matrix, expected rows of the same length that hold only 0 and 1": [[0, 1], [0]],
    "matrix is not a valid sparse matrix": OUTSIDE,
    "matrix is a tensor on the device `meta`, which has no values": torch.zeros(2, 2, device="meta"),
    f"matrix is a int, {WANTED}": 3,
    f"matrix is a NoneType, {WANTED}": None,
    f"matrix is a str, {WANTED}": "01",
    f"matrix is a dict, {WANTED}": {"a": [0]},
    f"matrix is a Graph, {WANTED}": Graph.from_edges([]),
    f"matrix is a DiGraph, {WANTED}": nx.DiGraph(),
    "cycle: x0 -> x1 -> x0": [[0, 1], [1, 0]],
    "cycle: x1 -> x1. A Graph must be acyclic; remove this edge": [[0, 0], [0, 1]],
    "columns names 'a' twice; every node needs a name of its own": TABLE.set_axis(["a", "a"], axis=1),
    "the table has rows a, c and columns a, b, expected the same names in both: DataFrame(": TABLE.rename({"b": "c"}),
}


@pytest.mark.parametrize("message", BAD_MATRICES)
def test_bad_matrices_are_refused(message):
    with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
        Graph.from_adjacency(BAD_MATRICES[message])


BAD_ARGUMENTS = {
    "got 1 names for a 2 x 2 matrix, expected one name per row": {"names": ["a"]},
    "names names 'a' twice": {"names": ["a", "a"]},
    "names is the string 'ab', expected a list of names": {"names": "ab"},
    "names is 5, expected a list of names": {"names": 5},
    "names has the columns a, b of the table in another order, which would rename the nodes": {"names": ["b", "a"]},
    "orientation is 'row_is_parents', expected 'row_is_child' or 'row_is_parent' (did you mean 'row_is_parent'?).": {
        "orientation": "row_is_parents"
    },
    "orientation is 1, expected 'row_is_child' or 'row_is_parent'": {"orientation": 1},
}


@pytest.mark.parametrize("message", BAD_ARGUMENTS)
def test_bad_arguments_of_a_matrix_are_refused(message):
    with pytest.raises(GraphError, match=f"^{re.escape(message)}"):
        Graph.from_adjacency(TABLE, **BAD_ARGUMENTS[message])


def test_the_constructor_checks_names_and_matrix():
    for nodes, matrix, message in (
        (["a"], np.zeros((2, 2)), "got 1 names for a 2 x 2 matrix"),
        (3, np.zeros((2, 2)), "nodes is 3, expected a list of names"),
        (["a", "a"], np.zeros((2, 2)), "nodes names 'a' twice"),
        (["a", "b"], None, "matrix is a NoneType"),
        (["a", "b"], np.eye(2), "cycle: a -> a"),
    ):
        with pytest.raises(GraphError, match=f"^{message}"):
            Graph(nodes, matrix)


def test_masked_values_are_no_edges():
    matrix = np.ma.array([[0, 0], [1, 0]], mask=[[0, 0], [1, 0]])
    with pytest.raises(GraphError, match=r"^matrix has masked values, .*matrix\.filled\(0\)\.$"):
        Graph.from_adjacency(matrix)
    assert Graph.from_adjacency(matrix.filled(0)).edges_count == 0
    assert Graph.from_adjacency(np.ma.array([[0, 0], [1, 0]])).edges_count == 1
    for read in (
        lambda: Graph.from_edges([("a", np.ma.masked)]),
        lambda: Graph.from_edges(np.ma.array([[1, 2]], mask=[[0, 1]])),
        lambda: Graph.from_adjacency([[0]], names=[np.ma.masked]),
    ):
        with pytest.raises(GraphError, match="a name is masked"):
            read()


@pytest.mark.filterwarnings("ignore")  # torch calls these kinds prototypes
@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("nested", lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(2)])),
        ("quantized", lambda: torch.quantize_per_tensor(torch.zeros(2, 2), 1.0, 0, torch.qint8)),
        ("hybrid sparse", lambda: torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 2), (2, 2))),
    ],
)
def test_unusual_tensors_are_refused(kind, make):
    with pytest.raises(GraphError, match=f"^matrix is a {kind} tensor, expected a plain one of two dimensions"):
        Graph.from_adjacency(make())
