#include "tensor/fake/attribute_store.h"

#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"

#include <ATen/PythonTorchFunctionTLS.h>

namespace minidynamo {
namespace {

using at::impl::PythonTorchFunctionTLS;
using at::impl::TorchFunctionDisabledState;

// While one lives, neither classes nor modes hear of what torch is asked on this thread.
class NobodyHears {
 public:
  NobodyHears() noexcept : outer_(PythonTorchFunctionTLS::get_disabled_state()) {
    PythonTorchFunctionTLS::set_disabled_state(TorchFunctionDisabledState::ALL_DISABLED);
  }
  ~NobodyHears() { PythonTorchFunctionTLS::set_disabled_state(outer_); }
  NobodyHears(const NobodyHears&) = delete;
  NobodyHears& operator=(const NobodyHears&) = delete;

 private:
  TorchFunctionDisabledState outer_;
};

PyObject* store_torch_attribute(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  PyObject* const tensor = arguments[0];
  PyObject* descriptor = class_attribute(native_base(Py_TYPE(tensor)), arguments[1]);
  const auto set = descriptor ? Py_TYPE(descriptor)->tp_descr_set : nullptr;
  if (!set) return PyErr_Format(PyExc_AttributeError, "a tensor's %U cannot be set", arguments[1]);
  const NobodyHears silence;
  return set(descriptor, tensor, arguments[2]) < 0 ? nullptr : Ref::none().release();
}

}  // namespace

PyObject* store_torch_attribute_callable() {
  return native_function<METH_FASTCALL, store_torch_attribute>("store_torch_attribute");
}

}  // namespace minidynamo
