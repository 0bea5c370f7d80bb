import torch


@torch.library.custom_op("break_examples::shifted", mutates_args=())
def shifted(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def before(x):
    return shifted(x) * 2


@torch.library.custom_op("break_examples::shifted_with_fake", mutates_args=())
def shifted_with_fake(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@shifted_with_fake.register_fake
def _(x):
    return torch.empty_like(x)


def after(x):
    return shifted_with_fake(x) * 2


def inputs():
    return (torch.ones(3),)
