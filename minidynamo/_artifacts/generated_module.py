"""The Python module that Inductor generates for a graph, as data, and the data as a function again.

The module's text is Inductor's private format. What is not known of it is not kept: the graph is then compiled in every process, as
without artifacts. Taking it apart needs the compiler, which has just run; putting it together again needs torch alone.
"""

import ast
import functools
import hashlib
import importlib.machinery
import importlib.util
import marshal
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, TypedDict, cast

import torch

from minidynamo._artifacts.runtime import Boxed


class NotKept(Exception):
    """A graph, or what was made of it, that cannot be kept on disk; says why."""


class Constant(TypedDict):
    """A small tensor that the compiled graph holds.

    Attributes:
        dtype: the name of one.
        size, stride: its layout; its storage begins with it.
        content: the bytes of its storage.
    """

    dtype: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    content: bytes


class Module(TypedDict):
    """A generated module.

    Attributes:
        code: its marshalled code object, without its imports of the compiler and the sources of its kernels.
        kernels: for each name of a kernel, the SHA-256 of the library that has it, and the function's name in it.
        functions: for each name of an external function, its path below `torch`.
        operators: the paths of torch's operators that it calls.
        constants: tensors by name.
    """

    code: bytes
    kernels: dict[str, tuple[str, str]]
    functions: dict[str, str]
    operators: list[str]
    constants: dict[str, Constant]


_MOST_CONSTANT_BYTES = 1 << 20

# ---- from a compiled graph to data


def taken_apart(compiled: Any, is_dynamic: bool = False) -> tuple[Module, dict[str, bytes]]:
    """A compiled graph of Inductor's as data, and the contents of its libraries by their SHA-256.

    Args:
        is_dynamic: whether sizes of its inputs may differ. The guards on these, which the compiled graph has as text, are known then.

    Raises NotKept for what is not known.
    """
    for name in ("torchbind_constants", "frozen_param_names", "opaque_value_type_classes", "partition_maps", "inputs_to_check"):
        if getattr(compiled, name):
            raise NotKept(f"the compiled graph has {name}")
    if not is_dynamic and compiled.guards_expr not in (None, "", "True"):
        raise NotKept(f"the compiled graph has the guards {compiled.guards_expr}")
    if set(compiled.device_types) - {"cpu"}:
        raise NotKept(f"the compiled graph runs on {', '.join(sorted(compiled.device_types))}")
    module = _loaded_from(compiled)
    tree = ast.parse(compiled.source_code)
    statements: list[ast.stmt] = []
    kernels: dict[str, Any] = {}
    for statement in tree.body:
        made = _made_by_compiler(statement)
        if made is None:
            statements.append(statement)
        elif made:
            kernels[made] = getattr(module, made, None)
    tree.body = [_WithoutHooks().visit(statement) for statement in statements]
    _check_names(tree, kernels, set(compiled.constants or ()))
    libraries: dict[str, bytes] = {}
    return (
        Module(
            code=marshal.dumps(compile(ast.fix_missing_locations(tree), "<minidynamo artifact>", "exec")),
            kernels={name: _in_library(name, kernel, libraries) for name, kernel in kernels.items()},
            functions={name: _path_of_function(name) for name in sorted(_attributes_of(tree, "extern_kernels"))},
            operators=sorted(_operators(tree)),
            constants=_constants(compiled.constants or {}),
        ),
        libraries,
    )


def _loaded_from(compiled: Any) -> types.ModuleType:
    from torch._inductor.codecache import PyCodeCache

    for module in reversed(PyCodeCache.modules):
        path = getattr(module, "__file__", None) or ""
        if os.path.basename(path) == f"{compiled.cache_key}.py":
            return module
    raise NotKept("the generated module is not found")


# Names of the compiler. The first two define kernels, which are taken from their libraries; the others are for debugging or other devices.
_COMPILERS = frozenset({"async_compile", "AsyncCompile", "run_intermediate_hooks", "maybe_profile", "align", "empty_strided_p2p"})


def _made_by_compiler(statement: ast.stmt) -> str | None:
    """None: the statement stays. Otherwise it goes; the name of the kernel that it defines, or ""."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return "" if "_inductor" in ast.unparse(statement) else None
    if isinstance(statement, ast.FunctionDef):
        return "" if statement.name in ("benchmark_compiled_module", "get_args") else None
    if isinstance(statement, (ast.If, ast.Delete)):
        return ""  # if __name__ == "__main__"; del async_compile
    if isinstance(statement, ast.Expr):
        return "" if isinstance(statement.value, ast.Call) else None  # async_compile.wait(globals())
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(target := statement.targets[0], ast.Name):
        if target.id in _COMPILERS:
            return ""
        value = statement.value
        made = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Name)
        if made and value.func.value.id == "async_compile":  # type: ignore[attr-defined]
            return target.id
    return None


class _WithoutHooks(ast.NodeTransformer):
    """Leaves out calls of hooks for debugging, which belong to the compiler."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        return None if isinstance(called, ast.Name) and called.id == "run_intermediate_hooks" else self.generic_visit(node)


def _check_names(tree: ast.Module, kernels: dict[str, Any], constants: set[str]) -> None:
    """Each global name has to be one that will be there."""
    code = compile(ast.fix_missing_locations(tree), "<minidynamo artifact>", "exec")
    there = {*vars(__builtins__ if isinstance(__builtins__, types.ModuleType) else types.SimpleNamespace(**__builtins__))}
    there |= {*kernels, *constants, "extern_kernels", "assert_tensor_metadata", "__name__"}
    there |= {name for statement in tree.body for name in _defined(statement)}
    missing = sorted(_globals_of(code) - there)
    if missing:
        raise NotKept(f"the generated module uses {', '.join(missing)}")


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield (alias.asname or alias.name).partition(".")[0]
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _globals_of(code: types.CodeType) -> set[str]:
    import dis

    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals_of(constant)
    return names - {"__module__", "__qualname__"}


def _in_library(name: str, kernel: Any, libraries: dict[str, bytes]) -> tuple[str, str]:
    path = getattr(getattr(kernel, "__self__", None), "__file__", None)
    if not isinstance(kernel, types.BuiltinFunctionType) or not path:
        raise NotKept(f"the kernel {name} is no function of a library")
    with open(path, "rb") as file:
        content = file.read()
    digest = hashlib.sha256(content).hexdigest()
    libraries[digest] = content
    return digest, kernel.__name__


def _attributes_of(tree: ast.Module, name: str) -> set[str]:
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }


def _path_of_function(name: str) -> str:
    """Where an external function is found without the compiler."""
    from torch._inductor.select_algorithm import extern_kernels

    function = getattr(extern_kernels, name)
    if name == "bias_addmm":
        return name
    for path in (name, f"ops.aten.{name}", f"_C._nn.{name}"):
        if _function_at(path) is function:
            return path
    raise NotKept(f"the external function {name} is not known")


def _operators(tree: ast.Module) -> Iterator[str]:
    """The paths below `torch` of operators that are named in the module's functions: ops.aten.randint.low_out."""
    shorts = {"aten": "ops.aten", "inductor_ops": "ops.inductor", "_quantized": "ops._quantized"}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or id(node) in inner:
            continue
        parts = ast.unparse(node).split(".")
        if parts[0] in shorts:
            yield ".".join([shorts[parts[0]], *parts[1:]])
        elif parts[:2] == ["torch", "ops"] and len(parts) > 3:
            yield ".".join(parts[1:])


def _constants(tensors: dict[str, torch.Tensor]) -> dict[str, Constant]:
    left = _MOST_CONSTANT_BYTES
    constants: dict[str, Constant] = {}
    for name, tensor in tensors.items():
        if type(tensor) is not torch.Tensor or tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.requires_grad:
            raise NotKept("the compiled graph holds a tensor that is not a plain one in memory")
        if tensor.is_conj() or tensor.is_neg() or tensor.storage_offset():
            raise NotKept("the compiled graph holds a tensor that is a view")
        storage = tensor.untyped_storage()
        left -= storage.nbytes()
        if left < 0:
            raise NotKept("the compiled graph holds large tensors")
        content = torch.tensor(storage, dtype=torch.uint8).numpy().tobytes() if storage.nbytes() else b""
        constants[name] = Constant(
            dtype=str(tensor.dtype).removeprefix("torch."), size=tuple(tensor.size()), stride=tuple(tensor.stride()), content=content
        )
    return constants


# ---- from data to a function


def put_together(module: Module, library: Callable[[str], types.ModuleType]) -> Boxed:
    """The function of a module that was taken apart.

    Args:
        library: returns a loaded library for its SHA-256.

    Raises AttributeError where this torch lacks what the module needs.
    """
    for path in module["operators"]:
        functools.reduce(getattr, path.split("."), torch)
    namespace: dict[str, Any] = {"__name__": "minidynamo_artifact", "assert_tensor_metadata": _assert_tensor_metadata}
    functions = {name: _function_at(path) for name, path in module["functions"].items()}
    if None in functions.values():
        raise AttributeError(f"torch has not all of {', '.join(functions)}")
    namespace["extern_kernels"] = types.SimpleNamespace(**functions)
    for name, (digest, function) in module["kernels"].items():
        namespace[name] = getattr(library(digest), function)
    for name, constant in module["constants"].items():
        namespace[name] = _tensor(constant)
    exec(marshal.loads(module["code"]), namespace)
    compiled: Boxed = namespace["call"]
    return compiled


def _function_at(path: str) -> Any:
    if path == "bias_addmm":
        return _bias_addmm
    value: Any = torch
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _bias_addmm(bias: torch.Tensor, first: torch.Tensor, second: torch.Tensor, **how: Any) -> torch.Tensor:
    """A bias that is the same in each row is given as one row, for which torch has a faster kernel."""
    is_one_row = (bias.stride(0) == 0 and bias.size(0) != 0) or bias.size(0) == 1
    return torch.addmm(bias[0] if is_one_row else bias, first, second, **how)


def _assert_tensor_metadata(
    tensor: torch.Tensor | None, size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype, operator: str | None = None
) -> None:
    """The check of an operator's result that modules import from the compiler."""
    if tensor is None:
        return
    if tensor.dtype != dtype:
        raise RuntimeError(f"{operator or 'an operator'} gave a tensor of {tensor.dtype}, where its fake kernel had said {dtype}")
    cast(Any, torch._C._dynamo.guards).assert_size_stride(tensor, size, stride, operator)


def _tensor(constant: Constant) -> torch.Tensor:
    dtype = getattr(torch, constant["dtype"])
    if not constant["content"]:
        return torch.empty_strided(constant["size"], constant["stride"], dtype=dtype)
    flat = torch.frombuffer(bytearray(constant["content"]), dtype=dtype)
    return flat.as_strided(constant["size"], constant["stride"])


_loading = threading.Lock()


def load_library(digest: str, path: Callable[[], str]) -> types.ModuleType:
    """The extension module in a library, loaded once in a process; `path` says where it is."""
    name = f"minidynamo_artifact_{digest}.kernel"  # its init function is called after the last part
    with _loading:
        if name in sys.modules:
            return sys.modules[name]
        loader = importlib.machinery.ExtensionFileLoader(name, path())
        spec = importlib.util.spec_from_loader(name, loader)
        assert spec is not None
        # The library reads this variable as it is loaded: the address of a function that returns a tensor's data pointer.
        variable = "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"
        before = os.environ.get(variable)
        os.environ[variable] = str(cast(Any, torch._C._dynamo.guards)._torchinductor_pyobject_tensor_data_ptr)
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        finally:
            if before is None:
                del os.environ[variable]
            else:
                os.environ[variable] = before
        sys.modules[name] = module
        return module
