"""The time until the first step with the backend `inductor`: in an empty cache folder (cold), and in a new process (warm).

CPU seconds of the first step, with those of the C++ compiler, beside torch.compile in one run. Each figure is of a process of its own;
the three kinds of a model come one after the other, so that a busy machine hits all alike:

    cold     the folders of torch and of minidynamo are empty
    cold, known   the same, but what was asked of the C++ compiler before on this machine is known (torch.compile: the probes' results
             are in its folder)
    warm     everything that was compiled is on the disk

Models of transformers with 12 layers (ResNet-50: 16 blocks), width 64, random weights; results are compared with eager.

    python bench/compile_time.py [--only bert,vit] [--inference | --training] [--json FILE] [--smoke]
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

KINDS = ("cold", "cold, known", "warm")


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


MODELS: dict[str, Callable[[], Any]] = {made.__name__: made for made in (bert, gpt2, llama, vit, resnet50, small)}


def measure(name: str, front_end: str, training: bool) -> dict[str, Any]:
    """In the process that is measured: seconds of the first step, and how far results are from eager's."""
    import torch
    from torch.utils._pytree import tree_leaves

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, args, kwargs = MODELS[name]()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.train(training)

    def step(function: Callable[..., Any]) -> list[torch.Tensor]:
        model.zero_grad()
        result = function(*args, **kwargs)
        leaves = tree_leaves(dict(result) if hasattr(result, "keys") else result)
        tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
        if training:
            sum(x.float().square().mean() for x in tensors if x.requires_grad).backward()  # type: ignore[union-attr]
        return [x.detach().clone() for x in (*tensors, *(p.grad for p in model.parameters() if p.grad is not None))]

    def seconds() -> float:
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    with torch.set_grad_enabled(training):
        state = {name: value.clone() for name, value in model.state_dict().items()}
        expected = step(model)
        model.load_state_dict(state)
        began = seconds()
        if front_end == "torch":
            compiled: Any = torch.compile(model)
        else:
            import minidynamo

            compiled = minidynamo.compile(model)
        found = step(compiled)
        took = seconds() - began
    error = max(float((a - b).abs().max() / (b.abs().max() + 1e-6)) if a.numel() else 0.0 for a, b in zip(found, expected, strict=True))
    return {"seconds": took, "error": error}


def run(name: str, front_end: str, training: bool, folder: pathlib.Path) -> dict[str, Any]:
    """A process that measures, with its caches in a folder."""
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
        "MINIDYNAMO_ARTIFACT_FOLDER": str(folder / "minidynamo"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    command = [sys.executable, "-W", "ignore", __file__, "--measure", name, front_end, str(int(training))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}, {front_end}: {done.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def three_kinds(name: str, front_end: str, training: bool) -> dict[str, dict[str, Any]]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="compile-time-"))
    try:
        cold = run(name, front_end, training, folder)
        _forget(folder, front_end)
        known = run(name, front_end, training, folder)
        warm = run(name, front_end, training, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return dict(zip(KINDS, (cold, known, warm), strict=True))


def _forget(folder: pathlib.Path, front_end: str) -> None:
    """Leaves what is known of the machine alone: of torch's folder, the programs and libraries of the probes."""
    if front_end == "minidynamo":
        shutil.rmtree(folder / "torch")
        for part in ("entries", "libraries"):
            shutil.rmtree(folder / "minidynamo" / part)
        return
    for path in (folder / "torch").rglob("*"):
        is_probe = path.suffix in (".so", ".cpp") and ".main" not in path.name
        if path.is_file() and not is_probe:
            path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="bert,gpt2,llama,vit,resnet50")
    parser.add_argument("--inference", action="store_true")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--smoke", action="store_true", help="one small model")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        name, front_end, training = arguments.measure
        print(json.dumps(measure(name, front_end, bool(int(training)))))
        return
    from measure import machine

    print(machine())
    both = arguments.inference == arguments.training
    ways = [False] * (both or arguments.inference) + [True] * (both or arguments.training)
    rows: list[dict[str, Any]] = []
    print(f"{'CPU s of the first step':26}" + "".join(f"{kind:>34}" for kind in KINDS) + f"{'error':>20}")
    print(" " * 26 + f"{'torch':>12}{'minidynamo':>14}{'ratio':>8}" * len(KINDS) + f"{'torch':>10}{'ours':>10}")
    for name in ["small"] if arguments.smoke else arguments.only.split(","):
        for training in [False] if arguments.smoke else ways:
            found = {front_end: three_kinds(name, front_end, training) for front_end in ("torch", "minidynamo")}
            rows.append({"model": name, "training": training, **found})
            cells = []
            for kind in KINDS:
                theirs, ours = found["torch"][kind]["seconds"], found["minidynamo"][kind]["seconds"]
                cells.append(f"{theirs:12.2f}{ours:14.2f}{ours / theirs:8.3f}")
            errors = "".join(f"{max(kinds[kind]['error'] for kind in KINDS):10.0e}" for kinds in found.values())
            print(f"{name + (', training' if training else ''):26}" + "".join(cells) + errors, flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
