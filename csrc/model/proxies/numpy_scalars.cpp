#include <algorithm>
#include <string_view>

#include "model/protocols/arguments.h"
#include "model/proxies/numpy_scalars.h"
#include "python/objects/numpy_scalar.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_objects.h"
#include "world/state/entered_context.h"

namespace minidynamo {
namespace {

bool is_python_number(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type;
}

// The keywords of a numpy.errstate in which every warning that is on by default is an error.
Ref keywords_of_strict() {
  return Ref::made(
      Py_BuildValue("{s:s,s:s,s:s,s:s}", "divide", "raise", "over", "raise", "invalid", "raise", "under", "ignore"));
}

}  // namespace

Ref compute_with_scalars(Tracer& tracer, const std::function<Ref()>& compute) {
  Ref result;
  {
    const NativeScope native;
    const EnteredContext strict("numpy.errstate"_imported, keywords_of_strict().get());
    if (!strict) return nullptr;
    result = compute();
  }
  if (result || !PyErr_ExceptionMatches(PyExc_FloatingPointError)) return result;
  clear_error();
  return tracer.abort(BreakReason::Warning, "NumPy warns about an operation on scalars");
}

bool are_scalars(const Arguments& arguments, bool any_numpy) {
  if (arguments.keyword_names || arguments.values.empty()) return false;
  bool found = !any_numpy;
  for (const Ref& value : arguments.values) {
    const bool is_numpy = is_numpy_scalar(value.get()) || is_numpy_array(value.get());
    if (!is_numpy && !is_python_number(value.get())) return false;
    found |= is_numpy;
  }
  return found;
}

namespace {

constexpr Py_ssize_t kMostElements = 10'000;

// Constants and what is made of them. `room` counts down.
bool is_data(PyObject* object, Py_ssize_t& room) {
  if (--room < 0) return false;
  if (is_constant(object) || is_numpy_scalar(object) || is_numpy_array(object)) return true;
  static constinit ImportedType dtype_type{"numpy.dtype"};
  if (PyType_Check(object)) {
    auto* type = as_type(object);
    return is_numpy_scalar_type(type) || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
           type == &PyComplex_Type;
  }
  if (PyType_IsSubtype(Py_TYPE(object), dtype_type)) return true;
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    if (!is_data(PySequence_Fast_GET_ITEM(object, i), room)) return false;
  return true;
}

template <size_t n>
bool is_named(PyObject* callable, const std::string_view (&names)[n]) {
  Ref name = Ref::steal(PyObject_GetAttrString(callable, "__name__"));
  clear_error();
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "";
  return std::find(std::begin(names), std::end(names), std::string_view(text)) != std::end(names);
}

bool is_method_of_scalar(PyObject* callable, PyObject* self) {
  static constexpr std::string_view kNames[] = {"item",      "tolist", "astype",     "round",      "conj",
                                                "conjugate", "clip",   "is_integer", "__format__", "as_integer_ratio"};
  return is_numpy_scalar(self) && is_named(callable, kNames);
}

bool is_method_of_array(PyObject* callable, PyObject* self) {
  // Methods that read or write files and addresses, or call back.
  static constexpr std::string_view kNotThese[] = {"tofile",     "dump",         "dumps",         "setflags",
                                                   "__reduce__", "__setstate__", "__reduce_ex__", "__deepcopy__"};
  return is_numpy_array(self) && !is_named(callable, kNotThese);
}

// numpy.sqrt, numpy.prod, numpy.add.reduce, numpy.array...
bool is_numpy_function(PyObject* callable) {
  static constexpr std::string_view kNotThese[] = {"empty",    "empty_like",       "save",    "savez",
                                                   "savetxt",  "savez_compressed", "copyto",  "put",
                                                   "fromfile", "frombuffer",       "putmask", "place"};
  static constexpr std::string_view kOfC[] = {"array", "asarray", "arange", "zeros", "concatenate"};
  PyTypeObject* type = Py_TYPE(callable);
  if (PyCFunction_Check(callable)) {
    PyObject* self = PyCFunction_GET_SELF(callable);
    if (self && std::string_view(Py_TYPE(self)->tp_name) == "numpy.ufunc") return true;
    Ref module = Ref::steal(PyObject_GetAttrString(callable, "__module__"));
    clear_error();
    const char* name = module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : "";
    return std::string_view(name) == "numpy" && is_named(callable, kOfC);
  }
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return false;
  const std::string_view name = type->tp_name;
  return name == "numpy.ufunc" || (name == "numpy._ArrayFunctionDispatcher" && !is_named(callable, kNotThese));
}

}  // namespace

bool computes_with_numpy(PyObject* callable, const Arguments& arguments) {
  const bool is_bound = PyCFunction_Check(callable);
  const bool is_method = Py_IS_TYPE(callable, &PyMethodDescr_Type) && arguments.positional_count() > 0;
  PyObject* self = is_bound ? PyCFunction_GET_SELF(callable) : is_method ? arguments.values[0].get() : nullptr;
  const bool is_of_object = self && (is_method_of_scalar(callable, self) || is_method_of_array(callable, self));
  if (!is_of_object && (is_method || !is_numpy_function(callable))) return false;
  Py_ssize_t room = kMostElements;
  return std::all_of(arguments.values.begin(), arguments.values.end(),
                     [&](const Ref& value) { return is_data(value.get(), room); });
}

namespace {

// True if only variables and stacks of the trace hold an array: no view of it, and nothing that it is a view of.
bool is_held_by_frames_alone(const Tracer& tracer, PyObject* array) {
  Ref base = Ref::steal(PyObject_GetAttrString(array, "base"));
  Py_ssize_t held = 0;
  for (const Frame* frame = tracer.frame; frame; frame = frame->caller)
    for (const Ref& slot : frame->slots) held += slot.is(array);
  return base.is(Py_None) && reference_count(array) <= held;
}

}  // namespace

Ref data_of_array(Tracer& tracer, PyObject* array, bool is_shared) {
  if (is_shared && !is_held_by_frames_alone(tracer, array)) return nullptr;
  static constinit ImportedType dtypes{"torch.dtype"};
  NativeScope native;  // some of it is Python code
  Ref size = Ref::steal(PyObject_GetAttrString(array, "size")),
      dtype = Ref::steal(PyObject_GetAttrString(array, "dtype"));
  Ref name = dtype ? Ref::steal(PyObject_GetAttrString(dtype.get(), "name")) : Ref();
  Ref torch = import_object("torch");
  Ref own = name && torch ? Ref::steal(PyObject_GetAttr(torch.get(), name.get())) : Ref();
  const bool fits = size && PyLong_AsSsize_t(size.get()) <= kMostElements && own && own.type() == dtypes;
  clear_error();
  Ref items = fits ? Ref::steal(PyObject_CallMethod(array, "tolist", nullptr)) : Ref();
  if (!items) return nullptr;
  if (is_shared) tracer.world.make_opaque(array), tracer.identities.kept.push_back(Ref::borrow(array));
  return Ref::made(PyTuple_Pack(2, items.get(), own.get()));
}

}  // namespace minidynamo
