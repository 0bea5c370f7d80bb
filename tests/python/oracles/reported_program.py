"""The program of test_report.py: two models, three graph breaks, one capture after another for a number, and a backend that fails."""

import contextlib

import torch

import minidynamo


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        if x.sum() > 100:
            x = x / 2
        minidynamo.graph_break()
        return torch.bincount(x.long().flatten().abs()), x.sin()


class Scaled(torch.nn.Module):
    def forward(self, x, scale):
        return x.cos() * scale + 1


def breaking_backend(graph_module, example_inputs):
    raise ValueError("this <backend> has no exp")


@minidynamo.compile(backend=breaking_backend)
def wrong(x):
    return x.exp()


@minidynamo.disable
def noted(x):
    return x


@minidynamo.compile(backend="eager")
def with_disabled(x):
    return noted(x.tan()).exp()


def main() -> None:
    torch.manual_seed(0)
    encoder = minidynamo.compile(Encoder(), backend="eager")
    scaled = minidynamo.compile(Scaled(), backend="eager", dynamic=False)
    for i in range(12):
        encoder(torch.ones(4, 8))
        scaled(torch.ones(4), i + 0.5)
        with_disabled(torch.ones(2))
    with contextlib.suppress(minidynamo.BackendCompilerFailed):
        wrong(torch.ones(2))


if __name__ == "__main__":
    main()
