"""Capture of transforms beside torch.compile in one process: milliseconds of the first call less a later one, medians.

    python bench/transforms.py [--repeat 5] [--smoke]
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch
from measure import machine, run_as_it_is, seconds
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap

import minidynamo

torch.manual_seed(0)
MODEL = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def mapped(x: torch.Tensor) -> Any:
    return vmap(lambda row: (row.sin() * row).sum())(x)


def gradient(x: torch.Tensor) -> Any:
    return grad(lambda y: (y.sin() * y).sum())(x)


def per_sample_gradients(x: torch.Tensor) -> Any:
    def loss(parameters: dict[str, torch.Tensor], row: torch.Tensor) -> torch.Tensor:
        return functional_call(MODEL, parameters, (row,)).pow(2).sum()

    parameters = {name: parameter.detach() for name, parameter in MODEL.named_parameters()}
    return vmap(grad(loss), in_dims=(None, 0))(parameters, x)


def forward(x: torch.Tensor) -> Any:
    return jvp(lambda y: y.sin() * y, (x,), (x,))


def jacobian(x: torch.Tensor) -> Any:
    return jacrev(lambda y: y.sin() * y.sum())(x[0])


def second_derivatives(x: torch.Tensor) -> Any:
    return hessian(lambda y: (y.sin() * y).sum())(x[0])


PROGRAMS = (mapped, gradient, per_sample_gradients, forward, jacobian, second_derivatives)


def capture(compile: Callable[..., Any], reset: Callable[[], None], program: Callable[..., Any], repeat: int) -> float:
    """Median seconds of a first call less a later one."""
    x = torch.randn(4, 8)
    found = []
    for turn in range(repeat + 1):
        reset()
        captured = compile(program, backend=run_as_it_is, fullgraph=True)
        first, later = seconds(lambda captured=captured: captured(x)), seconds(lambda captured=captured: captured(x))  # type: ignore[misc]
        if turn:
            found.append(first - later)
    return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="once, and minidynamo only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    for program in PROGRAMS:
        own = capture(minidynamo.compile, minidynamo.reset, program, 1 if arguments.smoke else arguments.repeat)
        line = f"{program.__name__:22} {own * 1e3:8.2f} ms"
        if not arguments.smoke:
            other = capture(torch.compile, torch.compiler.reset, program, arguments.repeat)
            line += f"   torch.compile {other * 1e3:8.1f} ms   {other / own:5.1f}x"
        print(line, flush=True)


if __name__ == "__main__":
    main()
