"""The paper's Gaussian data: a normal variable per node, its mean linear in the parents."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from torch import Tensor

from .._arguments import check_whole
from .._errors import show
from ..graph import Structure
from ._network import LinearNetwork, draw_weights, read_vector

__all__ = ["LinearGaussian"]


class LinearGaussian(LinearNetwork):
    """A known density of continuous variables: x_i is normal with mean Σ_j w_ij x_j + c_i and standard deviation s_i.

    Args:
        graph: A `Graph`, or what `weft.Graph` reads; its nodes in any order.
        weights: Matrix w, dense or sparse; row i holds the weights of the parents of node i, columns in the order of
            ``graph.nodes``, zero off the edges.
        intercepts: Vector c, or one number for all variables.
        scales: Vector s of positive numbers, or one for all variables, as in the code of the paper.

    Examples:
        >>> import torch
        >>> from weft.data import LinearGaussian
        >>> truth = LinearGaussian([[0, 0], [1, 0]], weights=[[0, 0], [2.0, 0]], scales=[1.0, 0.5])
        >>> truth.covariance.tolist()
        [[1.0, 2.0], [2.0, 4.25]]
        >>> x = truth.sample(100, seed=0)
        >>> normal = torch.distributions.MultivariateNormal(truth.mean, truth.covariance)
        >>> torch.allclose(truth.log_prob(x), normal.log_prob(x.double()))
        True

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), appendix on
        synthetic data. https://arxiv.org/abs/2311.02221
    """

    scales: NDArray[np.float64]

    _expected = "a finite number"

    def __init__(self, graph: Any, weights: Any, intercepts: Any = 0.0, scales: Any = 1.0) -> None:
        super().__init__(graph, weights, intercepts)
        self.scales = read_vector("scales", scales, self.graph)
        for name, scale in zip(self.graph.nodes, self.scales.tolist(), strict=True):
            if scale <= 0:
                raise ValueError(f"scales has {scale:g} for {show(name)}, expected a number above 0.")

    @classmethod
    def draw(cls, graph: Any, seed: int, *, intercepts: bool = True) -> Self:
        """Draw weights and intercepts from N(0, 1), and the scales as absolute values of N(0, 1), as the paper does.

        Args:
            graph: A `Graph`, or what `weft.Graph` reads.
            seed: Seed of the draw.
            intercepts: Whether there are any; weights and scales of a seed are the same either way.
        """
        check_whole("seed", seed, error=ValueError)
        graph = Structure.of(graph).dag()
        generator = np.random.default_rng(seed)
        weights = draw_weights(graph, generator)
        scales = np.abs(generator.standard_normal(len(graph)))
        return cls(graph, weights, generator.standard_normal(len(graph)) if intercepts else 0.0, scales)

    @property
    def mean(self) -> Tensor:
        """The mean of every variable, (d,), in float64."""
        return torch.from_numpy(self._spread(self.intercepts[:, None])[:, 0])

    @property
    def covariance(self) -> Tensor:
        """The covariance of the variables, (d, d), in float64."""
        root = self._spread(np.diag(self.scales))
        return torch.from_numpy(root @ root.T)

    def entropy(self) -> float:
        """Return the differential entropy in nats, exactly: it depends on the scales alone."""
        return float(np.log(self.scales).sum()) + len(self.graph) * 0.5 * math.log(2 * math.pi * math.e)

    def _spread(self, source: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (I − w)⁻¹ times a matrix: what every variable gets of what enters at each."""
        order = np.argsort(self.graph.levels, kind="stable")
        own = np.eye(len(order)) - self.weights[order][:, order].toarray()
        spread = np.empty(source.shape)
        if len(order):
            spread[order] = solve_triangular(own, source[order], lower=True, unit_diagonal=True)
        return spread

    def _valid(self, x: Tensor) -> Tensor:
        return torch.isfinite(x)

    def _draw_noise(self, generator: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        return generator.standard_normal(shape)

    def _answer(self, score: NDArray[np.float64], noise: NDArray[np.float64], nodes: NDArray[np.int64]) -> NDArray[Any]:
        return score + self.scales[nodes, None] * noise

    def _terms(self, x: Tensor, score: Tensor) -> Tensor:
        scales = torch.from_numpy(self.scales)
        return -0.5 * ((x - score) / scales).square() - scales.log() - 0.5 * math.log(2 * math.pi)
