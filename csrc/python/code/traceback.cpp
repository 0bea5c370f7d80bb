#include "python/code/traceback.h"

#include <frameobject.h>

#include <algorithm>
#include <utility>

#define Py_BUILD_CORE
#undef HAVE_STD_ATOMIC
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#endif

#include "python/error_set_aside.h"
#include "python/process/out_of_memory.h"
#include "python/version/fast_locals.h"
#undef Py_BUILD_CORE

namespace minidynamo {
namespace {

// Locals, and values on the stack.
int slots_in_use(const _PyInterpreterFrame* frame) noexcept {
#if PY_VERSION_HEX < 0x030E0000
  return frame->stacktop;
#else
  return static_cast<int>(frame->stackpointer - frame->localsplus);
#endif
}

// Empties the slots of the frame, whose locals are all unbound.
void empty(_PyInterpreterFrame* frame) noexcept {
#if PY_VERSION_HEX < 0x030E0000
  frame->stacktop = 0;
#else
  frame->stackpointer = frame->localsplus;
#endif
}

}  // namespace

Ref make_traceback_frame(PyCodeObject* code, PyObject* globals) {
  const ErrorSetAside error;
  Ref frame = Ref::steal(as_object(PyFrame_New(PyThreadState_Get(), code, globals, nullptr)));
  if (frame) empty(reinterpret_cast<PyFrameObject*>(frame.get())->f_frame);
  clear_error();
  return frame;
}

bool is_empty_frame(PyObject* frame) noexcept {
  const _PyInterpreterFrame* inner = reinterpret_cast<PyFrameObject*>(frame)->f_frame;
  return inner->owner == FRAME_OWNED_BY_FRAME_OBJECT && slots_in_use(inner) == 0;
}

void move_traceback_frame(PyObject* frame, int32_t offset) noexcept {
  _PyInterpreterFrame* inner = reinterpret_cast<PyFrameObject*>(frame)->f_frame;
#if PY_VERSION_HEX < 0x030D0000
  inner->prev_instr = _PyCode_CODE(inner->f_code) + std::max(offset, 0) / 2;
#else
  inner->instr_ptr = _PyCode_CODE(_PyFrame_GetCode(inner)) + std::max(offset, 0) / 2;
#endif
}

bool any_kept_by_traceback(PyObject* exception, bool (*test)(PyObject*)) {
  const Ref first = Ref::steal(PyException_GetTraceback(exception));
  PyObject* entry = first ? first.get() : nullptr;
  for (; entry && PyTraceBack_Check(entry); entry = as_object(reinterpret_cast<PyTracebackObject*>(entry)->tb_next)) {
    const _PyInterpreterFrame* frame = reinterpret_cast<PyTracebackObject*>(entry)->tb_frame->f_frame;
    if (frame->owner != FRAME_OWNED_BY_FRAME_OBJECT) continue;
    const FastLocals slots(reinterpret_cast<PyObject* const*>(frame->localsplus));
    for (int i = 0; i < slots_in_use(frame); ++i) {
      PyObject* object = slots[i];
      if (object && PyCell_Check(object)) object = PyCell_GET(object);
      if (object && test(object)) return true;
    }
  }
  return false;
}

void show_program_lines(PyObject* traceback, PyObject* lines) {
  auto* residual = reinterpret_cast<PyTracebackObject*>(traceback);
  const Py_ssize_t count = PyList_Check(lines) ? PyList_GET_SIZE(lines) : 0;
  Ref next = residual->tb_next ? Ref::borrow(as_object(residual->tb_next)) : Ref::none();
  Ref names = Ref::made(PyDict_New());
  for (Py_ssize_t i = count; next && --i > 0;) {
    const char *file, *function;
    int line;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(lines, i), "sis", &file, &line, &function)) break;
    Ref code = Ref::steal(as_object(PyCode_NewEmpty(file, function, line)));
    Ref frame = code ? make_traceback_frame(as_code(code.get()), names.get()) : Ref();
    next =
        frame
            ? Ref::steal(PyObject_CallFunction(as_object(&PyTraceBack_Type), "OOii", next.get(), frame.get(), 0, line))
            : Ref();
  }
  PyObject* first = count ? PyTuple_GetItem(PyList_GET_ITEM(lines, 0), 1) : nullptr;
  const long line = first ? PyLong_AsLong(first) : -1;
  if (next && line > 0 && !PyErr_Occurred()) {
    residual->tb_lineno = static_cast<int>(line);
    residual->tb_lasti = -1;  // no part of that line is pointed to
    PyObject* behind = next.is(Py_None) ? nullptr : next.release();
    Ref::drop(as_object(std::exchange(residual->tb_next, reinterpret_cast<PyTracebackObject*>(behind))));
  }
  clear_error();
}

Ref traceback_entry(PyObject* next, PyObject* frame, int32_t offset, int32_t line) {
  return Ref::steal(
      PyObject_CallFunction(as_object(&PyTraceBack_Type), "OOii", next, frame, std::max(offset, 0), line));
}

void add_traceback(PyObject* frame, int32_t offset, int32_t line) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref next = Ref::steal(traceback);
  Ref entry = traceback_entry(next ? next.get() : Py_None, frame, offset, line);
  clear_error();
  PyErr_Restore(type, value, entry ? entry.release() : next.release());
}

}  // namespace minidynamo
