"""DOT, dagitty, GML and tables of edges, as people and programs write them."""

import csv
import io
import re

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft import Graph, GraphError, GraphWarning

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=75)
DAGS = st.from_type(nx.DiGraph)

# Writers of this file's own, so that readers are not only checked against the writers of the library.


def quote(name):
    return '"' + str(name).replace("\\", "\\\\").replace('"', '\\"') + '"'


def dot(digraph, opening="digraph"):
    nodes = "".join(f'{quote(name)} [shape=box, label="a]b"]; ' for name in digraph)
    return f"{opening} {{ {nodes}" + "\n".join(f"{quote(a)}->{quote(b)}" for a, b in digraph.edges) + "}"


def dagitty(digraph):
    nodes = "".join(f'{quote(name)} [exposure,pos="0.1,-2.5"]\n' for name in digraph)
    return 'dag {\nbb="0,0,1,1"\n' + nodes + "\n".join(f"{quote(b)} <- {quote(a)}" for a, b in digraph.edges) + "\n}"


def gml(digraph):
    return "\n".join(nx.generate_gml(nx.relabel_nodes(digraph, {name: str(name) for name in digraph})))


@pytest.mark.parametrize("write", [dot, dagitty, gml])
@SEEDED
@given(digraph=DAGS)
def test_what_is_written_is_read(write, digraph):
    graph = Graph.from_text(write(digraph))
    assert graph.nodes == tuple(map(str, digraph))
    assert set(graph.edges) == {(str(parent), str(child)) for parent, child in digraph.edges}


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5).filter(
    lambda cell: cell == cell.strip()
)
HEADERS = [(), ("parent", "child"), ("from", "to"), ("Source", "Target"), ("CAUSE", "Effect")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header", HEADERS, ids=" ".join)
@settings(SEEDED, max_examples=30)
@given(digraph=DAGS, names=st.lists(CELLS, min_size=9, max_size=9, unique=True), backwards=st.booleans())
def test_every_table_is_read(separator, header, digraph, names, backwards):
    names = dict(zip(digraph, names, strict=False))
    step = -1 if header and backwards else 1  # without a header the parent comes first
    file = io.StringIO(newline="")
    table = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL if digraph else csv.QUOTE_MINIMAL)
    file.write(separator.join(header[::step]) + "\n")
    table.writerows((names[name], "")[::step] for name in digraph)
    table.writerows((names[parent], names[child])[::step] for parent, child in digraph.edges)
    if not file.getvalue().strip():
        return
    graph = Graph.from_text(file.getvalue())
    assert graph.nodes == tuple(names.values())
    assert set(graph.edges) == {(names[parent], names[child]) for parent, child in digraph.edges}


AB = (("a", "b"),)
ABC = (("a", "b"), ("b", "c"))
TEXTS = {
    # DOT
    "digraph { a -> b -> c }": ABC,
    "digraph{a->b->c}": ABC,
    "DiGraph G { b <- a; b -> c; }": ABC,
    'strict digraph "my graph" { a -> b, b -> c }': ABC,
    "\ufeff  // a comment\n# another\n/* and {\n another */ digraph { a -> b // -> x\n -> c /* -> y */ }": ABC,
    'digraph { a -> b [weight=2, label="x -> y]"] [color=red]; b -> c }': ABC,
    "digraph { graph [rankdir=LR]; node [shape=box] edge [color=red]; a -> b -> c }": ABC,
    'digraph { rankdir = LR; size="1,1"; a -> b -> c }': ABC,
    "digraph { a:n -> b:port:se; b -> c:w }": ABC,
    "digraph { a -> { b } -> c }": ABC,
    "digraph { subgraph cluster_0 { a -> b } subgraph { b -> c } }": ABC,
    "digraph { a -> {b c} }": (("a", "b"), ("a", "c")),
    "digraph { {a b} -> c <- subgraph d { d } }": (("a", "c"), ("b", "c"), ("d", "c")),
    "digraph { node -> edge }": (("node", "edge"),),
    "digraph { subgraph -> graph }": (("subgraph", "graph"),),
    "digraph { é -> π_1 -> 2.5 -> -1 -> .5 }": (("é", "π_1"), ("π_1", "2.5"), ("2.5", "-1"), ("-1", ".5")),
    'digraph { "a \\"quoted\\" name" -> "two\nlines" -> "joined\\\nlines" -> "back\\\\slash\\n" }': (
        ('a "quoted" name', "two\nlines"),
        ("two\nlines", "joinedlines"),
        ("joinedlines", "back\\slash\\n"),
    ),
    "digraph {\r\n  a -> b;\r\n  b -> c\r\n}\r\n": ABC,
    "digraph { a }": (),
    "digraph {}": (),
    # dagitty
    "dag { a -> b -> c }": ABC,
    'dag {\nbb="0,0,1,1"\na [exposure,pos="-1.2,0.3"]\nc [outcome]\na -> b\nb -> c [pos="0,1"]\n}\n': ABC,
    "dag G { a -> { b } b -> c }": ABC,
    # GML
    'graph [ directed 1 node [ id 0 label "a" ] node [ id 7 label "b" ] edge [ source 0 target 7 ] ]': AB,
    'Creator "x"\nVersion 1\ngraph\n[\n directed 1 node [ id 5 label "a" ]\n node [ id 3 label "b" ]\n'
    ' edge [ source 5 target 3 label "an edge" ] ]': AB,
    "# a comment\ngraph [ directed 1 node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]": (("0", "1"),),
    'graph [ directed 1 node [ id 0 label "a" ] node [ id 1 ] edge [ source 0 target 1 ] ]': (("a", "1"),),
    'graph [ directed 1 multigraph 1 node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] '
    "edge [ source 0 target 1 ] ]": AB,
    'graph [ directed 1 node [ id 0 label "&#233; &amp; &quot;b&quot;" ] ]': (),
    # tables
    "a,b\nb,c": ABC,
    "a;b\nb;c\n": ABC,
    "a\tb\nb\tc\n": ABC,
    "\ufeffa,b\r\n\r\nb,c\r\n": ABC,
    " a , b \n b,  c,\n,,\n": ABC,
    '"a","b"\n"b",c': ABC,
    "Parent,Child\na,b\nb,c": ABC,
    "to;from\nb;a\nc;b": ABC,
    "cause\teffect\tweight\na\tb\t0.5\nb\tc\t\n": ABC,
    "id,target,note,source\n1,b,,a\n2,c,x,b\n": ABC,
    "source,target\na,b\nalone,\nb,c\n": ABC,
    "source,target\na,b\nalone\nb,c\n": ABC,
    '"a -> b","x, y"\n"#1","x, y"\n': (("a -> b", "x, y"), ("#1", "x, y")),
    "parent;child\n1,5;2\n": (("1,5", "2"),),
    "parent,child\n": (),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_format_is_told_and_read(text):
    assert set(Graph.from_text(text).edges) == set(TEXTS[text])


def test_lone_names_are_nodes():
    for text in ("digraph { b; a -> c }", "b,\na,c", "parent,child\nb,\na,c", "child,parent\nb\nc,a"):
        assert set(Graph.from_text(text).nodes) == {"a", "b", "c"}


def test_a_latent_node_is_a_node_with_a_warning():
    with pytest.warns(GraphWarning, match="the text marks u, v w as latent") as caught:
        graph = Graph.from_text('dag { u [latent,pos="1,2"] "v w" [unobserved] a [pos="latent,1"] u -> a; "v w" -> a }')
    assert caught[0].filename == __file__
    assert graph.edges == (("u", "a"), ("v w", "a"))


FORMATS = "expected DOT (`digraph { a -> b }`), dagitty (`dag { a -> b }`), GML (`graph [ directed 1 ... ]`) or a table"
BAD_TEXTS = {
    "": f"the text is empty, {FORMATS}",
    " \n\t": f"the text is empty, {FORMATS}",
    "hello world": f"cannot tell the format of a text that begins 'hello world', {FORMATS}",
    "\n\n  a -> b\n": f"cannot tell the format of a text that begins 'a -> b', {FORMATS}",
    "a -> b, c": "cannot tell the format of a text that begins 'a -> b, c'",
    "trial.dot": "cannot tell the format of a text that begins 'trial.dot', expected",
    "a\nb": "cannot tell the format",
    "bn { a -> b }": "cannot tell the format of a text that begins 'bn { a -> b }'",
    "dag a -> b": "cannot tell the format of a text that begins 'dag a -> b'",
    # DOT and dagitty
    "graph { a -- b }": "line 1: `graph` is undirected, expected `digraph {` or `dag {` with edges `a -> b`.",
    "digraph {\n a -- b }": "line 2: `--` is an edge without a direction, expected `->` or `<-`.",
    "dag {\n\n a <-> b }": "line 3: `<->` stands for a hidden common cause, expected it as a node of its own: "
    "`u -> a; u -> b` instead of `a <-> b`.",
    "pdag { a -- b }": "line 1: `pdag` has edges without a direction, expected a `dag`: direct each of its edges.",
    "mag { a <-> b }": "line 1: `mag` has edges without a direction",
    "PAG { a -> b }": "line 1: `PAG` has edges without a direction",
    "dag { a @-> b }": "line 1: met '@'; put a name with other signs than letters, digits, `_` and `.` in quotes.",
    "digraph { my-node }": "line 1: met '-'; put a name with other signs",
    "digraph my-graph { a -> b }": "line 1: met '-'; put a name with other signs",
    "digraph { <b>a</b> -> c }": "line 1: met '<'; put a name",
    "digraph { a -> b": "line 1: the text ends before the closing brace `}`.",
    "digraph { a -> }": "line 1: met '}', expected the name of a node.",
    "digraph { -> a }": "line 1: met '->', expected the name of a node.",
    "digraph { a -> b } c": "line 1: met 'c', expected nothing after the closing brace.",
    "digraph {{a} -> b": "line 1: the text ends before the closing brace",
    "digraph { x = }": "line 1: met '}', expected a value for 'x'.",
    "digraph { a: }": "line 1: met '}', expected a port.",
    'digraph { a -> "b }': "line 1: a quoted name is not closed.",
    "digraph { a [b }": "line 1: an attribute list `[` is not closed.",
    "digraph {\n/* a }": "line 2: a comment `/*` is not closed.",
    "digraph " + "{" * 200: "line 1: groups are nested more than 100 deep.",
    "digraph { a -> b -> a }": "cycle: a -> b -> a. A Graph must be acyclic; remove one of these edges.",
    # GML
    'graph [ node [ id 0 label "a" ] ]': "the GML graph is undirected, expected `directed 1` in its graph [ ... ]",
    "graph [ directed 1 node [": "the GML cannot be read: expected ']', found EOF",
    "graph [ directed 1 edge [ source 0 target 1 ] ]": "the GML cannot be read: edge #0 has undefined source 0",
    'graph [ directed 1 node [ label "a" ] ]': "the GML cannot be read: node #0 has no 'id' attribute",
    'graph [ directed 1 node [ id 0 label "a" ] node [ id 1 label "a" ] ]': "nodes names 'a' twice",
    "graph [ ] graph 5.": "the GML cannot be read",
    # tables
    "a,b,c\nb,c,d": "line 1: got 3 columns, expected a parent and a child; name the two in a header.",
    "0,1,0\n0,0,1\n0,0,0": "line 1: got 3 columns",
    "parent,child\na,b\na,b,0.5": "line 3: got 3 columns, expected the 2 of the header.",
    'a,"b': "line 1: unexpected end of data.",
    'a,"b"c': "line 1: ',' expected after '\"'.",
    "a,b\n# c,d": "the line '# c,d' begins with `#`, but a table of edges has no comments; remove it, or put "
    "the name in quotes.",
    "a,b\nb,a": "cycle: a -> b -> a",
}


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_bad_text_is_refused(text):
    with pytest.raises(GraphError, match=f"^{re.escape(BAD_TEXTS[text])}"):
        Graph.from_text(text)


@pytest.mark.parametrize("text", [5, None, b"digraph { a -> b }", ["a,b"]])
def test_text_is_a_string(text):
    with pytest.raises(GraphError, match=r"^text is a .*, expected a string; for a file call Graph\.read\(path\)\.$"):
        Graph.from_text(text)


WORDS = (
    "digraph graph dag strict subgraph node edge id label source target directed parent child latent a b é 0 1 5. 1e999"
)
SIGNS = "{ } [ ] -> <- -- <-> \" \\ , ; = : # // /* */ ' - &# &amp; \t \n \r \0"
SCRAPS = [*WORDS.split(" "), *SIGNS.split(" "), "graph [ directed 1 node [ id 0 label"]


@settings(SEEDED, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(SCRAPS), max_size=25), st.sampled_from(["", " "]))
def test_any_text_is_read_or_refused(scraps, between):
    try:
        graph = Graph.from_text(between.join(scraps))
    except (GraphError, GraphWarning):
        return
    assert set(graph.nodes) >= {name for edge in graph.edges for name in edge}


@pytest.mark.parametrize("text", ["\n" * 10**6 + "x", "graph" + " " * 10**6 + "x", "a" * 10**6, '"' * (10**6 + 1)])
def test_a_long_text_is_refused_in_one_pass(text):
    with pytest.raises(GraphError, match=r"^cannot tell the format"):
        Graph.from_text(text)


@pytest.mark.parametrize(
    ("direction", "message"),
    [
        ("both", "`dir=both` stands for a hidden common cause"),
        ("none", "`dir=none` is an edge without a direction"),
        ("back", "`dir=back` turns the edge around, expected `b -> a`"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "digraph {{ a;\na -> b [dir={}] }}",
        'digraph {{ a;\na -> b [label="x dir=forward", "dir" = "{}"] }}',
        "digraph {{ a;\na -> b [color=red][weight=2 dir={}] }}",
        "digraph {{ a;\nedge [dir={}]; a -> b }}",
    ],
)
def test_attributes_may_not_turn_an_edge(text, direction, message):
    with pytest.raises(GraphError, match=f"^line 2: {message}"):
        Graph.from_text(text.format(direction))


@pytest.mark.parametrize(
    "text",
    [
        "digraph { a -> b [dir=forward] }",
        'digraph { a -> b [label="dir=back"] }',
        'digraph { a -> b [label= "dir=back", xdir=back] }',
        "digraph { node [dir=back]; a [dir=none]; a -> b }",
    ],
)
def test_other_attributes_are_passed_over(text):
    assert Graph.from_text(text).edges == (("a", "b"),)
