"""StrNN: a network whose Jacobian is exactly zero wherever the structure is."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, cast, overload

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from .._arguments import check_whole
from .._errors import FactorizationError, shorten, show, suggest
from ..graph import Structure, StructureLike
from ..masks import Factorization, Factorizer, factorize
from ..masks._products import refuse_dense
from ._activations import make_activation
from ._checks import check_columns, check_context, check_dtype, read_device
from ._cost import cheaper_execution
from ._fixed import Fixed
from ._layers import BlockLinear, MaskedLinear, Skip, StructuredLinear

__all__ = ["StrNN"]

EXECUTIONS = ("auto", "dense", "sparse")
HIDDEN = (128, 128)

MOST = 2**28
"""Inputs or outputs of a variable, and columns of context, that are not a mistake."""


class StrNN(Fixed):
    """A multi-layer network in which output i depends on input j only where the structure says so.

    The structure is factorized into one mask per layer, so that the dependence holds for every weight, not only after
    training. Sparse execution stores and computes only what the masks keep; dense execution multiplies full weights by
    the masks. Both compute the same function: `to_execution` converts.

    Args:
        structure: A `Graph`, a `networkx.DiGraph`, or a 0/1 matrix whose row i marks what output i may depend on; it
            may be rectangular, cyclic or empty.
        hidden: Units of each hidden layer, ``()`` for a masked linear map, or ``"auto"`` for wide enough.
        outputs: Outputs per variable, or one count per variable: the network then returns them flat, and `split` gives
            the pieces.
        inputs: Inputs per variable, or one count per variable; columns of one variable stand together.
        context: Further inputs, given to `forward` apart, which every output may use.
        activation: A name such as ``"relu"``, or a module that treats each unit alone.
        residual: Whether a hidden unit adds the unit of the same number below, wherever the mask already reads it.
            Needs layers of equal widths.
        bias: Whether units and outputs have biases.
        factorization: A method of `weft.factorize`, a `Factorizer`, or a finished `Factorization`.
        execution: ``"dense"``, ``"sparse"``, or ``"auto"``: the cheaper by the rule in `weft.nn.cheaper_execution`.
        device: Device of the parameters.
        dtype: Type of the parameters.

    Examples:
        >>> import torch, weft
        >>> g = weft.Graph.from_edges([("age", "dose"), ("dose", "recovery")])
        >>> net = weft.StrNN(g, hidden=(32, 32), outputs=2)
        >>> net(torch.randn(10, 3)).shape
        torch.Size([10, 3, 2])
        >>> net.jacobian_structure().astype(int).tolist()
        [[0, 0, 0], [1, 0, 0], [0, 1, 0]]

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023).
        https://arxiv.org/abs/2311.02221
    """

    def __init__(
        self,
        structure: StructureLike,
        hidden: Sequence[int] | str = HIDDEN,
        outputs: int | Sequence[int] = 1,
        activation: str | nn.Module | Callable[[], nn.Module] = "relu",
        factorization: str | Factorizer | Factorization = "greedy",
        execution: Literal["auto", "dense", "sparse"] = "auto",
        context: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        inputs: int | Sequence[int] = 1,
        residual: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        device = read_device(device)
        check_dtype(dtype)
        for what, flag in (("residual", residual), ("bias", bias)):
            if not isinstance(flag, bool):
                raise ValueError(f"{what} is {show(flag)}, expected True or False.")  # noqa: TRY004
        read = Structure.of(structure)
        self.structure = read
        self.context = check_whole("context", context, 0, MOST, ValueError)
        self.output_sizes = _per_variable(outputs, read.outputs, "outputs")
        self.input_sizes = _per_variable(inputs, read.inputs, "inputs")
        self._stacked = None if isinstance(outputs, Iterable) else int(outputs)
        whole = read.with_context() if self.context else read
        self.factorization = _factorization(whole, hidden, factorization)
        self.residual = residual
        masks = self.expanded_masks()
        if not isinstance(execution, str) or execution not in EXECUTIONS:
            raise ValueError(
                f"unknown execution {show(execution)}{suggest(execution, EXECUTIONS)}. Valid: {shorten(EXECUTIONS)}."
            )
        self.execution = cheaper_execution(masks, device) if execution == "auto" else execution

        layers: list[StructuredLinear] = []
        below = np.arange(masks[0].shape[1])
        for mask in masks:
            if self.execution == "dense":
                layers.append(MaskedLinear(mask, bias=bias, device=device, dtype=dtype))
            else:
                layers.append(BlockLinear(mask, below, bias=bias, device=device, dtype=dtype))
            below = layers[-1].order
        self.layers = cast("Sequence[StructuredLinear]", nn.ModuleList(layers))
        self.activations = nn.ModuleList(make_activation(activation).to(device, dtype) for _ in masks[1:])
        if residual:
            self.skips = nn.ModuleList(self._skips(masks, device))
        self._restore: Tensor | None
        tidy = np.array_equal(below, np.arange(len(below)))
        self.fix("_restore", None if tidy else np.argsort(below), device)
        self.reset_parameters()

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Evaluate the network.

        Args:
            x: Inputs (…, columns), variables in the order of the structure.
            context: Context (…, context) with the same leading dimensions, where the network has one.

        Returns:
            Outputs (…, variables), or (…, variables, k) for ``outputs=k``, or (…, total) for a list of outputs.
        """
        x = self._read_input(x, context)
        lead = x.shape[:-1]
        h = x.reshape(lead.numel(), x.shape[-1]).t()  # the layers work on (features, batch)
        for number, layer in enumerate(self.layers):
            below, h = h, layer(h)
            if number < len(self.activations):
                h = self.activations[number](h)
                if self.residual and number > 0:
                    h = h + self.skips[number - 1](below)
        if self._restore is not None:
            h = h.index_select(0, self._restore)
        return self.shape_outputs(h.t().reshape(*lead, h.shape[0]).contiguous())

    def shape_outputs(self, flat: Tensor) -> Tensor:
        """Give flat outputs (…, total), of all variables or of some, the shape that `forward` promises."""
        if self._stacked is None or self._stacked == 1:
            return flat
        return flat.reshape(*flat.shape[:-1], flat.shape[-1] // self._stacked, self._stacked)

    def split(self, y: Tensor) -> tuple[Tensor, ...]:
        """Cut the outputs of a network made with a list of output counts into one piece per variable.

        Examples:
            >>> import torch, weft
            >>> net = weft.StrNN(weft.graph.chain(3), outputs=[1, 2, 3])
            >>> [piece.shape[-1] for piece in net.split(net(torch.zeros(5, 3)))]
            [1, 2, 3]
        """
        variables = len(self.output_sizes)
        if self._stacked is None:
            last: tuple[int, ...] = (sum(self.output_sizes),)
        else:
            last = (variables,) if self._stacked == 1 else (variables, self._stacked)
        if not isinstance(y, Tensor) or y.shape[-len(last) :] != last:
            got = f"shape {tuple(y.shape)}" if isinstance(y, Tensor) else f"a {type(y).__name__}"
            raise ValueError(
                f"expected the outputs of this network, of shape (…, {', '.join(map(str, last))}), got {got}."
            )
        if self._stacked is not None:
            return (y.unsqueeze(-1) if self._stacked == 1 else y).unbind(-2)
        return tuple(y.split_with_sizes(self.output_sizes, dim=-1))

    @property
    def hidden(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return self.factorization.widths

    def expanded_masks(self) -> list[sp.csr_array]:
        """Return the masks with a column per input (then the context) and a row per output, inputs first."""
        masks = list(self.factorization.masks_sparse)
        sizes = (*self.input_sizes, self.context) if self.context else self.input_sizes
        masks[0] = sp.csr_array(masks[0].tocsc()[:, np.repeat(np.arange(len(sizes)), sizes)].tocsr())
        masks[-1] = sp.csr_array(masks[-1][np.repeat(np.arange(len(self.output_sizes)), self.output_sizes)])
        for mask in masks:
            mask.sort_indices()
        return masks

    @overload
    def jacobian_structure(self, sparse: Literal[False] = ...) -> np.ndarray: ...
    @overload
    def jacobian_structure(self, sparse: Literal[True]) -> sp.csr_array: ...
    def jacobian_structure(self, sparse: bool = False) -> np.ndarray | sp.csr_array:  # noqa: FBT001, FBT002
        """Return which variable's outputs depend on which variable's inputs, computed from the masks alone.

        Args:
            sparse: Whether to return a CSR array instead of a dense one, which must not be too large to hold.

        Examples:
            >>> import weft
            >>> bool((weft.StrNN(weft.graph.full(4)).jacobian_structure() == weft.graph.full(4).adjacency()).all())
            True
        """
        reached = sp.csr_array(self.factorization.reach[:, : self.structure.shape[1]])  # the context comes last
        if sparse:
            return reached
        refuse_dense(self.structure.shape, "the structure of the Jacobian", "jacobian_structure(sparse=True)")
        return np.asarray(reached.toarray())

    def get_extra_state(self) -> Tensor:
        """Return a digest of the masks, which goes with the weights into the state dict."""
        digest = hashlib.sha256()
        for mask, layer in zip(self.expanded_masks(), self.layers, strict=True):
            for part in (mask.shape, mask.indptr, mask.indices, layer.order):
                digest.update(np.asarray(part, dtype=np.int64).tobytes())
        return torch.frombuffer(bytearray(digest.digest()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Refuse weights of a network with other masks, which could fit in number and mean something else."""
        if not torch.equal(state.cpu(), self.get_extra_state()):
            raise ValueError(
                f"these weights are of another structure, factorization or execution than this network, StrNN("
                f"{self.extra_repr()}). Load them into a network made as theirs was; to_execution converts it."
            )

    def to_execution(self, execution: Literal["dense", "sparse"]) -> StrNN:
        """Return a copy of the network that computes the same function by the other execution.

        Examples:
            >>> import torch, weft
            >>> net = weft.StrNN(weft.graph.chain(4), execution="dense")
            >>> x = torch.randn(7, 4)
            >>> torch.allclose(net(x), net.to_execution("sparse")(x), atol=1e-5)
            True
        """
        first = self.layers[0]
        device = first.weight.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):  # no draw is needed, none may show
            out = StrNN(
                self.structure,
                outputs=self.output_sizes if self._stacked is None else self._stacked,
                activation=self.activations[0] if len(self.activations) else "identity",
                factorization=self.factorization,
                execution=execution,
                context=self.context,
                device=device,
                dtype=first.weight.dtype,
                inputs=self.input_sizes,
                residual=self.residual,
                bias=first.bias is not None,
            )
        out.activations = copy.deepcopy(self.activations)
        for mine, other in zip(self.layers, out.layers, strict=True):
            other.write(*mine.read())
            for parameter, like in zip(other.parameters(), mine.parameters(), strict=True):
                parameter.requires_grad_(like.requires_grad)
        return out.train(self.training)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw weights and biases uniformly within one over the root of the number of inputs that the mask keeps.

        It is PyTorch's own rule for a linear layer, with the fan-in that a unit really has: by the width of the layer a
        deep sparse network would start dead. The same seed gives the same function in either execution. What an
        activation has learned stays.
        """
        for mask, layer in zip(self.expanded_masks(), self.layers, strict=True):
            weight = layer.weight
            fan_in = torch.from_numpy(np.diff(mask.indptr)).to(weight.device)
            bound = torch.where(fan_in > 0, fan_in.clamp(min=1).to(weight.dtype).rsqrt(), 0.0)
            drawn = torch.empty(mask.nnz, device=weight.device, dtype=weight.dtype).uniform_(-1, 1)
            shift = torch.empty(mask.shape[0], device=weight.device, dtype=weight.dtype).uniform_(-1, 1)
            layer.write(drawn * bound.repeat_interleave(fan_in, output_size=mask.nnz), shift * bound)

    def extra_repr(self) -> str:
        """Show the structure, how it was factorized and what it costs."""
        rows, columns = self.structure.shape
        kept = sum(int(mask.nnz) for mask in self.expanded_masks())
        context = f", context={self.context}" if self.context else ""
        return (
            f"{columns} variables -> {rows} variables, {self.structure.edges_count} edges{context}, "
            f"hidden={self.hidden}, factorization={self.factorization.method!r}, execution={self.execution!r}, "
            f"{kept:,} weights"
        )

    def _read_input(self, x: Tensor, context: Tensor | None) -> Tensor:
        """Check the inputs against the structure and put the context behind them."""
        like = self.layers[0].weight
        check_columns(x, sum(self.input_sizes), self._column_names, like)
        check_context(context, self.context, tuple(x.shape[:-1]), like)
        return x if context is None else torch.cat([x, context], dim=-1)

    def _column_names(self) -> str:
        names = [
            str(name) if size == 1 else f"{name} x {size}"
            for name, size in zip(self.structure.inputs, self.input_sizes, strict=True)
        ]
        return shorten(names)

    def _skips(self, masks: list[sp.csr_array], device: torch.device | str | None) -> list[Skip]:
        if len(set(self.hidden)) > 1 or len(self.hidden) < 2:
            raise ValueError(
                f"residual=True needs at least two hidden layers of equal width, got hidden={self.hidden}."
            )
        return [
            Skip(masks[number], self.layers[number].order, self.layers[number - 1].order, device)
            for number in range(1, len(self.hidden))
        ]


def _factorization(
    structure: Structure, hidden: Sequence[int] | str, factorization: str | Factorizer | Factorization
) -> Factorization:
    """Factorize, or check that a finished factorization is of this very structure and these widths."""
    if not isinstance(factorization, Factorization):
        return factorize(structure, hidden, factorization)
    if not factorization.structure.same_as(structure):
        of, edges = factorization.structure.shape, factorization.structure.edges_count
        raise FactorizationError(
            f"the factorization is of a structure of shape {of} with {edges} edges, expected shape {structure.shape} "
            f"with {structure.edges_count} edges. Factorize the structure of this network (with context, "
            f"weft.graph.Structure.of(structure).with_context())."
        )
    if hidden is not HIDDEN and (not isinstance(hidden, Iterable) or tuple(hidden) != factorization.widths):
        raise FactorizationError(
            f"hidden={show(hidden)}, but the factorization has the widths {factorization.widths}; leave hidden out."
        )
    return factorization


def _per_variable(sizes: int | Sequence[int], names: Sequence[object], what: str) -> tuple[int, ...]:
    """Return one count per variable."""
    if not isinstance(sizes, Iterable):
        return (check_whole(what, sizes, 1, MOST, ValueError),) * len(names)
    listed = tuple(sizes)
    if len(listed) != len(names):
        raise ValueError(f"expected {what} for {len(names)} variables ({shorten(names)}), got {len(listed)}.")
    return tuple(
        check_whole(f"{what} of {name}", size, 1, MOST, ValueError) for size, name in zip(listed, names, strict=True)
    )
