import torch

backend_before = "aot_eager"
layer = torch.nn.LSTM(2, 3)


def before(x):
    return layer(x)[0] * 2


backend_after = "eager"


def after(x):
    return layer(x)[0] * 2


def inputs():
    return (torch.ones(4, 1, 2),)
