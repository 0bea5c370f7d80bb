// The Python objects of tensors, as torch/csrc/autograd/python_variable.h declares them, without pybind11, which that
// header includes (see tensor/torch_headers.h). tensor_object.cpp checks that the two agree.
#pragma once
#include <Python.h>
#include <torch/csrc/Export.h>

#include "python/ref.h"
#include "tensor/torch_headers.h"

TORCH_PYTHON_API extern PyObject* THPVariableClass;  // torch.Tensor
TORCH_PYTHON_API extern PyObject* ParameterClass;
TORCH_PYTHON_API PyObject* THPVariable_Wrap(at::TensorBase&& tensor);
TORCH_PYTHON_API PyObject* THPVariable_Wrap(const at::TensorBase& tensor);
TORCH_PYTHON_API PyObject* THPVariable_Wrap(const at::TensorBase& tensor, PyTypeObject* type);

namespace minidynamo {

struct TensorObject {
  PyObject_HEAD at::Tensor tensor;
  PyObject* backward_hooks;
  PyObject* post_accumulate_grad_hooks;
};

inline const at::Tensor& unpack_tensor(PyObject* object) noexcept {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}

// Throws torch's exception for a Python error.
inline Ref wrap_tensor(const at::TensorBase& tensor) { return Ref::steal(THPVariable_Wrap(tensor)); }
inline Ref wrap_tensor(at::TensorBase&& tensor) { return Ref::steal(THPVariable_Wrap(std::move(tensor))); }
inline Ref wrap_tensor(const at::TensorBase& tensor, PyTypeObject* type) {
  return Ref::steal(THPVariable_Wrap(tensor, type));
}

}  // namespace minidynamo
