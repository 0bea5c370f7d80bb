"""How often Inductor runs the C++ compiler for a graph of ours: once for all kernels of a graph, and as little as can be about the machine.

Inductor runs the compiler once for each kernel, and nine tenths of such a run are the same for all (the header, starting, linking). What
it asks the compiler about the machine is in `_cpp_probes`. All of these are doors of torch's that are not public: where one is not as it
is known here, Inductor goes on as it would.
"""

import contextlib
import functools
import inspect
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from minidynamo._records import log_records
from minidynamo.backends import _cpp_probes

_compiles = threading.local()
_MOST_IN_ONE_RUN = 8  # kernels, where other processors are free
_KERNEL = re.compile(r'extern "C"\s+void\s+kernel\s*\(')
_ROW = re.compile(r'\{\{\s*"\{entry_func\}",.*?\}\}', re.DOTALL)  # a row of the table of methods in Inductor's template, its braces doubled
_INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)


@contextlib.contextmanager
def few_builds() -> Iterator[None]:
    """While Inductor compiles a graph of ours on this thread."""
    _install()
    outer = getattr(_compiles, "is_ours", False)
    _compiles.is_ours = True
    try:
        yield
    finally:
        _compiles.is_ours = outer


@contextlib.contextmanager
def built_together() -> Iterator[None]:
    """Kernels of all graphs that this thread compiles meanwhile are compiled at the end."""
    if getattr(_compiles, "pending", None) is not None:
        yield
        return
    pending = _compiles.pending = _Pending()
    try:
        yield
    finally:
        _compiles.pending = None
        with few_builds():
            pending.build()  # also after an error: the modules that use them are in Inductor's cache


def when_built(function: Callable[[], None]) -> None:
    """Calls a function when the kernels that this thread has compiled so far are there."""
    pending = getattr(_compiles, "pending", None)
    if pending is None:
        function()
    else:
        pending.listeners.append(function)


_installing = threading.Lock()


def _install() -> None:
    with _installing:
        _install_once()


@functools.cache
def _install_once() -> None:
    """All doors or none: what is put aside at one is built at another."""
    try:
        from torch._inductor import cpu_vec_isa
        from torch._inductor.async_compile import AsyncCompile

        VecISA, fingerprint = cpu_vec_isa.VecISA, cpu_vec_isa._get_isa_dry_compile_fingerprint
        doors: tuple[tuple[Any, Any, list[str], Callable[..., Any]], ...] = (
            (AsyncCompile, AsyncCompile.cpp_pybinding, ["self", "argtypes", "source_code"], _put_aside),
            (AsyncCompile, AsyncCompile.wait, ["self", "scope"], _build_before),
            (VecISA, VecISA.check_build, ["self", "code"], functools.partial(_cpp_probes.answer, fingerprint)),
            (cpu_vec_isa, cpu_vec_isa.valid_vec_isa_list, [], _cpp_probes.sets_as_needed),
        )
        for _, method, parameters, _ in doors:
            if list(inspect.signature(method).parameters) != parameters:
                raise AttributeError(f"{method.__qualname__} takes other arguments")
        if not {"x86_isa_checker", "supported_vec_isa_list"} <= vars(cpu_vec_isa).keys():
            raise AttributeError("sets of vector instructions are found in another way")
    except (ImportError, AttributeError) as error:
        log_records.emit("artifacts", f"the C++ compiler is run as Inductor does: {error!r}")
        return
    for owner, method, _, around in doors:
        setattr(owner, method.__name__, _where_ours(method, around))


def _where_ours(original: Callable[..., Any], around: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        if getattr(_compiles, "is_ours", False) and not kwargs:
            return around(original, *args)
        return original(*args, **kwargs)

    return method


# ---- one run for all kernels of a graph


class _Kernel:
    """Stands for a kernel among the names of a generated module until all are known. Another thread may meet the module meanwhile: then
    it is built by itself."""

    def __init__(self, build: Callable[[], Any], types: list[str], source: str) -> None:
        self.build, self.types, self.source = build, types, source

    def __call__(self, *args: Any) -> Any:
        kernel = self.build()
        return (kernel.result() if hasattr(kernel, "result") else kernel)(*args)


class _Pending:
    """Generated modules whose kernels are to be compiled together, and who waits for them."""

    def __init__(self) -> None:
        self.modules: list[tuple[Callable[[], None], dict[str, Any]]] = []  # waiting functions, with a module's names
        self.compiler: Any = None
        self.listeners: list[Callable[[], None]] = []

    def build(self) -> None:
        _build([names for _, names in self.modules], self.compiler)
        for wait, _ in self.modules:
            wait()
        for listener in self.listeners:
            listener()


def _put_aside(original: Callable[..., Any], compiler: Any, types: list[str], source: str) -> Any:
    return _Kernel(functools.partial(original, compiler, types, source), types, source)


def _build_before(original: Callable[..., Any], compiler: Any, names: dict[str, Any]) -> Any:
    pending = getattr(_compiles, "pending", None)
    if pending is None:
        _build([names], compiler)
        return original(compiler, names)
    pending.modules.append((functools.partial(original, compiler, names), names))
    pending.compiler = compiler
    return None


def _build(modules: list[dict[str, Any]], compiler: Any) -> None:
    """Puts kernels, or futures for them, in place of what stands for them among the names of modules."""
    places = [(names, name) for names in modules for name, value in names.items() if type(value) is _Kernel]
    kernels = [names[name] for names, name in places]
    built: list[Any] = []
    if len(kernels) > 1 and all(_can_be_joined(kernel.source) for kernel in kernels):
        try:
            built = _built_together(compiler, kernels)
        except Exception as error:  # one by one, then, as Inductor does; an error in a kernel comes again
            log_records.emit("artifacts", f"kernels are compiled one by one: {error!r}")
    for (names, name), kernel in zip(places, built or [kernel.build() for kernel in kernels], strict=True):
        names[name] = kernel


def _can_be_joined(source: str) -> bool:
    return len(_KERNEL.findall(source)) == 1 and "#define" not in source and "#undef" not in source


def _built_together(compiler: Any, kernels: list[_Kernel]) -> list[Any]:
    from torch._inductor.async_compile import get_compile_threads
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    distinct = list(dict.fromkeys((tuple(kernel.types), kernel.source) for kernel in kernels))
    processes = get_compile_threads()
    runs = max(1, min(processes, -(-len(distinct) // _MOST_IN_ONE_RUN)))
    parts = [distinct[run::runs] for run in range(runs)]
    submit = compiler.submit if processes > 1 and runs > 1 else None
    libraries = [CppPythonBindingsCodeCache.load_async(_joined(part), "cpu", submit_fn=submit) for part in parts]
    functions: dict[tuple[tuple[str, ...], str], Any] = {}
    for part, library in zip(parts, libraries, strict=True):
        module = library()
        functions |= {kernel: getattr(module, f"kernel_{number}") for number, kernel in enumerate(part)}
    return [functions[tuple(kernel.types), kernel.source] for kernel in kernels]


def _joined(kernels: list[tuple[tuple[str, ...], str]]) -> str:
    """One source file with a Python function `kernel_<number>` for each kernel: each is in a namespace of its own, and bound by Inductor's
    own template for one."""
    from torch._inductor.codecache import CppPythonBindingsCodeCache as binding

    head, opening, rest = binding.suffix_template.partition("static PyObject* {entry_func}_py")
    function, table_opening, table = rest.partition("static PyMethodDef py_methods[]")
    row = _ROW.search(table)
    if not opening or not table_opening or row is None or binding.entry_function != "kernel":
        raise NotImplementedError("Inductor binds kernels in a way that is not known")
    includes = dict.fromkeys(line for _, source in kernels for line in _INCLUDE.findall(source))
    parts = [*includes]
    for number, (_, source) in enumerate(kernels):
        renamed = _KERNEL.sub(f'extern "C" void kernel_{number}(', _INCLUDE.sub("", source))
        parts.append(f"namespace of_kernel_{number} {{\n{renamed}\n}}\nusing of_kernel_{number}::kernel_{number};")
    parts.append(head.format(entry_func="kernel", extra_parse_arg=""))
    for number, (types, _) in enumerate(kernels):
        name = f"kernel_{number}"
        given = ", ".join(f"parse_arg<{type_.replace('const ', '')}>(args, {i})" for i, type_ in enumerate(types))
        call = f"{name}({given}); Py_RETURN_NONE;"
        parts.append((opening + function).format(entry_func=name, arg_len=len(types), call_entry_func=call))
    rows = ",\n    ".join(row[0].format(entry_func=f"kernel_{number}") for number in range(len(kernels)))
    before, after = table_opening + table[: row.start()], table[row.end() :]
    parts.append(before.format(entry_func="kernel") + rows + after.format(entry_func="kernel"))
    return "\n".join(parts)
