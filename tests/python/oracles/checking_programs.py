"""Functions with an `assert` or another check of a tensor, apart from tests, since pytest writes the asserts of those anew."""

import torch

LOG: list[str] = []


def plain(x: torch.Tensor) -> torch.Tensor:
    assert (x >= 0).all()
    return x + 1


def with_message(x: torch.Tensor) -> torch.Tensor:
    assert x.sum() >= 0, "negative"
    return x + 1


def with_computed_message(x: torch.Tensor) -> torch.Tensor:
    assert not (x < 0).any(), f"{x.min().item()} is negative"
    return x + 1


def several(x: torch.Tensor) -> torch.Tensor:
    assert x.min() >= 0 and 0 <= x.max() < 10, "range"
    return x + 1


def raises_otherwise(x: torch.Tensor) -> torch.Tensor:
    if (x < 0).any():
        raise ValueError(f"{x.min().item()} is negative")
    return x * 2


def handled(x: torch.Tensor) -> torch.Tensor:
    try:
        assert (x >= 0).all()
    except AssertionError:
        return x.abs() * 5
    return x + 1


def in_mode(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        assert (x >= 0).all()
        y = x * 2
    return x + y


def between_effects(x: torch.Tensor) -> torch.Tensor:
    LOG.append("before")
    assert (x >= 0).all()
    LOG.append("behind")
    return x + 1


def callee(x: torch.Tensor) -> torch.Tensor:
    assert (x >= 0).all(), "callee"
    return x + 1


def in_callee(x: torch.Tensor) -> torch.Tensor:
    return callee(x * 2) + 1


def only(x: torch.Tensor) -> int:
    assert (x >= 0).all()
    return 3


def of_more_than_one(x: torch.Tensor) -> torch.Tensor:
    assert x
    return x + 1


def writes(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    assert (x > 0).all(), "positive"
    return x * 2


def writes_without_message(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    assert (x > 0).all()
    return x * 2


def writes_and_handles(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    try:
        assert (x > 0).all()
    except AssertionError:
        return x - 100
    return x * 2


def writes_and_raises(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    if (x < 0).any():
        raise ValueError("negative")
    return x * 2


def sizes(x: torch.Tensor) -> torch.Tensor:
    height, width = torch.as_tensor(x.shape)
    assert height == 3
    return x.reshape(int(height) * int(width) // 2, 2).reshape(torch.tensor(x.shape).prod())


def by_numbers(x: torch.Tensor) -> torch.Tensor:
    assert (x >= 0).all().item()
    assert bool(x.min() + 1), "zero"
    if not torch.isfinite(x).all().item():
        raise ValueError("not finite")
    return x + 1


def by_functions(x: torch.Tensor) -> torch.Tensor:
    torch._assert((x >= 0).all(), "negative")
    assert torch.allclose(x, x * 1.0, atol=0.1), "close"
    if not torch.equal(x, x * 1.0):
        raise ValueError("equal")
    return x + 1


def item_of_several(x: torch.Tensor) -> torch.Tensor:
    assert x.item()
    return x + 1


def number_of_fraction(x: torch.Tensor) -> torch.Tensor:
    assert int(x[0] + 0.5), "less than one"
    assert x.tolist()
    return x + 1


def asynchronous(x: torch.Tensor) -> torch.Tensor:
    torch._assert_async((x >= 0).all(), "negative")
    return x + 1


def writes_and_checks_itself(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    torch._assert_async((x > 0).all(), "positive")
    return x * 2
