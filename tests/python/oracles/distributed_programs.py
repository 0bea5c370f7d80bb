"""Programs that the processes of a group run beside each other, under torchrun: captured and as they are. Prints a line of JSON for each.

    torchrun --nproc-per-node 2 tests/python/oracles/distributed_programs.py [collectives|training]
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import minidynamo

Tensor = torch.Tensor


def all_reduce(x: Tensor) -> Any:
    y = x * 2
    dist.all_reduce(y)
    return y + 1


def largest(x: Tensor) -> Any:
    y = x.abs()
    dist.all_reduce(y, op=dist.ReduceOp.MAX)
    return y


def reduce_an_input(x: Tensor) -> Any:
    dist.all_reduce(x)
    return x.sum(), x


def reduce_for_nobody(x: Tensor) -> Any:
    y = x * 2
    dist.all_reduce(y)
    return x + 1


def complex_numbers(x: Tensor) -> Any:
    y = torch.complex(x, x + 1)
    dist.all_reduce(y)
    return y


def gather(x: Tensor) -> Any:
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x * 2)
    return torch.stack(parts).sum(0), parts[0] + 1


def gather_numbers(x: Tensor) -> Any:
    parts = [torch.zeros(()) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.sum())
    return torch.stack(parts)


def gather_into(x: Tensor) -> Any:
    out = x.new_empty(8, 3)
    dist.all_gather_into_tensor(out, x)
    return out + 1


def scatter(x: Tensor) -> Any:
    out = x.new_empty(2, 3)
    dist.reduce_scatter_tensor(out, x)
    return out * 2


def everyone_to_everyone(x: Tensor) -> Any:
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x * 1)
    return out


def from_one(x: Tensor) -> Any:
    y = x + 1
    dist.broadcast(y, 1)
    return y * 2


def functional_ones(x: Tensor) -> Any:
    reduced = functional.all_reduce(x * 2, "sum", dist.group.WORLD)
    gathered = functional.all_gather_tensor(x, 0, dist.group.WORLD)
    scattered = functional.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD)
    return reduced + 1, gathered * 2, scattered - 1


def who_am_i(x: Tensor) -> Any:
    if dist.is_available() and dist.is_initialized() and dist.get_backend() == "gloo":
        x = x * (dist.get_rank() + 1) / dist.get_world_size()
    return x


def metric(x: Tensor) -> Any:
    """The metric of a validation loop: no gradients, sums of all processes."""
    with torch.no_grad():
        correct = torch.stack([(x > 0).sum(), torch.tensor(x.numel())])
        dist.all_reduce(correct)
    return correct[0] / correct[1]


def of_gradients(x: Tensor) -> Any:
    """Data parallel by hand."""
    weight = torch.ones(3, requires_grad=True)
    (x @ weight).pow(2).sum().backward()
    dist.all_reduce(weight.grad)
    return weight.grad / dist.get_world_size()


WHOLE = [
    all_reduce, largest, reduce_an_input, reduce_for_nobody, complex_numbers, gather, gather_numbers, gather_into, scatter,
    everyone_to_everyone, from_one, functional_ones, who_am_i, metric, of_gradients,
]  # fmt: skip


def with_a_gradient(x: Tensor) -> Any:
    y = x.requires_grad_() * 2
    dist.all_reduce(y)
    return y.detach()


def later(x: Tensor) -> Any:
    y = x * 2
    work = dist.all_reduce(y, async_op=True)
    z = x + 3
    work.wait()
    return y + z


def wait_for_all(x: Tensor) -> Any:
    y = x * 2
    dist.barrier()
    return y + 1


BROKEN = [with_a_gradient, later, wait_for_all]


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(equal, one, other))
    return torch.equal(torch.as_tensor(one), torch.as_tensor(other))


def run_collectives(function: Callable[[Tensor], Any], backend: str) -> dict[str, Any]:
    minidynamo.reset()
    captured = minidynamo.optimize(backend)(function)
    same = True
    for step in range(4):
        # One process is ahead of the others: they run what it has captured for the first time.
        target = function if step == 0 and dist.get_rank() == 1 else captured
        x = torch.randn(4, 3)
        given, own = x.clone(), x.clone()
        expected = function(own)
        same &= equal(target(given), expected) and equal(given, own)
    return {"same": same, "graphs": minidynamo.stats()["graphs"], "breaks": sum(minidynamo.stats()["graph_breaks"].values())}


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, capture: Callable[[Any], Any], steps: int) -> list[float]:
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    captured, losses = capture(step), []
    torch.manual_seed(dist.get_rank())
    for _ in range(steps):
        losses.append(captured(torch.randn(6, 8), torch.randint(0, 4, (6,))).item())
    return losses


def data_parallel() -> tuple[nn.Module, torch.optim.Optimizer]:
    model = DistributedDataParallel(net())
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def sharded() -> tuple[nn.Module, torch.optim.Optimizer]:
    model = net()
    for layer in model.children():
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def run_training(make: Callable[[], Any], backend: str, what: str) -> dict[str, Any]:
    steps = 50 if make is data_parallel else 10
    expected = train(*make(), lambda step: step, steps)
    minidynamo.reset()
    model, optimizer = make()
    if what == "model":
        model.forward = minidynamo.optimize(backend)(model.forward)
        losses = train(model, optimizer, lambda step: step, steps)
    else:
        losses = train(model, optimizer, minidynamo.optimize(backend), steps)
    close = torch.allclose(torch.tensor(losses), torch.tensor(expected), rtol=0 if backend == "eager" else 1e-5, atol=0)
    return {"same": close, "graphs": minidynamo.stats()["graphs"]}


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())

    def report(name: str, result: dict[str, Any]) -> None:
        results: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(results, result)
        if dist.get_rank() == 0:
            print(json.dumps({"program": name, "ranks": results}), flush=True)

    if sys.argv[1] == "collectives":
        for function in [*WHOLE, *BROKEN]:
            for backend in ("eager", "aot_eager"):
                report(f"{function.__name__} {backend}", run_collectives(function, backend))
    else:
        for make in (data_parallel, sharded):
            for backend in ("eager", "aot_eager"):
                for what in ("model", "step"):
                    report(f"{make.__name__} {backend} {what}", run_training(make, backend, what))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
