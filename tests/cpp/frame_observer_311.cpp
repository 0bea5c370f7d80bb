#include "frame_observer.h"

#include <frameobject.h>

#define Py_BUILD_CORE
#undef HAVE_STD_ATOMIC
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

namespace minidynamo::code_test {
namespace {

struct Observer {
  const char* file;
  const std::function<void(const std::vector<ObservedFrame>&)>& before;
};
Observer* observer = nullptr;

bool is_watched(PyCodeObject* code) { return PyUnicode_CompareWithASCIIString(code->co_filename, observer->file) == 0; }

ObservedFrame look_at(_PyInterpreterFrame* frame) {
  ObservedFrame seen{frame->f_code,
                     reinterpret_cast<PyObject*>(frame->f_func),
                     _PyInterpreterFrame_LASTI(frame) * 2,
                     frame->is_entry,
                     {},
                     {}};
  const int locals = frame->f_code->co_nlocalsplus;
  seen.locals.assign(frame->localsplus, frame->localsplus + locals);
  if (frame->stacktop > locals) seen.stack.assign(frame->localsplus + locals, frame->localsplus + frame->stacktop);
  return seen;
}

int trace(PyObject*, PyFrameObject* frame, int what, PyObject*) {
  if (!is_watched(frame->f_frame->f_code)) return 0;
  if (what == PyTrace_CALL)
    return PyObject_SetAttrString(reinterpret_cast<PyObject*>(frame), "f_trace_opcodes", Py_True);
  if (what != PyTrace_OPCODE) return 0;
  std::vector<ObservedFrame> frames;
  for (_PyInterpreterFrame* now = frame->f_frame; now && is_watched(now->f_code); now = now->previous)
    frames.push_back(look_at(now));
  observer->before(frames);
  return 0;
}

}  // namespace

Ref call_observed(PyObject* callable, PyObject* arguments, const char* file,
                  const std::function<void(const std::vector<ObservedFrame>&)>& before) {
  Observer now{file, before};
  observer = &now;
  PyEval_SetTrace(trace, nullptr);
  Ref result = Ref::steal(PyObject_CallObject(callable, arguments));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyEval_SetTrace(nullptr, nullptr);
  PyErr_Restore(type, value, traceback);
  observer = nullptr;
  return result;
}

ObservedFrame frame_of(PyObject* generator) {
  auto* made = reinterpret_cast<PyGenObject*>(generator);
  return look_at(reinterpret_cast<_PyInterpreterFrame*>(made->gi_iframe));
}

}  // namespace minidynamo::code_test
