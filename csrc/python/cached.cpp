#include "python/cached.h"

#include "python/process/collector.h"

namespace minidynamo {

void make_ready(PyTypeObject& type) {
  if (type.tp_flags & Py_TPFLAGS_READY) return;
  CollectorPaused nothing_else_runs;
  if (PyType_Ready(&type) < 0) throw_out_of_memory();
}

}  // namespace minidynamo
