#include "tensor/process/function_mode_stack.h"

#include <ATen/PythonTorchFunctionTLS.h>

#include <memory>
#include <string_view>

#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake_tensor.h"

namespace minidynamo {
namespace {

using at::impl::PythonTorchFunctionTLS;

thread_local FunctionModesAside* innermost = nullptr;  // that holds any

}  // namespace

size_t function_mode_count() noexcept { return static_cast<size_t>(PythonTorchFunctionTLS::stack_len()); }

PyObject* function_mode_at(size_t index) noexcept {
  return PythonTorchFunctionTLS::get_stack_at(static_cast<int64_t>(index))->ptr(c10::impl::getGlobalPyInterpreter());
}

void push_function_mode(PyObject* mode) {
  PythonTorchFunctionTLS::push_onto_stack(
      std::make_shared<c10::SafePyObject>(Ref::borrow(mode).release(), c10::impl::getGlobalPyInterpreter()));
}

bool is_device_mode(PyObject* mode) noexcept { return std::string_view(Py_TYPE(mode)->tp_name) == "DeviceContext"; }

size_t device_mode_count() noexcept {
  size_t count = 0;
  while (count < function_mode_count() && is_device_mode(function_mode_at(count))) ++count;
  return count;
}

FunctionModesAside::FunctionModesAside() : outer_(innermost) {
  const size_t stay = device_mode_count(), count = function_mode_count();
  for (size_t i = stay; i < count; ++i) modes_.push_back(Ref::borrow(function_mode_at(i)));
  for (size_t i = stay; i < count; ++i) PythonTorchFunctionTLS::pop_stack();
  if (!modes_.empty()) innermost = this;
}

FunctionModesAside::~FunctionModesAside() {
  innermost = outer_;
  if (is_over_) return;
  for (const Ref& mode : modes_) push_function_mode(mode.get());
}

const std::vector<Ref>& FunctionModesAside::current() noexcept {
  static const auto* const none = new std::vector<Ref>;
  return innermost && !innermost->is_over_ ? innermost->modes_ : *none;
}

PyObject* FunctionModesAside::put_again(PyObject*, PyObject* modes) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(modes); ++i) push_function_mode(PyTuple_GET_ITEM(modes, i));
  if (innermost) innermost->is_over_ = true;
  Py_RETURN_NONE;
}

PyObject* FunctionModesAside::function_modes_again() {
  return native_function<METH_VARARGS, &FunctionModesAside::put_again>("function_modes_again");
}

}  // namespace minidynamo
