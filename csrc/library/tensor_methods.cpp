#include "library/tensor_methods.h"

#include <string>

#include "model/abstract.h"
#include "model/native_call.h"
#include "model/tensor_call.h"
#include "model/tensor_data.h"
#include "python/out_of_memory.h"
#include "tensor/known_values.h"
#include "world/known_types.h"
#include "world/native_code.h"

namespace minidynamo::special {

// item(), tolist() and what int(), bool() and indices call: of tensors whose values the trace knows.
Ref tensor_read(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* tensor = arguments.values.empty() ? nullptr : arguments.values[0].get();
  const Ref value = tensor ? known_value(tensor) : Ref();
  if (!value) {
    if (PyErr_Occurred()) return nullptr;
    return tracer.give_up(BreakReason::ScalarRead, "the value of a tensor is read");
  }
  static PyObject* const own_name = interned("__name__");
  const Ref name = Ref::steal(PyObject_GetAttr(callable, own_name));
  if (!name) return nullptr;
  std::vector<PyObject*> values = vectorcall_values(arguments);
  values[1] = value.get();
  NativeScope native;
  const TensorTraceSuspended suspended;
  return Ref::steal(PyObject_VectorcallMethod(name.get(), values.data() + 1,
                                              arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                              arguments.keyword_names));
}

// tensor.new_tensor(data, *, dtype=None, device=None, requires_grad=False, ...): torch.tensor() with the tensor's own
// dtype and device.
Ref tensor_new_tensor(Tracer& tracer, PyObject*, const Arguments& arguments) {
  static constinit Imported make{"torch.tensor"};
  static PyObject* const data_name = interned("data");
  static PyObject* const own[] = {interned("dtype"), interned("device")};
  auto unknown = [&] {
    return tracer.give_up(BreakReason::TensorFromData, "new_tensor makes a tensor of data in a way that is not known");
  };
  Ref keywords = arguments.keywords();
  if (!keywords) keywords = Ref::made(PyDict_New());
  Ref data = arguments.positional_count() == 2 ? arguments.values[1] : Ref();
  if (!data && arguments.positional_count() == 1) {
    data = Ref::borrow(PyDict_GetItemWithError(keywords.get(), data_name));
    if (data && PyDict_DelItem(keywords.get(), data_name) < 0) return nullptr;
  }
  if (!data || is_tensor(data.get())) return unknown();
  PyObject* tensor = arguments.values[0].get();
  for (PyObject* name : own) {
    PyObject* given = PyDict_GetItemWithError(keywords.get(), name);
    if (given && given != Py_None) continue;
    Ref value = load_tensor_attribute(tracer, tensor, name);
    if (!value || PyDict_SetItem(keywords.get(), name, value.get()) < 0) return nullptr;
  }
  const Ref positional = Ref::made(PyTuple_Pack(1, data.get()));
  return call_with(tracer, make, positional.get(), keywords.get());
}

}  // namespace minidynamo::special
