#include "model/proxies/numpy_operation.h"

#include <algorithm>
#include <string_view>

#include "model/protocols/abstract.h"
#include "model/proxies/numpy_layer.h"
#include "model/tensors/tensor_call.h"
#include "python/error_text.h"
#include "python/named_item.h"
#include "python/objects/numpy_scalar.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/native/native_objects.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/numpy_errors.h"
#include "world/state/entered_context.h"

namespace minidynamo {
namespace {

constexpr Py_ssize_t kMostConstantElements = 10'000;

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }
Ref call_method(PyObject* object, const char* name) { return Ref::steal(PyObject_CallMethod(object, name, nullptr)); }

// As NumPy computes with twins, about whose values it says nothing.
Ref keywords_of_quiet() {
  Ref keywords = Ref::made(PyDict_New());
  if (PyDict_SetItem(keywords.get(), "all"_name, "ignore"_name) < 0) throw_out_of_memory();
  return keywords;
}

// The elements of an array that the trace made of constants, as a tensor of the graph.
Ref constant_elements(Tracer& tracer, PyObject* array) {
  Ref items, dtype;
  {
    const NativeScope native;
    const Ref size = attribute(array, "size"), own_dtype = attribute(array, "dtype");
    const Ref name = own_dtype ? attribute(own_dtype.get(), "name") : Ref(), torch = import_object("torch");
    dtype = name && torch ? Ref::steal(PyObject_GetAttr(torch.get(), name.get())) : Ref();
    const bool fits = dtype && size && PyLong_AsSsize_t(size.get()) <= kMostConstantElements;
    items = fits && PyObject_TypeCheck(dtype.get(), known_types()->dtype) ? call_method(array, "tolist") : Ref();
    clear_error();
  }
  if (!items) return refuse_numpy(tracer, "an array that torch has no dtype for, or a large one of constants");
  const Ref values[] = {items, dtype}, names = Ref::made(PyTuple_Pack(1, "dtype"_name));
  return call(tracer, "torch.tensor"_imported, Arguments{values, names.get()});
}

// "float32" of "torch.float32".
std::string dtype_name_of(PyObject* tensor) {
  const Ref dtype = attribute(tensor, "dtype"), text = dtype ? Ref::steal(PyObject_Str(dtype.get())) : Ref();
  const std::string_view name = text ? PyUnicode_AsUTF8(text.get()) : "";
  return std::string(name.substr(std::min(name.size(), name.find('.') + 1)));
}

bool has_few_kernels_for(PyObject* elements) {
  const std::string name = dtype_name_of(elements);
  return name == "uint16" || name == "uint32" || name == "uint64";
}

// The numbers in a tuple of sizes or strides.
std::vector<Py_ssize_t> numbers_in(PyObject* tuple) {
  std::vector<Py_ssize_t> numbers;
  for (Py_ssize_t i = 0; tuple && PyTuple_Check(tuple) && i < PyTuple_GET_SIZE(tuple); ++i)
    numbers.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i)));
  clear_error();
  return numbers;
}

Ref tuple_of(const std::vector<Py_ssize_t>& numbers) {
  Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; i < numbers.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref::made(PyLong_FromSsize_t(numbers[i])).release());
  return tuple;
}

// A dtype or a class of scalars.
Ref other_form(PyObject* operand) {
  static constinit ImportedType dtype_type{"numpy.dtype"};
  if (PyType_Check(operand)) {
    if (operand == as_object(&PyFloat_Type) || operand == as_object(&PyLong_Type) ||
        operand == as_object(&PyBool_Type) || operand == as_object(&PyComplex_Type))
      return Ref::borrow(operand);
    return Ref::borrow(layer_of(operand));
  }
  if (!PyType_IsSubtype(Py_TYPE(operand), dtype_type)) return nullptr;
  const NativeScope native;
  const Ref name = attribute(operand, "name");
  Ref made = name ? Ref::steal(PyObject_CallOneArg("torch._numpy.dtype"_imported, name.get())) : Ref();
  clear_error();
  return made;
}

std::string kind_of(PyObject* object) {
  const NativeScope native;
  const Ref shape = attribute(object, "shape"), dtype = attribute(object, "dtype");
  Ref text = shape && dtype
                 ? Ref::steal(PyUnicode_FromFormat("%s %R of %S", Py_TYPE(object)->tp_name, shape.get(), dtype.get()))
                 : Ref();
  clear_error();
  return text ? PyUnicode_AsUTF8(text.get()) : Py_TYPE(object)->tp_name;
}

// Not by its flags: they warn about arrays of numpy.broadcast_arrays().
bool cannot_be_written_to(PyObject* array) {
  const Ref interface = attribute(array, "__array_interface__");
  PyObject* const data = interface ? named_item(interface.get(), "data") : nullptr;
  clear_error();
  return !data || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2 || PyTuple_GET_ITEM(data, 1) != Py_False;
}

bool share_memory(PyObject* one, PyObject* other) {
  const Ref answer = Ref::steal(PyObject_CallFunctionObjArgs("numpy.may_share_memory"_imported, one, other, nullptr));
  clear_error();
  return !answer || answer.is(Py_True);
}

}  // namespace

std::nullptr_t refuse_numpy(Tracer& tracer, const std::string& what) {
  return tracer.abort(BreakReason::NumpyCall, what);
}

std::nullptr_t refuse_numpy_with_error(Tracer& tracer, const std::string& what) {
  return tracer.is_over() ? nullptr : refuse_numpy(tracer, what + ": " + take_error_text());
}

bool NumpyOperation::add(PyObject* operand) {
  Ref twin, layer;
  if (!twin_of(operand, twin, layer)) return false;
  twins.push_back(std::move(twin));
  layers.push_back(std::move(layer));
  return true;
}

bool NumpyOperation::has_few_kernels() const {
  return std::any_of(arrays_.begin(), arrays_.end(),
                     [](const Array& array) { return has_few_kernels_for(elements_of_array(array.object)); });
}

bool NumpyOperation::is_view_of_operand(PyObject* given) const {
  const Ref elements = is_layer_array(given) ? elements_of_layer_array(given) : Ref();
  return elements && std::any_of(arrays_.begin(), arrays_.end(), [&](const Array& array) {
           return !array.layer.is(given) &&
                  storage_of_fake(elements.get()) == storage_of_fake(elements_of_array(array.object));
         });
}

std::nullptr_t NumpyOperation::refuse_few_kernels() const {
  return refuse_numpy(tracer_, what_ + " with uint16, uint32 or uint64, for which torch has few kernels");
}

bool NumpyOperation::has_complex() const {
  return std::any_of(arrays_.begin(), arrays_.end(), [](const Array& array) {
    return dtype_name_of(elements_of_array(array.object)).starts_with("complex");
  });
}

Ref compute_quietly(const std::function<Ref()>& with_numpy) {
  const NativeScope native;  // some of it is Python code
  const TensorTraceSuspended suspended;
  const EnteredContext quiet("numpy.errstate"_imported, keywords_of_quiet().get());
  return quiet ? with_numpy() : Ref();
}

Ref NumpyOperation::run(const std::function<Ref()>& with_numpy, const std::function<Ref()>& with_layer) {
  if (!numbers_are_indices_ && !guard_numpy_errors(tracer_))
    return refuse_numpy(tracer_, what_ + " where numpy.errstate makes errors raise or tell of themselves");
  const Ref twin = compute_quietly(with_numpy);
  if (!twin) return refuse_numpy_with_error(tracer_, what_ + " raised");
  Ref given = with_layer();
  if (!given) return refuse_numpy_with_error(tracer_, what_ + " in torch's layer for NumPy");
  for (const Array& array : arrays_)
    if (!elements_of_layer_array(array.layer.get()).is(elements_of_array(array.object)))
      return refuse_numpy(tracer_, what_ + " replaces the elements of an array");
  if (has_few_kernels() && !keeps_values_ && !is_view_of_operand(given.get())) return refuse_few_kernels();
  return merge(twin.get(), given.get());
}

bool NumpyOperation::twin_of(PyObject* operand, Ref& twin, Ref& layer) {
  NestingLevel level;
  if (level.is_too_deep()) return refuse_numpy(tracer_, what_ + ": arguments are nested too deep") != nullptr;
  if (is_fake_array(operand)) return look_at_array(operand, twin, layer);
  if (is_fake(operand)) return refuse_numpy(tracer_, what_ + " of a tensor") != nullptr;
  if (!prepare_for_native(tracer_, operand)) return false;
  if (is_numpy_array(operand)) return look_at_constant(operand, twin, layer);
  if (is_numpy_scalar(operand)) return look_at_number(operand, twin, layer);
  if (PyTuple_CheckExact(operand) || PyList_CheckExact(operand)) return look_at_sequence(operand, twin, layer);
  if (PySlice_Check(operand)) return look_at_slice(operand, twin, layer);
  twin = layer = Ref::borrow(operand);
  if (is_constant(operand)) return true;
  layer = other_form(operand);
  return layer || refuse_numpy(tracer_, what_ + " of a " + Py_TYPE(operand)->tp_name) != nullptr;
}

bool NumpyOperation::look_at_array(PyObject* operand, Ref& twin, Ref& layer) {
  twin = Ref::borrow(twin_of_array(operand));
  for (const Array& known : arrays_)
    if (known.object == operand) layer = known.layer;
  if (layer) return true;
  layer = layer_array(elements_of_array(operand));
  arrays_.push_back({operand, layer});
  return static_cast<bool>(layer);
}

// One that nothing can write to: what is written to the program's own would be lost.
bool NumpyOperation::look_at_constant(PyObject* operand, Ref& twin, Ref& layer) {
  {
    const NativeScope native;
    twin = call_method(operand, "copy");
    const Ref done = twin ? Ref::steal(PyObject_CallMethod(twin.get(), "setflags", "O", Py_False)) : Ref();
    if (!done) return false;
  }
  constants_.push_back(twin);
  const Ref elements = constant_elements(tracer_, operand);
  layer = elements ? layer_array(elements.get()) : Ref();
  return static_cast<bool>(layer);
}

bool NumpyOperation::look_at_number(PyObject* operand, Ref& twin, Ref& layer) {
  twin = Ref::borrow(operand);
  if (numbers_are_indices_) layer = python_number(operand);
  if (layer || PyErr_Occurred()) return static_cast<bool>(layer);
  const Ref elements = constant_elements(tracer_, operand);
  layer = elements ? layer_array(elements.get()) : Ref();
  return static_cast<bool>(layer);
}

bool NumpyOperation::look_at_sequence(PyObject* operand, Ref& twin, Ref& layer) {
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(operand);
  const bool is_tuple = PyTuple_Check(operand);
  twin = Ref::made(PyList_New(0)), layer = Ref::made(PyList_New(0));
  for (Py_ssize_t i = 0; i < size; ++i) {
    Ref item_twin, item_layer;
    if (!twin_of(PySequence_Fast_GET_ITEM(operand, i), item_twin, item_layer)) return false;
    if (PyList_Append(twin.get(), item_twin.get()) < 0 || PyList_Append(layer.get(), item_layer.get()) < 0)
      return false;
  }
  if (is_tuple) twin = Ref::made(PyList_AsTuple(twin.get())), layer = Ref::made(PyList_AsTuple(layer.get()));
  return true;
}

bool NumpyOperation::look_at_slice(PyObject* operand, Ref& twin, Ref& layer) {
  auto* slice = as_slice(operand);
  Ref twin_parts[3], layer_parts[3];
  PyObject* const parts[] = {slice->start, slice->stop, slice->step};
  for (int i = 0; i < 3; ++i)
    if (!twin_of(parts[i], twin_parts[i], layer_parts[i])) return false;
  auto put_together = [](const Ref(&of)[3]) { return Ref::made(PySlice_New(of[0].get(), of[1].get(), of[2].get())); };
  twin = put_together(twin_parts), layer = put_together(layer_parts);
  return true;
}

// The result: of the class and kind that NumPy returns, with the elements that its layer in torch returns.
Ref NumpyOperation::merge(PyObject* twin, PyObject* given) {
  NestingLevel level;
  if (level.is_too_deep()) return refuse_numpy(tracer_, what_ + " returns objects that are nested too deep");
  if (is_layer_array(given)) return merge_array(twin, given);
  auto is_sequence = [](PyObject* object) { return PyTuple_Check(object) || PyList_CheckExact(object); };
  if (is_sequence(twin) && is_sequence(given)) return merge_sequence(twin, given);
  const bool is_plain = Py_TYPE(twin) == Py_TYPE(given) && is_constant(twin);
  const int is_same = is_plain ? PyObject_RichCompareBool(twin, given, Py_EQ) : 0;
  clear_error();
  if (is_same > 0) return Ref::borrow(twin);
  return refuse_numpy(tracer_, what_ + " returns a " + Py_TYPE(twin)->tp_name + ", and a " + Py_TYPE(given)->tp_name +
                                   " in torch's layer for NumPy");
}

Ref NumpyOperation::merge_sequence(PyObject* twin, PyObject* given) {
  if (PySequence_Fast_GET_SIZE(twin) != PySequence_Fast_GET_SIZE(given))
    return refuse_numpy(tracer_, what_ + " returns another number of results in torch's layer for NumPy");
  Ref items = Ref::made(PyList_New(0));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(twin); ++i) {
    const Ref item = merge(PySequence_Fast_GET_ITEM(twin, i), PySequence_Fast_GET_ITEM(given, i));
    if (!item || PyList_Append(items.get(), item.get()) < 0) return nullptr;
  }
  if (PyList_CheckExact(twin)) return items;
  if (PyTuple_CheckExact(twin)) return Ref::made(PyList_AsTuple(items.get()));
  const NativeScope native;  // a named tuple
  Ref made = Ref::steal(PyObject_CallMethod(as_object(Py_TYPE(twin)), "_make", "(O)", items.get()));
  return made || PyErr_Occurred() == nullptr ? made : Ref(refuse_numpy_with_error(tracer_, what_));
}

// torch's layer computes some results with more digits than NumPy.
Ref NumpyOperation::rounded(PyObject* twin, Ref elements) {
  Ref wanted;
  {
    const NativeScope native;
    const Ref dtype = attribute(twin, "dtype"), name = dtype ? attribute(dtype.get(), "name") : Ref();
    const std::string own = dtype_name_of(elements.get());
    const std::string_view theirs = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "";
    const bool is_wider = (own == "float64" && (theirs == "float32" || theirs == "float16")) ||
                          (own == "complex128" && theirs == "complex64");
    if (is_wider) wanted = Ref::steal(PyObject_GetAttr("torch"_imported, name.get()));
    clear_error();
  }
  if (!wanted) return elements;
  const Ref values[] = {elements, wanted};
  return record_call(tracer_, NodeKind::CallMethod, "to"_name, Arguments{values});
}

// The elements in the order in memory that NumPy's result has; `can_move`: in other memory if need be.
Ref NumpyOperation::laid_out(PyObject* twin, Ref elements, bool can_move) {
  std::vector<Py_ssize_t> sizes, wanted, own, order;
  {
    const NativeScope native;
    const Ref shape = attribute(twin, "shape"), strides = attribute(twin, "strides"),
              size = attribute(twin, "itemsize"), own_strides = call_method(elements.get(), "stride");
    sizes = numbers_in(shape.get()), wanted = numbers_in(strides.get()), own = numbers_in(own_strides.get());
    const Py_ssize_t item = size ? PyLong_AsSsize_t(size.get()) : 1;
    for (Py_ssize_t& stride : wanted) stride /= item;
    clear_error();
  }
  if (wanted.size() != sizes.size() || own.size() != sizes.size())
    return refuse_numpy(tracer_, what_ + " returns a tensor without strides");
  bool is_same = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return elements;  // nothing lies anywhere
    is_same &= sizes[i] == 1 || wanted[i] == own[i];
    order.push_back(static_cast<Py_ssize_t>(i));
  }
  if (is_same) return elements;
  std::stable_sort(order.begin(), order.end(), [&](Py_ssize_t one, Py_ssize_t other) {
    return wanted[static_cast<size_t>(one)] > wanted[static_cast<size_t>(other)];
  });
  std::vector<Py_ssize_t> places(order.size());
  Py_ssize_t next = 1;
  bool is_dense = true;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dimension = static_cast<size_t>(order[i]);
    places[dimension] = static_cast<Py_ssize_t>(i);
    is_dense &= sizes[dimension] == 1 || wanted[dimension] == next;
    next *= sizes[dimension];
  }
  if (!is_dense || !can_move) return refuse_numpy(tracer_, what_ + " returns other strides in torch's layer for NumPy");
  const Ref turn[] = {elements, tuple_of(order)};
  const Ref turned = record_call(tracer_, NodeKind::CallMethod, "permute"_name, Arguments{turn});
  const Ref laid = turned ? record_call(tracer_, NodeKind::CallMethod, "contiguous"_name,
                                        Arguments{std::span<const Ref>(&turned, 1)})
                          : Ref();
  const Ref turn_back[] = {laid, tuple_of(places)};
  return laid ? record_call(tracer_, NodeKind::CallMethod, "permute"_name, Arguments{turn_back}) : Ref();
}

bool NumpyOperation::fits(PyObject* twin, PyObject* elements) const {
  const NativeScope native;  // some of it is Python code
  const Ref shape = attribute(twin, "shape"), dtype = attribute(twin, "dtype"),
            own_shape = attribute(elements, "shape");
  const Ref name = dtype ? attribute(dtype.get(), "name") : Ref();
  const bool is_shape = shape && own_shape && PyObject_RichCompareBool(shape.get(), own_shape.get(), Py_EQ) > 0;
  const bool is_dtype = name && PyUnicode_Check(name.get()) && dtype_name_of(elements) == PyUnicode_AsUTF8(name.get());
  clear_error();
  return is_shape && is_dtype;
}

Ref NumpyOperation::merge_array(PyObject* twin, PyObject* given) {
  for (const Array& array : arrays_) {
    if (twin_of_array(array.object) != twin) continue;
    const Ref elements = elements_of_layer_array(given);
    const bool shows_the_same =
        array.layer.is(given) || (elements && fits(twin, elements.get()) &&
                                  storage_of_fake(elements.get()) == storage_of_fake(elements_of_array(array.object)));
    if (shows_the_same) return Ref::borrow(array.object);
    return refuse_numpy(tracer_, what_ + " returns an argument itself, and another array in torch's layer for NumPy");
  }
  Ref elements = elements_of_layer_array(given);
  if (!elements) return refuse_numpy(tracer_, what_ + " returns no tensor in torch's layer for NumPy");
  const bool is_scalar = is_numpy_scalar(twin);
  if (is_scalar || is_numpy_array(twin)) elements = rounded(twin, std::move(elements));
  if (elements && is_scalar && !fits(twin, elements.get())) {  // an array of one element is the scalar
    elements =
        record_call(tracer_, NodeKind::CallMethod, "squeeze"_name, Arguments{std::span<const Ref>(&elements, 1)});
  }
  if (!elements) return nullptr;
  if (!(is_scalar || is_numpy_array(twin)) || !fits(twin, elements.get()))
    return refuse_numpy(tracer_, what_ + " returns a " + kind_of(twin) + ", and a " + kind_of(elements.get()) +
                                     " in torch's layer for NumPy");
  if (!is_scalar && has_few_kernels_for(elements.get()) && !keeps_values_ && !is_view_of_operand(given))
    return refuse_few_kernels();
  bool is_view = false, shares = false, is_read_only = false;
  {
    const NativeScope native;
    is_read_only = !is_scalar && cannot_be_written_to(twin);
    for (const Ref& constant : constants_)
      if (!is_scalar && share_memory(twin, constant.get()))
        return refuse_numpy(tracer_, what_ + " returns a view of an array of constants");
    for (const Array& array : arrays_) {
      is_view |= !is_scalar && !is_traced_scalar(array.object) && share_memory(twin, twin_of_array(array.object));
      shares |= storage_of_fake(elements.get()) == storage_of_fake(elements_of_array(array.object));
    }
  }
  if (is_view && !shares) {  // as long as the program cannot tell
    if (!tracer_.may_assume())
      return refuse_numpy(tracer_, what_ + " returns a view, and a copy in torch's layer for NumPy");
    tracer_.assume(Assumption::Kind::Private, elements.get());
    for (const Array& array : arrays_) tracer_.assume(Assumption::Kind::Unwritten, elements_of_array(array.object));
  }
  if (shares && !is_view) {
    shares = false;
    elements = record_call(tracer_, NodeKind::CallMethod, "clone"_name, Arguments{std::span<const Ref>(&elements, 1)});
    if (!elements) return nullptr;
  }
  // Elements that the layer copied where NumPy makes a view keep their strides: no program sees the copy itself, and
  // each operation on it lays its own result out as NumPy does.
  if (!is_scalar && is_view == shares) elements = laid_out(twin, std::move(elements), !is_view);
  if (!elements) return nullptr;
  if (is_read_only) {  // arrays that are made of the graph's outputs can be written to
    if (!tracer_.may_assume()) return refuse_numpy(tracer_, what_ + " returns an array that cannot be written to");
    tracer_.assume(Assumption::Kind::StaysInside, elements.get());
  }
  return make_fake_array(tracer_, elements.get(), Ref::borrow(twin));
}

}  // namespace minidynamo
