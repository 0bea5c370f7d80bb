// torch looks at a key twice: at all parts for what is more than an index, then at each for its int.
#include "model/tensors/tensor_index.h"

#include "model/protocols/abstract.h"
#include "python/process/out_of_memory.h"
#include "tensor/values/known_values.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/proxies/fake_array.h"

namespace minidynamo {
namespace {

// True if an object stands for an int by its __index__, and is none.
bool has_index(PyObject* key) noexcept {
  return !is_fake(key) && !is_constant(key) && !PyLong_Check(key) && !is_symbolic_int(key) && PyIndex_Check(key);
}

// Before torch asks an index for the int that it stands for, it takes what has items for a sequence of indices, and
// leaves the operation to a __torch_function__, which a __getattr__ may return. False: it is no plain index, or the
// trace is over.
bool is_plain_index(Tracer& tracer, PyObject* key) {
  auto refuse = [&](const char* why) {
    return tracer.abort(BreakReason::UnsupportedOperand,
                        std::string("a tensor is indexed by a ") + Py_TYPE(key)->tp_name + ", which " + why) != nullptr;
  };
  if (!has_index(key) || is_fake_array(key)) return true;
  guard_special_methods(tracer, key);
  if (PySequence_Check(key)) return refuse("has items");
  Ref override = load_attribute(tracer, key, "__torch_function__"_name);
  if (tracer.is_over()) return false;
  if (override) return refuse("has a __torch_function__");
  clear_error();  // torch drops it, whatever it is
  return true;
}

// torch reads a tensor that bounds a slice.
Ref index_of_tensor(Tracer& tracer, PyObject* tensor) {
  if (has_known_value(tensor)) return Ref::borrow(tensor);
  const Ref operands[] = {Ref::borrow(tensor)};
  return call(tracer, "torch._C.TensorBase.__index__"_imported, Arguments{operands});
}

// An index of a tensor: objects with __index__ become the ints that they stand for.
Ref plain_index(Tracer& tracer, PyObject* key) {
  if (is_fake(key) || is_constant(key)) return Ref::borrow(key);
  if (is_fake_array(key) && !is_traced_scalar(key)) return Ref::borrow(elements_of_array(key));
  if (!prepare_for_native(tracer, key)) return nullptr;
  if (PyTuple_CheckExact(key)) {
    Ref indices = Ref::made(PyTuple_New(PyTuple_GET_SIZE(key)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
      Ref index = plain_index(tracer, PyTuple_GET_ITEM(key, i));
      if (!index) return nullptr;
      PyTuple_SET_ITEM(indices.get(), i, index.release());
    }
    return indices;
  }
  if (PySlice_Check(key)) {
    auto* slice = as_slice(key);
    Ref parts[3];
    for (int i = 0; i < 3; ++i) {
      PyObject* const part = i == 0 ? slice->start : i == 1 ? slice->stop : slice->step;
      parts[i] = is_fake(part) ? index_of_tensor(tracer, part) : plain_index(tracer, part);
      if (!parts[i]) return nullptr;
    }
    return Ref::made(PySlice_New(parts[0].get(), parts[1].get(), parts[2].get()));
  }
  if (!has_index(key)) return Ref::borrow(key);
  guard_special_methods(tracer, key);
  return adopt_result(tracer, Ref::steal(PyNumber_Index(key)));
}

}  // namespace

Ref tensor_index(Tracer& tracer, PyObject* key) {
  const bool is_tuple = PyTuple_CheckExact(key);
  for (Py_ssize_t i = 0; i < (is_tuple ? PyTuple_GET_SIZE(key) : 1); ++i)
    if (!is_plain_index(tracer, is_tuple ? PyTuple_GET_ITEM(key, i) : key)) return nullptr;
  return plain_index(tracer, key);
}

}  // namespace minidynamo
