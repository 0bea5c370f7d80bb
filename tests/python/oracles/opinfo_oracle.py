"""Compares fake tensors with eager PyTorch over torch's own table of operators and sample inputs (OpInfo).

For every operator and sample: the operator runs on real tensors and on fakes of them; results must agree in number, shape,
stride, storage offset, dtype, device, requires_grad, conjugate and negative bits, and in which argument or result each result
shares a storage with, or the fakes must have refused because the result depends on data.

Run everything with ``python tests/python/oracles/opinfo_oracle.py --all --json report.json``. Operators run in chunks of subprocesses,
so that a crash of the process is found and counted, not suffered.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import warnings
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map


def load_room() -> Any:
    """The module with the tensor room's bindings: minidynamo._C, or what MINIDYNAMO_TENSOR_MODULE names."""
    import importlib

    return importlib.import_module(os.environ.get("MINIDYNAMO_TENSOR_MODULE", "minidynamo._C"))


ALL_DTYPE_OPS = ("add", "mul", "sum", "mean", "div", "abs", "cat", "index_select", "where", "nn.functional.relu", "matmul")
DTYPES = (
    torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool,
)  # fmt: skip


GOOD = ("same", "data", "skipped", "raises")  # outcomes


class Different(Exception):
    """A fake result that differs from that of eager PyTorch."""


def tensors_of(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def storage_key(tensor: torch.Tensor) -> Any:
    return None if tensor.layout != torch.strided else tensor.untyped_storage()._cdata


def sharing(results: list[torch.Tensor], arguments: list[torch.Tensor]) -> list[tuple[int, int, int]]:
    """For each result: the argument it is, the argument it shares a storage with, the earlier result it shares one with."""
    keys = [storage_key(a) for a in arguments]
    seen: list[Any] = []
    found = []
    for result in results:
        key = storage_key(result)
        same = next((i for i, a in enumerate(arguments) if a is result), -1)
        shares = keys.index(key) if key in keys else -1
        earlier = seen.index(key) if key in seen else -1
        seen.append(key)
        found.append((same, shares, earlier))
    return found


def facts(tensor: torch.Tensor, with_autograd: bool = True) -> dict[str, Any]:
    found = {
        "class": type(tensor).__name__,
        "shape": tuple(tensor.shape),
        # A stride along a dimension of one element, or of an empty tensor, addresses nothing, but programs can see it.
        "stride": tuple(tensor.stride()),
        "offset": tensor.storage_offset(),
        "dtype": tensor.dtype,
        "device": tensor.device,
        "conj": tensor.is_conj(),
        "neg": tensor.is_neg(),
    }
    if with_autograd:
        found |= {"requires_grad": tensor.requires_grad, "leaf": tensor.is_leaf, "view": tensor._is_view()}
    return found


def compare(real: Any, fake: Any, real_arguments: Any, fake_arguments: Any, room: Any, *, with_autograd: bool = True) -> None:
    """Raises Different. Below autograd the results are views of nothing, and versions are counted elsewhere."""
    real_leaves, real_shape = tree_flatten(real)
    fake_leaves, fake_shape = tree_flatten(fake)
    if real_shape != fake_shape:
        raise Different(f"structure {fake_shape} instead of {real_shape}")
    for index, (expected, got) in enumerate(zip(real_leaves, fake_leaves, strict=True)):
        if isinstance(expected, torch.Tensor):
            if not room.is_fake(got):
                raise Different(f"result {index} is not fake")
            expected_facts, got_facts = facts(expected, with_autograd), facts(got, with_autograd)
            # A fake argument is no view of anything, whatever the real one is; so it is when it is returned.
            if with_autograd and any(got is argument for argument in tensors_of(fake_arguments)):
                expected_facts["view"] = got_facts["view"]
            wrong = {k: (got_facts[k], v) for k, v in expected_facts.items() if got_facts[k] != v}
            if wrong:
                raise Different(f"result {index}: " + ", ".join(f"{k} {g} instead of {e}" for k, (g, e) in wrong.items()))
        elif type(expected) is not type(got) or not (expected == got or expected != expected):
            raise Different(f"result {index} is {got!r} instead of {expected!r}")
    real_sharing = sharing(tensors_of(real), tensors_of(real_arguments))
    fake_sharing = sharing(tensors_of(fake), tensors_of(fake_arguments))
    if real_sharing != fake_sharing:
        raise Different(f"aliasing {fake_sharing} instead of {real_sharing}")
    for index, (expected, got) in enumerate(zip(tensors_of(real_arguments), tensors_of(fake_arguments), strict=True)):
        expected_facts, got_facts = (facts(t, with_autograd) for t in (expected, got))
        if with_autograd:
            expected_facts |= {"view": None, "version": expected._version}
            got_facts |= {"view": None, "version": got._version}
        if expected_facts != got_facts:
            raise Different(f"argument {index} afterwards: {got_facts} instead of {expected_facts}")


def fakes_of(tree: Any, room: Any) -> Any:
    """Fakes of all tensors; the same tensor twice becomes the same fake twice."""
    made: dict[int, Any] = {}

    def convert(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if id(leaf) not in made:
            made[id(leaf)] = room.make_fake(leaf)
        return made[id(leaf)]

    return tree_map(convert, tree)


def run_sample(function: Any, sample: Any, room: Any) -> tuple[str, str]:
    """('same' | 'data' | 'refused' | 'different' | 'error' | 'skipped', detail)."""
    arguments = (sample.input, sample.args, sample.kwargs)
    try:
        fake_arguments = fakes_of(arguments, room)
    except NotImplementedError as error:
        return "skipped", str(error)
    real_error = None
    try:
        real = function(arguments[0], *arguments[1], **arguments[2])
    except Exception as error:
        real_error = error
    if real_error is None and any(t.layout != torch.strided or t.is_nested or t.is_quantized for t in tensors_of(real)):
        return "skipped", "result is not strided"
    try:
        # Reals are what Python code inside of the function makes with torch.tensor() and the like.
        with room.FakeScope(accept_reals=True):
            fake = function(fake_arguments[0], *fake_arguments[1], **fake_arguments[2])
    except NotImplementedError as error:
        text = str(error).split("\n")[0]
        data = "depends on data" in text or "depends on the data" in text
        return ("data" if data else "refused"), text[:300]
    except Exception as error:
        if real_error is not None:
            return "same", "both raise"
        if room.is_fake_data_error(error):
            return "data", str(error)
        return "error", f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"
    if real_error is not None:
        return "different", f"eager raises {type(real_error).__name__}: {str(real_error)[:200]}"
    try:
        compare(real, fake, arguments, fake_arguments, room)
    except Different as error:
        return "different", str(error)[:400]
    return "same", ""


def run_operator(op: Any, room: Any, dtypes: tuple[torch.dtype, ...], limit: int) -> dict[str, Any]:
    counts: collections.Counter[str] = collections.Counter()
    problems: list[str] = []
    for dtype in dtypes:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        for requires_grad in (False, True):
            if requires_grad and dtype not in op.supported_backward_dtypes("cpu"):
                continue
            variants = [op.op]
            if not requires_grad and op.inplace_variant is not None:
                variants.append(op.inplace_variant)
            for variant in variants:
                inplace = variant is not op.op
                try:
                    samples = list(op.sample_inputs("cpu", dtype, requires_grad=requires_grad))[:limit]
                except Exception as error:
                    problems.append(f"no samples: {error}")
                    continue
                for sample in samples:
                    if inplace and sample.broadcasts_input:
                        continue
                    outcome, detail = run_sample(variant, sample, room)
                    if outcome == "same" and not inplace:  # once more, from the memo
                        outcome, detail = run_sample(variant, sample, room)
                    counts[outcome] += 1
                    if outcome not in GOOD:
                        text = f"{outcome}: {'in-place ' if inplace else ''}{dtype} grad={requires_grad} {detail}"
                        if len(problems) < 12:
                            problems.append(text)
    return {"counts": dict(counts), "problems": problems}


def all_operators() -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def name_of(op: Any) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def run_chunk(names: list[str], limit: int) -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    room = load_room()
    wanted = set(names)
    for op in all_operators():
        if name_of(op) in wanted:
            supported = op.supported_dtypes("cpu")
            base = torch.float32 if torch.float32 in supported else min(supported, key=str, default=torch.float32)
            dtypes = (base, *DTYPES) if op.name in ALL_DTYPE_OPS else (base,)
            print(json.dumps({"start": name_of(op)}), flush=True)
            result = run_operator(op, room, dtypes, limit)
            print(json.dumps({"name": name_of(op), **result}), flush=True)


def run_in_subprocess(names: list[str], limit: int, timeout: float, script: str) -> dict[str, Any]:
    """Results by operator name; one that ends or stalls the process is counted as a crash, and the rest goes on."""
    results: dict[str, Any] = {}
    remaining = names
    while remaining:
        command = [sys.executable, script, "--chunk", json.dumps(remaining), "--limit", str(limit)]
        # Safe paths (PYTHONSAFEPATH, which tests run with) leave out the script's own folder.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (os.path.dirname(__file__), os.environ.get("PYTHONPATH"))))}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, env=environment)
            output, code, errors = done.stdout, done.returncode, done.stderr
        except subprocess.TimeoutExpired as expired:
            output = (expired.stdout or b"").decode() if isinstance(expired.stdout, bytes) else (expired.stdout or "")
            code, errors = -1, "timed out"
        running = None
        for line in output.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if not isinstance(entry, dict):
                continue
            if "start" in entry:
                running = entry["start"]
            elif "name" in entry:
                results[entry.pop("name")] = entry
                running = None
        if code != 0 and running is None and not any(name in results for name in remaining):
            raise RuntimeError(f"the worker could not start: {errors[-2000:]}")
        if running is not None:
            results[running] = {"counts": {"crash": 1}, "problems": [f"crash: exit {code} {errors[-300:]}"]}
        remaining = [name for name in remaining if name not in results]
        if code == 0:
            break
    return results


def run(
    names: list[str], limit: int = 1_000_000, workers: int = 1, chunk: int = 40, timeout: float = 900, script: str = __file__
) -> dict[str, Any]:
    """The report of each operator, run by `script --chunk NAMES --limit N` in processes of their own."""
    chunks = [names[i : i + chunk] for i in range(0, len(names), chunk)]
    results: dict[str, Any] = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for part in pool.map(lambda c: run_in_subprocess(c, limit, timeout, script), chunks):
            results.update(part)
    return results


def summary(results: dict[str, Any]) -> dict[str, Any]:
    counts: collections.Counter[str] = collections.Counter()
    for result in results.values():
        counts.update(result["counts"])
    judged = sum(counts.values()) - counts["skipped"]
    good = counts["same"] + counts["data"] + counts["raises"]
    clean = [n for n, r in results.items() if not set(r["counts"]) - set(GOOD)]
    return {
        "operators": len(results),
        "operators_clean": len(clean),
        "samples": dict(counts),
        "share": good / judged if judged else 0.0,
    }


def write_report(report: dict[str, Any], path: str | None) -> None:
    if path:
        with open(path, "w") as file:
            json.dump(report, file, indent=1, sort_keys=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every operator and sample")
    parser.add_argument("--only", nargs="*", default=[], help="operators by name")
    parser.add_argument("--limit", type=int, default=1_000_000, help="samples per operator, dtype and requires_grad")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", help="write the full report here")
    parser.add_argument("--chunk", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.chunk:
        run_chunk(json.loads(options.chunk), options.limit)
        return 0
    names = options.only or [name_of(op) for op in all_operators()]
    results = run(names, options.limit, options.workers)
    report = {"summary": summary(results), "operators": results}
    write_report(report, options.json)
    for name, result in results.items():
        for problem in result["problems"]:
            print(f"{name}: {problem}")
    print(json.dumps(report["summary"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
