#include "model/numpy_call.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/abstract.h"
#include "model/tensor_call.h"
#include "python/error_text.h"
#include "python/nesting.h"
#include "python/numpy_scalar.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "python/unstable.h"
#include "tensor/tensor_facts.h"
#include "world/class_lookup.h"
#include "world/known_types.h"
#include "world/native_code.h"
#include "world/native_objects.h"
#include "world/traced_array.h"
#include "world/types.h"
#include "world/upward.h"

namespace minidynamo {
namespace {

constexpr Py_ssize_t kMostConstantElements = 10'000;

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }
Ref call_method(PyObject* object, const char* name) { return Ref::steal(PyObject_CallMethod(object, name, nullptr)); }

bool is_array(PyObject* object) noexcept { return is_numpy_array(object); }

PyObject* layer_array_type() {
  static constinit Imported type{"torch._numpy.ndarray"};
  return type;
}

std::nullptr_t refuse(Tracer& tracer, const std::string& what) { return tracer.give_up(BreakReason::NumpyCall, what); }
// The current Python error is NumPy's, or that of its layer in torch.
std::nullptr_t refuse_with_error(Tracer& tracer, const std::string& what) {
  return tracer.broken() ? nullptr : refuse(tracer, what + ": " + take_error_text());
}

// NumPy says nothing about the values of twins.
class QuietNumpy {
 public:
  QuietNumpy() {
    static constinit Imported make{"numpy.errstate"};
    static PyObject* const all_name = interned("all");
    static PyObject* const ignore = interned("ignore");
    const Ref keywords = Ref::made(PyDict_New()), nothing = Ref::made(PyTuple_New(0));
    if (PyDict_SetItem(keywords.get(), all_name, ignore) == 0)
      state_ = Ref::steal(PyObject_Call(make, nothing.get(), keywords.get()));
    if (state_ && !call_method(state_.get(), "__enter__")) state_.reset();
    clear_error();
  }
  ~QuietNumpy() {
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    if (state_) Ref::steal(PyObject_CallMethod(state_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    clear_error();
    PyErr_Restore(error, value, traceback);
  }
  QuietNumpy(const QuietNumpy&) = delete;

 private:
  const NativeScope native_;  // some of it is Python code
  const TensorTraceSuspended suspended_;
  Ref state_;
};

// What torch._numpy has in place of NumPy's functions and classes, by address. NumPy keeps these for good.
class Layer {
 public:
  Layer() {
    // Which numbers it computes with by default is settled once, and imports a module.
    if (const Ref settle = import_object("torch._numpy._dtypes_impl.default_dtypes"))
      Ref::steal(PyObject_CallNoArgs(settle.get()));
    clear_error();
    for (const char* part : {"", ".linalg", ".fft"}) {
      const Ref own = import_object((std::string("numpy") + part).c_str()),
                layer = import_object((std::string("torch._numpy") + part).c_str());
      const Ref names = layer ? Ref::steal(PyObject_Dir(layer.get())) : Ref();
      for (Py_ssize_t i = 0; own && names && i < PyList_GET_SIZE(names.get()); ++i) {
        PyObject* name = PyList_GET_ITEM(names.get(), i);
        const Ref theirs = Ref::steal(PyObject_GetAttr(own.get(), name)),
                  ours = theirs ? Ref::steal(PyObject_GetAttr(layer.get(), name)) : Ref();
        clear_error();
        if (!theirs || !ours || !PyCallable_Check(theirs.get()) || !PyCallable_Check(ours.get())) continue;
        if ( PyUnicode_READ_CHAR(name, 0) != '_' && !ours.is(layer_array_type()))
          pairs_.try_emplace(theirs, ours);
      }
      clear_error();
    }
  }

  PyObject* of(PyObject* callable) const noexcept {
    auto found = pairs_.find(Ref::borrow(callable));
    return found == pairs_.end() ? nullptr : found->second.get();
  }

 private:
  std::unordered_map<Ref, Ref> pairs_;
};

PyObject* layer_of(PyObject* callable) {
  static constinit Cached<Layer> cache;
  return cache
      .get([] {
        const NativeScope native;
        const TensorTraceSuspended suspended;
        return std::make_unique<Layer>();
      })
      ->of(callable);
}

// Functions of which torch's layer makes something else: the cube root of a negative number, the parts of one; what its
// kernels do not know of complex numbers.
bool is_another_in_layer(std::string_view name, bool of_complex) noexcept {
  static constexpr std::string_view kAll[] = {"cbrt", "modf"}, kComplex[] = {"rint", "round", "around", "fix", "sign"};
  auto is_among = [name](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return is_among(kAll) || (of_complex && is_among(kComplex));
}

// The elements of an array that the trace made of constants, as a tensor of the graph.
Ref constant_elements(Tracer& tracer, PyObject* array) {
  static constinit Imported make{"torch.tensor"};
  static PyObject* const dtype_name = interned("dtype");
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
  if (!items) return refuse(tracer, "an array that torch has no dtype for, or a large one of constants");
  const Ref values[] = {items, dtype}, names = Ref::made(PyTuple_Pack(1, dtype_name));
  return call(tracer, make, Arguments{values, names.get()});
}

// An object of torch._numpy's, over a tensor.
Ref layer_array(PyObject* elements) {
  static PyObject* const tensor_name = interned("tensor");
  auto* type = reinterpret_cast<PyTypeObject*>(layer_array_type());
  const Ref nothing = Ref::made(PyTuple_New(0));
  Ref made = type ? Ref::steal(type->tp_new(type, nothing.get(), nullptr)) : Ref();
  return made && PyObject_GenericSetAttr(made.get(), tensor_name, elements) == 0 ? made : Ref();
}

Ref elements_of_layer_array(PyObject* object) {
  static PyObject* const tensor_name = interned("tensor");
  Ref elements = Ref::steal(PyObject_GenericGetAttr(object, tensor_name));
  clear_error();
  return elements && is_fake(elements.get()) ? elements : Ref();
}

bool is_layer_array(PyObject* object) {
  return Py_IS_TYPE(object, reinterpret_cast<PyTypeObject*>(layer_array_type()));
}

// "float32" of "torch.float32".
std::string dtype_name_of(PyObject* tensor) {
  const Ref dtype = attribute(tensor, "dtype"), text = dtype ? Ref::steal(PyObject_Str(dtype.get())) : Ref();
  const std::string_view name = text ? PyUnicode_AsUTF8(text.get()) : "";
  return std::string(name.substr(std::min(name.size(), name.find('.') + 1)));
}

// One operation: its operands, as NumPy gets them (twins) and as its layer in torch does.
class Operation {
 public:
  // `what` names it in reports. `numbers_are_indices`: integers of NumPy's stand for Python's.
  Operation(Tracer& tracer, std::string what, bool numbers_are_indices = false)
      : tracer_(tracer), what_(std::move(what)), numbers_are_indices_(numbers_are_indices) {}

  // False: the trace has ended.
  bool add(PyObject* operand) {
    Ref twin, layer;
    if (!look_at(operand, twin, layer)) return false;
    twins.push_back(std::move(twin));
    layers.push_back(std::move(layer));
    return true;
  }

  bool has_complex() const {
    return std::any_of(arrays_.begin(), arrays_.end(), [](const Array& array) {
      return dtype_name_of(elements_of_array(array.object)).starts_with("complex");
    });
  }

  std::vector<Ref> twins, layers;

  // `with_numpy` computes with `twins`, `with_layer` with `layers`.
  template <typename WithNumpy, typename WithLayer>
  Ref run(WithNumpy with_numpy, WithLayer with_layer) {
    Ref twin;
    {
      const QuietNumpy quiet;
      twin = with_numpy();
    }
    if (!twin) return refuse_with_error(tracer_, what_ + " raised");
    Ref given = with_layer();
    if (!given) return refuse_with_error(tracer_, what_ + " in torch's layer for NumPy");
    for (const Array& array : arrays_)
      if (!elements_of_layer_array(array.layer.get()).is(elements_of_array(array.object)))
        return refuse(tracer_, what_ + " gives an array other elements");
    return merge(twin.get(), given.get());
  }

 private:
  struct Array {
    PyObject* object;  // a traced one
    Ref layer;
  };
  Tracer& tracer_;
  const std::string what_;
  const bool numbers_are_indices_;
  std::vector<Array> arrays_;
  std::vector<Ref> constants_;  // arrays, as NumPy gets them

  bool look_at(PyObject* operand, Ref& twin, Ref& layer) {
    NestingLevel level;
    if (level.is_too_deep()) return refuse(tracer_, what_ + ": arguments are nested too deep") != nullptr;
    if (is_traced_array(operand)) return look_at_array(operand, twin, layer);
    if (is_fake(operand)) return refuse(tracer_, what_ + " of a tensor") != nullptr;
    if (!expose(tracer_, operand)) return false;
    if (is_array(operand)) return look_at_constant(operand, twin, layer);
    if (is_numpy_scalar(operand)) return look_at_number(operand, twin, layer);
    if (PyTuple_CheckExact(operand) || PyList_CheckExact(operand)) return look_at_sequence(operand, twin, layer);
    if (PySlice_Check(operand)) return look_at_slice(operand, twin, layer);
    twin = layer = Ref::borrow(operand);
    if (is_constant(operand)) return true;
    layer = other_form(operand);
    return layer || refuse(tracer_, what_ + " of a " + Py_TYPE(operand)->tp_name) != nullptr;
  }

  bool look_at_array(PyObject* operand, Ref& twin, Ref& layer) {
    twin = Ref::borrow(twin_of_array(operand));
    for (const Array& known : arrays_)
      if (known.object == operand) layer = known.layer;
    if (layer) return true;
    layer = layer_array(elements_of_array(operand));
    arrays_.push_back({operand, layer});
    return static_cast<bool>(layer);
  }

  // One that nothing can write to: what is written to the program's own would be lost.
  bool look_at_constant(PyObject* operand, Ref& twin, Ref& layer) {
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

  bool look_at_number(PyObject* operand, Ref& twin, Ref& layer) {
    twin = Ref::borrow(operand);
    if (numbers_are_indices_) layer = python_number(operand);
    if (layer || PyErr_Occurred()) return static_cast<bool>(layer);
    const Ref elements = constant_elements(tracer_, operand);
    layer = elements ? layer_array(elements.get()) : Ref();
    return static_cast<bool>(layer);
  }

  bool look_at_sequence(PyObject* operand, Ref& twin, Ref& layer) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(operand);
    const bool is_tuple = PyTuple_Check(operand);
    twin = Ref::made(PyList_New(0)), layer = Ref::made(PyList_New(0));
    for (Py_ssize_t i = 0; i < size; ++i) {
      Ref item_twin, item_layer;
      if (!look_at(PySequence_Fast_GET_ITEM(operand, i), item_twin, item_layer)) return false;
      if (PyList_Append(twin.get(), item_twin.get()) < 0 || PyList_Append(layer.get(), item_layer.get()) < 0)
        return false;
    }
    if (is_tuple) twin = Ref::made(PyList_AsTuple(twin.get())), layer = Ref::made(PyList_AsTuple(layer.get()));
    return true;
  }

  bool look_at_slice(PyObject* operand, Ref& twin, Ref& layer) {
    auto* slice = reinterpret_cast<PySliceObject*>(operand);
    Ref twin_parts[3], layer_parts[3];
    PyObject* const parts[] = {slice->start, slice->stop, slice->step};
    for (int i = 0; i < 3; ++i)
      if (!look_at(parts[i], twin_parts[i], layer_parts[i])) return false;
    auto put_together = [](const Ref(&of)[3]) { return Ref::made(PySlice_New(of[0].get(), of[1].get(), of[2].get())); };
    twin = put_together(twin_parts), layer = put_together(layer_parts);
    return true;
  }

  // A dtype or a class of scalars.
  static Ref other_form(PyObject* operand) {
    static constinit ImportedType dtype_type{"numpy.dtype"};
    static constinit Imported layer_dtype{"torch._numpy.dtype"};
    if (PyType_Check(operand)) {
      if (operand == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
          operand == reinterpret_cast<PyObject*>(&PyLong_Type) ||
          operand == reinterpret_cast<PyObject*>(&PyBool_Type) ||
          operand == reinterpret_cast<PyObject*>(&PyComplex_Type))
        return Ref::borrow(operand);
      return Ref::borrow(layer_of(operand));
    }
    if (!PyType_IsSubtype(Py_TYPE(operand), dtype_type)) return nullptr;
    const NativeScope native;
    const Ref name = attribute(operand, "name");
    Ref made = name ? Ref::steal(PyObject_CallOneArg(layer_dtype, name.get())) : Ref();
    clear_error();
    return made;
  }

  // The result: of the class and kind that NumPy gives, with the elements that its layer gives.
  Ref merge(PyObject* twin, PyObject* given) {
    NestingLevel level;
    if (level.is_too_deep()) return refuse(tracer_, what_ + " gives what is nested too deep");
    if (is_layer_array(given)) return merge_array(twin, given);
    auto is_sequence = [](PyObject* object) { return PyTuple_Check(object) || PyList_CheckExact(object); };
    if (is_sequence(twin) && is_sequence(given)) return merge_sequence(twin, given);
    const bool is_plain = Py_TYPE(twin) == Py_TYPE(given) && is_constant(twin);
    const int is_same = is_plain ? PyObject_RichCompareBool(twin, given, Py_EQ) : 0;
    clear_error();
    if (is_same > 0) return Ref::borrow(twin);
    return refuse(tracer_, what_ + " gives a " + Py_TYPE(twin)->tp_name + ", and a " + Py_TYPE(given)->tp_name +
                               " in torch's layer for NumPy");
  }

  Ref merge_sequence(PyObject* twin, PyObject* given) {
    if (PySequence_Fast_GET_SIZE(twin) != PySequence_Fast_GET_SIZE(given))
      return refuse(tracer_, what_ + " gives another number of results in torch's layer for NumPy");
    Ref items = Ref::made(PyList_New(0));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(twin); ++i) {
      const Ref item = merge(PySequence_Fast_GET_ITEM(twin, i), PySequence_Fast_GET_ITEM(given, i));
      if (!item || PyList_Append(items.get(), item.get()) < 0) return nullptr;
    }
    if (PyList_CheckExact(twin)) return items;
    if (PyTuple_CheckExact(twin)) return Ref::made(PyList_AsTuple(items.get()));
    const NativeScope native;  // a named tuple
    Ref made = Ref::steal(PyObject_CallMethod(reinterpret_cast<PyObject*>(Py_TYPE(twin)), "_make", "(O)", items.get()));
    return made || PyErr_Occurred() == nullptr ? made : Ref(refuse_with_error(tracer_, what_));
  }

  // torch's layer computes some results with more digits than NumPy.
  Ref rounded(PyObject* twin, Ref elements) {
    static PyObject* const to_name = interned("to");
    static constinit Imported torch{"torch"};
    Ref wanted;
    {
      const NativeScope native;
      const Ref dtype = attribute(twin, "dtype"), name = dtype ? attribute(dtype.get(), "name") : Ref();
      const std::string own = dtype_name_of(elements.get());
      const std::string_view theirs = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "";
      const bool is_wider = (own == "float64" && (theirs == "float32" || theirs == "float16")) ||
                            (own == "complex128" && theirs == "complex64");
      if (is_wider) wanted = Ref::steal(PyObject_GetAttr(torch, name.get()));
      clear_error();
    }
    if (!wanted) return elements;
    const Ref values[] = {elements, wanted};
    return record_call(tracer_, NodeKind::CallMethod, to_name, Arguments{values});
  }

  bool fits(PyObject* twin, PyObject* elements) const {
    const NativeScope native;  // some of it is Python code
    const Ref shape = attribute(twin, "shape"), dtype = attribute(twin, "dtype"),
              own_shape = attribute(elements, "shape");
    const Ref name = dtype ? attribute(dtype.get(), "name") : Ref();
    const bool is_shape = shape && own_shape && PyObject_RichCompareBool(shape.get(), own_shape.get(), Py_EQ) > 0;
    const bool is_dtype =
        name && PyUnicode_Check(name.get()) && dtype_name_of(elements) == PyUnicode_AsUTF8(name.get());
    clear_error();
    return is_shape && is_dtype;
  }

  static std::string kind_of(PyObject* object) {
    const NativeScope native;
    const Ref shape = attribute(object, "shape"), dtype = attribute(object, "dtype");
    Ref text = shape && dtype
                   ? Ref::steal(PyUnicode_FromFormat("%s %R of %S", Py_TYPE(object)->tp_name, shape.get(), dtype.get()))
                   : Ref();
    clear_error();
    return text ? PyUnicode_AsUTF8(text.get()) : Py_TYPE(object)->tp_name;
  }

  static bool share_memory(PyObject* one, PyObject* other) {
    static constinit Imported ask{"numpy.may_share_memory"};
    const Ref answer = Ref::steal(PyObject_CallFunctionObjArgs(ask, one, other, nullptr));
    clear_error();
    return !answer || answer.is(Py_True);
  }

  Ref merge_array(PyObject* twin, PyObject* given) {
    for (const Array& array : arrays_) {
      if (twin_of_array(array.object) != twin) continue;
      const Ref elements = elements_of_layer_array(given);
      const bool shows_the_same = array.layer.is(given) ||
                                  (elements && fits(twin, elements.get()) &&
                                   storage_of_fake(elements.get()) == storage_of_fake(elements_of_array(array.object)));
      if (shows_the_same) return Ref::borrow(array.object);
      return refuse(tracer_, what_ + " gives an argument itself, and another array in torch's layer for NumPy");
    }
    Ref elements = elements_of_layer_array(given);
    if (!elements) return refuse(tracer_, what_ + " gives no tensor in torch's layer for NumPy");
    const bool is_scalar = is_numpy_scalar(twin);
    if (is_scalar || is_array(twin)) elements = rounded(twin, std::move(elements));
    if (elements && is_scalar && !fits(twin, elements.get())) {  // an array of one element is the scalar
      static PyObject* const squeeze_name = interned("squeeze");
      elements =
          record_call(tracer_, NodeKind::CallMethod, squeeze_name, Arguments{std::span<const Ref>(&elements, 1)});
    }
    if (!elements) return nullptr;
    if (!(is_scalar || is_array(twin)) || !fits(twin, elements.get()))
      return refuse(tracer_, what_ + " gives a " + kind_of(twin) + ", and a " + kind_of(elements.get()) +
                                 " in torch's layer for NumPy");
    bool is_view = false, shares = false;
    {
      const NativeScope native;
      for (const Ref& constant : constants_)
        if (!is_scalar && share_memory(twin, constant.get()))
          return refuse(tracer_, what_ + " gives a view of an array of constants");
      for (const Array& array : arrays_) {
        is_view |= !is_scalar && !is_traced_scalar(array.object) && share_memory(twin, twin_of_array(array.object));
        shares |= storage_of_fake(elements.get()) == storage_of_fake(elements_of_array(array.object));
      }
    }
    if (is_view && !shares) {  // as long as nobody can tell
      if (!tracer_.may_assume()) return refuse(tracer_, what_ + " gives a view, and a copy in torch's layer for NumPy");
      tracer_.assume(Assumption::Kind::Private, elements.get());
      for (const Array& array : arrays_) tracer_.assume(Assumption::Kind::Unwritten, elements_of_array(array.object));
    }
    if (shares && !is_view) {
      static PyObject* const clone_name = interned("clone");
      elements = record_call(tracer_, NodeKind::CallMethod, clone_name, Arguments{std::span<const Ref>(&elements, 1)});
      if (!elements) return nullptr;
    }
    return make_traced_array(tracer_, elements.get(), Ref::borrow(twin));
  }
};

// A special method of torch's layer, which is Python code: of the left operand, or the reflected one of the right.
Ref call_layer_method(Tracer& tracer, const char* name, const char* reflected, const Ref& left, const Ref& right) {
  const bool is_left = is_layer_array(left.get());
  const Ref method = attribute(layer_array_type(), is_left ? name : reflected);
  if (!method) return nullptr;
  if (!right) return call(tracer, method.get(), {left});
  return is_left ? call(tracer, method.get(), {left, right}) : call(tracer, method.get(), {right, left});
}

// Options that torch's layer does not know are left out where they are not used.
Ref call_layer(Tracer& tracer, PyObject* callable, const std::vector<Ref>& values, PyObject* keyword_names) {
  static constexpr const char* kUnused[] = {"device", "like"};
  const Py_ssize_t keywords = keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0;
  std::vector<Ref> kept(values.begin(), values.end() - keywords);
  const Ref names = Ref::made(PyList_New(0));
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keyword_names, i);
    const Ref& value = values[values.size() - static_cast<size_t>(keywords - i)];
    const bool is_unused =
        value.is(Py_None) && std::any_of(std::begin(kUnused), std::end(kUnused),
                                         [&](const char* of) { return !PyUnicode_CompareWithASCIIString(name, of); });
    if (is_unused) continue;
    kept.push_back(value);
    if (PyList_Append(names.get(), name) < 0) return nullptr;
  }
  const Ref tuple = Ref::made(PyList_AsTuple(names.get()));
  return call(tracer, callable, Arguments{kept, PyTuple_GET_SIZE(tuple.get()) ? tuple.get() : nullptr});
}

bool is_true(PyObject* object, const char* name) {
  const Ref value = attribute(object, name);
  clear_error();
  return value.is(Py_True);
}

std::string name_of(PyObject* callable) {
  const Ref name = attribute(callable, "__name__");
  clear_error();
  return name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : Py_TYPE(callable)->tp_name;
}

// A method of arrays or scalars that is called as a function of them.
bool is_array_method(PyObject* callable) noexcept {
  if (!Py_IS_TYPE(callable, &PyMethodDescr_Type) && !Py_IS_TYPE(callable, &PyWrapperDescr_Type)) return false;
  static constinit ImportedType array_class{"numpy.ndarray"};
  static constinit ImportedType scalar_class{"numpy.generic"};
  PyTypeObject* const type = PyDescr_TYPE(callable);
  return type == array_class || PyType_IsSubtype(type, scalar_class);
}

// What reads values, and gives plain Python objects: if torch's layer can tell, it does so by values that are known.
bool reads_values(std::string_view name) noexcept {
  return name == "item" || name == "tolist" || name == "__bool__" || name == "__int__" || name == "__float__" ||
         name == "__complex__" || name == "__index__";
}

}  // namespace

Ref array_of_fake(Tracer& tracer, PyObject* fake) {
  if (tracer.transforms.active())
    return tracer.give_up(BreakReason::ScalarRead, "a tensor within a transform is turned into a numpy array");
  if (is_true(fake, "requires_grad") || !is_true(fake, "is_cpu") || is_true(fake, "is_sparse"))
    return tracer.give_up(BreakReason::ScalarRead,
                          "a tensor that requires grad, or is not plain, is turned into a numpy array");
  Ref twin = twin_of_fake(fake);
  if (!twin && PyErr_Occurred()) return refuse_with_error(tracer, "numpy()");
  if (!twin) return refuse(tracer, "numpy() of a very large tensor");
  static PyObject* const detach_name = interned("detach");
  const Ref self = Ref::borrow(fake);
  const Ref elements =
      record_call(tracer, NodeKind::CallMethod, detach_name, Arguments{std::span<const Ref>(&self, 1)});
  return elements ? make_traced_array(tracer, elements.get(), std::move(twin)) : Ref();
}

bool makes_array_of_fake(PyObject* callable, const Arguments& arguments) {
  if (!PyCFunction_Check(callable) || !arguments.positional_count() || !is_fake(arguments.values[0].get()))
    return false;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
  return (name == "asarray" || name == "array") && layer_of(callable);
}

Ref make_array_of_fake(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  values[0] = array_of_fake(tracer, values[0].get());
  return values[0] ? call_with_arrays(tracer, callable, Arguments{values, arguments.keyword_names}) : Ref();
}

Ref tensor_of_array(Tracer& tracer, PyObject* array, bool shares) {
  if (shares && is_traced_scalar(array)) return refuse(tracer, "from_numpy() of a scalar");
  static PyObject* const detach_name = interned("detach");
  static PyObject* const clone_name = interned("clone");
  const Ref self = Ref::borrow(elements_of_array(array));
  return record_call(tracer, NodeKind::CallMethod, shares ? detach_name : clone_name,
                     Arguments{std::span<const Ref>(&self, 1)});
}

bool holds_traced_array(PyObject* object) noexcept {
  if (is_traced_array(object)) return true;
  NestingLevel level;
  if (level.is_too_deep()) return false;
  if (PyTuple_Check(object) || PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      if (holds_traced_array(PySequence_Fast_GET_ITEM(object, i))) return true;
  } else if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return holds_traced_array(slice->start) || holds_traced_array(slice->stop) || holds_traced_array(slice->step);
  }
  return false;
}

bool takes_traced_array(const Arguments& arguments) noexcept {
  for (const Ref& value : arguments.values)
    if (holds_traced_array(value.get())) return true;
  return false;
}

bool makes_array_to_fill(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return false;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
  if (name != "empty" && name != "zeros") return false;
  const Ref module = attribute(callable, "__module__");
  clear_error();
  return module && PyUnicode_Check(module.get()) && !PyUnicode_CompareWithASCIIString(module.get(), "numpy");
}

bool is_of_numpy(PyObject* callable) {
  static constinit Imported absolute{"builtins.abs"};
  if (is_array_method(callable) || callable == absolute || layer_of(callable)) return true;
  const std::string_view name = Py_TYPE(callable)->tp_name;
  return name == "numpy.ufunc" || name == "numpy._ArrayFunctionDispatcher";
}

Ref call_with_arrays(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const std::string name = name_of(callable);
  static constinit Imported absolute{"builtins.abs"};
  static constinit Imported layer_absolute{"torch._numpy.absolute"};
  const bool is_method = is_array_method(callable);
  Ref counterpart = callable == absolute ? Ref::borrow(layer_absolute)
                    : is_method          ? attribute(layer_array_type(), name.c_str())
                                         : Ref::borrow(layer_of(callable));
  clear_error();
  if (!counterpart)
    return refuse(tracer,
                  (is_method ? "numpy.ndarray." : "numpy.") + name + "() is not known to torch's layer for NumPy");
  Operation operation(tracer, (is_method ? "numpy.ndarray." : "numpy.") + name + "()");
  for (const Ref& value : arguments.values)
    if (!operation.add(value.get())) return nullptr;
  if (is_another_in_layer(name, operation.has_complex()))
    return refuse(tracer, "numpy." + name + "() is another function in torch's layer for NumPy");
  auto with_layer = [&] { return call_layer(tracer, counterpart.get(), operation.layers, arguments.keyword_names); };
  if (is_method && reads_values(name)) {
    Ref read = with_layer();
    if (!read) return refuse_with_error(tracer, name + "()");
    if (is_layer_array(read.get())) return tracer.give_up(BreakReason::ScalarRead, "a value of a numpy array is read");
    return read;
  }
  return operation.run(
      [&] {
        const Arguments twins{operation.twins, arguments.keyword_names};
        const Ref positional = twins.positional(), keywords = twins.keywords();
        return Ref::steal(PyObject_Call(callable, positional.get(), keywords.get()));
      },
      with_layer);
}

Ref array_attribute(Tracer& tracer, PyObject* array, PyObject* name) {
  static constexpr std::string_view kMetadata[] = {"shape", "ndim", "size", "itemsize", "nbytes", "dtype"};
  static constexpr std::string_view kComputed[] = {"T", "real", "imag"};
  PyObject* const twin = twin_of_array(array);
  const std::string_view text = PyUnicode_AsUTF8(name);
  const NativeScope native;
  if (text == "__class__") return Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(twin)));
  for (const std::string_view known : kMetadata)
    if (text == known) return Ref::steal(PyObject_GetAttr(twin, name));
  for (const std::string_view known : kComputed) {
    if (text != known) continue;
    const NativeScopeApart traced;
    Operation operation(tracer, "numpy.ndarray." + std::string(text));
    if (!operation.add(array)) return nullptr;
    return operation.run([&] { return Ref::steal(PyObject_GetAttr(operation.twins[0].get(), name)); },
                         [&] { return load_attribute(tracer, operation.layers[0].get(), name); });
  }
  if (!class_attribute(Py_TYPE(twin), name)) return Ref::steal(PyObject_GetAttr(twin, name));  // raises
  return refuse(tracer, "'" + std::string(text) + "' of a numpy array");
}

Ref array_unary(Tracer& tracer, Op op, PyObject* operand) {
  Operation operation(tracer, "an operator");
  if (!operation.add(operand)) return nullptr;
  const char* const name = op == Op::UNARY_NEGATIVE ? "__neg__" : op == Op::UNARY_POSITIVE ? "__pos__" : "__invert__";
  return operation.run(
      [&] {
        PyObject* const twin = operation.twins[0].get();
        return Ref::steal(op == Op::UNARY_NEGATIVE   ? PyNumber_Negative(twin)
                          : op == Op::UNARY_POSITIVE ? PyNumber_Positive(twin)
                                                     : PyNumber_Invert(twin));
      },
      [&] { return call_layer_method(tracer, name, name, operation.layers[0], Ref()); });
}

Ref array_binary(Tracer& tracer, const ArrayOperator& binary, PyObject* left, PyObject* right) {
  Operation operation(tracer, "an operator");
  if (!operation.add(left) || !operation.add(right)) return nullptr;
  // There is no operator in place for a scalar, nor for what is not an array.
  const bool is_new = !is_traced_array(left) || is_traced_scalar(left);
  return operation.run([&] { return Ref::steal(binary.apply(operation.twins[0].get(), operation.twins[1].get())); },
                       [&] {
                         return call_layer_method(tracer, is_new ? binary.plain_method : binary.method,
                                                  binary.reflected, operation.layers[0], operation.layers[1]);
                       });
}

Ref array_compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right) {
  static constexpr const char* kMethods[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  static constexpr const char* kReflected[] = {"__gt__", "__ge__", "__eq__", "__ne__", "__lt__", "__le__"};
  Operation operation(tracer, "a comparison");
  if (!operation.add(left) || !operation.add(right)) return nullptr;
  return operation.run(
      [&] { return Ref::steal(PyObject_RichCompare(operation.twins[0].get(), operation.twins[1].get(), comparison)); },
      [&] {
        return call_layer_method(tracer, kMethods[comparison], kReflected[comparison], operation.layers[0],
                                 operation.layers[1]);
      });
}

Ref item_of_array(Tracer& tracer, PyObject* array, Py_ssize_t index) {
  const Ref key = Ref::made(PyLong_FromSsize_t(index));
  return array_subscript(tracer, array, key.get());
}

Ref array_subscript(Tracer& tracer, PyObject* array, PyObject* key) {
  if (!is_traced_array(array))
    return refuse(tracer, std::string("a ") + Py_TYPE(array)->tp_name + " is indexed with a numpy array");
  Operation operation(tracer, "indexing", true);
  if (!operation.add(array) || !operation.add(key)) return nullptr;
  return operation.run([&] { return Ref::steal(PyObject_GetItem(operation.twins[0].get(), operation.twins[1].get())); },
                       [&] { return subscript(tracer, operation.layers[0].get(), operation.layers[1].get()); });
}

bool store_array_subscript(Tracer& tracer, PyObject* array, PyObject* key, PyObject* value) {
  if (!is_traced_array(array) || !value)
    return refuse(tracer, std::string("an item of a ") + Py_TYPE(array)->tp_name + " is set with a numpy array") !=
           nullptr;
  Operation operation(tracer, "setting an item", true);
  if (!operation.add(array) || !operation.add(key) || !operation.add(value)) return false;
  const auto& [twins, layers] = std::pair(operation.twins, operation.layers);
  const Ref done = operation.run(
      [&] {
        const bool stored = PyObject_SetItem(twins[0].get(), twins[1].get(), twins[2].get()) == 0;
        return stored ? Ref::none() : Ref();
      },
      [&] {
        const bool stored = store_subscript(tracer, layers[0].get(), layers[1].get(), layers[2].get());
        return stored ? Ref::none() : Ref();
      });
  return static_cast<bool>(done);
}

}  // namespace minidynamo
