"""Every attribute and method of torch.Tensor, in a captured function: at the first call, and at one with another tensor.

The second tensor has the sizes, strides and kind of the first, and differs in what the attribute may tell (its history, its
storage, its hooks): what was learnt from the first must not be believed of the second.
"""

import re
import warnings

import pytest
import torch

import minidynamo


def plain():
    return torch.arange(12.0).view(3, 4).clone()


def leaf():
    return plain().requires_grad_()


def with_gradient():
    x = leaf()
    x.grad = torch.ones(3, 4)
    return x


def retained():
    x = leaf() * 1
    x.retain_grad()
    return x


def hooked():
    x = leaf() * 1
    x.register_hook(lambda gradient: None)
    return x


def hooked_leaf():
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda tensor: None)
    return x


def inference():
    with torch.inference_mode():
        return plain()


def marked():
    x = plain()
    x.mark = 1
    return x


VARIANTS = {
    "plain": plain,
    "view": lambda: torch.arange(12.0).view(3, 4),
    "offset": lambda: torch.arange(14.0)[2:].view(3, 4),
    "written": lambda: plain().add_(1),
    "leaf": leaf,
    "with_gradient": with_gradient,
    "hooked_leaf": hooked_leaf,
    "computed": lambda: leaf() * 1,
    "computed_otherwise": lambda: leaf() + 0,
    "second_output": lambda: torch.aminmax(torch.ones(2, 3, 4, requires_grad=True), dim=0)[1],
    "retained": retained,
    "hooked": hooked,
    "parameter": lambda: torch.nn.Parameter(plain()),
    "buffer": lambda: torch.nn.Buffer(plain()),
    "shared": lambda: plain().share_memory_(),
    "inference": inference,
    "negative": lambda: torch._neg_view(plain()),
    "expanded": lambda: torch.arange(4.0).expand(3, 4),
    "marked": marked,
}  # fmt: skip

# Beside the number of references that are held, these do nothing that two runs could have in common.
NOT_COMPARED = {
    "_use_count": "counts the owners of the tensor",
    "_fix_weakref": "repairs the object itself",
    "__dlpack_c_exchange_api__": "an address",
    "__weakref__": "the list of weak references, which captures add to",
}

NAMES = sorted(name for name in dir(torch.Tensor) if name not in NOT_COMPARED)
METHODS = {name for name in NAMES if callable(getattr(torch.Tensor, name))}


def is_operator(name):
    return hasattr(torch.ops.aten, name)


def function_for(name):
    call = "()" if name in METHODS else ""
    namespace = {}
    exec(f"def f(x):\n    return x.{name}{call}", namespace)
    return namespace["f"]


def described(value):
    if isinstance(value, torch.Tensor):
        facts = (type(value), value.dtype, tuple(value.shape), value.requires_grad, value.is_leaf, value.layout)
        return (*facts, value.stride() if value.layout == torch.strided else None, repr(value.detach()))
    if isinstance(value, (tuple, list)):
        return type(value), [described(item) for item in value]
    if isinstance(value, dict):
        return type(value), [(key, described(item)) for key, item in value.items()]
    if value is None or isinstance(value, (bool, int, float, str, complex)):
        return type(value), repr(value)
    return type(value), re.sub(r"0x[0-9a-f]+|\d{9,}", "", repr(value))


def outcome(function, x):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(function(x))
        except Exception as error:
            return "raised", type(error)


def changes(name):
    return (name.endswith("_") and (not name.endswith("__") or name.startswith("__i"))) or name in ("backward", "__setstate__")


def differences(names, pairs):
    """The differences of a captured function from an eager one, for each name and each (first, second) of two variants."""
    found = []
    for name in names:
        for first, second in pairs:
            function = function_for(name)
            captured = minidynamo.compile(function, backend="eager")
            for which in (first, second):
                x = VARIANTS[which]()
                expected = outcome(function, x)
                got = outcome(captured, VARIANTS[which]() if changes(name) else x)
                if expected != got:
                    found.append(f"{name}: {first} then {second}, at {which}: {got} instead of {expected}")
            minidynamo.reset()
    return found


OTHERS = [name for name in VARIANTS if name != "plain"]


@pytest.mark.parametrize("part", range(8))
def test_what_no_operator_tells(part):
    names = [name for name in NAMES if not is_operator(name)][part::8]
    pairs = [(first, second) for other in OTHERS for first, second in (("plain", other), (other, "plain"))]
    pairs += [("leaf", "with_gradient"), ("leaf", "hooked_leaf"), ("computed", "computed_otherwise")]
    pairs += [("computed", "second_output")]
    pairs += [("computed", "retained"), ("computed", "hooked"), ("view", "offset"), ("parameter", "leaf")]
    assert differences(names, pairs) == []


@pytest.mark.parametrize("part", range(4))
def test_what_operators_tell(part):
    names = [name for name in NAMES if is_operator(name)][part::4]
    assert differences(names, [("plain", "offset"), ("shared", "plain"), ("leaf", "computed")]) == []


FACTS = {
    "storage_offset()": ("plain", "offset"),
    "_is_view()": ("plain", "view"),
    "_base is None": ("plain", "view"),
    "is_shared()": ("plain", "shared"),
    "output_nr": ("computed", "second_output"),
    "retains_grad": ("computed", "retained"),
    "_backward_hooks is None": ("computed", "hooked"),
    "_post_accumulate_grad_hooks is None": ("leaf", "hooked_leaf"),
    "grad is None": ("leaf", "with_gradient"),
    "grad_fn is None": ("leaf", "computed"),
    "is_leaf": ("leaf", "computed"),
    "_version": ("plain", "written"),
    "is_inference()": ("plain", "inference"),
    "data_ptr()": ("plain", "written"),
    "_cdata": ("plain", "written"),
    "__dict__": ("plain", "marked"),
}


@pytest.mark.parametrize("question", FACTS)
@pytest.mark.parametrize("turned", [False, True])
def test_beside_a_computation(question, turned):
    """The answer stands beside a graph, and decides what the graph is."""
    namespace = {}
    exec(f"def f(x):\n    answer = x.{question}\n    return (x * 2 if answer else x * 3), answer", namespace)
    captured = minidynamo.compile(namespace["f"], backend="eager")
    first, second = FACTS[question][::-1] if turned else FACTS[question]
    for which in (first, second, first):
        x = VARIANTS[which]()
        assert described(captured(x)) == described(namespace["f"](x))


def test_facts_of_views_made_inside_follow_from_their_base():
    def f(x):
        y = x[1:]
        return y * y.storage_offset(), y._base is x

    captured = minidynamo.compile(f, backend="eager")
    for which in ("plain", "offset", "view", "plain"):
        x = VARIANTS[which]()
        assert described(captured(x)) == described(f(x))


def test_facts_after_a_write():
    def f(x, w):
        x.mul_(w)
        return x.is_leaf, x.grad_fn is None, x.requires_grad, x.output_nr, x + 1

    captured = minidynamo.compile(f, backend="eager")
    for gradient in (True, False, True):
        w = torch.ones(3, 4, requires_grad=gradient)
        assert described(captured(plain(), w)) == described(f(plain(), w))


def test_a_guarded_fact_is_no_break():
    def f(x):
        return x + x.storage_offset()

    captured = minidynamo.compile(f, backend="eager", fullgraph=True)
    for which in ("plain", "offset", "plain"):
        x = VARIANTS[which]()
        assert torch.equal(captured(x), f(x))


def test_methods_with_unknown_effects_run_in_python():
    def f(x):
        x.share_memory_()
        return x + 1

    captured = minidynamo.compile(f, backend="eager")
    for _ in range(2):
        x = plain()
        captured(x)
        assert x.is_shared()
