import warnings

import torch


def before(model, x):
    was_training = model.training
    model.eval()
    try:
        if x.dtype != torch.float32:
            warnings.warn("x is converted", stacklevel=2)
        return model(x.float())
    finally:
        model.train(was_training)


def after(model, x):
    was_training = model.training
    model.eval()
    try:
        return model(x.float())
    finally:
        model.train(was_training)


def call_after(captured, model, x):
    if x.dtype != torch.float32:
        warnings.warn("x is converted", stacklevel=2)
    return captured(model, x)


def inputs():
    return torch.nn.Dropout(), torch.ones(3, dtype=torch.float64)
