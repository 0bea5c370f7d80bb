// torch looks at a key twice: at all parts for what is more than an index, then at each for its int.
#include "model/tensors/tensor_index.h"

#include <algorithm>
#include <span>

#include "model/protocols/abstract.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/overridden_call.h"
#include "model/tensors/tensor_call.h"
#include "python/objects/native_contents.h"
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

namespace {

// The dimension that each part of a key is for, -1 for one that is for none. nullopt: there are other parts than ints,
// slices, None and an ellipsis, or more than dimensions.
std::optional<std::vector<Py_ssize_t>> dimensions_of(std::span<PyObject* const> parts, Py_ssize_t count) {
  Py_ssize_t taken = 0;
  for (PyObject* part : parts) {
    const bool is_int = PyLong_CheckExact(part) || is_symbolic_int(part);
    if (!is_int && !PySlice_Check(part) && part != Py_None && part != Py_Ellipsis) return std::nullopt;
    taken += is_int || PySlice_Check(part);
  }
  if (taken > count || std::ranges::count(parts, Py_Ellipsis) > 1) return std::nullopt;
  std::vector<Py_ssize_t> dimensions;
  Py_ssize_t next = 0;
  for (PyObject* part : parts) {
    if (part == Py_Ellipsis) next += count - taken;
    const bool is_for_one = part != Py_None && part != Py_Ellipsis;
    dimensions.push_back(is_for_one ? next++ : -1);
  }
  return dimensions;
}

// True if an index is in its dimension's range, which is asked.
bool is_in_range(Tracer& tracer, PyObject* index, PyObject* size) {
  const std::optional<Expression> bound = size_expression(tracer, size);
  const Expression e = expression_of(index);
  TraceSizes& trace = tracer.symbols.trace();
  return bound && !trace.is_unknown(e) && trace.ask(is_less(e, *bound)) && trace.ask(is_less_equal(-*bound, e));
}

}  // namespace

std::optional<SelectedItem> select_symbolic(Tracer& tracer, PyObject* tensor, PyObject* key) {
  if (!tracer.symbols.active()) return std::nullopt;
  const bool is_tuple = PyTuple_CheckExact(key);
  const std::span<PyObject* const> parts(is_tuple ? &PyTuple_GET_ITEM(key, 0) : &key,
                                         is_tuple ? static_cast<size_t>(PyTuple_GET_SIZE(key)) : 1);
  if (std::ranges::none_of(parts, is_symbolic_int) || may_be_overridden(tracer, tensor)) return std::nullopt;
  const Ref shape = native_attribute(tensor, "shape"_name);
  if (!shape) return SelectedItem{};
  const auto dimensions = dimensions_of(parts, PyTuple_GET_SIZE(shape.get()));
  if (!dimensions) return std::nullopt;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!is_symbolic_int(parts[i])) continue;
    if (!is_in_range(tracer, parts[i], PyTuple_GET_ITEM(shape.get(), (*dimensions)[i]))) return std::nullopt;
  }
  SelectedItem selected{Ref::borrow(tensor), Ref()};
  std::vector<Ref> rest;
  for (size_t i = parts.size(); i-- > 0;) {  // from behind: the numbers of the dimensions before stay as they are
    if (!is_symbolic_int(parts[i])) {
      rest.insert(rest.begin(), Ref::borrow(parts[i]));
      continue;
    }
    const Ref arguments[] = {selected.tensor, Ref::made(PyLong_FromSsize_t((*dimensions)[i])), Ref::borrow(parts[i])};
    selected.tensor = record_call(tracer, NodeKind::CallMethod, "select"_name, Arguments{arguments});
    if (!selected.tensor) return SelectedItem{};
  }
  if (rest.empty()) return selected;
  selected.rest = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(rest.size())));
  for (size_t i = 0; i < rest.size(); ++i)
    PyTuple_SET_ITEM(selected.rest.get(), static_cast<Py_ssize_t>(i), rest[i].release());
  return selected;
}

Ref tensor_index(Tracer& tracer, PyObject* key) {
  const bool is_tuple = PyTuple_CheckExact(key);
  for (Py_ssize_t i = 0; i < (is_tuple ? PyTuple_GET_SIZE(key) : 1); ++i)
    if (!is_plain_index(tracer, is_tuple ? PyTuple_GET_ITEM(key, i) : key)) return nullptr;
  return plain_index(tracer, key);
}

}  // namespace minidynamo
