#include "python/traceback.h"

#include <frameobject.h>

#include <algorithm>

#define Py_BUILD_CORE
#undef HAVE_STD_ATOMIC
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

namespace minidynamo {

void add_traceback(PyCodeObject* code, PyObject* globals, int32_t offset, int32_t line) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref next = Ref::steal(traceback);
  Ref frame = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_New(PyThreadState_Get(), code, globals, nullptr)));
  // It never ran: it is made to stand where the evaluator does.
  if (frame)
    reinterpret_cast<PyFrameObject*>(frame.get())->f_frame->prev_instr = _PyCode_CODE(code) + std::max(offset, 0) / 2;
  Ref entry =
      frame ? Ref::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyTraceBack_Type), "OOii",
                                               next ? next.get() : Py_None, frame.get(), std::max(offset, 0), line))
            : Ref();
  PyErr_Clear();
  PyErr_Restore(type, value, entry ? entry.release() : next.release());
}

}  // namespace minidynamo
