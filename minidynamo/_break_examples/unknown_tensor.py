"""An operator of a library uses a tensor that is none of its arguments."""

import torch

OFFSET = torch.ones(3)
library = torch.library.Library("break_examples_library", "DEF")
library.define("shifted(Tensor x) -> Tensor")
library.impl("shifted", lambda x: x + OFFSET, "CompositeImplicitAutograd")


def before(x):
    return torch.ops.break_examples_library.shifted(x) * 2


library.define("shifted_by(Tensor x, Tensor offset) -> Tensor")
library.impl("shifted_by", lambda x, offset: x + offset, "CompositeImplicitAutograd")


def after(x):
    return torch.ops.break_examples_library.shifted_by(x, OFFSET) * 2


def inputs():
    return (torch.ones(3),)
