#include "trace/imports.h"

#include "model/protocols/abstract.h"
#include "python/process/out_of_memory.h"
#include "world/external/container_reads.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/scope.h"
#include "world/native/code_origin.h"

namespace minidynamo {
namespace {

// True while the module's code runs, maybe in another thread: an import statement waits for its end then.
bool is_being_imported(PyObject* module) {
  PyObject* spec =
      PyModule_Check(module) ? PyDict_GetItemWithError(PyModule_GetDict(module), "__spec__"_name) : nullptr;
  const Ref initializing = spec ? Ref::steal(PyObject_GenericGetAttr(spec, "_initializing"_name)) : Ref();
  clear_error();
  return initializing.is(Py_True);
}

// The module of that full name, if it is imported.
Ref imported_module(Tracer& tracer, const std::string& name) {
  PyObject* modules = PyImport_GetModuleDict();
  Ref key = Ref::made(PyUnicode_InternFromString(name.c_str()));
  PyObject* module = PyDict_GetItemWithError(modules, key.get());
  if (!module || module == Py_None || is_being_imported(module)) return nullptr;
  if (PyObject* shown = tracer.world.replacement_of(modules)) {  // the program has looked into it as a dict
    ShadowContainer* shadow = tracer.world.shadow(shown);
    bool found = false;
    if (shadow && !shadow->filled) return item_of_shadow(tracer, *shadow, key.get(), found);
    if (shadow) return Ref::borrow(PyDict_GetItemWithError(shown, key.get()));
  }
  Source* source = namespace_source(tracer, modules, "sys.modules");
  if (!source) return nullptr;
  return load_part(tracer, source, Access::DictItem, key.get(), module);
}

// True if what `from package import names` asks for is there: a submodule may have to be imported for it.
bool has_submodules(Tracer& tracer, PyObject* module, const std::string& full, PyObject* names) {
  if (!PyTuple_Check(names)) return true;
  auto has = [&](PyObject* name) {
    const bool found = static_cast<bool>(load_attribute(tracer, module, name));
    if (!tracer.is_over()) clear_error();
    return found;
  };
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (has(name) || tracer.is_over() || !has("__path__"_name) || tracer.is_over()) continue;
    const char* text = PyUnicode_AsUTF8(name);
    if (text && !imported_module(tracer, full + "." + text)) return false;
  }
  return !tracer.is_over();
}

// The absolute name of a relative import; empty if the package is not known.
std::string absolute_name(Tracer& tracer, Frame& frame, const std::string& name, long level) {
  Ref package = load_global(tracer, frame, "__package__"_name);
  if (!package || !PyUnicode_Check(package.get())) {
    clear_error();
    return "";
  }
  std::string base = PyUnicode_AsUTF8(package.get());
  for (; level > 1; --level) {
    const size_t dot = base.rfind('.');
    if (dot == std::string::npos) return "";
    base.resize(dot);
  }
  return name.empty() ? base : base + "." + name;
}

// True if an import statement asks Python itself, rather than a function that the program has put in its place;
// guarded.
bool is_plain_import(Tracer& tracer, Frame& frame) {
  const Ref function = load_builtin(tracer, frame, "__import__"_name);
  if (function.is("builtins.__import__"_imported)) return true;
  clear_error();
  return tracer.abort(BreakReason::Import, "the program has its own builtins.__import__") != nullptr;
}

// An attribute that may be missing; null Ref without a Python error: it is, or the trace is over.
Ref attribute_if_any(Tracer& tracer, PyObject* object, const char* name) {
  Ref value = load_attribute(tracer, object, Ref::made(PyUnicode_InternFromString(name)).get());
  if (!value && !tracer.is_over()) clear_error();
  return value;
}

// Sets the error of `from module import name`, as CPython words it.
std::nullptr_t cannot_import(Tracer& tracer, PyObject* module, PyObject* name, const Ref& module_name) {
  const Ref path = PyModule_Check(module) ? attribute_if_any(tracer, module, "__file__") : Ref();
  const bool has_path = path && PyUnicode_Check(path.get());
  if (tracer.is_over()) return nullptr;
  if (is_being_imported(module))
    return tracer.abort(BreakReason::Import, "a module is asked for a name while it is imported");
  const Ref shown = module_name ? module_name : Ref::made(PyUnicode_FromString("<unknown module name>"));
  const Ref message =
      has_path ? Ref::made(PyUnicode_FromFormat("cannot import name %R from %R (%S)", name, shown.get(), path.get()))
               : Ref::made(PyUnicode_FromFormat("cannot import name %R from %R (unknown location)", name, shown.get()));
  PyErr_SetImportError(message.get(), module_name.get(), has_path ? path.get() : nullptr);
  return nullptr;
}

// Code of torch's that imports a part of torch for the first time, as the backward does from 2.14 on: which of its
// modules torch has loaded is no state of the program's. But its compilers replace functions of torch as they are
// loaded.
void load_part_of_torch(Frame& frame, const std::string& full) {
  const CodeOrigin origin = code_origin(frame.code()->co_filename);
  if ((origin != CodeOrigin::Torch && origin != CodeOrigin::TorchModules) || !full.starts_with("torch.")) return;
  if (full.starts_with("torch._dynamo") || full.starts_with("torch._inductor")) return;
  if (!import_object(full.c_str())) clear_error();
}

}  // namespace

Ref import_name(Tracer& tracer, Frame& frame, PyObject* name, PyObject* names, PyObject* level) {
  if (!is_plain_import(tracer, frame)) return nullptr;
  std::string full = PyUnicode_AsUTF8(name);
  const long levels = PyLong_AsLong(level);
  if (levels > 0) full = absolute_name(tracer, frame, full, levels);
  if (tracer.is_over()) return nullptr;
  load_part_of_torch(frame, full);
  // `import a.b` yields a; `from a.b import c` yields a.b. Both need a.b to be there already.
  Ref module = full.empty() ? Ref() : imported_module(tracer, full);
  if (module && names == Py_None && levels == 0 && full.find('.') != std::string::npos)
    module = imported_module(tracer, full.substr(0, full.find('.')));
  if (tracer.is_over()) return nullptr;
  if (!module || !has_submodules(tracer, module.get(), full, names))
    return tracer.is_over() ? nullptr
                            : tracer.abort(BreakReason::Import,
                                           "module " + full + " or a part of it is imported for the first time");
  return module;
}

Ref import_from(Tracer& tracer, PyObject* module, PyObject* name) {
  Ref value = load_attribute(tracer, module, name);
  if (value || tracer.is_over() || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  clear_error();
  Ref package = attribute_if_any(tracer, module, "__name__");
  if (tracer.is_over()) return nullptr;
  if (package && !PyUnicode_Check(package.get())) package = Ref();
  const char* text = package ? PyUnicode_AsUTF8(package.get()) : nullptr;
  if (text) value = imported_module(tracer, std::string(text) + "." + PyUnicode_AsUTF8(name));
  if (value || tracer.is_over()) return value;
  clear_error();
  return cannot_import(tracer, module, name, package);
}

}  // namespace minidynamo
