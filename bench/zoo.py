"""Real model code beside torch.compile: in how many graphs, where it breaks, and what is captured again on the same input.

Models of transformers with random weights and small sizes, nothing fetched: encoders, decoders, encoder-decoders, vision, audio,
mixtures of experts, training steps and `generate()`. Each runs in a fork of its own, first under minidynamo, then under
torch.compile, backend `eager` for both, with the same inputs twice. Results are compared with eager. docs/zoo.md has the table.

    python bench/zoo.py [--only 'NAME;NAME'] [--minidynamo-only] [--breaks] [--json FILE] [--table FILE] [--smoke]
"""

import argparse
import collections
import importlib
import json
import os
import pathlib
import resource
import signal
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from measure import machine
from torch.utils._pytree import tree_leaves
from zoo_models import CASES, Case, Generation

import minidynamo

SECONDS_FOR_EACH = 300


class Graphs:
    """A backend that runs graphs as they are and counts them."""

    def __init__(self) -> None:
        self.count = 0
        self.nodes = 0

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        self.count += 1
        self.nodes += len(graph_module.graph.nodes)
        run: Callable[..., Any] = graph_module.forward
        return run


def floats(result: Any) -> list[torch.Tensor]:
    from transformers.utils.generic import ModelOutput

    if isinstance(result, ModelOutput):
        result = list(result.values())
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def close(expected: Any, actual: Any) -> bool:
    theirs, ours = floats(expected), floats(actual)
    return len(theirs) == len(ours) and all(
        a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-4, equal_nan=True) for a, b in zip(theirs, ours)
    )


def call(case: Case, compiled: Callable[..., Any] | None) -> Any:
    torch.manual_seed(0)
    function = case.function
    if isinstance(function, Generation):
        with torch.no_grad():
            return function.generate(function.forward if compiled is None else compiled, **case.arguments)
    with torch.set_grad_enabled(case.gradients):
        result = (function if compiled is None else compiled)(**case.arguments)
    if case.gradients:
        assert isinstance(function, torch.nn.Module)
        function.zero_grad()
        torch.autograd.backward([leaf.double().sum() for leaf in floats(result) if leaf.requires_grad])
        gradients = [parameter.grad for parameter in function.parameters() if parameter.grad is not None]
        return [floats(result), gradients]
    return result


def cpu() -> float:
    return time.process_time()


def measure(name: str, front_end: str) -> dict[str, Any]:
    """Graphs at the first call, at the second, and at the third; breaks, and whether results are eager's."""
    torch.manual_seed(0)
    case = CASES[name]()
    torch.manual_seed(0)
    eager_case = CASES[name]()
    expected = [call(eager_case, None) for _ in range(3)]
    backend = Graphs()
    target: Any = case.function.forward if isinstance(case.function, Generation) else case.function
    if front_end == "minidynamo":
        compiled = minidynamo.optimize(backend=backend)(target)
    else:
        compiled = torch.compile(target, backend=backend)
    found: dict[str, Any] = {"graphs": [], "equal": True}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for expectation in expected:
        before = backend.count
        began = cpu()
        actual = call(case, compiled)
        found["graphs"].append(backend.count - before)
        found.setdefault("first", cpu() - began)
        found["last"] = cpu() - began
        found["equal"] = found["equal"] and close(expectation, actual)
    found["nodes"] = backend.nodes
    found["memory"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    if front_end == "minidynamo":
        records = minidynamo.debug.graph_breaks() + minidynamo.debug.uncaptured()
        found["breaks"] = [
            f"{record.reason}: {record.detail[:160]} at {'/'.join(record.filename.split('/')[-2:])}:{record.line} ({record.frame})"
            for record in records
        ]
    else:
        from torch._dynamo.utils import counters

        counter = counters["graph_break"]
        found["breaks"] = [f"{count} x {reason.strip().splitlines()[0][:160]}" for reason, count in counter.items()]
    return found


def in_fork(name: str, front_end: str) -> dict[str, Any]:
    """`measure` in a process of its own: what one model leaves behind is no other's."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "found.json")
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS_FOR_EACH)
            warnings.simplefilter("ignore")
            try:
                file.write_text(json.dumps(measure(name, front_end)))
            except BaseException as error:
                file.write_text(json.dumps({"error": f"{type(error).__name__}: {str(error)[:300]}"}))
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if file.exists() and file.stat().st_size:
            found: dict[str, Any] = json.loads(file.read_text())
            return found
        return {"error": f"ended with status {status}"}


def text(found: dict[str, Any]) -> str:
    if "error" in found:
        return str(found["error"])[:60].replace("\n", " ")
    graphs = "+".join(str(count) for count in found["graphs"])
    wrong = "" if found["equal"] else "  DIFFERENT"
    return f"{graphs:9} {found['first']:6.2f} s {1000 * found['last']:7.1f} ms {found['memory']:5.0f} MiB{wrong}"


def table(results: dict[str, Any]) -> str:
    """The results of both as docs/zoo.md has them: totals, and a row for each model."""
    pairs = [(name, found["minidynamo"], found["torch"]) for name, found in results.items()]
    ran = [(ours, theirs) for _, ours, theirs in pairs if "error" not in ours and "error" not in theirs]

    def graphs(found: dict[str, Any]) -> int:
        return sum(found["graphs"])

    def count(holds: Callable[[dict[str, Any], dict[str, Any]], bool]) -> int:
        return sum(holds(ours, theirs) for ours, theirs in ran)

    whole = [sum(found["graphs"] == [1, 0, 0] for found in side) for side in zip(*ran, strict=True)]
    equal = [sum(found["equal"] for found in side) for side in zip(*ran, strict=True)]
    memory = [statistics.median(found["memory"] for found in side) for side in zip(*ran, strict=True)]
    faster = statistics.geometric_mean([theirs["first"] / ours["first"] for ours, theirs in ran])
    lines = [
        f"{len(pairs)} runs, equal to eager: minidynamo {equal[0]}, torch.compile {equal[1]}.",
        f"Captured whole at the first call, without a later capture: minidynamo {whole[0]}, torch.compile {whole[1]}.",
        f"Graphs: fewer in {count(lambda ours, theirs: graphs(ours) < graphs(theirs))}, "
        f"as many in {count(lambda ours, theirs: graphs(ours) == graphs(theirs))}, "
        f"more in {count(lambda ours, theirs: graphs(ours) > graphs(theirs))}.",
        f"First call: {faster:.1f} times faster (geometric mean). Third call: faster in "
        f"{count(lambda ours, theirs: ours['last'] < theirs['last'])}.",
        f"Growth of the process, median: {memory[0]:.0f} MiB, {memory[1]:.0f} MiB.",
        "",
        "| model | graphs | torch | first, s | torch | last, ms | torch | MiB | torch |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, *sides in pairs:
        columns: list[list[str]] = []
        for found in sides:
            if "error" in found:
                columns.append(["error"] + ["-"] * 3)
            else:
                counts = " + ".join(map(str, found["graphs"])) + ("" if found["equal"] else ", wrong")
                columns.append([counts, f"{found['first']:.2f}", f"{1000 * found['last']:.1f}", f"{found['memory']:.0f}"])
        lines.append(f"| {name} | " + " | ".join(cell for pair in zip(*columns, strict=True) for cell in pair) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names, separated by semicolons")
    parser.add_argument("--minidynamo-only", action="store_true")
    parser.add_argument("--breaks", action="store_true", help="list every break, with its reason and place")
    parser.add_argument("--json", default="")
    parser.add_argument("--table", type=pathlib.Path, help="a file for the results as docs/zoo.md has them")
    parser.add_argument("--smoke", action="store_true", help="two models, to see that it still works")
    arguments = parser.parse_args()
    if arguments.table and arguments.minidynamo_only:
        parser.error("--table compares both, so that it goes without --minidynamo-only")

    for package in ("torch._dynamo", "transformers"):  # once, for all forks
        importlib.import_module(package)
    torch.set_num_threads(1)
    print(machine())
    print(f"{'':32} {'minidynamo: graphs of three calls, first, last, memory':48} torch.compile")
    results: dict[str, Any] = {}
    totals: collections.Counter[str] = collections.Counter()
    chosen = ["bert", "llama, generate"] if arguments.smoke else arguments.only.split(";") if arguments.only else list(CASES)
    for name in chosen:
        results[name] = {"minidynamo": in_fork(name, "minidynamo")}
        if not arguments.minidynamo_only:
            results[name]["torch"] = in_fork(name, "torch")
        print(f"{name:32} " + " | ".join(f"{text(found):46}" for found in results[name].values()), flush=True)
        if arguments.breaks:
            for front_end, found in results[name].items():
                for line in found.get("breaks", []):
                    print(f"    {front_end}: {line}", flush=True)
        for front_end, found in results[name].items():
            totals[f"{front_end} graphs"] += sum(found.get("graphs", []))
            totals[f"{front_end} whole"] += found.get("graphs", [])[:1] == [1]
    print(dict(totals))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1))
    if arguments.table:
        arguments.table.write_text(table(results))


if __name__ == "__main__":
    main()
