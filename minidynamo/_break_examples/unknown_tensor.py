import torch

OFFSET = torch.ones(3)
library = torch.library.Library("break_examples_of_tensors", "DEF")
library.define("shifted(Tensor x) -> Tensor")
library.define("shifted_by(Tensor x, Tensor offset) -> Tensor")
library.impl("shifted", lambda x: x + OFFSET, "CompositeImplicitAutograd")
library.impl("shifted_by", lambda x, offset: x + offset, "CompositeImplicitAutograd")


def before(x):
    return torch.ops.break_examples_of_tensors.shifted(x) * 2


def after(x):
    return torch.ops.break_examples_of_tensors.shifted_by(x, OFFSET) * 2


def inputs():
    return (torch.ones(3),)
