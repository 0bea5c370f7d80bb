// Wraps what CPython keeps to itself or may change from version to version, under names of our own. Only code in
// python/ uses it in another way (scripts/check_unstable.py).
#pragma once
#include <string_view>
#include <utility>

#include "python/ref.h"

#if PY_VERSION_HEX >= 0x030D0000
// CPython 3.13 exports them, and declares them in headers that only CPython itself may include.
extern "C" {
PyAPI_FUNC(int) _PyDict_SetItem_KnownHash(PyObject*, PyObject*, PyObject*, Py_hash_t);
PyAPI_FUNC(int) _PyDict_MergeEx(PyObject*, PyObject*, int);
PyAPI_FUNC(int) _PySet_NextEntry(PyObject*, Py_ssize_t*, PyObject**, Py_hash_t*);
PyAPI_FUNC(int) _PySet_Update(PyObject*, PyObject*);
PyAPI_DATA(PyObject*) _PySet_Dummy;
PyAPI_FUNC(PyObject*) _PyList_Extend(PyListObject*, PyObject*);
PyAPI_FUNC(PyObject*) _PyUnicode_JoinArray(PyObject*, PyObject* const*, Py_ssize_t);
PyAPI_FUNC(int) _PyGen_SetStopIterationValue(PyObject*);
PyAPI_FUNC(int) _PyGen_FetchStopIterationValue(PyObject**);
PyAPI_FUNC(PyObject*) _PyErr_FormatFromCause(PyObject*, const char*, ...);
}
#endif

namespace minidynamo {

// --- reference counts: which of several owners an object has is for CPython to know, how many there are is not

inline Py_ssize_t reference_count(PyObject* object) noexcept { return Py_REFCNT(object); }
inline bool is_shared(PyObject* object) noexcept { return Py_REFCNT(object) > 1; }
// It has been let go of by its last owner, and its end has begun.
inline bool is_dying(PyObject* object) noexcept { return Py_REFCNT(object) <= 0; }

// --- classes

// The dict of a class's own names (borrowed).
inline PyObject* namespace_of(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  // The interpreter keeps the dict of a builtin class.
  if (!type->tp_dict) return Ref::steal(PyType_GetDict(type)).get();
#endif
  return type->tp_dict;
}
// Which of a metaclass and those of the bases makes a class; null with a TypeError if they are at odds.
PyTypeObject* winning_metaclass(PyTypeObject* metaclass, PyObject* bases) noexcept;
// True if instances of the class are iterators.
inline bool makes_iterators(PyTypeObject* type) noexcept {
  PyObject header{};  // all that PyIter_Check looks at
  Py_SET_TYPE(&header, type);
  return PyIter_Check(&header);
}

// --- containers

// As PyDict_Next, with the hash by which the dict knows a key.
bool next_with_hash(PyObject* dict, Py_ssize_t& position, PyObject*& key, PyObject*& value, Py_hash_t& hash) noexcept;
inline int set_item_with_hash(PyObject* dict, PyObject* key, PyObject* value, Py_hash_t hash) noexcept {
  return _PyDict_SetItem_KnownHash(dict, key, value, hash);
}
// As a call f(**dict, **update) does: a key that is there already is a KeyError.
inline int merge_keywords_into(PyObject* dict, PyObject* update) noexcept { return _PyDict_MergeEx(dict, update, 2); }
inline bool next_in_set(PyObject* set, Py_ssize_t& position, PyObject*& item, Py_hash_t& hash) noexcept {
  return _PySet_NextEntry(set, &position, &item, &hash) != 0;
}
inline int update_set(PyObject* set, PyObject* iterable) noexcept { return _PySet_Update(set, iterable); }
inline Ref extend_native_list(PyObject* list, PyObject* iterable) noexcept {
  return Ref::steal(_PyList_Extend(reinterpret_cast<PyListObject*>(list), iterable));
}
inline PyObject** items_of_tuple(PyObject* tuple) noexcept { return reinterpret_cast<PyTupleObject*>(tuple)->ob_item; }

// The error for too many values to unpack says how many there are, of a list, tuple or dict.
constexpr bool kUnpackingTellsSize = PY_VERSION_HEX >= 0x030E0000;

// --- values

inline bool is_negative(PyObject* number) noexcept {
#if PY_VERSION_HEX < 0x030E0000
  return _PyLong_Sign(number) < 0;
#else
  return PyLong_IsNegative(number) == 1;
#endif
}
inline Ref copy_of_int(PyObject* number) noexcept {
  return Ref::steal(_PyLong_Copy(reinterpret_cast<PyLongObject*>(number)));
}
inline Ref join_strings(PyObject* separator, PyObject* const* parts, Py_ssize_t count) noexcept {
  return Ref::steal(_PyUnicode_JoinArray(separator, parts, count));
}

// A module that is called is told from a function in it of the same name.
constexpr bool kCallOfModuleSuggests = PY_VERSION_HEX >= 0x030C0000;
// sum() keeps the errors of adding floats, or complex numbers, apart until the end.
constexpr bool kSumKeepsErrors = PY_VERSION_HEX >= 0x030C0000;
constexpr bool kSumKeepsErrorsOfComplex = PY_VERSION_HEX >= 0x030E0000;
// The group that except* puts a single exception into has the frame in its traceback.
inline bool wrapped_exceptions_have_tracebacks() noexcept {
  return Py_Version >= 0x030E0000 || (Py_Version >= 0x030D0200 && PY_MINOR_VERSION == 13) ||
         (Py_Version >= 0x030C0900 && PY_MINOR_VERSION == 12);
}

// The object that LOAD_COMMON_CONSTANT loads, from 3.14 on: AssertionError, NotImplementedError, tuple, all, any.
Ref common_constant(int32_t number) noexcept;

// functools.Placeholder, in the arguments of a partial from 3.14 on: those of a call take its place.
inline bool is_placeholder([[maybe_unused]] PyObject* object) noexcept {
#if PY_VERSION_HEX >= 0x030E0000
  const PyTypeObject* type = Py_TYPE(object);
  return type->tp_basicsize == sizeof(PyObject) && !(type->tp_flags & Py_TPFLAGS_BASETYPE) &&
         std::string_view(type->tp_name) == "functools._PlaceholderType";
#else
  return false;
#endif
}

// --- descriptors

// A classmethod around another descriptor returns the result of that one's __get__; later releases bind it as it is.
constexpr bool kClassMethodAsksDescriptors = PY_VERSION_HEX < 0x030D0000;

// --- generators

// close() returns what a generator returns when it is closed.
constexpr bool kCloseGivesResult = PY_VERSION_HEX >= 0x030D0000;
// throw() of a type, a value and a traceback warns that it is deprecated.
constexpr bool kThrowOfPartsWarns = PY_VERSION_HEX >= 0x030C0000;

// --- functions

// The type parameters of a generic function; null: it has none.
inline PyObject* type_parameters_of([[maybe_unused]] PyFunctionObject* function) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return function->func_typeparams;
#else
  return nullptr;
#endif
}

// The names that code finds when its module has none; a new function has those of its module at that time.
inline void set_builtins(PyFunctionObject* function, PyObject* names) noexcept {
  const Ref before = Ref::steal(std::exchange(function->func_builtins, Ref::borrow(names).release()));
}

// The annotations of functions, classes and modules are made when they are asked for (PEP 649).
constexpr bool kAnnotationsAreLazy = PY_VERSION_HEX >= 0x030E0000;

// A function's `__annotate__`, which computes its annotations from 3.14 on (PEP 649). Null: it has none.
inline PyObject* annotate_of([[maybe_unused]] PyFunctionObject* function) noexcept {
#if PY_VERSION_HEX >= 0x030E0000
  return function->func_annotate;
#else
  return nullptr;
#endif
}
inline void set_annotate([[maybe_unused]] PyFunctionObject* function, [[maybe_unused]] Ref annotate) noexcept {
#if PY_VERSION_HEX >= 0x030E0000
  const Ref before = Ref::steal(std::exchange(function->func_annotate, annotate.release()));
#endif
}

// From 3.13 on (PEP 667) each call of locals() in a function returns a new dict, and f_locals of the frame is a mapping
// that writes to the variables. Before, both are one dict for as long as the frame runs.
constexpr bool kLocalsAreSnapshots = PY_VERSION_HEX >= 0x030D0000;

// eval() and exec() take their namespaces as keywords too.
constexpr bool kNamespacesAreKeywords = PY_VERSION_HEX >= 0x030D0000;

// --- errors

// StopIteration(value), also where the value is a tuple or an exception; and what one that is set holds (a new
// reference; false if another error is set).
inline void set_stop_iteration(PyObject* value) noexcept { _PyGen_SetStopIterationValue(value); }
inline bool take_stop_iteration(PyObject*& value) noexcept { return _PyGen_FetchStopIterationValue(&value) == 0; }
// A new error whose cause and context are the one that is set.
inline void raise_from_current(PyObject* type, const char* message) noexcept { _PyErr_FormatFromCause(type, message); }

}  // namespace minidynamo
