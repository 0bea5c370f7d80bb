"""Sparse, quantized and complex tensors: captured, or a break with a reason, and in any case eager's result."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import minidynamo

pytestmark = pytest.mark.filterwarnings("ignore")

Make = Callable[[int], tuple[Any, ...]]
PROGRAMS: dict[str, tuple[Callable[..., Any], Make, bool]] = {}
INDICES = torch.tensor([[0, 1, 1], [2, 0, 2]])


def program(name: str, make: Make, function: Callable[..., Any], whole: bool = False) -> None:
    """`make(call)` returns the arguments of a call; `whole`: it is one graph."""
    PROGRAMS[name] = (function, make, whole)


def plain(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype)


def leaf(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


def coo(rows: int = 4, columns: int = 6) -> torch.Tensor:
    return (plain(rows, columns) * (torch.rand(rows, columns) > 0.5)).to_sparse()


def quantized(call: int) -> tuple[torch.Tensor]:
    return (torch.quantize_per_tensor(plain(3, 4), 0.1 + call * 0.05, 10, torch.quint8),)


LAYOUTS: dict[str, Callable[[], torch.Tensor]] = {
    "coo": coo,
    "csr": lambda: coo().to_sparse_csr(),
    "csc": lambda: coo().to_sparse_csc(),
    "bsr": lambda: coo().to_sparse_bsr((2, 2)),
}
for layout, make in LAYOUTS.items():
    of = plain if layout == "bsr" else leaf  # torch has no backward for it
    program(f"{layout} product", lambda call, make=make, of=of: (make(), of(6, 3)), lambda s, x: (s @ (x * 2)).relu())
    program(f"{layout} to_dense", lambda call, make=make: (make(),), lambda s: s.to_dense() + 1)
    program(f"{layout} returned", lambda call, make=make: (make(), plain(3)), lambda s, x: (s, x + 1))
    program(f"{layout} metadata", lambda call, make=make: (make(),), lambda s: (str(s.layout), tuple(s.shape), s.is_sparse, str(s.dtype)))
    program(f"{layout} in a list", lambda call, make=make: ([make()], plain(6, 3)), lambda many, x: [s @ x for s in many])
program("coo made inside", lambda call: (leaf(3), INDICES.clone()), lambda v, i: torch.sparse_coo_tensor(i, v, (2, 3)).to_dense() * 2)
program("coo that leaves", lambda call: (plain(3), INDICES.clone()), lambda v, i: torch.sparse_coo_tensor(i, v, (2, 3)))
program("coo coalesce", lambda call: (coo(),), lambda s: (s.coalesce().indices(), s.coalesce().values() * 2))
program("coo sum", lambda call: (coo(),), lambda s: torch.sparse.sum(s, 1).to_dense())
program("coo and dense", lambda call: (coo(), plain(4, 6)), lambda s, d: d + s)
program("coo gradient", lambda call: (coo().requires_grad_(), plain(6, 3)), lambda s, x: torch.sparse.mm(s, x))
program("to_sparse", lambda call: (leaf(3, 3), plain(3, 2)), lambda x, y: torch.sparse.mm(x.relu().to_sparse(), y))
program("csr made inside", lambda call: (plain(3),), lambda v: torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)).to_dense())
program("sparse_mask", lambda call: (plain(4, 6), coo()), lambda d, s: d.sparse_mask(s).to_dense())
program("sparse embedding", lambda call: (torch.tensor([0, 2, call]), leaf(5, 3)), lambda i, w: F.embedding(i, w, sparse=True) * 2, True)


class Graph(nn.Module):
    """A layer with a sparse buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.register_buffer("neighbours", coo(5, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(torch.sparse.mm(self.neighbours, self.linear(x)))  # type: ignore[arg-type]


torch.manual_seed(0)
graph = Graph()
linear = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
quantized_linear = torch.ao.quantization.quantize_dynamic(copy.deepcopy(linear), {nn.Linear}, dtype=torch.qint8)
quantized_lstm = torch.ao.quantization.quantize_dynamic(nn.LSTM(4, 5), {nn.LSTM}, dtype=torch.qint8)
program("module with a sparse buffer", lambda call: (leaf(5, 3),), lambda x: graph(x) * 2)
program("dynamic quantization", lambda call: (plain(3, 4),), lambda x: quantized_linear(x * 2) + 1)
program("dynamic quantization of an LSTM", lambda call: (plain(3, 2, 4),), lambda x: quantized_lstm(x)[0] + 1)
program("quantize", lambda call: (plain(3, 4),), lambda x: torch.quantize_per_tensor(x * 2, 0.1, 10, torch.quint8))
program("quantize and back", lambda call: (plain(3, 4),), lambda x: torch.quantize_per_tensor(x, 0.1, 10, torch.quint8).dequantize() * 2)
program("quantized argument", quantized, lambda q: q.dequantize() + 1)
program("quantized metadata", quantized, lambda q: (q.int_repr(), q.q_scale(), q.q_zero_point()))
program("quantized operator", quantized, lambda q: torch.ops.quantized.add(q, q, 0.2, 3).dequantize())
program("fake quantization", lambda call: (leaf(3, 4),), lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127) * 2)

Z = torch.complex64
program("view_as_real", lambda call: (leaf(3, dtype=Z),), lambda z: torch.view_as_real(z * 2), True)
program("view_as_complex", lambda call: (leaf(3, 2),), lambda x: torch.view_as_complex(x * 1) * 2j, True)
program("polar", lambda call: (leaf(3), leaf(3)), lambda r, t: torch.polar(r, t) * 1, True)
program("fft", lambda call: (leaf(8 + call),), lambda x: torch.fft.ifft(torch.fft.fft(x) * 2).real, True)
program("rfft", lambda call: (leaf(8),), lambda x: torch.fft.irfft(torch.fft.rfft(x), n=8), True)
program("conjugate", lambda call: (leaf(3, dtype=Z),), lambda z: z.conj() * z, True)
program("conjugate that leaves", lambda call: (plain(3, dtype=Z),), lambda z: (z.conj(), z.conj().is_conj(), z.conj().imag), True)
program("conjugate argument", lambda call: (plain(3, dtype=Z).conj(),), lambda z: (z + 1, z.is_conj(), z.resolve_conj()), True)
program("write to the real part", lambda call: (plain(3, dtype=Z),), lambda z: (z.real.mul_(2), z)[1], True)
program("rotary embedding", lambda call: (leaf(2, 4, 6), torch.polar(torch.ones(4, 3), plain(4, 3))),
        lambda x, f: torch.view_as_real(torch.view_as_complex(x.reshape(2, 4, 3, 2)) * f).flatten(2), True)  # fmt: skip
program("complex number", lambda call: (plain(3, dtype=Z), 1 + call * 1j), lambda z, k: z * k + 1j, True)
program("complex item", lambda call: (plain(3, dtype=Z),), lambda z: z * z[0].item())
program("adjoint", lambda call: (leaf(3, 2, dtype=Z),), lambda z: z.mH @ z, True)
program("absolute value", lambda call: (leaf(3), leaf(3)), lambda a, b: torch.complex(a, b).abs() + torch.complex(a, b).angle(), True)
program("stft", lambda call: (leaf(400),), lambda x: torch.stft(x, 64, window=torch.hann_window(64), return_complex=True).abs(), True)
program("negative view", lambda call: (torch._neg_view(plain(3)),), lambda z: z * 2, True)


def described(value: Any) -> list[Any]:
    """Everything of a value that a program can see, as plain tensors and constants."""
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(described(one) for one in value)]
    if not isinstance(value, torch.Tensor):
        return [value]
    facts = [type(value), str(value.layout), str(value.dtype), tuple(value.shape), value.requires_grad, value.is_quantized]
    value = value.detach()
    if value.is_quantized:
        return [*facts, value.q_scale(), value.q_zero_point(), value.int_repr()]
    if value.layout != torch.strided:
        return [*facts, value.to_dense()]
    return [*facts, value.stride(), value.is_conj(), value.is_neg(), value.resolve_conj().resolve_neg()]


def gradients(result: Any, arguments: Sequence[Any]) -> list[Any]:
    results = [one for one in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(one, torch.Tensor)]
    leaves = [one for one in arguments if isinstance(one, torch.Tensor) and one.requires_grad]
    differentiable = [one for one in results if one.requires_grad]
    if not differentiable or not leaves:
        return []
    sums = [one.abs().sum() if one.is_complex() else one.sum() for one in differentiable]
    return [described(one) for one in torch.autograd.grad(sums, leaves, allow_unused=True)]


def observed(function: Callable[..., Any], make: Make, call: int) -> list[Any]:
    torch.manual_seed(call)
    arguments = make(call)
    result = function(*arguments)
    return [described(result), gradients(result, arguments), described(arguments)]


def compare(actual: Any, expected: Any) -> None:
    assert type(actual) is type(expected)
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for pair in zip(actual, expected):
            compare(*pair)
    elif isinstance(expected, torch.Tensor):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    else:
        assert actual == expected


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_eager(name: str, backend: str) -> None:
    function, make, whole = PROGRAMS[name]
    captured = minidynamo.compile(function, backend=backend, fullgraph=whole)
    for call in (0, 0, 1, 2):
        compare(observed(captured, make, call), observed(function, make, call))
    if not whole:  # a program that is not captured has a reason that is no defect
        records = [*minidynamo.debug.graph_breaks(), *minidynamo.debug.uncaptured()]
        assert not {"internal", "guards-fail"} & {record.reason for record in records}, records
