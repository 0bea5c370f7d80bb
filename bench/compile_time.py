"""The time until the first step with the backend `inductor`: in an empty cache folder (cold), and in a new process (warm).

CPU seconds of the first step, with those of the C++ compiler, and seconds that pass, beside torch.compile in one run. Each figure is of a
process of its own; the three kinds of a model come one after the other, so that a busy machine hits all alike:

    cold     the folders of torch and of minidynamo are empty
    cold, known   the same, but what was asked of the C++ compiler before on this machine is known (torch.compile: the probes' results
             are in its folder)
    warm     everything that was compiled is on the disk

A fourth process runs later steps of both in turns: `steady` is the median ratio of their CPU times.

Models of transformers with 12 layers (ResNet-50: 16 blocks), width 64, and AlexNet, which repeats nothing; random weights; results are
compared with eager.

    python bench/compile_time.py [--only bert,vit] [--inference | --training] [--dynamic] [--json FILE] [--table FILE] [--plot FILE]
    python bench/compile_time.py --from FILE.json --table FILE --plot FILE
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

KINDS = ("cold", "cold, known", "warm")
FRONT_ENDS = ("torch", "minidynamo")


def _layers(config: Any, **more: Any) -> Any:
    return config(hidden_size=64, num_hidden_layers=12, num_attention_heads=4, intermediate_size=128, **more)


def _tokens() -> Any:
    import torch

    return torch.randint(0, 1000, (2, 16))


def small() -> Any:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8)), (torch.randn(4, 8),), {}


def bert() -> Any:
    from transformers import BertConfig, BertModel

    return BertModel(_layers(BertConfig, vocab_size=1000)), (_tokens(),), {}


def gpt2() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=1000, n_positions=64, n_embd=64, n_layer=12, n_head=4)
    return GPT2LMHeadModel(config), (_tokens(),), {"use_cache": False}


def llama() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = _layers(LlamaConfig, vocab_size=1000, num_key_value_heads=2, max_position_embeddings=64)
    return LlamaForCausalLM(config), (_tokens(),), {"use_cache": False}


def vit() -> Any:
    import torch
    from transformers import ViTConfig, ViTModel

    return ViTModel(_layers(ViTConfig, image_size=32, patch_size=8)), (torch.randn(2, 3, 32, 32),), {}


def resnet50() -> Any:
    import torch
    from transformers import ResNetConfig, ResNetModel

    config = ResNetConfig(embedding_size=16, hidden_sizes=[32, 64, 128, 256], depths=[3, 4, 6, 3], layer_type="bottleneck")
    return ResNetModel(config), (torch.randn(2, 3, 64, 64),), {}


def alexnet() -> Any:
    """No block of it is there twice."""
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    channels = 3
    for width, size, pooled in ((16, 5, True), (48, 5, True), (96, 3, False), (64, 3, False), (32, 3, True)):
        layers += [nn.Conv2d(channels, width, size, padding=size // 2), nn.ReLU()]
        layers += [nn.MaxPool2d(3, 2)] if pooled else []
        channels = width
    layers += [nn.Flatten(), nn.Linear(channels * 49, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(128, 10)), (torch.randn(2, 3, 64, 64),), {}


MODELS: dict[str, Callable[[], Any]] = {made.__name__: made for made in (bert, gpt2, llama, vit, resnet50, alexnet, small)}


class Step:
    """One step of a model, forward or with backward, by any of the front ends."""

    def __init__(self, name: str, training: bool) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.training = training
        self.model, self.args, self.kwargs = MODELS[name]()
        for module in self.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        self.model.train(training)

    def __call__(self, function: Callable[..., Any]) -> list[Any]:
        """The tensors of its result, the parameters' gradients after them."""
        import torch
        from torch.utils._pytree import tree_leaves

        with torch.set_grad_enabled(self.training):
            self.model.zero_grad()
            result = function(*self.args, **self.kwargs)
            leaves = tree_leaves(dict(result) if hasattr(result, "keys") else result)
            tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
            if self.training:
                sum(x.float().square().mean() for x in tensors if x.requires_grad).backward()  # type: ignore[union-attr]
        return [*tensors, *(p.grad for p in self.model.parameters() if p.grad is not None)]

    def compiled(self, front_end: str, dynamic: bool) -> Callable[..., Any]:
        """By one of the front ends: all sizes of inputs are dynamic, or those that differ from call to call, which none does here."""
        if front_end == "torch":
            import torch

            return torch.compile(self.model, dynamic=dynamic or None)
        import minidynamo

        return minidynamo.compile(self.model, dynamic=dynamic or None)


def measure(name: str, front_end: str, training: bool, dynamic: bool) -> dict[str, Any]:
    """In the process that is measured: seconds of the first step, and how far results are from eager's."""
    step = Step(name, training)

    def seconds() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    state = {name: value.clone() for name, value in step.model.state_dict().items()}
    expected = [x.detach().clone() for x in step(step.model)]
    step.model.load_state_dict(state)
    began, wall_began = seconds(), time.perf_counter()
    found = step(step.compiled(front_end, dynamic))
    took, wall = seconds() - began, time.perf_counter() - wall_began
    error = max(float((a - b).abs().max() / (b.abs().max() + 1e-6)) if a.numel() else 0.0 for a, b in zip(found, expected, strict=True))
    return {"seconds": took, "wall": wall, "error": error}


def measure_steady(name: str, training: bool, dynamic: bool, rounds: int = 60, batch: int = 5) -> dict[str, Any]:
    """CPU seconds of a later step: the medians of both front ends, and the median ratio of a round of ours to the next of theirs."""
    step = Step(name, training)
    calls = {front_end: step.compiled(front_end, dynamic) for front_end in FRONT_ENDS}
    times: dict[str, list[float]] = {front_end: [] for front_end in FRONT_ENDS}
    for call in calls.values():
        for _ in range(5):
            step(call)
    for _ in range(rounds):
        for front_end, call in calls.items():
            began = time.process_time()
            for _ in range(batch):
                step(call)
            times[front_end].append((time.process_time() - began) / batch)
    ratios = [ours / theirs for ours, theirs in zip(times["minidynamo"], times["torch"], strict=True)]
    return {**{front_end: statistics.median(found) for front_end, found in times.items()}, "ratio": statistics.median(ratios)}


def run(arguments: list[str], torch_folder: pathlib.Path, artifact_folder: pathlib.Path) -> dict[str, Any]:
    """A process that measures, with the caches of torch and of minidynamo in these folders."""
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(torch_folder),
        "MINIDYNAMO_ARTIFACT_FOLDER": str(artifact_folder),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    command = [sys.executable, "-W", "ignore", __file__, "--measure", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def row(name: str, training: bool, dynamic: bool) -> dict[str, Any]:
    """Everything of one model: the three kinds of each front end, and later steps of both."""
    found: dict[str, Any] = {"model": name, "training": training, "dynamic": dynamic}
    asked = [name, str(int(training)), str(int(dynamic))]
    with tempfile.TemporaryDirectory(prefix="compile-time-") as name_of_folder:
        # Ours compiles in a folder of torch's that torch.compile has not filled.
        theirs, beside_ours, ours = (pathlib.Path(name_of_folder, part) for part in ("torch", "beside_minidynamo", "minidynamo"))
        for front_end, torch_folder in (("torch", theirs), ("minidynamo", beside_ours)):
            arguments = [front_end, *asked]
            cold = run(arguments, torch_folder, ours)
            if front_end == "torch":
                _keep_probes(theirs)
            else:
                _keep_answers(beside_ours, ours)
            known = run(arguments, torch_folder, ours)
            found[front_end] = dict(zip(KINDS, (cold, known, run(arguments, torch_folder, ours)), strict=True))
        found["steady"] = run(["steady", *asked], theirs, ours)
    return found


def _keep_probes(torch_folder: pathlib.Path) -> None:
    """Leaves the programs and libraries alone by which torch asked the compiler about the machine."""
    for path in torch_folder.rglob("*"):
        is_probe = path.suffix in (".so", ".cpp") and ".main" not in path.name
        if path.is_file() and not is_probe:
            path.unlink()


def _keep_answers(torch_folder: pathlib.Path, artifact_folder: pathlib.Path) -> None:
    """Leaves what minidynamo knows of the machine alone."""
    for folder in (torch_folder, artifact_folder / "entries", artifact_folder / "libraries"):
        shutil.rmtree(folder)


def title(row: dict[str, Any]) -> str:
    return row["model"] + (", dynamic sizes" if row.get("dynamic") else "") + (", training" if row["training"] else "")


def ratio(row: dict[str, Any], kind: str, quantity: str = "seconds") -> float:
    return float(row["minidynamo"][kind][quantity] / row["torch"][kind][quantity])


def table(rows: list[dict[str, Any]]) -> str:
    """As docs/benchmarks.md has it: of torch.compile -> of minidynamo (ratio; for first steps also that of the seconds that passed)."""
    lines = [f"| | {' | '.join(KINDS)} | a later step, ms |", "| --- |" + " --- |" * (len(KINDS) + 1)]
    for found in rows:
        cells = [title(found)]
        for kind in KINDS:
            theirs, ours = (found[front_end][kind]["seconds"] for front_end in FRONT_ENDS)
            cells.append(f"{theirs:.2f} → {ours:.2f} ({ratio(found, kind):.3f}; {ratio(found, kind, 'wall'):.3f})")
        theirs, ours = (found["steady"][front_end] * 1000 for front_end in FRONT_ENDS)
        cells.append(f"{theirs:.2f} → {ours:.2f} ({found['steady']['ratio']:.3f})")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def plot(rows: list[dict[str, Any]], file: pathlib.Path) -> None:
    """CPU seconds of the first step as bars."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(KINDS), sharey=True, figsize=(11, 0.45 * len(rows) + 1.2), layout="constrained")
    sides = (("torch", "torch.compile", "0.6", 0.2), ("minidynamo", "minidynamo", "tab:blue", -0.2))
    for axis, kind in zip(axes, KINDS, strict=True):
        for front_end, label, color, offset in sides:
            seconds = [found[front_end][kind]["seconds"] for found in rows]
            bars = axis.barh([offset - at for at in range(len(rows))], seconds, 0.4, label=label, color=color)
            axis.bar_label(bars, fmt="%.2g", padding=2, fontsize=8)
        axis.set(title=kind, xlabel="CPU s until the first step is done")
        axis.margins(x=0.15)
    axes[0].set_yticks([-at for at in range(len(rows))], [title(found) for found in rows])
    axes[0].legend(loc="lower right", fontsize=8)
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="bert,gpt2,llama,vit,resnet50,alexnet")
    parser.add_argument("--inference", action="store_true")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--dynamic", action="store_true", help="all sizes of inputs are dynamic")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="a file for the figures; kept up while they come")
    parser.add_argument("--table", metavar="FILE", type=pathlib.Path, help="a file for the figures as docs/benchmarks.md has them")
    parser.add_argument("--plot", metavar="FILE", type=pathlib.Path, help="an image of them (needs matplotlib)")
    parser.add_argument("--from", dest="known", metavar="FILE", type=pathlib.Path, help="measure nothing; take the figures of --json")
    parser.add_argument("--smoke", action="store_true", help="one small model")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        what, name, *switches = arguments.measure
        training, dynamic = (switch == "1" for switch in switches)
        print(json.dumps(measure_steady(name, training, dynamic) if what == "steady" else measure(name, what, training, dynamic)))
        return
    rows = json.loads(arguments.known.read_text())["rows"] if arguments.known else measured_rows(arguments)
    if arguments.table:
        arguments.table.write_text(table(rows))
    if arguments.plot:
        plot(rows, arguments.plot)


def measured_rows(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures what the command asks for, and prints it as it comes."""
    from measure import machine

    print(machine())
    both = arguments.inference == arguments.training
    ways = [False] * (both or arguments.inference) + [True] * (both or arguments.training)
    rows: list[dict[str, Any]] = []
    print(f"{'CPU s of the first step':30}" + "".join(f"{kind:>42}" for kind in KINDS) + f"{'steady':>10}{'error':>18}")
    with tempfile.TemporaryDirectory() as folder:  # for the header that torch compiles once on a machine, outside its cache folder
        run(["torch", "small", "0", "0"], pathlib.Path(folder), pathlib.Path(folder))
    print(" " * 30 + f"{'torch':>12}{'minidynamo':>14}{'ratio':>8}{'wall':>8}" * len(KINDS) + f"{'ratio':>10}{'torch':>9}{'ours':>9}")
    for name in ["small"] if arguments.smoke else arguments.only.split(","):
        for training in [False] if arguments.smoke else ways:
            found = row(name, training, arguments.dynamic)
            rows.append(found)
            cells = []
            for kind in KINDS:
                theirs, ours = (found[front_end][kind]["seconds"] for front_end in FRONT_ENDS)
                cells.append(f"{theirs:12.2f}{ours:14.2f}{ratio(found, kind):8.3f}{ratio(found, kind, 'wall'):8.3f}")
            errors = "".join(f"{max(found[front_end][kind]['error'] for kind in KINDS):9.0e}" for front_end in FRONT_ENDS)
            print(f"{title(found):30}" + "".join(cells) + f"{found['steady']['ratio']:10.3f}" + errors, flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))
    return rows


if __name__ == "__main__":
    main()
