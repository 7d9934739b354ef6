"""A dense, sparse, tensor or pandas matrix, read once into a boolean CSR array."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arguments import check_word
from .._errors import GraphError, shorten, warn
from ._edges import read_names

__all__ = ["compact", "freeze", "is_frame", "is_matrix", "read_adjacency", "read_binary_matrix", "warn_if_upper"]


def read_adjacency(
    matrix: Any, names: Any = None, orientation: Any = None
) -> tuple[tuple[Hashable, ...], sp.csr_array]:
    """Read a square 0/1 matrix into names and a boolean CSR array whose rows are children."""
    if orientation is not None:
        check_word("orientation", orientation, "row_is_child", "row_is_parent")
    values, labels = _split_frame(matrix)
    parents = read_binary_matrix(values, "matrix")
    rows, columns = parents.shape
    if rows != columns:
        raise GraphError(f"matrix has shape {rows} x {columns}, expected a square one: a row and a column per node.")
    given = labels if names is None else names
    nodes = tuple(f"x{i}" for i in range(rows)) if given is None else read_names(given, "names")
    if len(nodes) != rows:
        raise GraphError(f"got {len(nodes)} names for a {rows} x {rows} matrix, expected one name per row.")
    if labels is not None and nodes != labels and set(nodes) == set(labels):
        raise GraphError(
            f"names has the columns {shorten(labels, 5)} of the table in another order, which would rename the nodes; "
            f"to reorder them call Graph.from_adjacency(table.loc[names, names])."
        )
    if orientation is None:
        warn_if_upper(parents)
    return nodes, parents.T.tocsr() if orientation == "row_is_parent" else parents


def read_binary_matrix(matrix: Any, what: str = "structure") -> sp.csr_array:
    """Check that a dense, sparse or pandas matrix holds only 0 and 1 and return it as a boolean CSR array.

    Args:
        matrix: NumPy array, nested list, SciPy sparse matrix, torch tensor (dense or sparse) or pandas DataFrame.
        what: What to call the matrix in an error.

    Examples:
        >>> from weft.graph import read_binary_matrix
        >>> read_binary_matrix([[0, 0], [1, 0]]).nnz
        1
    """
    if not is_matrix(matrix):
        raise GraphError(
            f"{what} is a {type(matrix).__name__}, expected a 0/1 matrix: a NumPy array, nested list, SciPy sparse "
            f"matrix, torch tensor or pandas DataFrame."
        )
    if _is_tensor(matrix):
        matrix = _from_tensor(matrix, what)
    if sp.issparse(matrix):
        if matrix.ndim != 2:
            raise GraphError(_not_two_dimensional(what, matrix.shape))
        csr = _to_csr(matrix, what)
        values = csr.data
        if values.dtype.kind not in "biuf":
            raise GraphError(_not_numbers(what, values.dtype))
    else:
        csr = None
        values = _as_numbers(matrix, what)
        if values.ndim != 2:
            raise GraphError(_not_two_dimensional(what, values.shape))
    bad = ~((values == 0) | (values == 1))
    if bad.any():
        shown = shorten(np.unique(values[bad].astype(str)), 5)
        where = "" if csr is not None else " (first at row {}, column {})".format(*np.argwhere(bad)[0])
        raise GraphError(f"{what} holds {shown}{where}, expected only 0 and 1; threshold it first: `matrix != 0`.")
    csr = sp.csr_array(values.astype(bool)) if csr is None else csr.astype(bool)
    csr.eliminate_zeros()
    csr.sort_indices()
    return csr


def warn_if_upper(matrix: sp.csr_array) -> None:
    """Warn of a square CSR array that has entries, all of them above the diagonal: it may be the wrong way round."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    if matrix.shape[0] == matrix.shape[1] and matrix.nnz and (matrix.indices > rows).all():
        warn(
            "the matrix is strictly upper triangular, and networkx writes row = parent, but here row i marks the "
            "parents of node i. To say which is meant call Graph.from_adjacency(matrix, orientation='row_is_child') "
            "or Graph.from_adjacency(matrix, orientation='row_is_parent')."
        )


def is_matrix(value: Any) -> bool:
    """Tell whether a value is of a type that may hold a matrix."""
    listed = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))
    return listed or sp.issparse(value) or hasattr(value, "__array__")  # the last are tables and tensors


def is_frame(matrix: Any) -> bool:
    """Tell whether a matrix carries names, as a pandas DataFrame does."""
    return hasattr(matrix, "columns") and hasattr(matrix, "index") and hasattr(matrix, "to_numpy")


def _is_tensor(matrix: Any) -> bool:
    return hasattr(matrix, "detach")  # without importing torch


def _from_tensor(tensor: Any, what: str) -> Any:
    if tensor.is_complex():
        raise GraphError(_not_numbers(what, tensor.dtype))
    if tensor.is_meta:
        raise GraphError(f"{what} is a tensor on the device `meta`, which has no values; make it with device='cpu'.")
    hybrid = tensor.is_sparse and tensor.dense_dim() > 0
    if tensor.is_nested or tensor.is_quantized or hybrid:
        kind = "nested" if tensor.is_nested else "quantized" if tensor.is_quantized else "hybrid sparse"
        raise GraphError(f"{what} is a {kind} tensor, expected a plain one of two dimensions.")
    tensor = tensor.detach().cpu()
    if tensor.is_floating_point():
        tensor = tensor.double()  # NumPy has no bfloat16
    if "strided" in str(tensor.layout):
        return tensor.numpy()
    tensor = tensor.to_sparse_coo().coalesce()
    return sp.coo_array((tensor.values().numpy(), tensor.indices().numpy()), shape=tuple(tensor.shape))


def _to_csr(matrix: Any, what: str) -> sp.csr_array:
    matrix = matrix.copy()  # summing duplicates must not touch the caller's matrix
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # SciPy's routines trust the indices, even those read from a file
    except ValueError as error:
        raise GraphError(f"{what} is not a valid sparse matrix: {error}.") from error
    csr = sp.csr_array(matrix)
    csr.sum_duplicates()
    return csr


def _as_numbers(matrix: Any, what: str) -> NDArray[Any]:
    if np.ma.is_masked(matrix):
        raise GraphError(f"{what} has masked values, expected only 0 and 1; say what they are: matrix.filled(0).")
    try:
        values = np.asarray(matrix)
        if values.dtype == object:  # columns of several types, say bool and int: let NumPy find the common one
            values = np.asarray(values.tolist()).reshape(values.shape)
    except ValueError as error:
        raise GraphError(
            f"{what} is no matrix, expected rows of the same length that hold only 0 and 1: {error}"
        ) from error
    if values.size == 0 and values.ndim == 1 and not isinstance(matrix, np.ndarray):
        values = values.reshape(0, 0)  # [] is how a list writes the 0 x 0 matrix
    if values.dtype.kind not in "biuf":
        raise GraphError(_not_numbers(what, values.dtype))
    return values


def _not_numbers(what: str, dtype: Any) -> str:
    return f"{what} holds values of type {dtype}, expected only 0 and 1."


def _not_two_dimensional(what: str, shape: tuple[int, ...]) -> str:
    return f"{what} has shape {shape}, expected a matrix of two dimensions: row i marks what output i may depend on."


def _split_frame(matrix: Any) -> tuple[Any, tuple[Hashable, ...] | None]:
    """Part a square DataFrame into values, its rows in the order of its columns, and names; pass others through."""
    if not is_frame(matrix):
        return matrix, None
    columns, index = read_names(matrix.columns, "columns"), list(matrix.index)
    values = matrix.to_numpy()
    place = {name: row for row, name in enumerate(index)}
    if not len(place) == len(index) == len(columns) or any(name not in place for name in columns):
        if index == list(range(len(columns))):  # a table made without index=
            return values, columns
        raise GraphError(
            f"the table has rows {shorten(index, 5)} and columns {shorten(columns, 5)}, expected the same names in "
            f"both: DataFrame(matrix, index=names, columns=names)."
        )
    return values[[place[name] for name in columns]], columns


def compact(matrix: sp.csr_array) -> sp.csr_array:
    """Give a CSR array sorted indices of one type for its size, so that equal graphs have equal bytes and hashes."""
    wide = max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max
    kind = np.int64 if wide else np.int32
    matrix.sort_indices()
    places = (matrix.indices.astype(kind, copy=False), matrix.indptr.astype(kind, copy=False))
    return sp.csr_array((np.ones(matrix.nnz, dtype=bool), *places), shape=matrix.shape)


def freeze(matrix: sp.csr_array) -> sp.csr_array:
    """Make the entries of a CSR array read-only, in place, and return it."""
    for name in ("data", "indices", "indptr"):
        getattr(matrix, name).flags.writeable = False
    return matrix
