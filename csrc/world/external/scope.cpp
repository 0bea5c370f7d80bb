#include "world/external/scope.h"

#include <utility>

#include "python/error_text.h"
#include "python/interned.h"
#include "world/external/enter.h"
#include "world/external/pin.h"
#include "world/external/types.h"
#include "world/native/code_origin.h"
#include "world/state/tracer.h"

namespace minidynamo {

namespace {

// The names of code that the trace runs by exec() or eval() with a dict of its own.
bool is_own_namespace(const Tracer& tracer, PyObject* globals) {
  return !tracer.made.namespaces.empty() && tracer.made.namespaces.count(Ref::borrow(globals)) > 0;
}

}  // namespace

bool is_namespace(const Tracer& tracer, PyObject* object) noexcept {
  return PyDict_CheckExact(object) && tracer.world.is_opaque(object) && tracer.world.source_of(object);
}

Ref load_from_namespace(Tracer& tracer, PyObject* names, PyObject* given) {
  const Ref kept = as_interned(given);  // writes are found by the name's address
  PyObject* name = kept.get();
  if (const AttributeWrite* write = tracer.effects.pending(names, name)) return write->value;
  return load_part(tracer, tracer.world.source_of(names), Access::DictItem, name, PyDict_GetItemWithError(names, name));
}

Ref load_global(Tracer& tracer, Frame& frame, PyObject* name) {
  PyObject* globals = frame.globals.get();
  Ref found;
  if (is_own_namespace(tracer, globals)) {
    found = Ref::borrow(PyDict_GetItemWithError(globals, name));
  } else {
    if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(frame.builtins.get()))
      return tracer.abort(BreakReason::UnsupportedObject, "the names of a module are no plain dict");
    if (!namespace_source(tracer, globals)) return nullptr;
    found = load_from_namespace(tracer, globals, name);
  }
  if (found || PyErr_Occurred()) return found;
  found = load_builtin(tracer, frame, name);
  if (found || PyErr_Occurred()) return found;
  PyErr_Format(PyExc_NameError, "name '%U' is not defined", name);
  add_name_context(name);
  return nullptr;
}

bool store_global(Tracer& tracer, Frame& frame, PyObject* name, PyObject* value) {
  PyObject* globals = frame.globals.get();
  if (is_own_namespace(tracer, globals)) {
    if (!value) return PyDict_DelItem(globals, name) == 0;
    return materialize_if_shadow(tracer, value) && PyDict_SetItem(globals, name, value) == 0;
  }
  if (!namespace_source(tracer, globals)) return false;
  tracer.effects.write(globals, name, value);
  return true;
}

// A function gets them from its module when it is made. One that the trace makes gets them at each call of the code.
void guard_builtins(Tracer& tracer, Frame& frame) {
  if (std::exchange(frame.builtins_are_guarded, true) || is_library_code(frame.code())) return;
  PyObject* function = frame.function.get();
  PyObject* builtins = frame.builtins.get();
  if (Source* source = frame.is_root ? tracer.guards.function(function) : tracer.world.source_of(function)) {
    if (!frame.is_root && is_guarded_by_identity(function)) return;
    Source* names = tracer.guards.child(source, Access::Attribute, "__builtins__"_name, -1, builtins);
    tracer.guards.add(names, GuardKind::Names, tracer.origin());
  } else if (Source* globals = tracer.world.source_of(frame.globals.get())) {
    PyObject* given = PyDict_GetItemWithError(frame.globals.get(), "__builtins__"_name);
    if (!given) return clear_error();
    tracer.guards.add(tracer.guards.child(globals, Access::DictItem, "__builtins__"_name, -1, given),
                      GuardKind::Identity, tracer.origin());
  }
}

Ref load_builtin(Tracer& tracer, Frame& frame, PyObject* name) {
  PyObject* builtins = frame.builtins.get();
  if (is_own_namespace(tracer, builtins)) return Ref::borrow(PyDict_GetItemWithError(builtins, name));
  guard_builtins(tracer, frame);
  if (const AttributeWrite* write = tracer.effects.pending(builtins, name)) return write->value;
  Source* source = namespace_source(tracer, builtins, "builtins");
  if (!source) return nullptr;
  return load_part(tracer, source, Access::DictItem, name, PyDict_GetItemWithError(builtins, name));
}

Ref load_cell(Tracer& tracer, PyObject* cell) {
  Source* source = tracer.world.source_of(cell);
  if (!source) return Ref::borrow(PyCell_GET(cell));
  if (const AttributeWrite* write = tracer.effects.pending(cell, "cell_contents"_name)) return write->value;
  return load_part(tracer, source, Access::CellContents, nullptr, PyCell_GET(cell));
}

Source* source_of_untouched(Tracer& tracer, Frame& frame, int32_t index) {
  LazyLocal& waiting = frame.lazy_locals[index];
  if (!waiting.source) waiting.source = tracer.guards.local(index, local_name(frame, index), waiting.raw);
  return waiting.source;
}

Ref touch_local(Tracer& tracer, Frame& frame, int32_t index) {
  if (!frame.has_lazy_local(index)) return nullptr;
  Source* source = source_of_untouched(tracer, frame, index);
  frame.forget_lazy_local(index);
  return enter(tracer, source);
}

}  // namespace minidynamo
