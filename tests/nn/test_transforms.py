"""Networks under everything that PyTorch does to a module: transformations, compilation, saving, moving."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
import torch._dynamo.testing
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap

import weft
from weft.nn import ACTIVATIONS

from .cases import DEVICES, DTYPES, EXECUTIONS, OPTIONS, blocks, inputs_of, matrix_of, network, read_all

KINDS = {"plain": {}, "outputs": {"outputs": 3}, "all": OPTIONS["all"]}
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


@pytest.fixture(params=EXECUTIONS)
def execution(request):
    return request.param


@pytest.fixture(params=KINDS)
def net(request, execution):
    return network("greedy", execution=execution, activation="tanh", **KINDS[request.param])


@pytest.fixture
def plain(execution):
    return network("greedy", "grid", execution=execution, activation="tanh")


def one_row(net):
    return tuple(x[0] for x in inputs_of(net, 1))


def by_autograd(net, *row):
    """Return the Jacobian of flat outputs by the inputs of one row, with nothing but backward passes."""
    row = [x.clone().requires_grad_() for x in row]
    return torch.stack([torch.autograd.grad(y, row[0], retain_graph=True)[0] for y in net(*row).flatten()])


class TestAutograd:
    def test_gradcheck_by_inputs(self, net):
        inputs = [x.requires_grad_() for x in inputs_of(net, 2)]
        assert torch.autograd.gradcheck(net, inputs, check_forward_ad=True, check_batched_grad=True)

    def test_gradgradcheck_by_inputs(self, net):
        inputs = [x.requires_grad_() for x in inputs_of(net, 2)]
        assert torch.autograd.gradgradcheck(net, inputs, fast_mode=True)

    def test_gradcheck_by_parameters(self, execution):
        net = network("greedy", "duplicate rows", execution=execution, activation="tanh", **OPTIONS["all"])
        names, values = zip(*net.named_parameters(), strict=True)
        inputs = inputs_of(net, 3)

        def of_parameters(*values):
            return functional_call(net, dict(zip(names, values, strict=True)), inputs)

        assert torch.autograd.gradcheck(of_parameters, values, fast_mode=True)
        assert torch.autograd.gradgradcheck(of_parameters, values, fast_mode=True)

    @pytest.mark.parametrize(
        "activation", ["celu", "elu", "gelu", "mish", "prelu", "selu", "sigmoid", "silu", "softplus"]
    )
    def test_gradcheck_of_every_activation(self, execution, activation):
        net = network("greedy", "chain", execution=execution, activation=activation)
        inputs = [x.requires_grad_() for x in inputs_of(net, 2)]
        assert torch.autograd.gradcheck(net, inputs)
        assert torch.autograd.gradgradcheck(net, inputs)

    def test_no_grad_and_inference_mode(self, net):
        expected = net(*inputs_of(net, 3)).detach()
        with torch.no_grad():
            found = net(*inputs_of(net, 3))
        assert not found.requires_grad
        torch.testing.assert_close(found, expected, **CLOSE)
        with torch.inference_mode():
            torch.testing.assert_close(net(*inputs_of(net, 3)), expected, **CLOSE)

    def test_checkpointing(self, plain):
        (x,) = inputs_of(plain, 3)
        found, expected = [], []
        for into, evaluate in (
            (expected, plain),
            (found, lambda x: torch.utils.checkpoint.checkpoint(plain, x, use_reentrant=False)),
        ):
            plain.zero_grad()
            evaluate(x).square().sum().backward()
            into.extend(parameter.grad.clone() for parameter in plain.parameters())
        torch.testing.assert_close(found, expected, **CLOSE)

    @pytest.mark.parametrize("inplace", [torch.nn.ReLU(inplace=True), torch.nn.SiLU(inplace=True)], ids=repr)
    @pytest.mark.parametrize("name", ["random DAG", "no edges"])
    def test_an_activation_may_work_in_place(self, execution, inplace, name):
        apart = copy.deepcopy(inplace)
        apart.inplace = False
        found = []
        for activation in (inplace, apart):
            net = network("greedy", name, execution=execution, activation=activation, residual=True)
            y = net(*inputs_of(net, 4))
            found.append([y, *torch.autograd.grad(y.square().sum(), list(net.parameters()))])
        torch.testing.assert_close(found[0], found[1], **CLOSE)


class TestFunc:
    def test_jacrev_and_jacfwd(self, net):
        row = one_row(net)
        expected = by_autograd(net, *row)
        assert bool(((expected != 0).numpy() == blocks(net, matrix_of("random DAG"))).all())
        for transform in (jacrev, jacfwd):
            found = transform(lambda *row: net(*row).flatten())(*row)
            torch.testing.assert_close(found, expected, **CLOSE)

    def test_jvp_and_vjp(self, net):
        row = one_row(net)
        jacobian = by_autograd(net, *row)
        direction = torch.randn(row[0].shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        value, tangent = jvp(lambda x: net(x, *row[1:]).flatten(), (row[0],), (direction,))
        torch.testing.assert_close(value, net(*row).flatten(), **CLOSE)
        torch.testing.assert_close(tangent, jacobian @ direction, **CLOSE)
        value, pull = vjp(lambda x: net(x, *row[1:]).flatten(), row[0])
        covector = torch.randn(value.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        torch.testing.assert_close(pull(covector)[0], covector @ jacobian, **CLOSE)

    def test_vmap(self, net):
        inputs = inputs_of(net, 5)
        torch.testing.assert_close(vmap(net)(*inputs), net(*inputs), **CLOSE)
        torch.testing.assert_close(
            vmap(vmap(net))(*(x.unsqueeze(0) for x in inputs)), net(*inputs).unsqueeze(0), **CLOSE
        )
        moved = (x.t() for x in inputs)
        torch.testing.assert_close(vmap(net, in_dims=1)(*moved), net(*inputs), **CLOSE)

    def test_hessian(self, net):
        row = one_row(net)
        weights = torch.linspace(-1, 1, sum(net.output_sizes), dtype=torch.float64)

        def weighted(x):
            return (net(x, *row[1:]).flatten() * weights).sum()

        x = row[0].clone().requires_grad_()
        (first,) = torch.autograd.grad(weighted(x), x, create_graph=True)
        expected = torch.stack([torch.autograd.grad(entry, x, retain_graph=True)[0] for entry in first])
        assert bool((expected != 0).any())
        torch.testing.assert_close(hessian(weighted)(row[0]), expected, **CLOSE)
        torch.testing.assert_close(jacrev(jacrev(weighted))(row[0]), expected, **CLOSE)

    @pytest.mark.parametrize("activation", ACTIVATIONS)
    def test_jacobian_of_a_batch_under_every_activation(self, execution, activation):
        net = network("greedy", execution=execution, activation=activation, residual=True)
        (x,) = inputs_of(net, 3)
        for transform in (jacrev, jacfwd):
            found = vmap(transform(net))(x)
            torch.testing.assert_close(found, torch.stack([by_autograd(net, row) for row in x]), **CLOSE)

    def test_gradient_of_each_row_by_the_parameters(self, net):
        inputs = inputs_of(net, 4)
        parameters = {name: value.detach() for name, value in net.named_parameters()}

        def loss(parameters, *row):
            return functional_call(net, parameters, row).square().sum()

        found = vmap(grad(loss), in_dims=(None, *(0 for _ in inputs)))(parameters, *inputs)
        for number in range(4):
            net.zero_grad()
            net(*(x[number] for x in inputs)).square().sum().backward()
            for name, parameter in net.named_parameters():
                torch.testing.assert_close(found[name][number], parameter.grad, **CLOSE)

    def test_jacobian_by_the_parameters(self, plain):
        (row,) = one_row(plain)
        parameters = {name: value.detach() for name, value in plain.named_parameters()}
        expected = {
            name: torch.stack(
                [torch.autograd.grad(y, dict(plain.named_parameters())[name], retain_graph=True)[0] for y in plain(row)]
            )
            for name in parameters
        }
        for transform in (jacrev, jacfwd):
            found = transform(lambda parameters: functional_call(plain, parameters, (row,)))(parameters)
            torch.testing.assert_close(found, expected, **CLOSE)

    @pytest.mark.parametrize("buffers_too", [False, True])
    @pytest.mark.parametrize("kind", KINDS)
    def test_an_ensemble_in_one_pass(self, execution, kind, buffers_too):
        nets = [
            network("greedy", execution=execution, seed=seed, activation="tanh", **KINDS[kind]) for seed in range(3)
        ]
        inputs = inputs_of(nets[0], 5)
        parameters, buffers = stack_module_state(nets)
        state = {**parameters, **buffers} if buffers_too else parameters

        def one(state):
            return functional_call(nets[0], state, inputs)

        y = vmap(one)(state)
        torch.testing.assert_close(y, torch.stack([net(*inputs) for net in nets]), **CLOSE)
        y.square().sum().backward()
        for number, net in enumerate(nets):
            net.zero_grad()
            net(*inputs).square().sum().backward()
            for name, parameter in net.named_parameters():
                torch.testing.assert_close(parameters[name].grad[number], parameter.grad, **CLOSE)


class TestCompile:
    @pytest.fixture(autouse=True)
    def afresh(self):
        torch.compiler.reset()
        yield
        torch.compiler.reset()

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("name", ["random DAG", "no edges"])
    def test_one_graph_with_the_same_values_and_gradients(self, execution, kind, name):
        net = network("greedy", name, execution=execution, activation="silu", **KINDS[kind])
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(net, backend=counter, fullgraph=True)
        for seed in range(3):
            results = []
            for run in (net, compiled):
                inputs = [x.requires_grad_() for x in inputs_of(net, 6, seed=seed)]
                y = run(*inputs)
                wanted = [*inputs, *net.parameters()]
                results.append([y, *torch.autograd.grad(y.square().sum(), wanted)])
            torch.testing.assert_close(results[1], results[0], **CLOSE)
        assert counter.frame_count == 1  # equal shapes are not compiled again

    def test_any_batch_with_one_dynamic_graph(self, plain):
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(plain, backend=counter, fullgraph=True, dynamic=True)
        for rows in (3, 8, 5, 17):
            (x,) = inputs_of(plain, rows)
            torch.testing.assert_close(compiled(x), plain(x), **CLOSE)
        assert counter.frame_count == 1

    def test_new_weights_are_not_compiled_again(self, plain):
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(plain, backend=counter, fullgraph=True)
        optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
        (x,) = inputs_of(plain, 4)
        for _ in range(3):
            optimizer.zero_grad()
            compiled(x).square().sum().backward()
            optimizer.step()
        torch.testing.assert_close(compiled(x), plain(x), **CLOSE)
        assert counter.frame_count == 1

    def test_a_compiled_jacobian(self, plain):
        (x,) = inputs_of(plain, 3)
        compiled = torch.compile(vmap(jacrev(plain)), backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), vmap(jacrev(plain))(x), **CLOSE)

    def test_export(self, plain):
        (x,) = inputs_of(plain, 3)
        torch.testing.assert_close(torch.export.export(plain, (x,)).module()(x), plain(x), **CLOSE)


def same_values(one, other):
    inputs = inputs_of(one, 4)
    return torch.equal(one(*inputs), other(*inputs))


class TestSaving:
    @pytest.mark.parametrize("kind", KINDS)
    def test_state_dict_between_networks_of_other_seeds(self, execution, kind):
        one, other = (
            network("greedy", execution=execution, seed=seed, activation="prelu", **KINDS[kind]) for seed in (0, 1)
        )
        assert not same_values(one, other)
        assert other.load_state_dict(one.state_dict()) == ([], [])
        assert same_values(one, other)
        with torch.no_grad():
            one.layers[0].weight.add_(1.0)
        assert not same_values(one, other)  # it is a copy

    def test_a_state_dict_holds_the_parameters_and_a_digest_of_the_masks(self, net):
        assert list(net.state_dict()) == ["_extra_state", *(name for name, _ in net.named_parameters())]

    @pytest.mark.parametrize(
        ("structure", "method"),
        [(weft.graph.star(6), "greedy"), (weft.graph.chain(6), "grouped")],
        ids=["star", "grouped"],
    )
    def test_weights_of_other_masks_are_refused(self, execution, structure, method):
        net = weft.StrNN(weft.graph.chain(6), (10, 10), execution=execution)
        other = weft.StrNN(structure, (10, 10), factorization=method, execution=execution)
        state = {name: net.state_dict().get(name) for name in net.state_dict()}
        state["_extra_state"] = other.state_dict()["_extra_state"]
        with pytest.raises(ValueError, match=r"these weights are of another structure, factorization or execution"):
            net.load_state_dict(state)

    def test_a_state_dict_may_be_assigned(self, execution):
        one, other = (network("greedy", execution=execution, seed=seed, residual=True) for seed in (0, 1))
        empty = network("greedy", execution=execution, residual=True, device="meta")
        empty.to_empty(device="cpu").load_state_dict(other.state_dict(), assign=True)
        assert same_values(other, empty)
        assert not same_values(one, empty)

    def test_the_state_of_the_other_execution_is_refused(self, execution):
        net = network("greedy", execution=execution)
        other = net.to_execution("sparse" if execution == "dense" else "dense")
        with pytest.raises(RuntimeError, match=r"size mismatch for layers\.0\.weight"):
            net.load_state_dict(other.state_dict() | {"_extra_state": net.get_extra_state()})
        with pytest.raises(ValueError, match=r"of another structure, factorization or execution"):
            net.load_state_dict(other.state_dict())

    def test_a_state_that_lacks_something_is_refused(self, net):
        state = net.state_dict()
        del state["layers.1.weight"]
        with pytest.raises(RuntimeError, match=r"Missing key\(s\) in state_dict: \"layers\.1\.weight\""):
            net.load_state_dict(state)
        with pytest.raises(RuntimeError, match=r"Unexpected key\(s\) in state_dict: \"other\""):
            net.load_state_dict({**net.state_dict(), "other": torch.zeros(1)})

    @pytest.mark.parametrize(
        "copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["copy", "pickle"]
    )
    def test_copies(self, net, copied):
        other = copied(net)
        assert same_values(net, other)
        assert (other.execution, other.hidden) == (net.execution, net.hidden)
        assert np.array_equal(other.jacobian_structure(), net.jacobian_structure())
        before = net(*inputs_of(net, 4)).detach()
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.add_(1.0)
        assert not same_values(net, other)
        assert torch.equal(net(*inputs_of(net, 4)), before)
        other.reset_parameters()  # it works on

    def test_a_file_of_weights_alone(self, net):
        file = io.BytesIO()
        torch.save(net.state_dict(), file)
        file.seek(0)
        state = torch.load(file, weights_only=True)
        other = copy.deepcopy(net)
        torch.manual_seed(9)
        other.reset_parameters()
        assert not same_values(net, other)
        other.load_state_dict(state)
        assert same_values(net, other)

    def test_a_file_of_the_whole_network(self, net):
        file = io.BytesIO()
        torch.save(net, file)
        file.seek(0)
        assert same_values(net, torch.load(file, weights_only=False))


class TestMoving:
    def test_to_another_type(self, net):
        expected = net(*inputs_of(net, 4)).detach()
        single = copy.deepcopy(net).to(torch.float32)
        found = single(*(x.float() for x in inputs_of(net, 4)))
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, expected.float(), rtol=1e-4, atol=1e-5)
        assert copy.deepcopy(net).float().double()(*inputs_of(net, 4)).dtype == torch.float64
        assert {p.dtype for p in copy.deepcopy(net).half().parameters()} == {torch.float16}
        assert np.array_equal(single.jacobian_structure(), net.jacobian_structure())

    @pytest.mark.parametrize("low", [torch.bfloat16, torch.float16], ids=str)
    def test_half_precision(self, net, low):
        expected = net(*inputs_of(net, 4)).detach()
        found = copy.deepcopy(net).to(low)(*(x.to(low) for x in inputs_of(net, 4)))
        assert found.dtype == low
        torch.testing.assert_close(found.double(), expected, rtol=0.1, atol=0.1)

    def test_default_dtype(self, execution):
        for dtype in DTYPES:
            torch.set_default_dtype(dtype)
            try:
                net = weft.StrNN(weft.graph.chain(3), (8,), execution=execution)
            finally:
                torch.set_default_dtype(torch.float32)
            assert {parameter.dtype for parameter in net.parameters()} == {dtype}

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("by", ["argument", "context"])
    def test_meta_device(self, execution, by, kind):
        options = {"execution": execution, "activation": "prelu", **KINDS[kind]}
        with torch.device("meta" if by == "context" else "cpu"):
            net = network("greedy", device="meta" if by == "argument" else None, **options)
        tensors = [*net.parameters(), *net.buffers()]
        assert {tensor.device.type for tensor in tensors} == {"meta"}
        lead = network("greedy", **options)
        inputs = inputs_of(lead, 4)
        assert net(*(x.to("meta") for x in inputs)).shape == lead(*inputs).shape

    @pytest.mark.parametrize("kind", KINDS)
    def test_from_the_meta_device_the_structure_comes_along(self, execution, kind):
        """`to_empty` leaves parameters without values; the masks must not be among what is lost."""
        net = network("greedy", execution=execution, activation="tanh", device="meta", **KINDS[kind])
        expected = network("greedy", execution=execution, activation="tanh", **KINDS[kind])
        torch.full((100_000,), 3.0)  # so that memory taken anew is not zero by luck
        net.to_empty(device="cpu")
        torch.manual_seed(0)
        net.reset_parameters()
        assert all(torch.equal(a, b) for a, b in zip(read_all(net), read_all(expected), strict=True))
        assert same_values(net, expected)

    @pytest.mark.parametrize("device", DEVICES)
    def test_every_device(self, net, device):
        inputs = inputs_of(net, 4)
        results = []
        for moved in (net, copy.deepcopy(net).to(device)):
            moved_inputs = [x.to(moved.layers[0].weight.device).requires_grad_() for x in inputs]
            y = moved(*moved_inputs)
            assert y.device == moved.layers[0].weight.device
            found = torch.autograd.grad(y.square().sum(), [*moved_inputs, *moved.parameters()])
            results.append([piece.cpu() for piece in (y, *found)])
        assert moved.layers[0].weight.device.type == device
        torch.testing.assert_close(results[1], results[0], rtol=1e-9, atol=1e-11)

    @pytest.mark.parametrize("device", DEVICES)
    def test_made_in_the_context_of_a_device(self, execution, device):
        with torch.device(device):
            net = network("greedy", execution=execution, activation="prelu", residual=True)
            y = net(torch.zeros(2, 9, dtype=torch.float64))
        assert {tensor.device.type for tensor in [*net.parameters(), *net.buffers(), y]} == {device}

    @pytest.mark.parametrize("device", DEVICES)
    def test_autocast(self, execution, device):
        net = network("greedy", execution=execution, activation="tanh", dtype=torch.float32).to(device)
        (x,) = (x.to(device) for x in inputs_of(net, 4))
        with torch.autocast(device, dtype=torch.bfloat16):
            y = net(x)
        torch.testing.assert_close(y.float(), net(x), rtol=0.05, atol=0.05)

    def test_bare_modes(self, net):
        assert net.eval().training is False
        assert {module.training for module in net.modules()} == {False}
        net.requires_grad_(False)
        assert not net(*inputs_of(net, 2)).requires_grad


class TestShapes:
    def test_no_rows(self, net):
        inputs = [x.requires_grad_() for x in inputs_of(net, 0)]
        y = net(*inputs)
        assert y.shape == (0, *net(*inputs_of(net, 1)).shape[1:])
        y.sum().backward()
        assert all(bool((parameter.grad == 0).all()) for parameter in net.parameters())

    @pytest.mark.parametrize("lead", [(), (1,), (2, 3), (2, 1, 3), (2, 0, 3)])
    def test_leading_dimensions(self, net, lead):
        inputs = inputs_of(net, *lead)
        y = net(*inputs)
        rows = net(*(x.reshape(-1, x.shape[-1]) if x.numel() else x.new_zeros(0, x.shape[-1]) for x in inputs))
        assert y.shape == (*lead, *rows.shape[1:])
        assert y.is_contiguous()
        torch.testing.assert_close(y, rows.reshape(y.shape), **CLOSE)

    def test_a_single_row(self, net):
        inputs = inputs_of(net, 3)
        torch.testing.assert_close(net(*(x[1] for x in inputs)), net(*inputs)[1], **CLOSE)

    def test_a_row_does_not_depend_on_its_batch(self, net):
        inputs = inputs_of(net, 64)
        torch.testing.assert_close(net(*(x[5:9] for x in inputs)), net(*inputs)[5:9], **CLOSE)

    def test_inputs_that_are_not_contiguous(self, net):
        inputs = inputs_of(net, 6)
        expected = net(*inputs)
        variants = {
            "transposed": [x.t().contiguous().t() for x in inputs],
            "strided": [x.repeat_interleave(2, dim=0)[::2] for x in inputs],
            "wide": [torch.cat([x, x], dim=1)[:, : x.shape[1]] for x in inputs],
        }
        for name, given in variants.items():
            assert not all(x.is_contiguous() for x in given), name
            torch.testing.assert_close(net(*given), expected, **CLOSE)
        shared = [x[:1].expand(6, -1) for x in inputs]
        torch.testing.assert_close(net(*shared), expected[:1].expand_as(expected), **CLOSE)

    def test_inputs_are_left_alone(self, net):
        inputs = inputs_of(net, 3)
        before = [x.clone() for x in inputs]
        net(*inputs).add_(1.0)
        assert all(torch.equal(x, y) for x, y in zip(inputs, before, strict=True))
