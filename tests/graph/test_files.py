"""Graphs in files: every suffix, and what is wrong with a file that cannot be read."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from weft import Graph, GraphError, GraphWarning

GRAPH = Graph.from_edges([("dose", "é\r\né"), ("é\r\né", "recovery"), ("age", "dose")])
PLAIN = Graph.from_edges([("x0", "x1"), ("x1", "x2"), ("x0", "x2")])
TABLE = "".join(f'"{parent}","{child}"\n' for parent, child in GRAPH.edges)
DAG = "dag" + GRAPH.to_dot().removeprefix("digraph")
TEXTS = {
    "g.dot": GRAPH.to_dot(),
    "g.gv": GRAPH.to_dot(),
    "g.DOT": GRAPH.to_dot(),
    "g.gml": GRAPH.to_gml(),
    "g.csv": TABLE,
    "g.tsv": TABLE.replace(",", "\t"),
    "g.dag": DAG,
    "g.dagitty": DAG,
    "a.txt": GRAPH.to_dot(),
    "b.txt": GRAPH.to_gml(),
    "c.txt": TABLE,
}
ARRAYS = {
    "g.npy": np.save,
    "g.npz": np.savez,
    "packed.npz": np.savez_compressed,
    "csr.npz": lambda file, matrix: sp.save_npz(file, sp.csr_array(matrix)),
    "coo.npz": lambda file, matrix: sp.save_npz(file, sp.coo_matrix(matrix)),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_text_is_read_by_its_suffix(name, encoding, tmp_path):
    (tmp_path / name).write_bytes(TEXTS[name].encode(encoding))
    graph = Graph.read(tmp_path / name)
    assert set(graph.edges) == set(GRAPH.edges)
    assert Graph.read(str(tmp_path / name)) == graph


@pytest.mark.parametrize("name", ARRAYS)
def test_matrices_are_read_by_their_suffix(name, tmp_path):
    ARRAYS[name](tmp_path / name, PLAIN.adjacency().astype(float))
    assert Graph.read(tmp_path / name) == PLAIN


def test_an_upper_triangle_in_a_file_warns(tmp_path):
    np.save(tmp_path / "g.npy", PLAIN.adjacency().T)
    with pytest.warns(GraphWarning, match="strictly upper triangular") as caught:
        Graph.read(tmp_path / "g.npy")
    assert caught[0].filename == __file__


def test_a_latent_node_in_a_file_warns(tmp_path):
    (tmp_path / "g.dag").write_text("dag { u [latent] u -> a }")
    with pytest.warns(GraphWarning, match="the text marks u as latent") as caught:
        Graph.read(tmp_path / "g.dag")
    assert caught[0].filename == __file__


def pickled(file):
    np.save(file, np.array([[0, None]], dtype=object), allow_pickle=True)


def broken_sparse(file):
    np.savez(file, format="csr", shape=(2, 2), indices=[7, 9], indptr=[0, 1, 2], data=[1, 1])


BAD_FILES = {
    ("g.dot", "digraph { a -> b } }"): "line 1: met '}', expected nothing after the closing brace",
    ("cycle.dot", "digraph { a -> b -> a }"): "cycle: a -> b -> a. A Graph must be acyclic",
    ("table.dot", "a,b"): "line 1: met 'a', expected `digraph` or `dag`",
    ("dot.gml", "digraph { a -> b }"): "the GML cannot be read",
    ("dot.csv", "digraph { a -> b; b -> c }"): "a text that begins 'digraph { a -> b; b -> c }' is no table of edges",
    ("spaces.tsv", "a b\nb c"): "a text that begins 'a b' is no table of edges, expected one `parent,child` per line",
    ("cycle.csv", "a,b\nb,a"): "cycle: a -> b -> a",
    ("empty.dot", ""): "the text is empty, expected DOT",
    ("empty.csv", " \n"): "the text is empty, expected DOT",
    ("bytes.csv", b"\xff\xfe\x00"): "it is not UTF-8 text",
    ("g.xyz", "a,b"): "its suffix is '.xyz', expected one of .dot .gv .gml .csv .tsv .dag .dagitty .txt .npy .npz",
    (
        "g.dott",
        "digraph {}",
    ): "its suffix is '.dott', expected one of .dot .gv .gml .csv .tsv .dag .dagitty .txt .npy .npz "
    "(did you mean '.dot'?);",
    ("g", "a,b"): "its suffix is '', expected one of .dot",
    ("garbage.npy", b"garbage"): "it is not a NumPy file of numbers",
    ("garbage.npz", b"PK garbage"): "it is not a NumPy file of numbers",
    ("empty.npy", b""): "it is not a NumPy file of numbers",
    (
        "two.npz",
        lambda file: np.savez(file, a=np.eye(2), b=np.eye(2)),
    ): "it holds 2 arrays (a, b), expected one 0/1 matrix",
    ("none.npz", np.savez): "it holds 0 arrays (), expected one 0/1 matrix",
    ("pickled.npy", pickled): "it is not a NumPy file of numbers: Object arrays cannot be loaded",
    ("weights.npy", lambda file: np.save(file, [[0, 0], [2, 0]])): "matrix holds 2 (first at row 1, column 0)",
    ("wide.npy", lambda file: np.save(file, np.zeros((2, 3)))): "matrix has shape 2 x 3, expected a square one",
    ("format.npz", lambda file: np.savez(file, format=5, shape=(2, 2))): "it is not a NumPy file of numbers",
    ("part.npz", lambda file: np.savez(file, format="csr", shape=(2, 2))): "it is not a NumPy file of numbers",
    ("broken.npz", broken_sparse): "matrix is not a valid sparse matrix",
}


@pytest.mark.parametrize(("name", "content"), BAD_FILES, ids=[name for name, _ in BAD_FILES])
def test_an_error_names_the_file(name, content, tmp_path):
    file = tmp_path / name
    if callable(content):
        content(file)
    else:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(GraphError, match="^" + re.escape(f"{str(file)!r}: {BAD_FILES[name, content]}")):
        Graph.read(file)


def test_a_missing_file_gets_the_closest_name(tmp_path):
    (tmp_path / "trial.dot").write_text("digraph {}")
    with pytest.raises(GraphError, match=r"trail\.dot': there is no such file \(did you mean 'trial\.dot'\?\)\.$"):
        Graph.read(tmp_path / "trail.dot")
    with pytest.raises(GraphError, match=r"trial\.dot': there is no such file\.$"):
        Graph.read(tmp_path / "no such folder" / "trial.dot")


def test_a_folder_is_no_file(tmp_path):
    for name in ("folder.dot", "folder.npy"):
        (tmp_path / name).mkdir()
        with pytest.raises(GraphError, match=f"{name}': it cannot be read: "):
            Graph.read(tmp_path / name)
    with pytest.raises(GraphError, match="it cannot be read: embedded null byte"):
        Graph.read("a\0b.dot")


@pytest.mark.parametrize("path", [5, None, b"g.dot", ["g.dot"]])
def test_a_path_is_a_string_or_a_path(path):
    with pytest.raises(GraphError, match=r"^path is .*, expected a string or a pathlib\.Path\.$"):
        Graph.read(path)
