#include "library/contextvars.h"

#include "model/arguments.h"
#include "python/cached.h"
#include "python/context_variable.h"
#include "python/out_of_memory.h"
#include "python/unstable.h"
#include "world/enter.h"

namespace minidynamo {

namespace {

PyObject* read_token(PyObject*, PyObject*) {
  if (Tracer* tracer = Tracer::current())
    tracer->abort(BreakReason::OpaqueObject, "an attribute of a ContextVar's token is read");
  return nullptr;
}

PyTypeObject* token_type() {
  static constinit PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "minidynamo.context_token";
    made.tp_basicsize = sizeof(PyObject);
    made.tp_getattro = entry<read_token>;
    made.tp_flags = Py_TPFLAGS_DEFAULT;
    return made;
  }();
  make_ready(type);
  return &type;
}

// The variable that a method is called on; null ends the trace.
Source* variable_of(Tracer& tracer, const Arguments& arguments, size_t least, size_t most) {
  const size_t count = arguments.values.size();
  Source* variable = count ? tracer.world.source_of(arguments.values[0].get()) : nullptr;
  if (count >= least && count <= most && !arguments.keyword_names && variable &&
      PyContextVar_CheckExact(variable->value.get()))
    return variable;
  tracer.abort(BreakReason::UnknownFunction, "a method of a ContextVar that the trace made");
  return nullptr;
}

}  // namespace

bool is_context_token(PyObject* object) { return Py_IS_TYPE(object, token_type()); }

namespace handlers {

Ref context_variable_get(Tracer& tracer, PyObject*, const Arguments& arguments) {
  Source* variable = variable_of(tracer, arguments, 1, 2);
  if (!variable) return nullptr;
  if (const ContextSet* set = tracer.effects.last_set(arguments.values[0].get())) return set->value;
  // Its own default counts only if the call gives none.
  const int32_t with_default = arguments.values.size() == 1;
  const Ref raw = Ref::steal(context_value(variable->value.get(), with_default));
  PyObject* found = raw ? raw.get() : nullptr;  // null: the variable has no value
  Ref value = load_part(tracer, variable, Access::ContextValue, nullptr, found, with_default);
  if (value || tracer.is_over()) return value;
  if (!with_default) return arguments.values[1];
  PyErr_SetObject(PyExc_LookupError, variable->value.get());
  return nullptr;
}

Ref context_variable_set(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (!variable_of(tracer, arguments, 2, 2)) return nullptr;
  Ref token = Ref::made(PyObject_New(PyObject, token_type()));
  tracer.effects.set_context({arguments.values[0], arguments.values[1], token});
  return token;
}

Ref context_variable_reset(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (!variable_of(tracer, arguments, 2, 2)) return nullptr;
  const ContextSet* last = tracer.effects.last_set(arguments.values[0].get());
  if (!last || !last->token.is(arguments.values[1].get()))
    return tracer.abort(BreakReason::UnknownFunction, "a ContextVar is reset to what it was before another was set");
  if (!tracer.effects.take_back_last_set(arguments.values[0].get()))
    return tracer.abort(BreakReason::UnknownFunction, "a ContextVar is reset that a cached function has read");
  return Ref::none();
}

}  // namespace handlers

}  // namespace minidynamo
