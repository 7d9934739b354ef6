"""A factorization in plain words: how its masks come about, what each layer reads, and what is guaranteed."""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import scipy.sparse as sp

from .._errors import FactorizationError, cut, shorten
from ._containment import distinct_rows
from ._products import multiply, support

if TYPE_CHECKING:
    from ._factorization import Factorization

__all__ = ["compact", "count", "explanation", "few", "log_counts", "plural", "seen_by_layer", "twins"]

_Told = TypeVar("_Told")

_LINE, _CELL = 100, 30  # letters
_MOST_LAYERS = 6  # in the headline
_MOST_ROWS = 40  # of a table; what has more is summed up
_MOST_UNITS = 2000  # in a layer; beyond, units are not even compared

_METHODS = {
    "greedy": (
        "Algorithm 1 of the paper. Each hidden unit copies the row of one output, that is, it may see what that output "
        "may depend on. The outputs that depend on anything take turns until the layer is full. A unit, or an output, "
        "then reads every unit of the layer below whose row is contained in its own, and no other."
    ),
    "zuko": (
        "The masks of zuko. Each hidden unit copies a row of the structure; equal rows count once, and they take turns "
        "in lexicographic order until the layer is full. A unit, or an output, then reads every unit of the layer "
        "below whose row is contained in its own, and no other."
    ),
    "grouped": (
        "Private sub-networks. Outputs that depend on the same inputs share units that nobody else reads, in teams of "
        "at most {method.fan_in} where the widths allow it. A unit reads its own team in the layer below, or, in the "
        "first layer, its share of the inputs. So the weights grow with the edges only, also around hubs."
    ),
    "exact": (
        "Provably good masks. Each hidden unit is a block of the structure: some outputs and some inputs, all of whose "
        "pairs are edges. An integer programme chooses how many units each block gets, so that the objective, the "
        "{objective}, is as large as can be. Layers are solved one after the other, each given those before."
    ),
    "made": (
        "The masks of MADE. Each variable has its place in the order, each hidden unit a degree: the largest first, "
        "then down to the smallest, again and again. A unit reads what has no larger degree, an output what has a "
        "smaller one."
    ),
    "made-random": (
        "The random masks of MADE. Each variable has its place in the order, each hidden unit a degree drawn at random "
        "(seed {method.seed}). A unit reads what has no larger degree, an output what has a smaller one. If no unit "
        "has the degree that an edge needs, the edge is lost."
    ),
}

_OBJECTIVES = {
    "paths": "paths",
    "paths-variance": "paths, less their variance",
    "balanced": "sum of the logarithms of the path counts",  # so that no edge starves
}


_LEGEND = "'row of' names the outputs that may depend on just what the unit sees, 'lead to' those it has a path to."


def explanation(factorization: Factorization) -> str:
    """Return the text that `Factorization.explain` prints."""
    f = factorization
    rows, columns = f.structure.shape
    layers = [plural(width, "unit") for width in f.widths]
    if len(layers) > _MOST_LAYERS:
        layers = [f"{len(layers)} layers"]
    head = f"{f.method}: {' -> '.join([plural(columns, 'input'), *layers, plural(rows, 'output')])}"
    described = _METHODS.get(f.method)
    if described:
        method = described.format(method=f.factorizer, objective=_objective_words(f))
    else:
        method = (inspect.getdoc(type(f.factorizer)) or "").split("\n\n")[0]
    parts = [f"{head}\n{'=' * len(head)}", _titled("The structure", _structure(f))]
    parts.append(_titled(f"The method: {f.method}", _wrap(method)))
    parts += _layers(f)
    parts.append(_titled("What is guaranteed", _guarantees(f)))
    return "\n\n".join(parts)


def seen_by_layer(masks: Sequence[sp.csr_array]) -> list[sp.csr_array]:
    """Return, for each mask, which inputs each of its units or outputs sees through the masks before it."""
    seen = [support(masks[0])]
    for mask in masks[1:]:
        seen.append(support(multiply(mask, seen[-1])))
    return seen


def twins(factorization: Factorization, seen: sp.csr_array) -> list[list[int]]:
    """Return, for each unit that sees anything, the outputs that may depend on just what it sees."""
    matrix = factorization.structure.matrix
    _, like = distinct_rows(sp.vstack([matrix, seen], format="csr"))
    owners: dict[int, list[int]] = {}
    for i, kind in enumerate(like[: matrix.shape[0]].tolist()):
        owners.setdefault(kind, []).append(i)
    return [owners.get(kind, []) if kind >= 0 else [] for kind in like[matrix.shape[0] :].tolist()]


def log_counts(factorization: Factorization) -> sp.coo_array | None:
    """Return 1 + log10 of each path count, so that no stored entry is zero; nothing where they are beyond any count."""
    try:
        counts = factorization.paths_sparse.tocoo()
        return sp.coo_array((1 + np.log10(counts.data), counts.coords), shape=counts.shape)
    except OverflowError:
        pass
    try:
        logs = factorization.log_paths
    except (OverflowError, FactorizationError):
        return None
    coords = np.nonzero(np.isfinite(logs))
    return sp.coo_array((1 + logs[coords] / math.log(10), coords), shape=logs.shape)


def compact(log: float) -> str:
    """Write a count, given by its log10, in at most four signs or as a power of ten.

    Examples:
        >>> [compact(math.log10(count)) for count in (7, 999, 1234, 5_600_000)], compact(40.2)
        (['7', '999', '1k', '6M'], '1e40')
    """
    for size, unit in ((0, ""), (3, "k"), (6, "M")):
        if round(10 ** min(log - size, 9)) < 1000:
            return f"{round(10 ** (log - size))}{unit}"
    return f"1e{math.floor(log)}"


def count(number: int) -> str:
    """Write a whole number of any size.

    Examples:
        >>> count(1234), count(10**5000)
        ('1,234', 'about 1e5000')
    """
    return f"{number:,}" if number < 10**15 else f"about 1e{math.floor(math.log10(number))}"


def few(names: Iterable[Hashable], limit: int = 6) -> str:
    """List names, the long ones and the long list cut."""
    return shorten([cut(name) for name in names], limit)


def plural(count: int, noun: str) -> str:
    """Write a number with its noun.

    Examples:
        >>> plural(1, "edge"), plural(1200, "edge")
        ('1 edge', '1,200 edges')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _structure(f: Factorization) -> str:
    matrix, structure = f.structure.matrix, f.structure
    sizes = np.diff(matrix.indptr)
    said = f"{plural(structure.edges_count, 'edge')}: an output may depend on {_spread(sizes, 'input')}."
    empty = int((sizes == 0).sum())
    if empty:
        said += f" {plural(empty, 'output')} {'depends' if empty == 1 else 'depend'} on nothing."
    if not 0 < len(sizes) <= _MOST_ROWS:
        return _wrap(said)
    rows = [(cut(name), _inputs(f, _row(matrix, i))) for i, name in enumerate(structure.outputs)]
    return f"{_wrap(said)}\n\n{_table(('output', 'may depend on'), rows, last=60)}"


def _layers(f: Factorization) -> list[str]:
    masks, structure = f.masks_sparse, f.structure
    if not f.widths:
        said = "The one mask is the structure itself: each output reads its inputs directly."
        return [_titled("No hidden layer", _wrap(said))]
    detailed = max(*structure.shape, *f.widths) <= _MOST_UNITS
    seen = seen_by_layer(masks) if detailed else []
    leads = seen_by_layer([sp.csr_array(mask.T) for mask in masks[::-1]])[-2::-1] if detailed else []
    told = []
    for number, mask in enumerate(masks[:-1], start=1):
        body = _summary(mask, "input" if number == 1 else "unit")
        if detailed and (table := _units_table(f, mask, seen[number - 1], leads[number - 1], first=number == 1)):
            body += f"\n\n{table}"
            body += f"\n\n{_wrap(_LEGEND)}" if number == 1 else ""
        told.append((plural(mask.shape[0], "unit"), body))
    parts = [_titled(f"Hidden {where}: {units}", body) for where, (units, body) in _merged(told)]
    body = _summary(masks[-1], "unit")
    if 0 < structure.shape[0] <= _MOST_ROWS:
        body += f"\n\n{_outputs_table(f)}"
    parts.append(_titled(f"The outputs: {structure.shape[0]:,}", body))
    return parts


def _units_table(f: Factorization, mask: sp.csr_array, seen: sp.csr_array, leads: sp.csr_array, *, first: bool) -> str:
    """List the units by what they read and where they lead, if there are few kinds of them."""
    structure = f.structure
    kinds, kind = distinct_rows(_sorted(sp.hstack([mask, leads], format="csr")))
    idle = np.flatnonzero(kind < 0)
    if not 0 < len(kinds) <= _MOST_ROWS:
        return ""
    like, rows = twins(f, seen), []
    for number, unit in enumerate(kinds):
        units = _numbers(np.flatnonzero(kind == number))
        inputs = _inputs(f, _row(seen, unit))
        reads = [inputs] if first else [_numbers(_row(mask, unit)) or "(nothing)", inputs]
        same = few((structure.outputs[i] for i in like[unit]), 3) or "-"
        rows.append((units, *reads, same, few(structure.outputs[i] for i in _row(leads, unit)) or "(nowhere)"))
    if len(idle):
        rows.append((_numbers(idle), *["(idle)"] * (1 if first else 2), "-", "(nowhere)"))
    heads = ("units", "read") if first else ("units", "read units", "so see")
    return _table((*heads, "row of", "lead to"), rows)


def _outputs_table(f: Factorization) -> str:
    structure, last = f.structure, f.masks_sparse[-1]
    logs = log_counts(f)
    counted = {} if logs is None else {(i, j): log - 1 for i, j, log in zip(*logs.coords, logs.data, strict=True)}
    reached, rows = f.reach.toarray(), []
    for i, name in enumerate(structure.outputs):
        paths = []
        for j in _row(structure.matrix, i):
            many = compact(counted[i, j]) if (i, j) in counted else "many"
            paths.append(f"{cut(structure.inputs[j])} {many if reached[i, j] else 'LOST'}")
        rows.append((cut(name), _numbers(_row(last, i)) or "(none)", shorten(paths, 8) or "-"))
    return _table(("output", "reads units", "paths from each input"), rows, last=56)


def _guarantees(f: Factorization) -> str:
    edges, lost, cells = f.structure.edges_count, len(f.lost), sum(m.shape[0] * m.shape[1] for m in f.masks_sparse)
    kept = f"{edges - lost:,} of {edges:,} kept"
    named = [f"{cut(a)} -> {cut(b)}" for a, b in f.lost[:20]]
    more = f", … ({lost:,} in all)" if lost > len(named) else ""
    facts = [
        ("edges", f"{kept}, none invented"),
        ("lost", f"{plural(lost, 'edge')}: {', '.join(named)}{more}" if lost else "none"),
        ("weights", f"{f.weights:,} of {cells:,} kept"),
        ("paths", _paths(f)),
    ]
    if f.factorizer.may_lose and not lost:
        facts[1] = ("lost", f"none this time; method {f.method} may")
    proofs = []
    for value, bound, optimal in zip(f.objective, f.bound, f.optimal, strict=True):
        known = f"bound {_number(bound)}" if math.isfinite(bound) else "bound unknown"
        shown = "optimal, proven" if optimal else "not proven optimal"
        proofs.append((f"objective {_number(value)} ({_objective_words(f)}); {known}; {shown}",))
    facts += [(where, said) for where, (said,) in _merged(proofs)]
    table = "\n".join(_columns([(f"  {what}", _lines(said, 84)) for what, said in facts]))
    said = "Whatever the weights, an output does not change with an input that it may not depend on."
    if f.widths and not hasattr(f.factorizer, "objective"):
        if len(f.widths) > 1:
            said += " A connection leads from what a layer reads, through one of its units, to an output it reaches."
        said += " The method 'exact' makes the objective as large as can be, and proves it."
    return f"{table}\n\n{_wrap(said)}"


def _paths(f: Factorization) -> str:
    total = f.total_paths
    said = count(total)
    logs = log_counts(f) if total else None
    if logs is None:
        return f"{said} in all"
    low, high = int(logs.data.argmin()), int(logs.data.argmax())
    ends = [compact(logs.data[k] - 1) for k in (low, high)]
    inputs, outputs = f.structure.inputs, f.structure.outputs
    names = [f"{cut(inputs[logs.coords[1][k]])} -> {cut(outputs[logs.coords[0][k]])}" for k in (low, high)]
    if ends[0] == ends[1]:
        return f"{said} in all, {ends[0]} for each edge" + (" that is not lost" if f.lost else "")
    return f"{said} in all; fewest {ends[0]} ({names[0]}), most {ends[1]} ({names[1]})"


def _objective_words(f: Factorization) -> str:
    # A method without an objective of its own is measured by the paper's: what passes a unit of the layer in all.
    without = "paths" if len(f.widths) == 1 else "connections"
    return _OBJECTIVES.get(getattr(f.factorizer, "objective", ""), without)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:,.6g}"


def _summary(mask: sp.csr_array, noun: str) -> str:
    cells = mask.shape[0] * mask.shape[1]
    reads = np.diff(mask.indptr)
    return _wrap(f"Each reads {_spread(reads, noun)}; {mask.nnz:,} of {plural(cells, 'weight')} kept.")


def _spread(sizes: np.ndarray, noun: str) -> str:
    if not len(sizes) or sizes.min() == sizes.max():
        return plural(int(sizes.max(initial=0)), noun)
    return f"{sizes.min():,} to {plural(int(sizes.max()), noun)}, {sizes.mean():.1f} on average"


def _inputs(f: Factorization, columns: np.ndarray) -> str:
    return few(f.structure.inputs[j] for j in columns) or "(nothing)"


def _row(matrix: sp.csr_array, i: int) -> np.ndarray:
    span: np.ndarray = np.sort(matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]).astype(np.int64)
    return span


def _sorted(matrix: sp.csr_array) -> sp.csr_array:
    matrix.sort_indices()
    return matrix


def _numbers(indices: np.ndarray) -> str:
    """Write the units of these indices, counted from 1, with their runs."""
    runs = np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1) if len(indices) else []
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0] + 1}-{run[-1] + 1}"] if len(run) > 2 else [str(k + 1) for k in run]
    return ", ".join(parts) if len(parts) <= 6 else f"{', '.join(parts[:6])}, … ({len(indices)} in all)"


def _merged(told: Sequence[_Told]) -> Iterator[tuple[str, _Told]]:
    """Yield what is told of each layer with the layer's name, layers in a row of which the same is told as one."""
    last = 0
    for each, group in groupby(told):
        first, last = last + 1, last + len(list(group))
        layers = f"layer {first}" if first == last else f"layers {first} to {last}"
        yield layers, each


def _titled(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}"


def _wrap(text: str) -> str:
    return "\n".join(f"  {line}" for line in _lines(text, _LINE - 2))


def _lines(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], last: int = _CELL) -> str:
    """Align columns, wrapping what is too long for a cell."""
    caps = [_CELL] * (len(heads) - 1) + [last]
    cells = [[_lines(cell, cap) for cell, cap in zip(row, caps, strict=True)] for row in rows]
    widths = [max(len(head), *(len(line) for row in cells for line in row[k])) for k, head in enumerate(heads)]
    lines = ["  " + "  ".join(head.ljust(width) for head, width in zip(heads, widths, strict=True)).rstrip()]
    lines.append("  " + "  ".join("-" * width for width in widths))
    for row in cells:
        for k in range(max(map(len, row))):
            shown = [(cell[k] if k < len(cell) else "").ljust(width) for cell, width in zip(row, widths, strict=True)]
            lines.append("  " + "  ".join(shown).rstrip())
    return "\n".join(lines)


def _columns(facts: Sequence[tuple[str, list[str]]]) -> list[str]:
    width = max(len(what) for what, _ in facts) + 2
    return [f"{(what if not k else '').ljust(width)}{line}" for what, lines in facts for k, line in enumerate(lines)]
