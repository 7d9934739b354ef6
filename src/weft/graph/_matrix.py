"""A dense, sparse, tensor or pandas matrix, read once into a boolean CSR array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._errors import GraphError, shorten

__all__ = ["compact", "is_frame", "is_strictly_upper", "read_binary_matrix", "split_frame"]


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
    if hasattr(matrix, "detach"):  # a tensor, without importing torch
        matrix = _from_tensor(matrix)
    if sp.issparse(matrix):
        if matrix.ndim != 2:
            raise GraphError(_not_two_dimensional(what, matrix.shape))
        csr = sp.csr_array(matrix, copy=True)  # summing duplicates must not touch the caller's matrix
        csr.sum_duplicates()
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


def is_frame(matrix: Any) -> bool:
    """Tell whether a matrix carries names, as a pandas DataFrame does."""
    return hasattr(matrix, "columns") and hasattr(matrix, "index") and hasattr(matrix, "to_numpy")


def _from_tensor(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    if "strided" in str(tensor.layout):
        return tensor.numpy()
    tensor = tensor.to_sparse_coo().coalesce()
    return sp.coo_array((tensor.values().numpy(), tensor.indices().numpy()), shape=tuple(tensor.shape))


def _as_numbers(matrix: Any, what: str) -> NDArray[Any]:
    listed = isinstance(matrix, (Sequence, np.ndarray)) or hasattr(matrix, "__array__")
    if not listed or isinstance(matrix, (str, bytes)):
        raise GraphError(
            f"{what} is a {type(matrix).__name__}, expected a weft.Graph, a networkx.DiGraph or a 0/1 matrix."
        )
    try:
        values = np.asarray(matrix)
        if values.dtype == object:  # columns of several types, say bool and int: let NumPy find the common one
            values = np.asarray(values.tolist())
    except ValueError as error:
        raise GraphError(f"{what} is not a matrix: {error}.") from error
    if values.size == 0 and values.ndim == 1 and not isinstance(matrix, np.ndarray):
        values = values.reshape(0, 0)  # [] is how a list writes the 0 x 0 matrix
    if values.dtype.kind not in "biuf":
        raise GraphError(_not_numbers(what, values.dtype))
    return values


def _not_numbers(what: str, dtype: Any) -> str:
    return f"{what} holds values of type {dtype}, expected only 0 and 1."


def _not_two_dimensional(what: str, shape: tuple[int, ...]) -> str:
    return f"{what} has shape {shape}, expected a matrix of two dimensions: row i marks what output i may depend on."


def split_frame(matrix: Any) -> tuple[Any, list[Any] | None]:
    """Part a square DataFrame into values, its rows in the order of its columns, and names; pass others through."""
    if not is_frame(matrix):
        return matrix, None
    columns, index = list(matrix.columns), list(matrix.index)
    values = matrix.to_numpy()
    if index == columns or index == list(range(len(columns))):  # the second: a table made without index=
        return values, columns
    place = {name: row for row, name in enumerate(index)}
    if len(place) != len(index) or len(index) != len(columns) or any(name not in place for name in columns):
        raise GraphError(
            f"the table has rows {shorten(index, 5)} and columns {shorten(columns, 5)}, expected the same names in "
            f"both: DataFrame(matrix, index=names, columns=names)."
        )
    return values[[place[name] for name in columns]], columns


def is_strictly_upper(matrix: sp.csr_array) -> bool:
    """Tell whether a square CSR array has entries, all of them above the diagonal."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return matrix.nnz > 0 and bool((matrix.indices > rows).all())


def compact(matrix: sp.csr_array) -> sp.csr_array:
    """Give a CSR array sorted indices of one type for its size, so that equal graphs have equal bytes and hashes."""
    wide = max(matrix.nnz, *matrix.shape) > np.iinfo(np.int32).max
    kind = np.int64 if wide else np.int32
    matrix.sort_indices()
    places = (matrix.indices.astype(kind, copy=False), matrix.indptr.astype(kind, copy=False))
    return sp.csr_array((np.ones(matrix.nnz, dtype=bool), *places), shape=matrix.shape)
