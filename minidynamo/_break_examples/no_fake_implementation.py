import torch


@torch.library.custom_op("break_examples::log_of_sizes", mutates_args=())
def plain_shifted(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def before(x):
    return plain_shifted(x) * 2


@torch.library.custom_op("break_examples::shifted", mutates_args=())
def shifted(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@shifted.register_fake
def _(x):
    return torch.empty_like(x)


def after(x):
    return shifted(x) * 2


def inputs():
    return (torch.ones(3),)
