#include "tensor/python_errors.h"

#include <torch/csrc/Exceptions.h>

#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {

void throw_python_error() {
  python_error error;
  error.persist();
  throw std::move(error);
}

void call_watching_python_errors(const std::function<void()>& call,
                                 const std::function<void(PyObject* type, const std::string& message)>& seen) {
  try {
    call();
  } catch (const python_error& error) {
    {
      const HeldGil gil;
      seen(error.type, error.message);
    }
    throw;
  } catch (const pybind11::error_already_set& error) {
    {
      const HeldGil gil;
      seen(error.type().ptr(), error.what());
    }
    throw;
  }
}

void set_python_error_from_exception() noexcept {
  try {
    throw;
  } catch (python_error& error) {
    error.restore();
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const c10::NotImplementedError& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what_without_backtrace());
  } catch (const c10::IndexError& error) {
    PyErr_SetString(PyExc_IndexError, error.what_without_backtrace());
  } catch (const c10::ValueError& error) {
    PyErr_SetString(PyExc_ValueError, error.what_without_backtrace());
  } catch (const c10::TypeError& error) {
    PyErr_SetString(PyExc_TypeError, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    set_error_from_exception();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

}  // namespace minidynamo
