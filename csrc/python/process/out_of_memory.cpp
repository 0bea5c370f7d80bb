#include "python/process/out_of_memory.h"

#include <new>

#include "python/error_set_aside.h"

namespace minidynamo {
namespace {

thread_local unsigned long failures = 0;
thread_local PyObject* programs_own = nullptr;  // an address that is not followed
PyObject* other_class = nullptr;

bool says_so(PyObject* error) noexcept {
  return PyErr_GivenExceptionMatches(error, PyExc_MemoryError) ||
         (other_class && PyErr_GivenExceptionMatches(error, other_class));
}

// CPython and torch lose an error in places when there is no memory to carry it, and then say SystemError ("returned a
// result with an exception set", "returned NULL without setting an exception").
bool is_lost_error(PyObject* type, PyObject* value) noexcept {
  if (!PyErr_GivenExceptionMatches(type, PyExc_SystemError)) return false;
  if (!value || !PyExceptionInstance_Check(value)) return false;
  Ref cause = Ref::steal(PyException_GetCause(value));
  return cause && says_so(cause.get());
}

}  // namespace

void note_out_of_memory() noexcept { ++failures; }

bool is_out_of_memory() noexcept {
  if (!PyErr_Occurred()) return false;
  const ErrorSetAside error;
  const bool is_programs_own = error.value() && error.value() == programs_own;
  return !is_programs_own && (says_so(error.type()) || is_lost_error(error.type(), error.value()));
}

void look_at_error() noexcept {
  if (is_out_of_memory()) note_out_of_memory();
}

void clear_error() noexcept {
  if (!PyErr_Occurred()) return;
  look_at_error();
  PyErr_Clear();
}

void is_raised_by_program(PyObject* exception) noexcept { programs_own = exception; }

void is_also_out_of_memory(PyObject* error_class) noexcept { other_class = Ref::borrow(error_class).release(); }

MemoryWatch::MemoryWatch() noexcept : before_(failures) {}

bool MemoryWatch::failed() const noexcept { return failures != before_; }

void set_error_from_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    note_out_of_memory();
    PyErr_NoMemory();
  } catch (const TraceAborted& error) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "minidynamo: %s", error.what());
  } catch (const std::exception& error) {
    PyErr_Format(PyExc_SystemError, "minidynamo: %s", error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "minidynamo: an unknown C++ exception");
  }
}

void throw_out_of_memory() {
  PyErr_Clear();
  note_out_of_memory();
  throw std::bad_alloc();
}

}  // namespace minidynamo
