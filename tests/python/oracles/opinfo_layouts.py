"""The oracle of metadata over memory layouts: each operator of the dispatcher, with arguments laid out in many ways.

The samples of torch's table of operators (OpInfo) run eagerly, forward and backward, with their tensors laid out anew (`LAYOUTS`): all
in the same way, and each of the first two alone. A dispatch mode sees every operator that arrives below autograd, which is where fakes
see them too, and calls the same operator on fakes of the same arguments. Everything that a program can ask of the results must agree:
sizes, strides, offset, dtype, contiguity in each memory format, aliasing. Equal calls are compared once.

    python tests/python/oracles/opinfo_layouts.py --workers 2 --json report.json     # everything: ten minutes on two cores
    python tests/python/oracles/opinfo_layouts.py --only nn.functional.conv2d        # samples of operators by name
    python tests/python/oracles/opinfo_layouts.py --workers 2 --table csrc/tensor/dispatch/verified_layouts.def

The last one writes the table of operators of which the plain meta kernel has been seen to give the real layouts.

An operator that raises on real tensors alone (an index out of range) is counted as `raises`: the graph raises it when it runs.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import opinfo_oracle as oracle
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DTYPES = (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool, torch.complex64)
OTHER_DTYPES = {torch.float32: torch.float64, torch.float64: torch.complex64, torch.complex64: torch.float32}  # others: float32
FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)

Layout = Callable[[torch.Tensor], "torch.Tensor | None"]


def laid_out(tensor: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """The same values, dense, with the dimensions in memory in `order`, outermost first."""
    inverse = [order.index(d) for d in range(tensor.dim())]
    return tensor.permute(order).contiguous().permute(inverse)


def channels_last(tensor: torch.Tensor) -> torch.Tensor | None:
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else None


def channels_last_3d(tensor: torch.Tensor) -> torch.Tensor | None:
    return tensor.contiguous(memory_format=torch.channels_last_3d) if tensor.dim() == 5 else None


def transposed(tensor: torch.Tensor) -> torch.Tensor | None:
    if tensor.dim() < 2:
        return None
    last = tensor.dim() - 1
    return laid_out(tensor, (*range(last - 1), last, last - 1))


def permuted(tensor: torch.Tensor) -> torch.Tensor | None:
    return laid_out(tensor, (*range(1, tensor.dim()), 0)) if tensor.dim() > 2 else None


def reversed_order(tensor: torch.Tensor) -> torch.Tensor | None:
    return laid_out(tensor, tuple(range(tensor.dim()))[::-1]) if tensor.dim() > 2 else None


def expanded(tensor: torch.Tensor) -> torch.Tensor | None:
    return tensor[:1].expand(tensor.shape) if tensor.dim() and tensor.shape[0] > 1 else None


def with_gaps(tensor: torch.Tensor) -> torch.Tensor | None:
    return torch.stack([tensor, tensor], dim=-1)[..., 0] if tensor.dim() else None


def with_gaps_between_rows(tensor: torch.Tensor) -> torch.Tensor | None:
    return torch.cat([tensor, tensor], dim=-1)[..., : tensor.shape[-1]] if tensor.dim() > 1 else None


def offset(tensor: torch.Tensor) -> torch.Tensor | None:
    return torch.cat([tensor.new_zeros(3), tensor.reshape(-1)])[3:].view(tensor.shape)


def narrowed(dimension: int, size: int, last: Layout | None = None) -> Layout:
    """The first `size` elements along a dimension, laid out by `last`."""

    def layout(tensor: torch.Tensor) -> torch.Tensor | None:
        if tensor.dim() <= dimension or tensor.shape[dimension] <= size:
            return None
        made = tensor.narrow(dimension, 0, size).contiguous()
        return last(made) if last else made

    return layout


def with_dimensions(count: int, last: Layout) -> Layout:
    """More dimensions than the sample has, laid out by `last`: no sample of a group_norm is an image."""

    def layout(tensor: torch.Tensor) -> torch.Tensor | None:
        missing = count - tensor.dim()
        return last(tensor[(..., *(None,) * missing)].expand(*tensor.shape, *(2, 3, 2, 2)[:missing])) if 0 < missing < count else None

    return layout


LAYOUTS: dict[str, Layout] = {
    "contiguous": lambda tensor: tensor.contiguous(),
    "channels_last": channels_last,
    "channels_last_3d": channels_last_3d,
    "transposed": transposed,
    "permuted": permuted,
    "reversed": reversed_order,
    "expanded": expanded,
    "gaps": with_gaps,
    "row_gaps": with_gaps_between_rows,
    "offset": offset,
    "first_0": narrowed(0, 0),
    "first_1": narrowed(0, 1),
    "second_1": narrowed(1, 1),
    "first_1_channels_last": narrowed(0, 1, channels_last),
    "second_1_channels_last": narrowed(1, 1, channels_last),
    "first_1_transposed": narrowed(0, 1, transposed),
    "first_1_reversed": narrowed(0, 1, reversed_order),
    "second_1_permuted": narrowed(1, 1, permuted),
    "first_1_gaps": narrowed(0, 1, with_gaps),
    "second_1_row_gaps": narrowed(1, 1, with_gaps_between_rows),
    "image": with_dimensions(4, torch.Tensor.contiguous),
    "image_channels_last": with_dimensions(4, channels_last),
    "image_reversed": with_dimensions(4, reversed_order),
    "volume_channels_last": with_dimensions(5, channels_last_3d),
}


def variants(arguments: Any) -> Iterator[tuple[str, Any]]:
    """The arguments (a tree) in every layout that some tensor of them can have."""
    tensors = [leaf for leaf in tree_flatten(arguments)[0] if isinstance(leaf, torch.Tensor)]
    if any(t.layout != torch.strided or t.is_nested or t.is_quantized for t in tensors):
        return
    places: list[int | None] = [None, *(range(min(len(tensors), 2)) if len(tensors) > 1 else ())]
    for (name, layout), place, converts in itertools.product(LAYOUTS.items(), places, (False, True)):
        if converts and place is None:
            continue
        number = itertools.count()
        changed = False

        def relaid(leaf: Any, layout: Layout = layout, place: int | None = place, converts: bool = converts, number: Any = number) -> Any:
            nonlocal changed
            if not isinstance(leaf, torch.Tensor) or (place is not None and next(number) != place):
                return leaf
            with torch.no_grad():
                made = layout(leaf.detach())
            if made is None:
                return leaf
            changed = True
            made = made.to(OTHER_DTYPES.get(made.dtype, torch.float32)) if converts else made
            return made.detach().requires_grad_(leaf.requires_grad)

        made = tree_map(relaid, arguments)
        if changed:
            yield f"{name}{'' if place is None else f' of argument {place}'}{' in another dtype' if converts else ''}", made


def memory_facts(tensor: torch.Tensor) -> dict[str, Any]:
    """Asked of the tensor itself: torch keeps these answers beside sizes and strides."""
    formats = [form for form, dimensions in zip(FORMATS, (None, 4, 5), strict=True) if dimensions in (None, tensor.dim())]
    return {str(form): tensor.is_contiguous(memory_format=form) for form in formats}


def key_of(value: Any, storages: dict[Any, int]) -> Any:
    """An argument's share of a call's identity."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            return ("layout", value.layout)
        storage = storages.setdefault(oracle.storage_key(value), len(storages))
        facts = (tuple(value.shape), value.stride(), value.storage_offset(), value.dtype, value.is_conj(), value.is_neg(), storage)
        # The values of small tensors of integers may decide on shapes: indices, lengths.
        return (*facts, tuple(value.reshape(-1).tolist())) if value.dtype == torch.int64 and 0 < value.numel() < 8 else facts
    if isinstance(value, (list, tuple)):
        return tuple(key_of(item, storages) for item in value)
    if isinstance(value, dict):
        return tuple((name, key_of(item, storages)) for name, item in value.items())
    return (type(value), repr(value))


class Comparing(TorchDispatchMode):
    """Calls every operator that arrives on fakes too, and compares."""

    def __init__(self, room: Any) -> None:
        super().__init__()
        self.room = room
        self.seen: set[Any] = set()
        self.where = ""
        self.counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.problems: dict[str, list[str]] = collections.defaultdict(list)
        self.meta: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        arguments = (args, kwargs or {})
        tensors = oracle.tensors_of(arguments)
        key = (function, key_of(arguments, {}))
        is_comparable = all(t.layout == torch.strided and not t.is_nested and not t.is_quantized for t in tensors)
        if key in self.seen or not tensors or not is_comparable:
            return function(*args, **arguments[1])
        self.seen.add(key)
        with torch.utils._python_dispatch._disable_current_modes():
            outcome, detail, result = self.compared(function, arguments)
        name = str(function)
        self.counts[name][outcome] += 1
        if outcome not in oracle.GOOD and len(self.problems[name]) < 12:
            shown = tree_map(lambda leaf: shown_tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf, arguments)
            self.problems[name].append(f"{outcome}: {detail}; arguments {shown[0]} {shown[1] or ''}; {self.where}")
        if isinstance(result, Exception):
            raise result
        return result

    def compared(self, function: Any, arguments: Any) -> tuple[str, str, Any]:
        """('same' | 'data' | 'refused' | 'different' | 'error' | 'skipped', detail, what the real call returned or raised)."""
        fakes = fake_error = got = None
        try:
            fakes = oracle.fakes_of(arguments, self.room)
            with self.room.FakeScope(accept_reals=True), torch.no_grad():
                got = function(*fakes[0], **fakes[1])
                facts = [memory_facts(t) for t in oracle.tensors_of(got)]
        except Exception as error:
            fake_error = error
        try:
            real = function(*arguments[0], **arguments[1])
        except Exception as error:
            if fake_error is None:
                return "raises", f"{type(error).__name__}: {str(error)[:200]}", error
            return "same", "both raise", error
        if any(t.layout != torch.strided or t.is_nested or t.is_quantized for t in oracle.tensors_of(real)):
            return "skipped", "the result is not strided", real
        self.meta[str(function)]["same" if meta_agrees(function, arguments, real) else "different"] += 1
        if fake_error is not None:
            text = str(fake_error).split("\n")[0][:300]
            if isinstance(fake_error, NotImplementedError):
                return ("data" if "depends on" in text else "refused"), text, real
            return ("data" if self.room.is_fake_data_error(fake_error) else "error"), f"{type(fake_error).__name__}: {text}", real
        if fakes is None:
            return "skipped", "", real
        try:
            oracle.compare(real, got, arguments, fakes, self.room, with_autograd=False)
            real_facts = [memory_facts(t) for t in oracle.tensors_of(real)]
            if facts != real_facts:
                raise oracle.Different(f"{facts} instead of {real_facts}")
        except oracle.Different as error:
            return "different", str(error)[:400], real
        return "same", "", real


def meta_agrees(function: Any, arguments: Any, real: Any) -> bool:
    """True if the results of the dispatcher's meta kernel have the same sizes, strides and dtypes."""
    if any(r is a for r in oracle.tensors_of(real) for a in oracle.tensors_of(arguments)):
        return True  # it makes no tensor

    def twin(leaf: Any) -> Any:
        if isinstance(leaf, torch.device):
            return torch.device("meta")
        if not isinstance(leaf, torch.Tensor):
            return leaf
        made = torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device="meta")
        made = made.conj() if leaf.is_conj() else made
        return made._neg_view() if leaf.is_neg() else made

    try:
        args, kwargs = tree_map(twin, arguments)
        found = function(*args, **kwargs)
    except Exception:  # no meta kernel, or one that depends on values
        return False
    facts = [[(t.shape, t.stride(), t.dtype) for t in oracle.tensors_of(tree)] for tree in (real, found)]
    return facts[0] == facts[1]


def shown_tensor(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}{tensor.stride()}+{tensor.storage_offset()}"


def run_sample(function: Callable[..., Any], arguments: Any) -> None:
    """Forward, and backward of all that has gradients."""
    result = function(arguments[0], *arguments[1], **arguments[2])
    wanted = [t for t in oracle.tensors_of(arguments) if t.requires_grad]
    outputs = [t for t in oracle.tensors_of(result) if t.requires_grad]
    if wanted and outputs:
        torch.autograd.grad(outputs, wanted, [torch.ones_like(t) for t in outputs], allow_unused=True)


def run_operator(op: Any, comparing: Comparing, limit: int) -> None:
    for dtype in DTYPES:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        requires_grad = dtype in op.supported_backward_dtypes("cpu")
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=requires_grad))
        except Exception:  # a table's own mistake
            continue
        step = max(1, len(samples) // limit)  # not the first ones alone: they are the smallest
        for number, sample in enumerate(samples[::step][:limit]):
            for name, arguments in variants((sample.input, sample.args, sample.kwargs)):
                comparing.where = f"{oracle.name_of(op)} {dtype} sample {number * step}, {name}"
                try:
                    with comparing:
                        run_sample(op.op, arguments)
                except Exception:  # not with such sizes
                    continue


def run_chunk(names: list[str], limit: int) -> None:
    """Prints a line for each operator of the table: what the dispatcher's operators under it did."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    comparing = Comparing(oracle.load_room())
    wanted = set(names)
    for op in oracle.all_operators():
        if oracle.name_of(op) not in wanted:
            continue
        print(json.dumps({"start": oracle.name_of(op)}), flush=True)
        run_operator(op, comparing, limit)
        total = sum(comparing.counts.values(), collections.Counter())
        found = {
            name: {"counts": dict(counts), "problems": comparing.problems[name], "meta": dict(comparing.meta[name])}
            for name, counts in comparing.counts.items()
        }
        print(json.dumps({"name": oracle.name_of(op), "counts": dict(total), "problems": [], "operators": found}), flush=True)
        comparing.counts.clear()
        comparing.problems.clear()
        comparing.meta.clear()


def merged(results: dict[str, Any]) -> dict[str, Any]:
    """By operator of the dispatcher."""
    operators: dict[str, Any] = {}
    for result in results.values():
        for name, found in result.get("operators", {}).items():
            entry = operators.setdefault(name, {"counts": collections.Counter(), "problems": [], "meta": collections.Counter()})
            entry["counts"].update(found["counts"])
            entry["meta"].update(found["meta"])
            entry["problems"] += found["problems"]
    return dict(sorted(operators.items()))


FEWEST = 10  # comparisons that verify a meta kernel
TABLE_HEAD = """\
// Operators whose meta kernels have been seen to give the layouts of the real ones, for arguments in many layouts: written by
// tests/python/oracles/opinfo_layouts.py --table. How they are used says cpu_layouts.h.
"""


def write_table(operators: dict[str, Any], path: str) -> None:
    names = []
    for name, entry in operators.items():
        namespace, operator, overload = name.split(".")
        if namespace == "aten" and entry["meta"]["same"] >= FEWEST and not entry["meta"]["different"]:
            names.append(f"aten::{operator}" + ("" if overload == "default" else f".{overload}"))
    with open(path, "w") as file:
        file.write(TABLE_HEAD)
        file.writelines(f'VERIFIED_LAYOUT("{name}")\n' for name in sorted(names))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="operators of the table by name")
    parser.add_argument("--limit", type=int, default=5, help="samples per operator and dtype, spread over all of them")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="2/5: the second of five parts of the operators")
    parser.add_argument("--json", help="write the full report here")
    parser.add_argument("--table", help="write the table of verified meta kernels here")
    parser.add_argument("--chunk", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.chunk:
        run_chunk(json.loads(options.chunk), options.limit)
        return 0
    part, parts = map(int, options.part.split("/"))
    names = options.only or [oracle.name_of(op) for op in oracle.all_operators()][part - 1 :: parts]
    results = oracle.run(names, options.limit, options.workers, script=__file__)
    operators = merged(results)
    crashed = [name for name, result in results.items() if "crash" in result["counts"]]
    report = {"summary": oracle.summary(operators), "crashed": crashed, "operators": operators}
    oracle.write_report(report, options.json)
    if options.table:
        write_table(operators, options.table)
    for name, entry in operators.items():
        for problem in entry["problems"][:3]:
            print(f"{name}: {problem}")
    print(json.dumps(report["summary"]), *(["crashed:", *crashed] if crashed else []))
    return int(any(entry["counts"]["different"] for entry in operators.values()))


if __name__ == "__main__":
    sys.exit(main())
