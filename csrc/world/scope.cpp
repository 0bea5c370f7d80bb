#include "world/scope.h"

#include "python/error_text.h"
#include "world/enter.h"
#include "world/pin.h"
#include "world/tracer.h"

namespace minidynamo {

Ref load_global(Tracer& tracer, Frame& frame, PyObject* name) {
  PyObject* globals = frame.globals.get();
  if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(frame.builtins.get()))
    return tracer.give_up(BreakReason::UnsupportedObject, "the names of a module are no plain dict");
  Source* source = namespace_source(tracer, globals);
  if (!source) return nullptr;
  if (const AttributeWrite* write = tracer.effects.pending(globals, name)) {
    if (write->value) return write->value;
  } else {
    Ref found = load_part(tracer, source, Access::DictItem, name, PyDict_GetItemWithError(globals, name));
    if (found || PyErr_Occurred()) return found;
  }
  if (Ref found = load_builtin(tracer, frame, name); found || PyErr_Occurred()) return found;
  PyErr_Format(PyExc_NameError, "name '%U' is not defined", name);
  add_name_context(name);
  return nullptr;
}

Ref load_builtin(Tracer& tracer, Frame& frame, PyObject* name) {
  PyObject* builtins = frame.builtins.get();
  if (const AttributeWrite* write = tracer.effects.pending(builtins, name)) return write->value;
  Source* source = namespace_source(tracer, builtins, "builtins");
  if (!source) return nullptr;
  return load_part(tracer, source, Access::DictItem, name, PyDict_GetItemWithError(builtins, name));
}

Ref load_cell(Tracer& tracer, PyObject* cell) {
  Source* source = tracer.world.source_of(cell);
  if (!source) return Ref::borrow(PyCell_GET(cell));
  static PyObject* const contents_name = interned("cell_contents");
  if (const AttributeWrite* write = tracer.effects.pending(cell, contents_name)) return write->value;
  return load_part(tracer, source, Access::CellContents, nullptr, PyCell_GET(cell));
}

Source* source_of_untouched(Tracer& tracer, Frame& frame, int32_t index) {
  Untouched& waiting = frame.untouched[index];
  if (!waiting.source) waiting.source = tracer.guards.local(index, local_name(frame, index), waiting.raw);
  return waiting.source;
}

Ref touch_local(Tracer& tracer, Frame& frame, int32_t index) {
  if (!frame.has_untouched(index)) return nullptr;
  Source* source = source_of_untouched(tracer, frame, index);
  frame.forget_untouched(index);
  return enter(tracer, source);
}

}  // namespace minidynamo
