#include "world/external/pin.h"

#include "world/external/types.h"

namespace minidynamo {

Source* source_or_pin(Tracer& tracer, PyObject* object) {
  if (Source* source = tracer.world.source_of(object)) return source;
  std::string text = "?";
  if (PyType_Check(object)) {
    text = as_type(object)->tp_name;
  } else if (PyModule_Check(object)) {
    const char* name = PyModule_GetName(object);
    if (name)
      text = name;
    else
      clear_error();
  } else if (PyFunction_Check(object)) {
    text = PyUnicode_AsUTF8(as_function(object)->func_qualname);
  } else {
    text = Py_TYPE(object)->tp_name;
  }
  Source* source = tracer.guards.pinned(object, text);
  tracer.world.know(object, source);
  if (!is_guarded_by_identity(object)) tracer.world.pins(Py_TYPE(object));
  return source;
}

Source* namespace_source(Tracer& tracer, PyObject* names, const char* text) {
  if (PyObject* replacement = tracer.world.replacement_of(names)) {
    Source* source = tracer.world.source_of(replacement);
    tracer.abort(BreakReason::FrameIntrospection, "the names of a module are used as a dict" +
                                                      (source ? " (" + source->to_text() + ")" : std::string()));
    return nullptr;
  }
  if (!tracer.world.source_of(names)) tracer.world.know_namespace(names, tracer.guards.pinned(names, text));
  return tracer.world.source_of(names);
}

void guard_state(Tracer& tracer, PyObject* asked, const std::string& name, PyObject* state) {
  Source* source = tracer.guards.kept(asked, "state[" + name + "]");
  tracer.guards.add(tracer.guards.child(source, Access::CallResult, nullptr, -1, state), GuardKind::Constant,
                    tracer.origin());
}

}  // namespace minidynamo
