"""What the known densities share: every variable answers to a weighted sum of its parents."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._arguments import check_whole
from .._errors import shorten, show
from ..graph import Graph, Structure
from ._values import refuse_values

__all__ = ["LinearNetwork", "draw_weights", "read_vector"]

_ROWS = 1024
"""Rows computed at a time: what they need stays in the cache."""


class LinearNetwork(ABC):
    """A known density whose variables have the scores Σ_j w_ij x_j + c_i; a subclass says how x_i follows its score.

    Args:
        graph: A `Graph`, or what `weft.Graph` reads; its nodes in any order.
        weights: Matrix w, dense or sparse; row i holds the weights of the parents of node i, zero off the edges.
        intercepts: Vector c, or one number for all variables.
    """

    graph: Graph
    weights: sp.csr_array
    """Row i holds the weights of the parents of node i."""
    intercepts: NDArray[np.float64]

    def __init__(self, graph: Any, weights: Any, intercepts: Any = 0.0) -> None:
        self.graph = Structure.of(graph).dag()
        self.weights = _read_weights(self.graph, weights)
        self.intercepts = read_vector("intercepts", intercepts, self.graph)

    def sample(self, n: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Draw n rows (n, d), generation by generation; fewer rows of the same seed are the first of more."""
        check_whole("n", n, error=ValueError)
        check_whole("seed", seed, error=ValueError)
        if not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise ValueError(f"dtype is {show(dtype)}, expected a floating type such as torch.float32.")
        drawn = torch.empty(n, len(self.graph), dtype=dtype)
        start = 0
        for rows in self._draw_rows(n, seed):
            drawn[start : start + len(rows)] = torch.from_numpy(rows)
            start += len(rows)
        return drawn

    def log_prob_terms(self, x: Tensor) -> Tensor:
        """Return log p(x_i | its parents) for every variable, (…, d), in float64; no gradients."""
        nodes = self.graph.nodes
        if not isinstance(x, Tensor):
            raise ValueError(f"x is a {type(x).__name__}, expected a torch.Tensor; use torch.as_tensor(...).")  # noqa: TRY004
        if x.ndim == 0 or x.shape[-1] != len(nodes):
            got = x.shape[-1] if x.ndim else "a scalar"
            raise ValueError(f"expected {len(nodes)} columns ({shorten(nodes)}), got {got}.")
        rows = x.detach().cpu().to(torch.float64).reshape(math.prod(x.shape[:-1]), len(nodes))
        refuse_values(rows, self._valid(rows), nodes, lambda column: self._expected)
        scores = np.empty(rows.shape)
        for start in range(0, len(rows), _ROWS):
            scores[start : start + _ROWS] = self._score(rows[start : start + _ROWS].numpy())
        return self._terms(rows, torch.from_numpy(scores)).reshape(x.shape).to(x.device)

    def log_prob(self, x: Tensor) -> Tensor:
        """Return the log-density of each row, (…), in float64; no gradients."""
        return self.log_prob_terms(x).sum(dim=-1)

    def _draw_rows(self, n: int, seed: int) -> Iterator[NDArray[np.float64]]:
        generator = np.random.default_rng(seed)
        levels = self.graph.levels
        generations = [np.flatnonzero(levels == level) for level in range(levels.max(initial=-1) + 1)]
        parts = [(nodes, self.weights[nodes], self.intercepts[nodes, None]) for nodes in generations]
        for start in range(0, n, _ROWS):
            noise = self._draw_noise(generator, (min(_ROWS, n - start), len(levels)))
            x = np.zeros(noise.shape[::-1])  # a variable is a row, which a sparse product reads at once
            for nodes, weights, intercepts in parts:
                x[nodes] = self._answer(weights @ x + intercepts, noise[:, nodes].T, nodes)
            yield x.T

    def _score(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = (self.weights @ rows.T).T + self.intercepts
        return scores

    _expected: str

    @abstractmethod
    def _valid(self, x: Tensor) -> Tensor:
        """Tell for which values there is a density."""

    @abstractmethod
    def _draw_noise(self, generator: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Draw the noise of rows, row after row."""

    @abstractmethod
    def _answer(self, score: NDArray[np.float64], noise: NDArray[np.float64], nodes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values of some nodes, (nodes, rows)."""

    @abstractmethod
    def _terms(self, x: Tensor, score: Tensor) -> Tensor:
        """Return the log-densities of values, given their scores."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.graph!r})"


def draw_weights(graph: Graph, generator: np.random.Generator) -> sp.csr_array:
    """Draw a standard normal weight for every edge."""
    edges = graph.adjacency(sparse=True)
    return sp.csr_array((generator.standard_normal(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)


def read_vector(what: str, values: Any, graph: Graph) -> NDArray[np.float64]:
    """Read one finite number for every variable, or one for all."""
    read = _read_numbers(what, values, "numbers, one for each variable or one for all")
    if read.shape not in ((), (len(graph),)):
        raise ValueError(f"{what} has the shape {read.shape}, expected ({len(graph)},): {shorten(graph.nodes)}.")
    vector = np.broadcast_to(read, (len(graph),)).copy()
    wrong = np.flatnonzero(~np.isfinite(vector))
    if wrong.size:
        name = show(graph.nodes[wrong[0]])
        raise ValueError(f"{what} has {vector[wrong[0]]:g} for {name}, expected a finite number.")
    return vector


def _read_weights(graph: Graph, weights: Any) -> sp.csr_array:
    if hasattr(weights, "columns"):
        raise ValueError(
            "weights is a table, expected a matrix in the order of graph.nodes: "
            "pass table.loc[list(graph.nodes), list(graph.nodes)].to_numpy()."
        )
    if sp.issparse(weights):
        read = sp.csr_array(weights).astype(np.float64)
        read.sum_duplicates()
    else:
        dense = _read_numbers("weights", weights, "a matrix of numbers, dense or sparse")
        # A list without rows is how one writes the matrix of no variables.
        read = sp.csr_array(dense.reshape(0, 0) if dense.size == 0 and len(graph) == 0 else np.atleast_2d(dense))
    if read.shape != (len(graph), len(graph)):
        raise ValueError(
            f"weights has the shape {read.shape}, expected {(len(graph), len(graph))}: row i holds the weights of the "
            f"parents of node i, columns in the order of graph.nodes."
        )
    read.eliminate_zeros()
    read.sort_indices()
    _refuse(~np.isfinite(read.data), read, graph, "a finite number")
    allowed = _places(graph.adjacency(sparse=True))
    _refuse(
        ~np.isin(_places(read), allowed),
        read,
        graph,
        "0, as the graph has no such edge; row i holds the weights of the parents of node i, so pass weights.T where "
        "rows are parents",
    )
    return read


def _refuse(wrong: NDArray[np.bool_], weights: sp.csr_array, graph: Graph, expected: str) -> None:
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        child, parent = divmod(int(_places(weights)[place]), len(graph))
        edge = f"{graph.nodes[parent]} -> {graph.nodes[child]}"
        raise ValueError(f"weights has {weights.data[place]:g} for {edge}, expected {expected}.")


def _places(matrix: sp.csr_array) -> NDArray[np.int64]:
    """Number the stored entries of a square matrix row by row."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    places: NDArray[np.int64] = rows * matrix.shape[1] + matrix.indices
    return places


def _read_numbers(what: str, values: Any, expected: str) -> NDArray[np.float64]:
    try:
        read = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} is {show(values)}, expected {expected}.") from error
    if read.dtype.kind not in "iuf":
        raise ValueError(f"{what} is {show(values)}, expected {expected}.")
    return np.asarray(read, dtype=np.float64)
