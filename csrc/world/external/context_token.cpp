#include "world/external/context_token.h"

#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "world/state/tracer.h"

namespace minidynamo {
namespace {

PyObject* read_token(PyObject*, PyObject*) {
  if (Tracer* tracer = Tracer::current())
    tracer->abort(BreakReason::OpaqueObject, "an attribute of a ContextVar's token is read");
  return nullptr;
}

PyTypeObject* token_type() noexcept {
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

}  // namespace

Ref make_context_token() { return Ref::made(PyObject_New(PyObject, token_type())); }

bool is_context_token(PyObject* object) noexcept { return Py_IS_TYPE(object, token_type()); }

}  // namespace minidynamo
