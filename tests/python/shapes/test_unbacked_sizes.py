"""Numbers that only the run of a graph knows (item(), nonzero, masks...): one graph, and every call equals eager."""

import pytest
import torch
import torch.nn.functional as F

import minidynamo


def outcome(f, arguments):
    """The result or exception of a call, and the gradients of its inputs."""
    arguments = [x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in arguments]
    try:
        result = f(*arguments)
    except Exception as error:
        return type(error), str(error)
    leaves = [x for x in arguments if isinstance(x, torch.Tensor) and x.requires_grad]
    results = [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, torch.Tensor) and x.requires_grad]
    if results:
        sum((x * x).sum() for x in results).backward()
    return result, [x.grad for x in leaves], [x.detach() for x in arguments if isinstance(x, torch.Tensor)]


def same(a, b, tolerance):
    if isinstance(a, torch.Tensor):
        torch.testing.assert_close(b, a, rtol=tolerance, atol=tolerance, equal_nan=True)
        return True
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and a == b


def check(f, calls, *, backend="eager", graphs=1, fullgraph=False):
    """Each call equals eager; all of them make so many graphs together."""
    optimized = minidynamo.optimize(backend, fullgraph=fullgraph)(f)
    for arguments in calls:
        expected, got = outcome(f, arguments), outcome(optimized, arguments)
        assert same(expected, got, 1e-4 if backend == "inductor" else 0), (arguments, expected, got)
    made = minidynamo.stats()["graphs"]
    assert graphs is None or made == graphs, (made, [(str(b.reason), b.detail, b.line) for b in minidynamo.debug.graph_breaks()])


def masks(*counts, shape=(4, 6), grad=False):
    """Calls with a tensor and a mask of it that takes so many elements."""
    calls = []
    for count in counts:
        mask = torch.zeros(shape, dtype=torch.bool)
        mask.view(-1)[torch.randperm(mask.numel())[:count]] = True
        calls.append((torch.randn(shape, requires_grad=grad), mask))
    return calls


def rows(*counts, size=8, grad=False):
    calls = []
    for count in counts:
        mask = torch.zeros(size, dtype=torch.bool)
        mask[torch.randperm(size)[:count]] = True
        calls.append((torch.randn(size, 4, requires_grad=grad), mask))
    return calls


def numbers(*values, size=8, grad=False):
    return [(torch.randn(size, 4, requires_grad=grad), torch.tensor(value)) for value in values]


COUNTS = (3, 0, 1, 24, 7)
ROWS = (3, 0, 1, 8, 5)


def mixture_of_experts(x, mask):
    """Each expert gets the rows that are routed to it."""
    result = torch.zeros_like(x)
    expert = mask.long()
    for number in range(2):
        chosen = torch.nonzero(expert == number).squeeze(1)
        result = result.index_add(0, chosen, x[chosen] * (number + 2))
    return result


def mixture_by_where(x, mask):
    result = torch.zeros_like(x)
    for number in range(2):
        (chosen,) = torch.where(mask == bool(number))
        result = result.index_add(0, chosen, torch.relu(x[chosen]) @ torch.ones(4, 4))
    return result


MASKED = {
    "sum": lambda x, m: x[m].sum(),
    "mean of squares": lambda x, m: (x[m] ** 2).sum() / 7,
    "pointwise": lambda x, m: torch.relu(x[m] * 2 + 1),
    "two tensors, one mask": lambda x, m: x[m] * (x + 1)[m],
    "masked_select": lambda x, m: torch.masked_select(x, m).exp(),
    "nonzero": lambda x, m: torch.nonzero(m) + 1,
    "number of elements": lambda x, m: x[m].shape[0],
    "numel": lambda x, m: (x[m].numel() * 2, x[m].size(0) + 1),
    "length": lambda x, m: len(x[m]),
    "size as a number": lambda x, m: x * x[m].shape[0],
    "zeros of that size": lambda x, m: x[m] + torch.zeros(x[m].shape[0]),
    "arange of that size": lambda x, m: x[m] * torch.arange(x[m].shape[0]),
    "cat": lambda x, m: torch.cat([x[m], x[~m]]).sum() + torch.cat([x[m], x[m]]).sum(),
    "stack": lambda x, m: torch.stack([x[m], x[m] * 2]).sum(0),
    "unsqueeze": lambda x, m: x[m].unsqueeze(1) * torch.ones(3),
    "view of one": lambda x, m: x[m].view(-1, 1) + 1,
    "cross entropy": lambda x, m: F.mse_loss(x[m], torch.zeros_like(x[m]), reduction="sum"),
    "clone and write": lambda x, m: x[m].clone().mul_(2),
    "softmax": lambda x, m: torch.softmax(x[m], 0).sum(),
    "cumsum": lambda x, m: torch.cumsum(x[m], 0),
    "sort": lambda x, m: torch.sort(x[m])[0],
    "dtype": lambda x, m: x[m].double().long(),
    "argwhere": lambda x, m: torch.argwhere(m).sum(0),
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_elements_of_a_mask(name, backend):
    check(MASKED[name], masks(*COUNTS), backend=backend)


@pytest.mark.parametrize("name", ["sum", "pointwise", "two tensors, one mask", "cat", "unsqueeze"])
def test_gradient_of_elements(name):
    check(MASKED[name], masks(*COUNTS, grad=True), backend="aot_eager")


ROUTED = {
    "rows": lambda x, m: x[m] * 2,
    "rows and a layer": lambda x, m: F.linear(x[m], torch.ones(3, 4)),
    "rows of a product": lambda x, m: (x @ torch.ones(4, 4))[m].sum(0),
    "columns": lambda x, m: x.t()[:, m] + 1,
    "rows by index": lambda x, m: x[torch.nonzero(m)[:, 0]],
    "sum of rows": lambda x, m: x[m].sum(1),
    "norm of rows": lambda x, m: F.layer_norm(x[m], (4,)),
    "attention": lambda x, m: torch.softmax(x[m] @ x.t(), -1) @ x,
    "scatter": lambda x, m: torch.zeros(8, 4).index_add(0, torch.nonzero(m).squeeze(1), x[m]),
    "flatten": lambda x, m: x[m].reshape(-1),
    "view": lambda x, m: x[m].view(x[m].shape[0], 2, 2).sum(-1),
    "transpose": lambda x, m: x[m].t().contiguous(),
    "mixture of experts": mixture_of_experts,
    "mixture by where": mixture_by_where,
}


@pytest.mark.parametrize("name", ROUTED)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_rows_of_a_mask(name, backend):
    check(ROUTED[name], rows(*ROWS), backend=backend)


@pytest.mark.parametrize("name", ["rows", "rows and a layer", "scatter", "mixture of experts", "mixture by where"])
def test_gradient_of_rows(name):
    check(ROUTED[name], rows(*ROWS, grad=True), backend="aot_eager")


def ragged(x, lengths):
    index = torch.repeat_interleave(torch.arange(8), lengths)
    return x[index] * 2


def ragged_positions(x, lengths):
    index = torch.repeat_interleave(torch.arange(8), lengths)
    starts = torch.cumsum(lengths, 0) - lengths
    return torch.arange(index.shape[0]) - starts[index]


def lengths(*all_lengths):
    return [(torch.randn(8, 4), torch.tensor(one)) for one in all_lengths]


LENGTHS = ([1, 2, 3, 0, 1, 0, 2, 2], [0] * 8, [1] + [0] * 7, [3] * 8)
RAGGED = {
    "ragged": ragged,
    "ragged positions": ragged_positions,
    "repeat_interleave of rows": lambda x, n: torch.repeat_interleave(x, n, dim=0).sum(0),
    "longest": lambda x, n: x[:, : int(n.max())] * 2,
    "longest as a mask": lambda x, n: torch.arange(int(n.max()))[None, :] < n[:, None],
    "unique": lambda x, n: torch.unique(n),
    "unique, inverse and counts": lambda x, n: torch.unique(n, return_inverse=True, return_counts=True),
    "unique_consecutive": lambda x, n: torch.unique_consecutive(n, return_counts=True),
    "bincount": lambda x, n: torch.bincount(n),
    "bincount of so many": lambda x, n: torch.bincount(n, minlength=5),
    "list of numbers": lambda x, n: x * n.tolist()[2] + n.tolist()[0],
}


@pytest.mark.parametrize("name", RAGGED)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_lengths(name, backend):
    check(RAGGED[name], lengths(*LENGTHS), backend=backend)


NUMBERS = {
    "factor": lambda x, n: x * n.item(),
    "arithmetic": lambda x, n: x * (n.item() * 2 + 1) - n.item() // 2,
    "int()": lambda x, n: x + int(n),
    "zeros": lambda x, n: torch.zeros(n.item(), 3) + 1,
    "ones of two": lambda x, n: torch.ones(int(n), int(n)).sum(),
    "arange": lambda x, n: torch.arange(int(n)) * 2,
    "full": lambda x, n: torch.full((3,), n.item()),
    "prefix": lambda x, n: x[: n.item()] + 1,
    "suffix": lambda x, n: x[n.item() :] + 1,
    "bounds that are tensors": lambda x, n: x[:n] * 2,
    "narrow": lambda x, n: x.narrow(0, 0, n.item()) * 2,
    "returned": lambda x, n: (n.item(), x + n.item()),
    "max of two": lambda x, n: x * max(n.item(), 3),
    "tolist": lambda x, n: x * n.tolist(),
    "expand": lambda x, n: x[0].expand(n.item(), 4) * 2,
    "repeat": lambda x, n: torch.zeros(n.item()).unsqueeze(1) + x[0],
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_numbers(name, backend):
    check(NUMBERS[name], numbers(5, 0, 1, 2, 8, 7), backend=backend)


def test_numbers_beyond_what_is_supposed():
    """Slices that end beyond their tensor, or count from its end."""
    check(NUMBERS["prefix"], numbers(5, 9, -3, 100, -100, 2, 12), graphs=None)
    check(NUMBERS["suffix"], numbers(5, 9, -3, 100, -100, 2, 12), graphs=None)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_what_is_often_not_as_supposed_is_supposed_no_more(backend):
    """One call for which it does not hold runs uncaptured; after some, the function is captured again."""
    check(NUMBERS["prefix"], numbers(5, 100, 8), backend=backend)
    assert not minidynamo.debug.graph_breaks()
    check(NUMBERS["prefix"], numbers(100, 100, 100), backend=backend, graphs=None)
    assert minidynamo.debug.graph_breaks()


def test_strides_are_asked():
    """A tensor without elements has other strides than its sizes imply."""
    check(lambda x, n: (torch.ones(2, n.item()).stride(), x + 1), numbers(5, 0, 1), graphs=None)


def test_an_operator_that_refuses_what_is_empty():
    check(lambda x, m: x[m].max() + x[m].sum(), masks(3, 0, 24, 1))


def test_an_operator_that_takes_one_for_something_else():
    check(lambda x, m: x[m].squeeze() + 1, masks(3, 1, 0))


def test_sizes_of_inputs_change_too():
    calls = [call for count, shape in ((3, (4, 6)), (0, (5, 6)), (8, (4, 2)), (1, (9, 5))) for call in masks(count, shape=shape)]
    optimized = minidynamo.optimize("aot_eager", dynamic=True, fullgraph=True)(MASKED["cat"])
    for arguments in calls:
        assert same(outcome(MASKED["cat"], arguments), outcome(optimized, arguments), 0)
    assert minidynamo.stats()["graphs"] == 1


def test_numbers_in_one_graph_are_told_apart():
    def f(x, m):
        other = x > 0
        return x[m].sum() + x[other].sum(), x[m].shape[0] + x[other].shape[0]

    check(f, masks(*COUNTS))


def test_a_training_step_ends_where_it_did():
    def f(x, m):
        loss = (x[m] ** 2).sum()
        loss.backward()
        return loss.detach()

    for _, mask in masks(3, 0, 5):
        x, y = torch.ones(4, 6, requires_grad=True), torch.ones(4, 6, requires_grad=True)
        assert torch.equal(minidynamo.optimize("eager")(f)(x, mask), f(y, mask)) and torch.equal(x.grad, y.grad)


def test_a_branch_is_a_break_with_its_value():
    def f(x, n):
        k = n.item()
        y = x * k
        if k > 3:
            return y + 1
        return y - 1

    check(f, numbers(5, 2, 0, 7), graphs=None)
    assert len(minidynamo.debug.graph_breaks()) > 0
    assert minidynamo.debug.graph_breaks()[0].line == f.__code__.co_firstlineno + 3


def test_a_branch_at_once_ends_the_graph_where_the_number_is_read():
    def f(x, n):
        y = x * 2
        if n.item() > 3:
            return y + 1
        return y - 1

    check(f, numbers(5, 2, 0, 7), graphs=None)
    assert "the value of a tensor is read" in minidynamo.debug.graph_breaks()[0].detail


USES = {
    "range": lambda x, k: [x + i for i in range(k)],
    "format": lambda x, k: (f"{k}", x * k),
    "text": lambda x, k: (str(k), x),
    "key": lambda x, k: ({5: "five", 0: "zero"}.get(k), x),
    "list index": lambda x, k: ([1, 2, 3, 4, 5, 6, 7, 8, 9][k], x + k),
    "truth": lambda x, k: x + 1 if k else x - 1,
    "comparison kept": lambda x, k: (k > 3, x),
    "comparison of sizes": lambda x, k: x if torch.zeros(k).shape[0] == 2 else x + 1,
    "float": lambda x, k: x * float(k),
    "division": lambda x, k: x * (k / 2),
    "power": lambda x, k: x * (2**k),
    "bits": lambda x, k: x * (k & 3),
    "divmod": lambda x, k: (x + k, divmod(k, 3)),
    "type": lambda x, k: (type(k) is int, isinstance(k, int), isinstance(k > 3, bool), x),
    "and": lambda x, k: x if k > 1 and k < 6 else x + 1,
    "match": lambda x, k: x * {"a": k}["a"],
    "abs": lambda x, k: x * abs(k),
    "loop": lambda x, k: sum((x * i for i in range(k)), x),
    "repr of a list": lambda x, k: (repr([k]), x),
    "hash": lambda x, k: (hash(k), x),
    "round": lambda x, k: (round(k), k.bit_length(), x),
    "sorted": lambda x, k: (sorted([k, 3, 1]), x),
    "in": lambda x, k: (k in (1, 2, 3), x),
}


@pytest.mark.parametrize("name", USES)
def test_uses_in_python(name):
    """Whatever needs the number gets it."""
    use = USES[name]

    def f(x, n):
        k = n.item()
        y = torch.sin(x) + k
        return use(y, k)

    check(f, numbers(5, 2, 0, 1, 7), graphs=None)


def test_check_narrows():
    def f(x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 8, lambda: f"{k} is too large")
        return x[:k].sum() if k >= 2 else x

    check(f, numbers(5, 2, 3, 8), fullgraph=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_check_raises_as_in_eager(backend):
    def f(x, n):
        k = n.item()
        torch._check(k >= 2, lambda: "at least two")
        torch._check(k <= 64, lambda: "too many")
        return torch.zeros(k) + 1

    check(f, numbers(5, 2, 100, 1, 64), backend=backend, fullgraph=True)


def test_check_is_size():
    def f(x, n):
        k = n.item()
        torch._check_is_size(k)
        return torch.zeros(k, 2)

    check(f, numbers(5, 0, -1, 3), fullgraph=True)


def test_check_after_a_write():
    """The graph cannot run twice: it raises itself."""

    def f(x, n):
        x.add_(1)
        k = n.item()
        torch._check(k > 1, lambda: "more than one")
        return x * k

    optimized = minidynamo.optimize("aot_eager", fullgraph=True)(f)
    x = torch.zeros(2)
    assert same(optimized(x, torch.tensor(4)), f(torch.zeros(2), torch.tensor(4)), 0)
    with pytest.raises(RuntimeError):
        optimized(x, torch.tensor(0))


def test_functions_of_torch_for_such_numbers():
    from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true, statically_known_true

    def f(x, n):
        k = n.item()
        either = x + 1 if guard_or_false(k == 3) or not guard_or_true(k != 3) or statically_known_true(k > 2) else 1 + x
        return either * torch.sym_max(k, 3) + torch.sym_min(k, 4) + torch.sym_int(k)

    check(f, numbers(5, 3, 0, 9), fullgraph=True)


def test_sum_of_items():
    def f(x, n):
        total = 0
        for value in (n, n + 1, n * 2):
            total = total + value.item()
        return x * total, total

    check(f, numbers(5, 3, 0, 9), fullgraph=True)


def test_number_crosses_a_break():
    def f(x, n):
        k = n.item()
        y = x + k
        minidynamo.graph_break()
        return y * k

    check(f, numbers(5, 3, 0), graphs=None)


def test_number_is_stored():
    def f(x, n, box):
        box["k"] = n.item()
        return x * box["k"]

    optimized = minidynamo.optimize("eager", fullgraph=True)(f)
    for value in (5, 3, 0):
        box = {}
        assert torch.equal(optimized(torch.ones(2), torch.tensor(value), box), torch.full((2,), float(value)))
        assert box == {"k": value} and type(box["k"]) is int


def test_mask_that_is_written_between():
    def f(x, m):
        a = x[m]
        m.logical_not_()
        return a, x[m]

    check(f, masks(*COUNTS), graphs=1)


def test_top_p():
    def f(x, m):
        ordered, order = torch.sort(torch.softmax(x[0], -1), descending=True)
        keep = torch.cumsum(ordered, -1) - ordered < 0.7
        kept = order[keep]
        return kept, x[0][kept].sum()

    check(f, masks(*COUNTS))


def test_any_is_a_break():
    def f(x, m):
        y = x * 2
        if m.any().item():
            return y[m]
        return y

    check(f, masks(*COUNTS), graphs=None)


def test_loop_until_nothing_is_left():
    def f(x, m):
        steps = 0
        while m.any():
            x = torch.where(m, x / 2, x)
            m = x.abs() > 0.3
            steps += 1
        return x, steps

    check(f, masks(3, 0), graphs=None)


@pytest.mark.parametrize("setting", ["capture_scalar_outputs", "capture_dynamic_output_shape_ops"])
def test_switched_off(setting):
    f = NUMBERS["factor"] if setting == "capture_scalar_outputs" else MASKED["sum"]
    calls = numbers(5, 3) if setting == "capture_scalar_outputs" else masks(3, 4)
    with minidynamo.config.patch(**{setting: False}):
        check(f, calls, graphs=None)
        assert minidynamo.debug.graph_breaks()
    minidynamo.reset()
    check(f, calls)


def test_backend_that_cannot():
    def backend(graph_module, example_inputs):
        if any(node.target == "item" for node in graph_module.graph.nodes):
            raise NotImplementedError("no numbers")
        return graph_module.forward

    check(NUMBERS["factor"], numbers(5, 3, 0), backend=backend, graphs=None)


def test_written_beside():
    def f(x, m):
        y = torch.zeros(4, 6)
        y[m] = x[m] * 2
        return y

    check(f, masks(*COUNTS))


INDUCTOR = {
    "sum": (MASKED["sum"], masks, COUNTS),
    "mixture of experts": (mixture_of_experts, rows, ROWS),
    "rows and a layer": (ROUTED["rows and a layer"], rows, ROWS),
    "arithmetic": (NUMBERS["arithmetic"], numbers, (5, 0, 1, 8)),
    "arange": (NUMBERS["arange"], numbers, (5, 0, 1, 8)),
    "prefix": (NUMBERS["prefix"], numbers, (5, 0, 1, 8)),
}


@pytest.mark.parametrize("name", INDUCTOR)
def test_inductor(name):
    f, make, values = INDUCTOR[name]
    check(f, make(*values, grad=make is not numbers), backend="inductor")
