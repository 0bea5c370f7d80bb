import torch


def before(x):
    with torch.compiler.set_stance("force_eager"):
        return x.sin() + 1


def after(x):
    return x.sin() + 1


def call_after(captured, x):
    with torch.compiler.set_stance("default"):
        return captured(x)


def inputs():
    return (torch.ones(3),)
