#include "model/tensors/tensor_data.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "model/protocols/abstract.h"
#include "model/proxies/numpy_call.h"
#include "model/proxies/numpy_scalars.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/transform_call.h"
#include "python/error_text.h"
#include "python/native_method.h"
#include "python/objects/numpy_scalar.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "tensor/values/known_values.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/native/native_objects.h"
#include "world/proxies/fake_array.h"
#include "world/state/held_values.h"

namespace minidynamo {
namespace {

Ref record_constant(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  Ref real;
  {
    TensorTraceSuspended suspended;
    real = execute(tracer, NodeKind::CallFunction, target, arguments);
  }
  if (tracer.is_over()) return nullptr;
  if (!real) return tracer.abort(BreakReason::OperatorRaised, target_text(target) + " raised " + take_error_text());
  Ref fake = make_fake(real.get());
  if (!fake) return tracer.abort(BreakReason::UnsupportedTensor, target_text(target) + ": " + take_error_text());
  if (!can_be_carried(tracer, target, fake.get()) ||
      !record_node(tracer, NodeKind::CallFunction, target, arguments, fake.get(), false))
    return nullptr;
  if (PyCFunction_Check(target)) know_value(fake.get(), real.get());  // torch.FloatTensor(2, 3) holds anything
  return lift(tracer, std::move(fake));
}

bool is_of_graph(PyObject* object) noexcept { return is_fake(object) || is_symbolic_int_or_float(object); }

// A list of lists of numbers and tensors of one element, which torch reads one by one. Here they stay in the graph.
class NestedData {
 public:
  explicit NestedData(Tracer& tracer) : tracer_(tracer) {}

  // Looks for tensors and dtypes. False: there is something that is not taken apart here.
  bool take_apart(PyObject* data) {
    NestingLevel level;
    if (level.is_too_deep()) return false;
    if (is_fake(data)) return look_at_tensor(data);
    if (PyList_CheckExact(data) || PyTuple_CheckExact(data)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); ++i)
        if (!take_apart(PySequence_Fast_GET_ITEM(data, i))) return false;
      return true;
    }
    if (is_symbolic_int_or_float(data)) {
      const Ref like = is_symbolic_int(data) ? Ref::made(PyLong_FromLong(1)) : Ref::made(PyFloat_FromDouble(1));
      has_numbers_ = true;
      return look_at_number(like.get());
    }
    if (!is_number(data)) return false;
    return look_at_number(data);
  }

  // All that is put together as it is in `data`, with the dtype that all can be turned into.
  Ref put_together(PyObject* data, PyObject* wanted) {
    const Ref dtype = Ref::borrow(wanted ? wanted : dtype_.get());
    if (has_numbers_ && !holds_all_numbers(dtype.get())) return nullptr;
    for (const Ref& found : found_) {
      const Ref fits =
          Ref::steal(PyObject_CallFunctionObjArgs("torch.can_cast"_imported, found.get(), dtype.get(), nullptr));
      if (!fits.is(Py_True)) return nullptr;
    }
    if (!look_at_number(Py_False) || (warns_ && !give_warning())) return nullptr;
    return part(data, dtype.get());
  }

 private:
  Tracer& tracer_;
  Ref dtype_;               // that all have in common
  std::vector<Ref> found_;  // tensors
  bool warns_ = false;
  bool has_numbers_ = false;  // that the graph computes

  // True if torch does not raise for a number that has no place in it.
  static bool holds_all_numbers(PyObject* dtype) {
    return dtype == "torch.int64"_imported || dtype == "torch.float32"_imported || dtype == "torch.float64"_imported;
  }

  static Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }

  // By the tensor that torch makes of it alone. It is made where the default device is, as all would be.
  bool look_at_number(PyObject* number) {
    TensorTraceSuspended suspended;
    const Ref alone = Ref::steal(PyObject_CallFunctionObjArgs("torch.tensor"_imported, number, nullptr));
    return alone && attribute(alone.get(), "is_cpu").is(Py_True) && note_dtype(attribute(alone.get(), "dtype"));
  }

  // torch warns where it reads what a gradient is asked of.
  bool give_warning() {
    TensorTraceSuspended suspended;
    Ref element = Ref::steal(PyObject_CallFunction("torch.ones"_imported, "i", 1));
    if (element) element = Ref::steal(PyObject_CallMethod(element.get(), "requires_grad_", nullptr));
    Ref list = Ref::made(PyList_New(0));
    if (!element || PyList_Append(list.get(), element.get()) < 0) return false;
    return static_cast<bool>(
        execute(tracer_, NodeKind::CallFunction, "torch.tensor"_imported, Arguments{std::span<const Ref>(&list, 1)}));
  }

  bool note_dtype(Ref dtype) {
    if (!dtype) return false;
    dtype_ = dtype_ ? Ref::steal(PyObject_CallFunctionObjArgs("torch.promote_types"_imported, dtype_.get(), dtype.get(),
                                                              nullptr))
                    : std::move(dtype);
    return static_cast<bool>(dtype_);
  }

  bool look_at_tensor(PyObject* tensor) {
    const Ref elements = call_native_method(tensor, "numel");
    const Ref on_cpu = attribute(tensor, "is_cpu");
    if (!elements || PyLong_AsLong(elements.get()) != 1 || !on_cpu.is(Py_True)) return false;
    found_.push_back(attribute(tensor, "dtype"));
    warns_ |= attribute(tensor, "requires_grad").is(Py_True);
    return found_.back() && note_dtype(found_.back());
  }

  Ref method(PyObject* tensor, const char* name, std::vector<Ref> more = {}) {
    Ref text = Ref::made(PyUnicode_InternFromString(name));
    more.insert(more.begin(), Ref::borrow(tensor));
    return record_call(tracer_, NodeKind::CallMethod, text.get(), Arguments{more});
  }

  Ref part(PyObject* data, PyObject* dtype) {
    const Ref names = Ref::made(PyTuple_Pack(1, "dtype"_name));
    if (!any_held(data, is_of_graph)) {
      const Ref values[] = {Ref::borrow(data), Ref::borrow(dtype)};
      return record_constant(tracer_, "torch.tensor"_imported, Arguments{values, names.get()});
    }
    if (is_symbolic_int_or_float(data)) {
      const Ref values[] = {Ref::made(PyTuple_New(0)), Ref::borrow(data), Ref::borrow(dtype)};
      return call(tracer_, "torch.full"_imported, Arguments{values, names.get()});
    }
    if (is_fake(data)) {
      Ref value = method(data, "detach");
      if (value) value = method(value.get(), "reshape", {Ref::made(PyTuple_New(0))});
      return value ? method(value.get(), "to", {Ref::borrow(dtype)}) : Ref();
    }
    Ref parts = Ref::made(PyList_New(0));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(data); ++i) {
      const Ref made = part(PySequence_Fast_GET_ITEM(data, i), dtype);
      if (!made || PyList_Append(parts.get(), made.get()) < 0) return nullptr;
    }
    const Ref values[] = {parts};
    return record_call(tracer_, NodeKind::CallFunction, "torch.stack"_imported, Arguments{values});
  }
};

// The keywords of such a call that are plain; none of `dtype` if it is not given.
struct Options {
  PyObject* dtype = nullptr;
  bool are_known = true;
};

Options options_of(const Arguments& arguments) {
  Options options;
  const size_t first = arguments.positional_count();
  for (size_t i = first; i < arguments.values.size(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(arguments.keyword_names, static_cast<Py_ssize_t>(i - first));
    PyObject* value = arguments.values[i].get();
    if (value == Py_None || value == Py_False) continue;
    if (!PyUnicode_CompareWithASCIIString(name, "dtype")) {
      options.dtype = value;
    } else {
      const Ref text = Ref::steal(PyObject_Str(value));
      options.are_known &= !PyUnicode_CompareWithASCIIString(name, "device") && text &&
                           !PyUnicode_CompareWithASCIIString(text.get(), "cpu");
    }
  }
  return options;
}

// torch.from_numpy(array), torch.tensor(array) and the like, of an array of the trace's own.
Ref record_tensor_of_array(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  static constinit Imported make{"torch.tensor"};
  Ref data = data_of_array(tracer, arguments.values[0].get(), target != make);
  if (!data || arguments.values.size() > 2 || arguments.positional_count() != 1)
    return tracer.abort(BreakReason::TensorFromData, target_text(target) + " of a numpy array");
  Ref dtype = Ref::borrow(PyTuple_GET_ITEM(data.get(), 1));
  if (arguments.keyword_names) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.keyword_names, 0), "dtype") != 0)
      return tracer.abort(BreakReason::TensorFromData, target_text(target) + " of a numpy array");
    if (!arguments.values[1].is(Py_None)) dtype = arguments.values[1];
  }
  const Ref values[] = {Ref::borrow(PyTuple_GET_ITEM(data.get(), 0)), dtype};
  Ref names = Ref::made(PyTuple_Pack(1, "dtype"_name));
  return record_constant(tracer, make, Arguments{values, names.get()});
}

// torch.tensor() and the like of NumPy's scalars, alone or in lists, which have dtypes of their own: torch says which
// one the tensor has, and it is made of plain numbers.
Ref record_tensor_of_scalars(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  Ref dtype, numbers;
  {
    const NativeScope native;
    const TensorTraceSuspended suspended;
    const Ref positional = arguments.positional(), keywords = arguments.keywords();
    const Ref real = Ref::steal(PyObject_Call(target, positional.get(), keywords.get()));
    if (real) dtype = Ref::steal(PyObject_GetAttr(real.get(), "dtype"_name));
    if (dtype) numbers = Ref::steal(PyObject_CallMethod(real.get(), "tolist", nullptr));
  }
  clear_error();
  if (!numbers) return tracer.abort(BreakReason::TensorFromData, target_text(target) + " of a numpy scalar");
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  values[0] = std::move(numbers);
  Ref names = arguments.keyword_names ? Ref::borrow(arguments.keyword_names) : Ref::made(PyTuple_New(0));
  const Py_ssize_t place =
      PySequence_Contains(names.get(), "dtype"_name) ? PySequence_Index(names.get(), "dtype"_name) : -1;
  if (place >= 0) {
    values[arguments.positional_count() + static_cast<size_t>(place)] = dtype;
  } else {
    values.push_back(dtype);
    const Ref more = Ref::made(PyTuple_Pack(1, "dtype"_name));
    names = Ref::made(PySequence_Concat(names.get(), more.get()));
  }
  return record_constant(tracer, target, Arguments{values, names.get()});
}

// The same of one whose values the trace does not know.
Ref record_tensor_of_fake_array(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  const bool has_dtype = arguments.keyword_names && arguments.values.size() == 2 &&
                         PyTuple_GET_ITEM(arguments.keyword_names, 0) == "dtype"_name;
  if (arguments.positional_count() != 1 || arguments.values.size() != (has_dtype ? 2 : 1))
    return tracer.abort(BreakReason::TensorFromData, target_text(target) + " of a numpy array");
  Ref made = tensor_of_array(tracer, arguments.values[0].get(), target != "torch.tensor"_imported);
  if (!made || !has_dtype || arguments.values[1].is(Py_None)) return made;
  const Ref values[] = {made, arguments.values[1]};
  return record_call(tracer, NodeKind::CallMethod, "to"_name, Arguments{values});
}

// The parts are put together by operators. nullopt: they cannot be.
std::optional<Ref> record_parts(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  const Options options = options_of(arguments);
  PyObject* data = arguments.values[0].get();
  NestedData nested(tracer);
  const bool is_data = PyList_CheckExact(data) || PyTuple_CheckExact(data) || is_symbolic_int_or_float(data);
  if (is_data && arguments.positional_count() == 1 && options.are_known &&
      (target == "torch.tensor"_imported || target == "torch.as_tensor"_imported) && nested.take_apart(data)) {
    Ref made = nested.put_together(data, options.dtype);
    if (made || tracer.is_over()) return made;
  }
  clear_error();
  return std::nullopt;
}

// The data has no numbers that may differ.
Ref record_tensor_of_given_data(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  if (!has_fake(arguments)) {
    const bool has_scalars = arguments.positional_count() && any_held(arguments.values[0].get(), is_numpy_scalar);
    return has_scalars ? record_tensor_of_scalars(tracer, target, arguments)
                       : record_constant(tracer, target, arguments);
  }
  // as_tensor(t) and the like are ordinary operations.
  if (is_fake(arguments.values[0].get())) return record_call(tracer, NodeKind::CallFunction, target, arguments);
  if (auto made = record_parts(tracer, target, arguments)) return *std::move(made);
  return tracer.abort(BreakReason::DataDependent, target_text(target) + " of a list with tensors reads their values");
}

}  // namespace

Ref record_tensor_of_data(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  if (arguments.positional_count() && is_fake_array(arguments.values[0].get()))
    return record_tensor_of_fake_array(tracer, target, arguments);
  if (arguments.positional_count() && is_numpy_array(arguments.values[0].get())) {
    if (!expose_all(tracer, arguments.values)) return nullptr;
    return record_tensor_of_array(tracer, target, arguments);
  }
  const auto may_differ = [&](const Ref& value) { return holds_size(tracer, value.get()); };
  if (std::ranges::none_of(arguments.values, may_differ)) return record_tensor_of_given_data(tracer, target, arguments);
  if (auto made = record_parts(tracer, target, arguments)) return *std::move(made);
  std::vector<Ref> given;
  for (const Ref& value : arguments.values) {
    given.push_back(specialized(tracer, value.get()));
    if (!given.back()) return nullptr;
  }
  return record_tensor_of_given_data(tracer, target, Arguments{given, arguments.keyword_names});
}

}  // namespace minidynamo
