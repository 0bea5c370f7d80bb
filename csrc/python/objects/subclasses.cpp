// A dict from addresses to weak references, in the order in which the classes were made, or null.
#define Py_BUILD_CORE 1
#include "python/objects/subclasses.h"

#undef HAVE_STD_ATOMIC
#include <internal/pycore_interp.h>

#include "python/error_set_aside.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

// The field in which a class, or the interpreter for it, keeps its subclasses.
PyObject*& subclasses_of(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  return type->tp_subclasses;
#else
  // A builtin class has a number in its place, from one on, of what the interpreter keeps for it.
  if (type->tp_flags & _Py_TPFLAGS_STATIC_BUILTIN) {
    const auto number = reinterpret_cast<uintptr_t>(type->tp_subclasses);
    auto& types = PyInterpreterState_Get()->types;
#if PY_VERSION_HEX < 0x030D0000
    return types.builtins[number - 1].tp_subclasses;
#else
    constexpr uintptr_t kBuiltins = _Py_MAX_MANAGED_STATIC_BUILTIN_TYPES;  // then those of extension modules
    return number <= kBuiltins ? types.builtins.initialized[number - 1].tp_subclasses
                               : types.for_extensions.initialized[number - 1 - kBuiltins].tp_subclasses;
#endif
  }
  return reinterpret_cast<PyObject*&>(type->tp_subclasses);
#endif
}

}  // namespace

Ref newest_subclass(PyTypeObject* base) {
  PyObject* known = subclasses_of(base);
  if (!known || PyDict_GET_SIZE(known) == 0) return nullptr;
  Ref backwards = Ref::steal(PyObject_CallMethod(known, "__reversed__", nullptr));
  Ref key = backwards ? Ref::steal(PyIter_Next(backwards.get())) : Ref();
  PyObject* reference = key ? PyDict_GetItemWithError(known, key.get()) : nullptr;
  clear_error();
  PyObject* type = reference && PyWeakref_CheckRef(reference) ? PyWeakref_GET_OBJECT(reference) : Py_None;
  return type == Py_None ? Ref() : Ref::borrow(type);
}

namespace {

// The key of a class that must be forgotten whether there is memory for another key or not.
Ref key_of(PyTypeObject* type, PyObject* subclasses) noexcept {
  if (Ref key = Ref::steal(PyLong_FromVoidPtr(type))) return key;
  clear_error();
  PyObject *key, *reference;
  for (Py_ssize_t at = 0; PyDict_Next(subclasses, &at, &key, &reference);)
    if (PyWeakref_CheckRef(reference) && PyWeakref_GET_OBJECT(reference) == as_object(type)) return Ref::borrow(key);
  return nullptr;
}

}  // namespace

void forget_subclass(PyTypeObject* type) noexcept {
  const ErrorSetAside error;
  for (Py_ssize_t i = 0; type->tp_bases && i < PyTuple_GET_SIZE(type->tp_bases); ++i) {
    auto* base = as_type(PyTuple_GET_ITEM(type->tp_bases, i));
    // An error that is raised here may run the collector, and with it whatever ends the last class of this base.
    PyObject*& place = subclasses_of(base);
    const Ref known = Ref::borrow(place);
    const Ref key = known ? key_of(type, known.get()) : Ref();
    if (key && PyDict_Contains(known.get(), key.get()) == 1 && PyDict_DelItem(known.get(), key.get()) < 0)
      clear_error();
    if (known && known.is(place) && PyDict_GET_SIZE(known.get()) == 0) Ref::drop(std::exchange(place, nullptr));
  }
}

}  // namespace minidynamo
