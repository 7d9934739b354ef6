"""The structures, methods and ways to run that every promise of the room is tested over, and what measures them."""

from functools import cache

import numpy as np
import scipy.sparse as sp
import torch
from torch.func import jacrev, vmap

import weft
from weft.graph import Structure
from weft.masks import FACTORIZERS

METHODS = tuple(FACTORIZERS)
EXECUTIONS = ("dense", "sparse")
DTYPES = (torch.float32, torch.float64)
DEVICES = ("cpu", *(["cuda"] if torch.cuda.is_available() else []))


def shuffled(graph, seed):
    """Give a graph its nodes in another order than the topological one."""
    order = np.random.default_rng(seed).permutation(len(graph))
    names = [graph.nodes[i] for i in order]
    return weft.Graph.from_adjacency(graph.adjacency()[np.ix_(order, order)], names=names, orientation="row_is_child")


def grid(height, width):
    """Let each cell depend on the ones above and to the left."""
    cells = [(i, j) for i in range(height) for j in range(width)]
    return weft.Graph.from_edges(
        [((i - di, j - dj), (i, j)) for i, j in cells for di, dj in [(1, 0), (0, 1)] if i >= di and j >= dj],
        nodes=cells,
    )


GRAPHS = {
    "chain": weft.graph.chain(6),
    "chain shuffled": shuffled(weft.graph.chain(7), seed=1),
    "star": weft.graph.star(6),
    "grid": grid(3, 3),
    "random DAG": shuffled(weft.graph.random_dag(9, parents=2.0, seed=1), seed=2),
    "random DAG with hubs": shuffled(weft.graph.random_dag(10, parents=2.0, hubs=1.2, seed=3), seed=4),
    "full": weft.graph.full(5),
    "full shuffled": shuffled(weft.graph.full(5), seed=5),
    "one node": weft.graph.chain(1),
    "no edges": weft.Graph.from_edges([], nodes=["a", "b", "c"]),
    "no nodes": weft.graph.chain(0),
    "duplicate rows": weft.Graph.from_parents({c: ["p", "q"] for c in "abcd"}, nodes=[*"apbqcd"]),
}
"""Acyclic structures over one set of variables."""

MATRICES = {
    "wide": [[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1]],
    "tall": [[1, 0], [0, 1], [1, 1], [0, 0], [1, 1], [0, 1]],
    "cyclic": [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "all ones": [[1, 1, 1], [1, 1, 1]],
    "all zeros": [[0, 0, 0], [0, 0, 0]],
    "no inputs": np.zeros((3, 0), dtype=bool),
    "no outputs": np.zeros((0, 3), dtype=bool),
}
"""Structures whose rows and columns are different things, or that have cycles."""

STRUCTURES = {**GRAPHS, **MATRICES}

FULL = {"full", "full shuffled", "one node", "no nodes"}
"""The structures that MADE masks."""


OPTIONS = {
    "outputs": {"outputs": 2},
    "outputs list": {"outputs": [1, 3, 2, 1, 2, 1, 1, 2, 4]},
    "inputs": {"inputs": 2},
    "inputs list": {"inputs": [2, 1, 3, 1, 1, 2, 1, 1, 2]},
    "inputs and outputs": {"inputs": [2, 1, 3, 1, 1, 2, 1, 1, 2], "outputs": 3},
    "context": {"context": 2},
    "residual": {"residual": True},
    "no bias": {"bias": False},
    "all": {"inputs": 2, "outputs": 2, "context": 1, "residual": True, "bias": False},
}
"""The ways to make a network of "random DAG"."""


class Rolled(weft.masks.Greedy):
    """Greedy with the units of its second hidden layer moved on by one, so that some may not read their own number."""

    name = "rolled"

    def solve(self, structure, widths):
        first, second, last = super().solve(structure, widths).masks
        order = np.roll(np.arange(second.shape[0]), 1)
        masks = (first, second[order], sp.csr_array(last.tocsc()[:, order].tocsr()))
        for mask in masks:
            mask.sort_indices()
        return weft.masks.Solution(masks)


def rolled_network(execution, **options):
    """Make a residual network of which some units add the one below and others may not."""
    torch.manual_seed(0)
    net = weft.StrNN(
        GRAPHS["random DAG"],
        (40, 40),
        factorization=Rolled(),
        execution=execution,
        residual=True,
        **{"dtype": torch.float64, **options},
    )
    own = net.expanded_masks()[1].diagonal()
    assert own.any()
    assert not own.all()
    return net


def made_for(method, name):
    return not method.startswith("made") or name in FULL


def pairs(structures):
    """List the (method, structure) pairs that exist, for parametrize."""
    return [(method, name) for method in METHODS for name in structures if made_for(method, name)]


def matrix_of(name):
    return Structure.of(STRUCTURES[name]).matrix.toarray()


@cache
def factorization_of(method, name, context=False):
    """Factorize once for all tests: some methods solve integer programmes."""
    structure = Structure.of(STRUCTURES[name])
    return weft.factorize(structure.with_context() if context else structure, widths="auto", method=method)


def network(method="greedy", name="random DAG", seed=0, **options):
    """Make a network of a named structure; float64 unless told."""
    torch.manual_seed(seed)
    factorization = factorization_of(method, name, bool(options.get("context")))
    return weft.StrNN(STRUCTURES[name], factorization=factorization, **{"dtype": torch.float64, **options})


def inputs_of(net, *lead, seed=0, scale=1.0):
    """Draw inputs, and a context where the network has one, of the network's own type."""
    generator = torch.Generator().manual_seed(seed)
    weight = net.layers[0].weight
    drawn = [
        scale * torch.randn(*lead, width, generator=generator, dtype=torch.float64).to(weight)
        for width in (sum(net.input_sizes), net.context)
    ]
    return tuple(drawn) if net.context else (drawn[0],)


def jacobians(net, x, *context):
    """Return the Jacobian (rows, flat outputs, columns) of each row with respect to x."""

    def of_row(x, *context):
        return net(x, *context).flatten()

    return vmap(jacrev(of_row))(x, *context).detach()


def blocks(net, matrix):
    """Spread a matrix over variables to one over flat outputs and columns."""
    return np.repeat(np.repeat(matrix, net.output_sizes, axis=0), net.input_sizes, axis=1).astype(bool)


def read_all(net):
    """Return all weights and biases of a network in the common language of the executions."""
    pieces = [piece for layer in net.layers for piece in layer.read() if piece is not None]
    return [*pieces, *net.activations.parameters()]
