#include "python/cached.h"

#include "python/collector.h"

namespace minidynamo {

bool make_ready(PyTypeObject& type) noexcept {
  if (type.tp_flags & Py_TPFLAGS_READY) return true;
  CollectorPaused nothing_else_runs;
  return PyType_Ready(&type) == 0;
}

}  // namespace minidynamo
