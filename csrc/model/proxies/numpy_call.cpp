#include "model/proxies/numpy_call.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/protocols/abstract.h"
#include "model/proxies/numpy_layer.h"
#include "model/proxies/numpy_operation.h"
#include "model/tensors/tensor_call.h"
#include "python/error_text.h"
#include "python/objects/numpy_scalar.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/proxies/fake_array.h"
#include "world/state/held_values.h"
#include "world/state/upward.h"

namespace minidynamo {
namespace {

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }

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

// One of two C functions of NumPy's. torch has functions of the same names.
bool is_builtin_of_numpy(PyObject* callable, std::string_view one, std::string_view other) {
  if (!PyCFunction_Check(callable)) return false;
  const std::string_view name = as_builtin(callable)->m_ml->ml_name;
  if (name != one && name != other) return false;
  const Ref module = attribute(callable, "__module__");
  clear_error();
  return module && PyUnicode_Check(module.get()) && !PyUnicode_CompareWithASCIIString(module.get(), "numpy");
}

// True for methods that read values, and return plain Python objects: if torch's layer can tell, it does so by values
// that are known.
bool reads_values(std::string_view name) noexcept {
  return name == "item" || name == "tolist" || name == "__bool__" || name == "__int__" || name == "__float__" ||
         name == "__complex__" || name == "__index__";
}

// True if it is an integer, or an array of integers or truth values.
bool is_integral(PyObject* operand) {
  if (!is_fake_array(operand)) return PyLong_Check(operand);
  const NativeScope native;
  const Ref dtype = attribute(twin_of_array(operand), "dtype"), kind = dtype ? attribute(dtype.get(), "kind") : Ref();
  clear_error();
  const std::string_view text = kind && PyUnicode_Check(kind.get()) ? PyUnicode_AsUTF8(kind.get()) : "";
  return text == "i" || text == "u" || text == "b";
}

// NumPy raises for a negative power of an integer, which the layer does not look for.
bool is_power_that_may_raise(std::string_view name, std::span<const Ref> operands) {
  if (operands.size() < 2) return false;
  const bool is_power = name == "power" || name == "pow" || name == "__pow__" || name == "__ipow__";
  const bool is_reflected = name == "__rpow__";
  if (!is_power && !is_reflected) return false;
  return is_integral(operands[0].get()) && is_integral(operands[1].get()) &&
         is_fake_array(operands[is_reflected ? 0 : 1].get());
}

// A keyword that says which elements are computed, or how they are converted: the layer does not look at some of them.
// It knows the casting of copyto(), by which np.ones() and np.full() fill their arrays.
PyObject* unknown_keyword(std::string_view function, const Arguments& arguments) {
  static constexpr const char* kNames[] = {"where", "casting", "subok", "signature", "extobj", "initial"};
  const size_t count = arguments.positional_count();
  if (function == "copyto") return nullptr;
  for (size_t i = count; i < arguments.values.size(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(arguments.keyword_names, static_cast<Py_ssize_t>(i - count));
    for (const char* unknown : kNames)
      if (!PyUnicode_CompareWithASCIIString(name, unknown)) return name;
  }
  return nullptr;
}

// The array that a call writes its result to, by keyword; null if there is none.
Ref out_twin(const Arguments& names, const std::vector<Ref>& twins) {
  const size_t count = names.positional_count();
  for (size_t i = count; i < twins.size(); ++i)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.keyword_names, static_cast<Py_ssize_t>(i - count)),
                                          "out"))
      return twins[i];
  return nullptr;
}

// NumPy computes in the types of the operands and converts what is written to out=; the layer computes in that of out=.
// torch's kernels do not make floating-point numbers of integers, nor round these, where there is an out=.
bool converts_for_out(PyObject* callable, const Arguments& arguments, const std::vector<Ref>& twins,
                      std::string_view name) {
  const Ref out = out_twin(arguments, twins);
  if (!out || out.is(Py_None)) return false;
  const Ref result = compute_quietly([&] {
    const Arguments given{twins, arguments.keyword_names};
    const Ref positional = given.positional(), keywords = given.keywords();
    if (PyDict_DelItemString(keywords.get(), "out") < 0) return Ref();
    return Ref::steal(PyObject_Call(callable, positional.get(), keywords.get()));
  });
  const NativeScope native;
  const Ref own = result ? attribute(result.get(), "dtype") : Ref(), wanted = attribute(out.get(), "dtype");
  const bool is_same = own && wanted && PyObject_RichCompareBool(own.get(), wanted.get(), Py_EQ) > 0;
  clear_error();
  const Ref kind = own ? attribute(own.get(), "kind") : Ref();
  const std::string_view text = kind && PyUnicode_Check(kind.get()) ? PyUnicode_AsUTF8(kind.get()) : "";
  clear_error();
  const bool is_rounding = name == "ceil" || name == "floor" || name == "trunc";
  return !is_same || (is_integral(arguments.values[0].get()) && (is_rounding || text == "f" || text == "c"));
}

// NumPy warns about means of nothing, and torch in other words or not at all.
bool is_mean_of_nothing(std::string_view name, const std::vector<Ref>& twins) {
  static constexpr std::string_view kMeans[] = {"std", "var", "mean", "average", "median"};
  if (twins.empty() || std::find(std::begin(kMeans), std::end(kMeans), name) == std::end(kMeans)) return false;
  const NativeScope native;
  const Ref size = attribute(twins[0].get(), "size");
  clear_error();
  return size && PyLong_Check(size.get()) && PyLong_AsLong(size.get()) == 0;
}

bool has_keyword(const Arguments& arguments, const char* wanted) {
  for (Py_ssize_t i = 0; arguments.keyword_names && i < PyTuple_GET_SIZE(arguments.keyword_names); ++i)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(arguments.keyword_names, i), wanted)) return true;
  return false;
}

// Copies and conversions, for which torch's kernels know every dtype.
bool keeps_values(std::string_view name) noexcept { return name == "copy" || name == "astype"; }

// NumPy's remainder has the sign of the divisor where it is zero, and torch's has that of the dividend.
Ref with_sign_of_divisor(Tracer& tracer, const Ref& remainder, const Ref& divisor) {
  const Ref elements = remainder && is_layer_array(remainder.get()) ? elements_of_layer_array(remainder.get()) : Ref();
  const Ref dtype = elements ? attribute(elements.get(), "dtype") : Ref();
  if (!dtype || !is_true(dtype.get(), "is_floating_point")) return remainder;
  return call(tracer, "torch._numpy.copysign"_imported, {remainder, divisor});
}

bool has_dimensions(PyObject* array) {
  const NativeScope native;
  const Ref count = attribute(twin_of_array(array), "ndim");
  return !count || PyLong_AsLong(count.get()) > 0;
}

}  // namespace

Ref number_of_array(Tracer& tracer, PyObject* array) {
  if (has_dimensions(array)) return refuse_numpy(tracer, "a number is made of an array with dimensions");
  return Ref::borrow(elements_of_array(array));
}

Ref array_of_fake(Tracer& tracer, PyObject* fake) {
  for (const char* lazy : {"is_conj", "is_neg"}) {
    const Ref answer = Ref::steal(PyObject_CallMethod(fake, lazy, nullptr));
    clear_error();
    if (!answer.is(Py_False))
      return tracer.abort(BreakReason::ScalarRead,
                          "a tensor with the conjugate or negative bit is turned into an array");
  }
  if (tracer.transforms.inside())
    return tracer.abort(BreakReason::ScalarRead, "a tensor within a transform is turned into a numpy array");
  if (requires_gradient(fake) || !is_true(fake, "is_cpu") || is_true(fake, "is_sparse"))
    return tracer.abort(BreakReason::ScalarRead,
                        "a tensor that requires grad, or is not plain, is turned into a numpy array");
  Ref twin = twin_of_fake(fake);
  if (!twin && PyErr_Occurred()) return refuse_numpy_with_error(tracer, "numpy()");
  if (!twin) return refuse_numpy(tracer, "numpy() of a very large tensor");
  const Ref self = Ref::borrow(fake);
  const Ref elements =
      record_call(tracer, NodeKind::CallMethod, "detach"_name, Arguments{std::span<const Ref>(&self, 1)});
  return elements ? make_fake_array(tracer, elements.get(), std::move(twin)) : Ref();
}

bool makes_array_of_fake(PyObject* callable, const Arguments& arguments) {
  return is_builtin_of_numpy(callable, "asarray", "array") && arguments.positional_count() &&
         is_fake(arguments.values[0].get());
}

Ref make_array_of_fake(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  values[0] = array_of_fake(tracer, values[0].get());
  return values[0] ? call_with_arrays(tracer, callable, Arguments{values, arguments.keyword_names}) : Ref();
}

Ref tensor_of_array(Tracer& tracer, PyObject* array, bool shares) {
  if (shares && is_traced_scalar(array)) return refuse_numpy(tracer, "from_numpy() of a scalar");
  const Ref self = Ref::borrow(elements_of_array(array));
  return record_call(tracer, NodeKind::CallMethod, shares ? "detach"_name : "clone"_name,
                     Arguments{std::span<const Ref>(&self, 1)});
}

bool holds_fake_array(PyObject* object) { return any_held(object, is_fake_array); }

bool takes_fake_array(const Arguments& arguments) {
  for (const Ref& value : arguments.values)
    if (holds_fake_array(value.get())) return true;
  return false;
}

bool makes_array_to_fill(PyObject* callable) { return is_builtin_of_numpy(callable, "empty", "zeros"); }

bool is_of_numpy(PyObject* callable) {
  if (is_array_method(callable) || callable == "builtins.abs"_imported || layer_of(callable)) return true;
  const std::string_view name = Py_TYPE(callable)->tp_name;
  return name == "numpy.ufunc" || name == "numpy._ArrayFunctionDispatcher";
}

Ref call_with_arrays(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const std::string name = name_of(callable);
  const bool is_method = is_array_method(callable);
  Ref counterpart = callable == "builtins.abs"_imported ? Ref::borrow("torch._numpy.absolute"_imported)
                    : is_method                         ? method_of_layer_array(name.c_str())
                                                        : Ref::borrow(layer_of(callable));
  clear_error();
  if (!counterpart)
    return refuse_numpy(
        tracer, (is_method ? "numpy.ndarray." : "numpy.") + name + "() is not known to torch's layer for NumPy");
  NumpyOperation operation(tracer, (is_method ? "numpy.ndarray." : "numpy.") + name + "()");
  for (const Ref& value : arguments.values)
    if (!operation.add(value.get())) return nullptr;
  if (is_another_in_layer(name, operation.has_complex()))
    return refuse_numpy(tracer, "numpy." + name + "() is another function in torch's layer for NumPy");
  if (PyObject* keyword = unknown_keyword(name, arguments))
    return refuse_numpy(tracer, "numpy." + name + "() with " + PyUnicode_AsUTF8(keyword) + "=");
  if (is_power_that_may_raise(name, arguments.values))
    return refuse_numpy(tracer, "a power of integers by exponents that may be negative");
  const bool is_rounding = name == "round" || name == "around";
  if (is_rounding && arguments.values.size() > 1 && is_integral(arguments.values[0].get()))
    return refuse_numpy(tracer, "numpy." + name + "() of integers");
  if (is_mean_of_nothing(name, operation.twins)) return refuse_numpy(tracer, "numpy." + name + "() of no elements");
  if (operation.has_complex() && has_keyword(arguments, "dtype"))
    return refuse_numpy(tracer, "numpy." + name + "() of complex numbers with dtype=");
  if (converts_for_out(callable, arguments, operation.twins, name))
    return refuse_numpy(tracer, "numpy." + name + "() with out= of another dtype");
  if (is_method && keeps_values(name)) operation.keep_values();
  const bool is_remainder = name == "remainder" || name == "mod" || name == "__mod__";
  if (is_remainder && arguments.values.size() > 2)
    return refuse_numpy(tracer, "numpy." + name + "() with more than two operands");
  auto with_layer = [&] {
    Ref given = call_layer(tracer, counterpart.get(), operation.layers, arguments.keyword_names);
    return is_remainder ? with_sign_of_divisor(tracer, given, operation.layers[1]) : given;
  };
  if (is_method && reads_values(name)) {
    if (name.starts_with("__") && name != "__bool__" && is_fake_array(arguments.values[0].get()) &&
        !number_of_array(tracer, arguments.values[0].get()))
      return nullptr;
    Ref read = with_layer();
    if (!read) return refuse_numpy_with_error(tracer, name + "()");
    if (is_layer_array(read.get())) return tracer.abort(BreakReason::ScalarRead, "a value of a numpy array is read");
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
  if (text == "__class__") return Ref::borrow(as_object(Py_TYPE(twin)));
  for (const std::string_view known : kMetadata)
    if (text == known) return Ref::steal(PyObject_GetAttr(twin, name));
  for (const std::string_view known : kComputed) {
    if (text != known) continue;
    const NativeScopeApart traced;
    NumpyOperation operation(tracer, "numpy.ndarray." + std::string(text));
    if (!operation.add(array)) return nullptr;
    return operation.run([&] { return Ref::steal(PyObject_GetAttr(operation.twins[0].get(), name)); },
                         [&] { return load_attribute(tracer, operation.layers[0].get(), name); });
  }
  if (!class_attribute(Py_TYPE(twin), name)) return Ref::steal(PyObject_GetAttr(twin, name));  // raises
  return refuse_numpy(tracer, "'" + std::string(text) + "' of a numpy array");
}

Ref array_unary(Tracer& tracer, Op op, PyObject* operand) {
  NumpyOperation operation(tracer, "an operator");
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
  NumpyOperation operation(tracer, "an operator");
  const Ref operands[] = {Ref::borrow(left), Ref::borrow(right)};
  if (is_power_that_may_raise(binary.method, operands))
    return refuse_numpy(tracer, "a power of integers by exponents that may be negative");
  if (!operation.add(left) || !operation.add(right)) return nullptr;
  if (is_another_in_layer(binary.plain_method, operation.has_complex()))
    return refuse_numpy(tracer, "an operator that torch's layer for NumPy knows otherwise of complex numbers");
  // There is no operator in place for a scalar, nor for what is not an array.
  const bool is_new = !is_fake_array(left) || is_traced_scalar(left);
  const bool is_remainder = std::string_view(binary.plain_method) == "__mod__";
  if (is_remainder && !is_new && std::string_view(binary.method) != "__mod__" && !is_integral(left))
    return refuse_numpy(tracer, "a remainder in place of floating-point numbers");
  return operation.run([&] { return Ref::steal(binary.apply(operation.twins[0].get(), operation.twins[1].get())); },
                       [&] {
                         Ref given = call_layer_method(tracer, is_new ? binary.plain_method : binary.method,
                                                       binary.reflected, operation.layers[0], operation.layers[1]);
                         return is_remainder ? with_sign_of_divisor(tracer, given, operation.layers[1]) : given;
                       });
}

Ref array_compare(Tracer& tracer, int comparison, PyObject* left, PyObject* right) {
  static constexpr const char* kMethods[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  static constexpr const char* kReflected[] = {"__gt__", "__ge__", "__eq__", "__ne__", "__lt__", "__le__"};
  NumpyOperation operation(tracer, "a comparison");
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
  if (!is_fake_array(array))
    return refuse_numpy(tracer, std::string("a ") + Py_TYPE(array)->tp_name + " is indexed with a numpy array");
  NumpyOperation operation(tracer, "indexing", true);
  if (!operation.add(array) || !operation.add(key)) return nullptr;
  return operation.run([&] { return Ref::steal(PyObject_GetItem(operation.twins[0].get(), operation.twins[1].get())); },
                       [&] { return subscript(tracer, operation.layers[0].get(), operation.layers[1].get()); });
}

bool store_array_subscript(Tracer& tracer, PyObject* array, PyObject* key, PyObject* value) {
  if (!is_fake_array(array) || !value)
    return refuse_numpy(tracer, std::string("an item of a ") + Py_TYPE(array)->tp_name +
                                    " is set with a numpy array") != nullptr;
  NumpyOperation operation(tracer, "setting an item", true);
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
