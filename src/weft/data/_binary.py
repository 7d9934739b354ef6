"""The paper's binary data: a Bernoulli variable per node, its log-odds linear in the parents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor
from torch.nn.functional import logsigmoid

from .._arguments import check_whole
from .._errors import show
from ..graph import Structure
from ._network import LinearNetwork, draw_weights

__all__ = ["BinaryNetwork"]

_MOST_ANCESTORS = 20


class BinaryNetwork(LinearNetwork):
    """A known density of binary variables: x_i is 1 with probability sigmoid(Σ_j w_ij x_j + c_i).

    Args:
        graph: A `Graph`, or what `weft.Graph` reads; its nodes in any order.
        weights: Matrix w, dense or sparse; row i holds the weights of the parents of node i, columns in the order of
            ``graph.nodes``, zero off the edges.
        intercepts: Vector c, or one number for all variables.

    Examples:
        >>> from weft.data import BinaryNetwork
        >>> from weft.graph import every_other
        >>> truth = BinaryNetwork.draw(every_other(15), seed=0)
        >>> x = truth.sample(500, seed=1)
        >>> x.shape, truth.log_prob_terms(x).shape
        (torch.Size([500, 15]), torch.Size([500, 15]))
        >>> mean, error = truth.entropy_estimate(2000, seed=2)
        >>> abs(mean - truth.entropy()) < 5 * error
        True

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), appendix on
        synthetic data. https://arxiv.org/abs/2311.02221
    """

    _expected = "0 or 1"

    @classmethod
    def draw(cls, graph: Any, seed: int, *, intercepts: bool = True) -> Self:
        """Draw the weights of all edges and the intercepts from N(0, 1), as the paper does.

        Args:
            graph: A `Graph`, or what `weft.Graph` reads.
            seed: Seed of the draw.
            intercepts: Whether there are any. The paper's text has them, its code and its published data have not;
                the weights of a seed are the same either way.
        """
        check_whole("seed", seed, error=ValueError)
        graph = Structure.of(graph).dag()
        generator = np.random.default_rng(seed)
        weights = draw_weights(graph, generator)
        return cls(graph, weights, generator.standard_normal(len(graph)) if intercepts else 0.0)

    def entropy(self) -> float:
        """Return the entropy in nats, exactly.

        Each variable adds its entropy given its parents, summed over all values of its ancestors. A variable with more
        than 20 ancestors is refused; `entropy_estimate` is for any graph.
        """
        graph = self.graph
        with_ancestors = defaultdict(list)
        for i, name in enumerate(graph.nodes):
            ancestors = [graph.index(ancestor) for ancestor in graph.ancestors(name)]
            if len(ancestors) > _MOST_ANCESTORS:
                raise ValueError(
                    f"variable {show(name)} has {len(ancestors)} ancestors, and the exact entropy sums over all their "
                    f"values, for which {_MOST_ANCESTORS} are the most; call entropy_estimate(n, seed), which returns "
                    f"a mean and its standard error."
                )
            with_ancestors[tuple(sorted(ancestors, key=lambda node: (graph.levels[node], node)))].append(i)
        total = 0.0
        for ancestors_of, children in with_ancestors.items():
            columns = list(ancestors_of)
            weights = self.weights[columns][:, columns].toarray()
            states = np.ones(1)  # the probabilities of all values of the ancestors so far
            for place, node in enumerate(columns):
                on = expit(_all_scores(self.intercepts[node], weights[place, :place]))
                states = np.concatenate([states * (1 - on), states * on])
            for child, row in zip(children, self.weights[children][:, columns].toarray(), strict=True):
                total += float(states @ _bernoulli_entropy(_all_scores(self.intercepts[child], row)))
        return total

    def entropy_estimate(self, n: int, seed: int) -> tuple[float, float]:
        """Return an unbiased estimate of the entropy in nats, and its standard error, from n drawn rows.

        A row counts with the entropies of its variables given their parents, which vary less than its log-density.
        """
        check_whole("n", n, least=2, error=ValueError)
        check_whole("seed", seed, error=ValueError)
        found = np.concatenate([_bernoulli_entropy(self._score(rows)).sum(axis=1) for rows in self._draw_rows(n, seed)])
        return float(found.mean()), float(found.std(ddof=1) / np.sqrt(n))

    def _valid(self, x: Tensor) -> Tensor:
        return (x == 0) | (x == 1)

    def _draw_noise(self, generator: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        return generator.random(shape)

    def _answer(self, score: NDArray[np.float64], noise: NDArray[np.float64], nodes: NDArray[np.int64]) -> NDArray[Any]:
        values: NDArray[np.bool_] = noise < expit(score)
        return values

    def _terms(self, x: Tensor, score: Tensor) -> Tensor:
        return logsigmoid((2 * x - 1) * score)


def _all_scores(intercept: float, weights: Iterable[float]) -> NDArray[np.float64]:
    """Return intercept + Σ_k weights_k x_k for all 0/1 vectors x, the last entry of x varying slowest."""
    scores = np.array([intercept])
    for weight in weights:
        scores = np.concatenate([scores, scores + weight])
    return scores


def _bernoulli_entropy(score: NDArray[np.float64]) -> NDArray[np.float64]:
    size = np.abs(score)  # the entropy is even; so no term is a difference of large ones
    entropy: NDArray[np.float64] = np.log1p(np.exp(-size)) + size * expit(-size)
    return entropy
