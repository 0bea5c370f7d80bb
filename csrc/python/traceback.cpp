#include "python/traceback.h"

#include <frameobject.h>

#include <algorithm>

#define Py_BUILD_CORE
#undef HAVE_STD_ATOMIC
#include <internal/pycore_frame.h>

#include "python/out_of_memory.h"
#undef Py_BUILD_CORE

namespace minidynamo {

Ref make_traceback_frame(PyCodeObject* code, PyObject* globals) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref frame = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_New(PyThreadState_Get(), code, globals, nullptr)));
  if (frame) reinterpret_cast<PyFrameObject*>(frame.get())->f_frame->stacktop = 0;
  clear_error();
  PyErr_Restore(type, value, traceback);
  return frame;
}

void move_traceback_frame(PyObject* frame, int32_t offset) noexcept {
  _PyInterpreterFrame* inner = reinterpret_cast<PyFrameObject*>(frame)->f_frame;
  inner->prev_instr = _PyCode_CODE(inner->f_code) + std::max(offset, 0) / 2;
}

void add_traceback(PyObject* frame, int32_t offset, int32_t line) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref next = Ref::steal(traceback);
  Ref entry = Ref::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyTraceBack_Type), "OOii",
                                               next ? next.get() : Py_None, frame, std::max(offset, 0), line));
  clear_error();
  PyErr_Restore(type, value, entry ? entry.release() : next.release());
}

}  // namespace minidynamo
