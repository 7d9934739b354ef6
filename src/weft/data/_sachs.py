"""Protein signalling in single cells, the standard example of a causal graph with data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from .._arguments import check_word
from .._errors import GraphError
from ..graph import Graph
from ._source import PublishedArray, read_text

__all__ = ["Sachs", "sachs"]

_PROTEINS = ("Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk")

_SOURCE = PublishedArray(
    "the measurements of Sachs et al.",
    "sachs",
    {
        "sachs_cond1to9_7466.csv": read_text(len(_PROTEINS), ","),
        "sachs.2005.continuous.txt": read_text(len(_PROTEINS), "\t"),
    },
    "https://raw.githubusercontent.com/cmu-phil/example-causal-datasets/a23adc349a23fc34d258193b45c60522ca6355b4/"
    "real/sachs/data/sachs.2005.continuous.txt",
    "9b3f895c1652f9230a3356d76d7a320c88494feee9c6df509b001ccef8eae484",
    "sha256:a488589b0f021b2a261ff2c696a908c6823051b0d98693e0fa0e78bb12097063",
)

_CONDITIONS = (  # the rows come in this order: how many, stimulus, protein that it acts on, how
    (853, "cd3cd28", "none", "observational baseline"),
    (902, "cd3cd28+icam2", "none", "general perturbation (ICAM2)"),
    (911, "cd3cd28+aktinhib", "Akt", "inhibit (activity)"),
    (723, "cd3cd28+g0076", "PKC", "inhibit (activity)"),
    (810, "cd3cd28+psitectorigenin", "PIP2", "inhibit (abundance)"),
    (799, "cd3cd28+u0126", "Mek", "inhibit (activity)"),
    (848, "cd3cd28+ly294002", "Akt", "inhibit upstream (PI3K -> Akt/PIP3)"),
    (913, "pma", "PKC", "activate"),
    (707, "b2camp", "PKA", "activate"),
)

_PARENTS = {
    "bnlearn17": "Raf: PKA PKC; Mek: Raf PKA PKC; Erk: Mek PKA; Akt: Erk PKA; PKA: PKC; P38: PKA PKC; Jnk: PKA PKC; "
    "PIP3: Plcg; PIP2: Plcg PIP3",
    "gnf20": "Raf: PKA PKC; Mek: Raf PKA PKC; Erk: Mek PKA; Akt: Erk PKA PIP3; PKA: PKC; P38: PKA PKC; Jnk: PKA PKC; "
    "PIP3: Plcg; PIP2: Plcg PIP3; PKC: Plcg PIP2",
    "cmu20": "Raf: PKA PKC; Mek: Raf PKA PKC; Erk: Mek PKA; Akt: Erk PKA PIP3; PKA: PKC; P38: PKA PKC; Jnk: PKA PKC; "
    "Plcg: PIP3; PIP2: Plcg PIP3; PKC: Plcg PIP2",
    "cdt18": "Raf: PKA PKC; Mek: Raf PKA PKC; Erk: Mek PKA; Akt: PKA PIP3; P38: PKA PKC; Jnk: PKA PKC; "
    "Plcg: PIP3; PIP2: Plcg; PIP3: PIP2; PKC: Plcg PIP2",
}


@dataclass(frozen=True, eq=False, repr=False)
class Sachs:
    """The measurements as a table, and a graph of the proteins.

    Args:
        table: One row per cell; the columns named by ``graph.nodes`` come first, in that order.
        graph: Who acts on whom.
    """

    table: pd.DataFrame
    graph: Graph

    def __repr__(self) -> str:
        return f"Sachs({len(self.table)} rows, {self.graph!r})"


def sachs(
    graph: Literal["bnlearn17", "gnf20", "cmu20", "cdt18"] = "bnlearn17",
    *,
    log: bool = False,
    interventions: bool = False,
) -> Sachs:
    """Return the levels of 11 phosphorylated proteins and lipids in single cells, with a graph of the signalling.

    What to know of the data: the levels have heavy tails; 1.0 is the floor of the instrument, so that a column has
    several values of exactly 1; and most interventions act on the activity of a protein, not on its recorded level.

    The file is looked for in the folder ``sachs`` of the one that the environment variable ``WEFT_DATA_HOME`` names
    (``sachs_cond1to9_7466.csv`` or ``sachs.2005.continuous.txt``), then in that of the cache,
    ``pooch.os_cache("weft")``, and else downloaded from the public collection cmu-phil/example-causal-datasets. The
    address may move: the file put into one of these folders by hand does as well.

    Args:
        graph: ``"bnlearn17"``, the consensus graph with 17 edges that most benchmarks use; ``"gnf20"`` and ``"cmu20"``,
            which have 20. ``"cdt18"`` is in use too, but has a cycle and is refused.
        log: Take logarithms of the levels.
        interventions: Return all 7466 cells of nine conditions instead of the 853 observed under the first. The table
            then has the further columns ``condition`` (1 to 9), ``condition_name``, ``target`` and ``kind``.

    Examples:
        >>> from weft.data import sachs
        >>> sachs(log=True)  # doctest: +SKIP
        Sachs(853 rows, Graph(11 nodes, 17 edges, depth 5))

    References:
        Causal Protein-Signaling Networks Derived from Multiparameter Single-Cell Data (Sachs et al., Science 2005).
        https://doi.org/10.1126/science.1105809
    """
    check_word("graph", graph, *_PARENTS, error=ValueError)
    signalling = _read_graph(graph)
    levels = _SOURCE.load()
    table = pd.DataFrame(np.log(levels) if log else levels, columns=list(_PROTEINS))
    if not interventions:
        return Sachs(table.iloc[: _CONDITIONS[0][0]].copy(), signalling)
    counts, names, targets, kinds = zip(*_CONDITIONS, strict=True)
    table["condition"] = np.repeat(np.arange(1, len(counts) + 1), counts)
    for column, values in (("condition_name", names), ("target", targets), ("kind", kinds)):
        table[column] = np.repeat(np.array(values, dtype=object), counts)
    return Sachs(table, signalling)


def _read_graph(name: str) -> Graph:
    listed = (line.split(":") for line in _PARENTS[name].split(";"))
    edges = [(parent, child.strip()) for child, parents in listed for parent in parents.split()]
    try:
        return Graph.from_edges(edges, nodes=_PROTEINS)
    except GraphError as error:
        raise GraphError(f"the graph {name!r} has a {error} Pass graph='bnlearn17', which has none.") from None
