// Exact comparison and printing of constants. Comparison is recursive over tuples, whose depth Python programs keep
// small.
#include "guard/constants.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "python/objects/numpy_scalar.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"

namespace minidynamo {
namespace {

// The singletons and value classes of torch, known by name: their classes are static C types, which no Python code can
// imitate.
bool is_torch_constant_type(PyTypeObject* type) noexcept {
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE || std::strncmp(type->tp_name, "torch.", 6) != 0) return false;
  for (const char* name : {"torch.dtype", "torch.device", "torch.layout", "torch.memory_format", "torch.qscheme"})
    if (std::strcmp(type->tp_name, name) == 0) return true;
  return false;
}

bool is_torch_size_type(PyTypeObject* type) noexcept {
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && std::strcmp(type->tp_name, "torch.Size") == 0;
}

// datetime's, which are immutable: static C types.
bool is_date_type(PyTypeObject* type) noexcept {
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && std::strncmp(type->tp_name, "datetime.", 9) == 0;
}

bool is_scalar(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (is_placeholder(object)) return true;
  return object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented || type == &PyBool_Type ||
         type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type || type == &PyBytes_Type ||
         type == &PyComplex_Type;
}

bool same_bits(double a, double b) noexcept { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

// Only for types whose comparison is C code of CPython's or torch's own.
bool natively_equal(PyObject* a, PyObject* b) noexcept {
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) clear_error();
  return equal > 0;
}

bool tuples_equal(PyObject* a, PyObject* b) noexcept {
  Py_ssize_t size = PyTuple_GET_SIZE(a);
  if (size != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!items_equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  return true;
}

// Elements in order of iteration: a program may iterate, and equal sets may be ordered differently.
bool sets_equal(PyObject* a, PyObject* b) noexcept {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
  Py_ssize_t at = 0, other_at = 0;
  PyObject *item, *other;
  Py_hash_t hash, other_hash;
  while (next_in_set(a, at, item, hash)) {
    if (!next_in_set(b, other_at, other, other_hash)) return false;
    if (hash != other_hash || !items_equal(item, other)) return false;
  }
  return true;
}

// A range's or slice's parts, which CPython keeps as members that are only reachable by name.
bool parts_equal(PyObject* a, PyObject* b) noexcept {
  for (const char* name : {"start", "stop", "step"}) {
    Ref left = Ref::steal(PyObject_GetAttrString(a, name));
    Ref right = Ref::steal(PyObject_GetAttrString(b, name));
    if (!left || !right) {
      clear_error();
      return false;
    }
    if (!constants_equal(left.get(), right.get())) return false;
  }
  return true;
}

// The parts of a date, time or time zone. Equal ones may be in different time zones.
Ref parts_of_date(PyObject* date) noexcept {
  const bool is_zone = std::strcmp(Py_TYPE(date)->tp_name, "datetime.timezone") == 0;
  if (is_zone) return Ref::steal(PyObject_CallMethod(date, "__getinitargs__", nullptr));
  const Ref reduced = Ref::steal(PyObject_CallMethod(date, "__reduce_ex__", "i", 4));
  return reduced && PyTuple_Check(reduced.get()) && PyTuple_GET_SIZE(reduced.get()) > 1
             ? Ref::borrow(PyTuple_GET_ITEM(reduced.get(), 1))
             : Ref();
}

bool dates_equal(PyObject* a, PyObject* b) noexcept {
  const Ref left = parts_of_date(a), right = left ? parts_of_date(b) : Ref();
  if (!right) clear_error();
  return right && constants_equal(left.get(), right.get());
}

bool is_plain_leaf(PyObject* object) noexcept {
  if (is_scalar(object)) return true;
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PySlice_Type) {
    auto* slice = as_slice(object);
    return is_plain_constant(slice->start) && is_plain_constant(slice->stop) && is_plain_constant(slice->step);
  }
  return type == &PyRange_Type || is_torch_constant_type(type) || is_torch_size_type(type) || is_date_type(type);
}

bool is_enum_member(PyObject* object) noexcept {
  for (PyTypeObject* meta = Py_TYPE(Py_TYPE(object)); meta; meta = meta->tp_base)
    if (std::strcmp(meta->tp_name, "EnumType") == 0) return true;
  return false;
}

// True for an object that a program defines once and refers to by name.
bool is_named(PyObject* object) noexcept {
  return PyType_Check(object) || PyFunction_Check(object) || PyCFunction_Check(object) || PyCode_Check(object) ||
         is_enum_member(object);
}

// True if all leaves of nested tuples and frozensets are such.
bool consists_of(PyObject* object, bool (*is_leaf)(PyObject*) noexcept) noexcept {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (!consists_of(PyTuple_GET_ITEM(object, i), is_leaf)) return false;
    return true;
  }
  if (PyFrozenSet_CheckExact(object)) {
    Py_ssize_t at = 0;
    PyObject* item;
    Py_hash_t hash;
    while (next_in_set(object, at, item, hash))
      if (!consists_of(item, is_leaf)) return false;
    return true;
  }
  return is_leaf(object);
}

std::string repr_text(PyObject* object) {
  Ref repr = Ref::steal(PyObject_Repr(object));
  if (!repr) {
    clear_error();
    return "?";
  }
  constexpr size_t kLongest = 400;
  std::string text = string_text(repr.get());
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace

bool is_plain_constant(PyObject* object) noexcept { return consists_of(object, is_plain_leaf); }

bool is_constant_container(PyObject* object) noexcept {
  if (!PyTuple_CheckExact(object) && !PyFrozenSet_CheckExact(object)) return false;
  return consists_of(object, [](PyObject* leaf) noexcept { return is_plain_leaf(leaf) || is_named(leaf); });
}

bool is_nan(PyObject* object) noexcept {
  if (PyFloat_Check(object)) return std::isnan(PyFloat_AS_DOUBLE(object));
  if (!PyComplex_Check(object)) return false;
  const Py_complex& value = reinterpret_cast<PyComplexObject*>(object)->cval;
  return std::isnan(value.real) || std::isnan(value.imag);
}

bool constants_equal(PyObject* a, PyObject* b) noexcept {
  if (a == b) return true;
  PyTypeObject* type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type) return natively_equal(a, b);
  if (type == &PyFloat_Type) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (type == &PyComplex_Type) {
    Py_complex left = PyComplex_AsCComplex(a), right = PyComplex_AsCComplex(b);
    return same_bits(left.real, right.real) && same_bits(left.imag, right.imag);
  }
  if (type == &PyTuple_Type || is_torch_size_type(type)) return tuples_equal(a, b);
  if (type == &PyFrozenSet_Type) return sets_equal(a, b);
  if (type == &PyRange_Type || type == &PySlice_Type) return parts_equal(a, b);
  if (is_date_type(type)) return dates_equal(a, b);
  return is_torch_constant_type(type) && natively_equal(a, b);
}

bool items_equal(PyObject* a, PyObject* b) noexcept { return a == b || (!is_nan(a) && constants_equal(a, b)); }

bool is_exported(PyObject* byte_array) noexcept {
  return reinterpret_cast<PyByteArrayObject*>(byte_array)->ob_exports > 0;
}

Ref plain_value(PyObject* object) {
  Ref value;
  if (PyLong_Check(object))
    value = copy_of_int(object);
  else if (PyUnicode_Check(object))
    value = Ref::made(PyUnicode_FromObject(object));
  else if (PyFloat_Check(object))
    value = Ref::made(PyFloat_FromDouble(PyFloat_AS_DOUBLE(object)));
  else if (PyBytes_Check(object))
    value = Ref::made(PyBytes_FromStringAndSize(PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object)));
  else if (PyByteArray_Check(object))
    value = Ref::made(PyBytes_FromStringAndSize(PyByteArray_AS_STRING(object), PyByteArray_GET_SIZE(object)));
  else if (PyComplex_Check(object))
    value = Ref::steal(PyComplex_FromCComplex(reinterpret_cast<PyComplexObject*>(object)->cval));
  else if (is_numpy_scalar(object))
    value = numpy_bits(object);
  if (!value) clear_error();
  return value;
}

bool has_plain_value(PyObject* object, PyObject* value) noexcept {
  PyTypeObject* type = Py_TYPE(value);
  if (type == &PyBytes_Type && is_numpy_scalar(object)) {
    const Ref bits = numpy_bits(object);
    return bits && PyBytes_GET_SIZE(bits.get()) == PyBytes_GET_SIZE(value) &&
           !std::memcmp(PyBytes_AS_STRING(bits.get()), PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value));
  }
  if (type == &PyBytes_Type && PyByteArray_Check(object))
    return !is_exported(object) && PyByteArray_GET_SIZE(object) == PyBytes_GET_SIZE(value) &&
           !std::memcmp(PyByteArray_AS_STRING(object), PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value));
  if (!PyType_IsSubtype(Py_TYPE(object), type)) return false;
  if (type == &PyFloat_Type) return same_bits(PyFloat_AS_DOUBLE(object), PyFloat_AS_DOUBLE(value));
  if (type == &PyComplex_Type) {
    const Py_complex left = reinterpret_cast<PyComplexObject*>(object)->cval,
                     right = reinterpret_cast<PyComplexObject*>(value)->cval;
    return same_bits(left.real, right.real) && same_bits(left.imag, right.imag);
  }
  const Ref equal =
      Ref::steal(type->tp_richcompare(value, object, Py_EQ));  // the builtin's own, whatever the subclass has
  if (!equal) clear_error();
  return equal.is(Py_True);
}

std::string string_text(PyObject* string) {
  Py_ssize_t length = 0;
  // Lone surrogates cannot be encoded plainly.
  Ref bytes = Ref::steal(PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace"));
  char* data = nullptr;
  if (!bytes || PyBytes_AsStringAndSize(bytes.get(), &data, &length) < 0) {
    clear_error();
    return "?";
  }
  return std::string(data, static_cast<size_t>(length));
}

std::string object_text(PyObject* object) {
  if (is_plain_constant(object)) return repr_text(object);
  if (PyTuple_CheckExact(object)) {
    std::string text = "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) text += object_text(PyTuple_GET_ITEM(object, i)) + ", ";
    return text + ")";
  }
  if (PyType_Check(object)) {
    auto* type = as_type(object);
    if (!is_static_class(type)) return string_text(reinterpret_cast<PyHeapTypeObject*>(object)->ht_qualname);
    return type->tp_name;
  }
  if (PyFunction_Check(object)) return string_text(as_function(object)->func_qualname);
  if (PyCFunction_Check(object)) return as_builtin(object)->m_ml->ml_name;
  if (PyModule_Check(object)) {
    Ref name = Ref::steal(PyModule_GetNameObject(object));
    if (name) return string_text(name.get());
    clear_error();
  }
  if (PyCode_Check(object)) return "<code " + string_text(as_code(object)->co_qualname) + ">";
  return "<" + object_text(as_object(Py_TYPE(object))) + " object>";
}

}  // namespace minidynamo
