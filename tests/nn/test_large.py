"""Ten thousand variables: a network costs its edges, and follows them."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import weft
from weft.masks import reach
from weft.nn import LevelSchedule

SIZE = 10_000


@pytest.fixture(scope="module", params=["greedy", "grouped"])
def net(request):
    graph = weft.graph.random_dag(SIZE, parents=2.0, seed=0)
    torch.manual_seed(0)
    return weft.StrNN(
        graph, (2 * SIZE, 2 * SIZE), factorization=request.param, activation="tanh", outputs=2, dtype=torch.float64
    )


@pytest.fixture
def x():
    return torch.randn(4, SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_it_costs_its_edges(net):
    edges = net.structure.edges_count
    assert edges > 1.9 * SIZE
    assert net.execution == "sparse"
    kept = sum(mask.nnz for mask in net.expanded_masks())
    biases = 4 * SIZE + 2 * SIZE
    assert sum(parameter.numel() for parameter in net.parameters()) == kept + biases
    assert kept < 20 * edges  # the dense masks have a thousand million entries
    indices = sum(buffer.numel() for buffer in net.buffers())
    assert indices <= kept + 2 * SIZE


def test_the_masks_reach_along_the_edges_and_no_others(net):
    found = reach(net.factorization.masks_sparse)
    assert (found != net.structure.matrix).nnz == 0
    assert found.nnz == net.structure.edges_count


def test_gradients_follow_the_edges(net, x):
    """One backward pass per color of outputs without a parent in common probes every row of the Jacobian."""
    matrix = net.structure.matrix
    groups = groups_without_common_parent(matrix)
    assert sum(map(len, groups)) == SIZE
    x = x[:1].clone().requires_grad_()
    y = net(x)[0, :, 1]
    seen = 0
    for group in groups:
        (row,) = torch.autograd.grad(y[torch.from_numpy(group)].sum(), x, retain_graph=True)
        expected = np.zeros(SIZE, dtype=bool)
        expected[matrix[group].indices] = True
        assert np.array_equal(row[0].numpy() != 0, expected)
        seen += int(expected.sum())
    assert seen == matrix.nnz


def groups_without_common_parent(matrix, most=60):
    """Cut the rows into groups of which no two members share a column; each edge is then probed alone."""
    sharing = sp.csr_array(matrix.astype(np.int32) @ matrix.T.astype(np.int32))
    group = np.full(SIZE, -1)
    for row in np.argsort(-np.diff(sharing.indptr), kind="stable"):
        taken = set(group[sharing.indices[sharing.indptr[row] : sharing.indptr[row + 1]]].tolist())
        group[row] = next(number for number in range(SIZE) if number not in taken)
    assert group.max() < most
    return [np.flatnonzero(group == number) for number in range(group.max() + 1)]


def test_forward_and_backward(net, x):
    y = net(x)
    assert y.shape == (4, SIZE, 2)
    assert bool(y.isfinite().all())
    net.zero_grad()
    y.square().mean().backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in net.parameters())
    assert all(bool((layer.weight.grad != 0).any()) for layer in net.layers)
    loss = []
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss.append((net(x) - 1.0).square().mean())
        loss[-1].backward()
        optimizer.step()
    assert loss[2] < loss[0]


def test_a_walk(net, x):
    schedule = LevelSchedule(net)
    assert sum(len(generation) for generation in schedule.generations) == SIZE
    walk = schedule.walk(4)
    found = torch.empty(4, SIZE, 2, dtype=torch.float64)
    with torch.no_grad():
        for number, generation in enumerate(schedule.generations):
            found[:, torch.from_numpy(schedule.outputs[number])] = walk.outputs()
            walk.advance(x[:, torch.from_numpy(generation)])
        torch.testing.assert_close(found, net(x), rtol=1e-11, atol=1e-12)
