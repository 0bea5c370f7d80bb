// Handlers of rules of kind Handler: methods of torch.Tensor that are more than operators, which take the tensor first,
// and functions that take tensors for numbers.
#include "library/rules/handlers.h"

#include <algorithm>
#include <string>

#include "model/native/native_call.h"
#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "model/protocols/upward.h"
#include "model/proxies/number_call.h"
#include "model/proxies/numpy_call.h"
#include "model/proxies/unknown_reads.h"
#include "model/tensors/new_leaf.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/tensor_data.h"
#include "model/tensors/transform_call.h"
#include "python/native_method.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/values/known_values.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo::handlers {

namespace {

// True if the value that is read is true if the tensor is: item() and bool() of one element.
bool reads_truth(PyObject* tensor, PyObject* method_name) {
  if (!is_fake(tensor)) return false;
  const Ref elements = call_native_method(tensor, "numel");
  return PyLong_AsLong(elements.get()) == 1 && (!PyUnicode_CompareWithASCIIString(method_name, "item") ||
                                                !PyUnicode_CompareWithASCIIString(method_name, "__bool__"));
}

}  // namespace

// item(), tolist() and what int(), bool() and indices call: of tensors whose values the trace knows.
Ref tensor_read(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* tensor = arguments.values.empty() ? nullptr : arguments.values[0].get();
  const Ref name = Ref::steal(PyObject_GetAttr(callable, "__name__"_name));
  if (!name) return nullptr;
  const Ref value = tensor ? known_value(tensor) : Ref();
  if (!value) {
    if (PyErr_Occurred()) return nullptr;
    // A tensor whose truth alone is asked may stay a tensor.
    const bool is_plain = tensor && arguments.values.size() == 1 && arguments.is_direct;
    if (is_plain && is_checked_next(*tracer.frame) && reads_truth(tensor, name.get())) return Ref::borrow(tensor);
    if (tensor && is_fake(tensor) && arguments.values.size() == 1)
      if (Ref numbers = read_numbers(tracer, tensor, PyUnicode_AsUTF8(name.get())); numbers || tracer.is_over())
        return numbers;
    return tracer.abort(BreakReason::ScalarRead, "the value of a tensor is read");
  }
  std::vector<PyObject*> values = vectorcall_values(arguments);
  values[1] = value.get();
  NativeScope native;
  const TensorTraceSuspended suspended;
  return Ref::steal(PyObject_VectorcallMethod(name.get(), values.data() + 1,
                                              arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                              arguments.keyword_names));
}

Ref tensor_numpy(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const bool is_plain = arguments.positional_count() == 1 && is_fake(arguments.values[0].get());
  const bool is_forced =
      is_plain && arguments.values.size() == 2 && PyTuple_GET_ITEM(arguments.keyword_names, 0) == "force"_name;
  if (!is_plain || (arguments.values.size() != 1 && !(is_forced && is_constant(arguments.values[1].get()))))
    return tracer.abort(BreakReason::ScalarRead, "a tensor is turned into a numpy array");
  Ref tensor = arguments.values[0];
  if (is_forced && arguments.values[1].is(Py_True)) {  // no need of autograd or of a copy
    tensor = record_call(tracer, NodeKind::CallMethod, "detach"_name, Arguments{std::span<const Ref>(&tensor, 1)});
  }
  return tensor ? array_of_fake(tracer, tensor.get()) : Ref();
}

Ref numpy_function(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  return call_with_arrays(tracer, callable, arguments);
}

// torch's layer for NumPy makes a tensor of numbers, with another default dtype for that time.
Ref numpy_layer_coerce(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  if (!values.empty() && !is_tensor(values[0].get())) {
    if (has_fake(values[0].get()) || !prepare_for_native(tracer, values[0].get()))
      return tracer.abort(BreakReason::NumpyCall, "an array is made of a list with arrays");
    Ref dtype;
    {
      const NativeScope native;
      const TensorTraceSuspended suspended;
      const Ref real = Ref::steal(PyObject_CallOneArg(callable, values[0].get()));
      dtype = real ? Ref::steal(PyObject_GetAttr(real.get(), "dtype"_name)) : Ref();
    }
    if (!dtype) return nullptr;
    const Ref operands[] = {values[0], dtype}, names = Ref::made(PyTuple_Pack(1, "dtype"_name));
    values[0] = call(tracer, "torch.tensor"_imported, Arguments{operands, names.get()});
    if (!values[0]) return nullptr;
  }
  return call_function(tracer, callable, Arguments{values, arguments.keyword_names});
}

// tensor.new_tensor(data, *, dtype=None, device=None, requires_grad=False, ...): torch.tensor() with the tensor's own
// dtype and device.
Ref tensor_new_tensor(Tracer& tracer, PyObject*, const Arguments& arguments) {
  static PyObject* const own[] = {"dtype"_name, "device"_name};
  auto unknown = [&] {
    return tracer.abort(BreakReason::TensorFromData, "new_tensor makes a tensor of data in a way that is not known");
  };
  Ref keywords = arguments.keywords();
  if (!keywords) keywords = Ref::made(PyDict_New());
  Ref data = arguments.positional_count() == 2 ? arguments.values[1] : Ref();
  if (!data && arguments.positional_count() == 1) {
    data = Ref::borrow(PyDict_GetItemWithError(keywords.get(), "data"_name));
    if (data && PyDict_DelItem(keywords.get(), "data"_name) < 0) return nullptr;
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
  return call_with(tracer, "torch.tensor"_imported, positional.get(), keywords.get());
}

Ref tensor_set_requires_grad(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const Ref& tensor = arguments.values[0];
  if (is_transform_wrapper(tensor.get()))
    return call_recording_operators(tracer, NodeKind::CallMethod, "requires_grad_"_name, arguments);
  const bool is_plain = arguments.values.size() <= 2;  // also as the keyword `requires_grad`
  PyObject* wanted = arguments.values.size() == 2 ? arguments.values[1].get() : Py_True;
  if (is_plain && PyBool_Check(wanted))
    return require_gradient(tracer, tensor.get(), wanted == Py_True) ? tensor : Ref();
  return tracer.abort(BreakReason::TensorAttributeWrite, "requires_grad of a tensor is set");
}

Ref tensor_detach_in_place(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const Ref& tensor = arguments.values[0];
  const Ref is_view = load_tensor_attribute(tracer, tensor.get(), "_is_view"_name);  // a method
  const Ref answer = is_view ? call(tracer, is_view.get(), Arguments{}) : Ref();
  if (!answer) return nullptr;
  const bool changes = requires_gradient(tensor.get());
  if (arguments.values.size() != 1 || !answer.is(Py_False) || (changes && tracer.world.source_of(tensor.get())))
    return tracer.abort(BreakReason::TensorAttributeWrite, "a tensor is detached in place");
  if (!changes) return tensor;
  Ref detached = execute(tracer, NodeKind::CallMethod, "detach_"_name, arguments);
  if (!detached)
    return tracer.is_over() ? Ref() : (clear_error(), tracer.abort(BreakReason::OperatorRaised, "detach_()"));
  return record_node(tracer, NodeKind::CallMethod, "detach_"_name, arguments, detached.get(), true) ? tensor : Ref();
}

// torch fills a diagonal by as_strided(), which AOTAutograd refuses of a view. A matrix has a view for it.
Ref tensor_fill_diagonal(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const Ref& tensor = arguments.values[0];
  if (is_transform_wrapper(tensor.get()))
    return call_recording_operators(tracer, NodeKind::CallMethod, "fill_diagonal_"_name, arguments);
  const bool is_plain = arguments.values.size() == 2 && !arguments.keyword_names && is_fake(tensor.get()) &&
                        is_constant(arguments.values[1].get());
  const Ref dimensions = is_plain ? call_native_method(tensor.get(), "dim") : Ref();
  if (is_plain && !dimensions) return nullptr;
  if (!is_plain || PyLong_AsLong(dimensions.get()) != 2)
    return record_call_with_numbers(tracer, NodeKind::CallMethod, "fill_diagonal_"_name, arguments);
  const Ref diagonal = record_call(tracer, NodeKind::CallMethod, "diagonal"_name, Arguments{std::span(&tensor, 1)});
  const Ref operands[] = {diagonal, arguments.values[1]};
  return diagonal && record_call(tracer, NodeKind::CallMethod, "fill_"_name, Arguments{operands}) ? tensor : Ref();
}

// The gradient that a tensor keeps is seen by who has the tensor. One that leaves a graph is another than the one
// inside that the backward pass goes through.
Ref tensor_retain_grad(Tracer& tracer, PyObject*, const Arguments& arguments) {
  PyObject* tensor = arguments.values[0].get();
  const bool is_plain = arguments.values.size() == 1 && requires_gradient(tensor);
  if (is_plain && is_leaf(tensor)) return Ref::none();
  if (!is_plain || tracer.world.source_of(tensor) || !tracer.may_assume())
    return tracer.abort(BreakReason::TensorAttributeWrite, "a tensor is told to keep its gradient");
  tracer.assume(Assumption::Kind::StaysInside, tensor);
  NativeScope native;
  return call_native_method(tensor, "retain_grad");
}

namespace {

bool are_ints(std::span<const Ref> values) {
  return std::all_of(values.begin(), values.end(), [](const Ref& value) { return PyLong_CheckExact(value.get()); });
}

// The sizes that a legacy constructor was given: as numbers, or one torch.Size; null Ref without error if it was not.
Ref legacy_sizes(std::span<const Ref> values) {
  if (values.size() == 1 && Py_IS_TYPE(values[0].get(), known_types()->size)) return values[0];
  if (!are_ints(values)) return nullptr;
  Ref sizes = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(std::max<size_t>(values.size(), 1))));
  if (values.empty()) PyTuple_SET_ITEM(sizes.get(), 0, PyLong_FromLong(0));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(sizes.get(), static_cast<Py_ssize_t>(i), Ref(values[i]).release());
  return sizes;
}

}  // namespace

// tensor.new(2, 3): memory like the tensor's.
Ref tensor_new(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const Ref sizes = arguments.keyword_names ? Ref() : legacy_sizes(arguments.values.subspan(1));
  auto has_bit = [&](const char* question) {
    return !call_native_method(arguments.values[0].get(), question).is(Py_False);
  };
  // torch refuses views that are conjugate or negative.
  if (!sizes || has_bit("is_conj") || has_bit("is_neg"))
    return tracer.abort(BreakReason::TensorFromData, "new() makes a tensor of data");
  const Ref values[] = {arguments.values[0], sizes};
  return record_call(tracer, NodeKind::CallMethod, "new_empty"_name, Arguments{values});
}

// torch.Tensor(2, 3), torch.Tensor([1, 2]): of the default dtype, on the CPU.
Ref make_tensor(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const std::span<const Ref> given = arguments.values;
  const bool is_list = given.size() == 1 && (PyList_CheckExact(given[0].get()) || PyTuple_CheckExact(given[0].get()));
  const Ref sizes = arguments.keyword_names ? Ref() : legacy_sizes(given);
  Ref is_on_cpu;
  {
    const TensorTraceSuspended suspended;
    const Ref own = Ref::steal(PyObject_CallNoArgs("torch.Tensor"_imported));
    is_on_cpu = own ? Ref::steal(PyObject_GetAttrString(own.get(), "is_cpu")) : Ref();
  }
  const Ref dtype = Ref::steal(PyObject_CallNoArgs("torch.get_default_dtype"_imported));
  if (arguments.keyword_names || (!is_list && !sizes) || !is_on_cpu.is(Py_True) || !dtype)
    return clear_error(), tracer.abort(BreakReason::UnknownClass, "an instance of Tensor is made");
  const Ref positional = Ref::made(PyTuple_Pack(1, is_list ? given[0].get() : sizes.get()));
  const Ref keywords = Ref::steal(Py_BuildValue("{s:O,s:s}", "dtype", dtype.get(), "device", "cpu"));
  PyObject* maker =
      is_list ? static_cast<PyObject*>("torch.tensor"_imported) : static_cast<PyObject*>("torch.empty"_imported);
  return keywords ? call_with(tracer, maker, positional.get(), keywords.get()) : Ref();
}

namespace {

// The dtype of torch.full's result without a dtype: that of the number which it would read.
Ref dtype_of_number(PyObject* tensor) {
  auto named = [](const char* path) { return import_object(path); };
  auto is = [&](const char* question) { return call_native_method(tensor, question).is(Py_True); };
  if (is("is_floating_point")) return Ref::steal(PyObject_CallNoArgs("torch.get_default_dtype"_imported));
  if (is("is_complex")) return nullptr;
  const Ref dtype = native_attribute(tensor, "dtype");
  const Ref of_bool = named("torch.bool");
  return dtype.is(of_bool.get()) ? of_bool : named("torch.int64");
}

// The dtype of the result of a function that fills with a float: that which it is called with, the default one, or that
// of its first argument. Null: it is not known.
Ref dtype_of_filled(const Arguments& arguments, bool is_default) {
  const size_t count = arguments.positional_count();
  for (size_t i = count; i < arguments.values.size(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(arguments.keyword_names, static_cast<Py_ssize_t>(i - count));
    if (!PyUnicode_CompareWithASCIIString(name, "out")) return nullptr;
    if (!PyUnicode_CompareWithASCIIString(name, "dtype") && !arguments.values[i].is(Py_None))
      return arguments.values[i];
  }
  if (is_default) return Ref::steal(PyObject_CallNoArgs("torch.get_default_dtype"_imported));
  return count ? Ref::steal(PyObject_GetAttrString(arguments.values[0].get(), "dtype")) : Ref();
}

// A function that fills with a number (the argument at `place`) is given a tensor: filled with zero first, and then
// with the tensor, no value has to be known.
Ref fill_with_tensor(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments, size_t place,
                     bool infers_dtype) {
  PyObject* number = arguments.positional_count() > place ? arguments.values[place].get() : nullptr;
  if (number && is_symbolic_float(number)) {
    const Ref dtype = dtype_of_filled(arguments, infers_dtype);
    if (!dtype || !number_fits(tracer, number, dtype.get())) return record_call(tracer, kind, target, arguments);
    number = tensor_of_number(number);
  }
  // torch takes none for a number that requires a gradient.
  if (!number || !is_fake(number) || has_known_value(number) || requires_gradient(number))
    return record_call(tracer, kind, target, arguments);
  const Ref dimensions = Ref::steal(PyObject_CallMethod(number, "dim", nullptr));
  if (!dimensions || PyLong_AsLong(dimensions.get()) != 0) return record_call(tracer, kind, target, arguments);
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  values[place] = Ref::made(PyLong_FromLong(0));
  Ref names = Ref::borrow(arguments.keyword_names);
  const bool has_dtype = names && PySequence_Contains(names.get(), "dtype"_name) == 1;
  if (infers_dtype && !has_dtype) {
    const Ref dtype = dtype_of_number(number);
    if (!dtype) return record_call(tracer, kind, target, arguments);
    Ref more = Ref::made(PyTuple_Pack(1, "dtype"_name));
    names = names ? Ref::steal(PySequence_Concat(names.get(), more.get())) : std::move(more);
    values.push_back(dtype);
  }
  const Ref made = record_call(tracer, kind, target, Arguments{values, names.get()});
  if (!made) return nullptr;
  const Ref own_device = Ref::made(PyObject_GetAttr(made.get(), "device"_name)),
            its_device = Ref::made(PyObject_GetAttr(number, "device"_name));
  if (PyObject_RichCompareBool(own_device.get(), its_device.get(), Py_EQ) != 1)
    return tracer.abort(BreakReason::DataDependent, "the value of a tensor on another device is read");
  const Ref held = Ref::borrow(number);
  const Ref value = record_call(tracer, NodeKind::CallMethod, "detach"_name, Arguments{std::span<const Ref>(&held, 1)});
  if (!value) return nullptr;
  const Ref both[] = {made, value};
  return record_call(tracer, NodeKind::CallMethod, "fill_"_name, Arguments{both});
}

}  // namespace

// torch.full(size, value, ...) and torch.full_like(tensor, value, ...).
Ref full(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  return fill_with_tensor(tracer, NodeKind::CallFunction, callable, arguments, 1,
                          callable != "torch.full_like"_imported);
}

Ref tensor_new_full(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return fill_with_tensor(tracer, NodeKind::CallMethod, "new_full"_name, arguments, 2, false);
}

// torch._assert_async(tensor, message): the message by its name, which tells it from the check of an `assert`.
Ref assert_async(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  if (arguments.keyword_names || count < 1 || count > 2 || !is_fake(arguments.values[0].get()) ||
      (count == 2 && !PyUnicode_CheckExact(arguments.values[1].get())))
    return tracer.abort(BreakReason::DataDependent, "torch._assert_async() in a form that is not known");
  const Ref names = Ref::made(PyTuple_Pack(1, "assert_msg"_name));
  const Arguments named{arguments.values, count == 2 ? names.get() : nullptr};
  if (!record_node(tracer, NodeKind::CallFunction, callable, named, Py_None, true)) return nullptr;
  tracer.graph.mark_last_as_check();
  return Ref::none();
}

// _all_true_or_runtime_assert(valid, message) of torch.distributions, from torch 2.14 on: its callers raise where it is
// false, which the graph checks if they are given the tensor, as they were before.
Ref is_all_true(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.keyword_names || arguments.values.size() != 2) return call_function(tracer, callable, arguments);
  return call(tracer, "torch._is_all_true"_imported, {arguments.values[0]});
}

// torch.allclose() and torch.equal(), which read all values: where only an error depends on them, what they compute
// before that will do.
Ref compare_all(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  auto differ_in = [&](PyObject* name) {
    const Ref one = Ref::made(PyObject_GetAttr(arguments.values[0].get(), name)),
              other = Ref::made(PyObject_GetAttr(arguments.values[1].get(), name));
    return PyObject_RichCompareBool(one.get(), other.get(), Py_EQ) != 1;
  };
  const bool are_tensors =
      arguments.positional_count() >= 2 && is_fake(arguments.values[0].get()) && is_fake(arguments.values[1].get());
  const bool are_known =
      are_tensors && has_known_value(arguments.values[0].get()) && has_known_value(arguments.values[1].get());
  // Comparing a tensor with itself, torch does not look at the elements.
  if (!are_tensors || are_known || differ_in("shape"_name) || differ_in("dtype"_name) || !arguments.is_direct ||
      !is_checked_next(*tracer.frame) ||
      storage_of_fake(arguments.values[0].get()) == storage_of_fake(arguments.values[1].get()))
    return record_call(tracer, NodeKind::CallFunction, callable, arguments);
  PyObject* function = callable == "torch.allclose"_imported ? static_cast<PyObject*>("torch.isclose"_imported)
                                                             : static_cast<PyObject*>("torch.eq"_imported);
  const Ref elements = record_call(tracer, NodeKind::CallFunction, function, arguments);
  if (!elements) return nullptr;
  return record_call(tracer, NodeKind::CallMethod, "all"_name, Arguments{std::span<const Ref>(&elements, 1)});
}

}  // namespace minidynamo::handlers
