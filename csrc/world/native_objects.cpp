#include "world/native_objects.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "python/named_item.h"
#include "python/out_of_memory.h"
#include "python/type_version.h"
#include "python/unstable.h"
#include "world/known_types.h"

namespace minidynamo {
namespace {

enum class Kind : uint8_t { Value, Lock, RecursiveLock, Random, Stream, Array, NumpyArray };

struct NativeType {
  PyTypeObject* type;
  Kind kind;
};

Ref type_of_lock() {
  Ref make = import_object("_thread.allocate_lock");
  Ref lock = make ? Ref::steal(PyObject_CallNoArgs(make.get())) : Ref();
  return lock ? Ref::borrow(reinterpret_cast<PyObject*>(lock.type())) : Ref();
}

const std::vector<NativeType>& native_types() {
  static constinit Cached<std::vector<NativeType>> types;
  return *types.get([] {
    auto found = std::make_unique<std::vector<NativeType>>();
    auto add = [&](Ref type, Kind kind) {
      if (type) found->push_back({reinterpret_cast<PyTypeObject*>(type.release()), kind});
      clear_error();
    };
    for (const char* path : {"datetime.date", "datetime.time", "datetime.datetime", "datetime.timedelta"})
      add(import_object(path), Kind::Value);
    add(import_object("datetime.timezone"), Kind::Value);
    add(type_of_lock(), Kind::Lock);
    add(import_object("_thread.RLock"), Kind::RecursiveLock);
    add(import_object("_random.Random"), Kind::Random);
    add(import_object("_io.StringIO"), Kind::Stream);
    add(import_object("_io.BytesIO"), Kind::Stream);
    add(import_object("array.array"), Kind::Array);
    add(import_loaded("numpy.ndarray"), Kind::NumpyArray);
    return found;
  });
}

const NativeType* find(PyTypeObject* type) noexcept {
  for (const NativeType& row : native_types())  // load_types() has made them
    if (row.type == type) return &row;
  return nullptr;
}

PyTypeObject* random_class() {
  static constinit ImportedType type{"random.Random"};
  return type;
}

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }
Ref call_method(PyObject* object, const char* name) { return Ref::steal(PyObject_CallMethod(object, name, nullptr)); }

long recursion_of(PyObject* lock) {  // as it shows itself: <unlocked _thread.RLock object owner=0 count=0 at ...>
  Ref shown = Ref::steal(PyObject_Repr(lock));
  const std::string_view text = shown ? PyUnicode_AsUTF8(shown.get()) : "";
  const size_t at = text.find("count=");
  return at == std::string_view::npos ? -1 : std::strtol(text.data() + at + 6, nullptr, 10);
}

// Of one that shares its memory with no other.
Ref array_state(PyObject* array) {
  Ref base = attribute(array, "base"), dtype = attribute(array, "dtype");
  Ref holds_objects = dtype ? attribute(dtype.get(), "hasobject") : Ref();
  if (!base || !base.is(Py_None) || !holds_objects || !holds_objects.is(Py_False)) return nullptr;
  return call_method(array, "copy");
}

// native_object(class, state)
PyObject* native_object(PyObject*, PyObject* arguments) {
  PyObject *made_class, *state;
  if (!PyArg_ParseTuple(arguments, "O!O", &PyType_Type, &made_class, &state)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(made_class);
  const NativeType* row = find(native_base(type));
  if (!row) return PyErr_Format(PyExc_TypeError, "native_object() of a %s", type->tp_name);
  Ref nothing = Ref::made(PyTuple_New(0)), made;
  auto then = [&](Ref done) { return done ? made.release() : nullptr; };
  switch (row->kind) {
    case Kind::Lock: {
      static constinit Imported make{"_thread.allocate_lock"};
      made = Ref::steal(PyObject_CallNoArgs(make));
      return !made || state != Py_True ? made.release() : then(call_method(made.get(), "acquire"));
    }
    case Kind::RecursiveLock:
      made = Ref::steal(PyObject_CallNoArgs(made_class));
      for (long left = PyLong_AsLong(state); made && left > 0; --left)
        if (!call_method(made.get(), "acquire")) return nullptr;
      return made.release();
    case Kind::Random: {
      PyObject *inner, *attributes;
      if (!PyArg_ParseTuple(state, "OO", &inner, &attributes)) return nullptr;
      made = Ref::steal(row->type->tp_new(type, nothing.get(), nullptr));
      Ref method = attribute(reinterpret_cast<PyObject*>(row->type), "setstate");
      Ref done =
          made && method ? Ref::steal(PyObject_CallFunctionObjArgs(method.get(), made.get(), inner, nullptr)) : Ref();
      Ref own = done && type != row->type ? Ref::steal(PyObject_GenericGetDict(made.get(), nullptr)) : Ref();
      if (own && PyDict_Update(own.get(), attributes) < 0) return nullptr;
      return then(std::move(done));
    }
    case Kind::Stream:
      made = Ref::steal(PyObject_CallNoArgs(made_class));
      return made ? then(Ref::steal(PyObject_CallMethod(made.get(), "__setstate__", "(O)", state))) : nullptr;
    case Kind::Array:
      return PyObject_CallObject(made_class, state);
    case Kind::NumpyArray:
      return PyObject_CallMethod(state, "copy", nullptr);
    case Kind::Value: {  // its own arguments, as pickled
      Ref reduced = Ref::steal(PyObject_CallMethod(state, "__reduce_ex__", "i", 4));
      const bool has_arguments = reduced && PyTuple_Check(reduced.get()) && PyTuple_GET_SIZE(reduced.get()) == 2;
      return has_arguments ? PyObject_CallObject(made_class, PyTuple_GET_ITEM(reduced.get(), 1)) : nullptr;
    }
  }
  return PyErr_Format(PyExc_TypeError, "native_object() of a %s", type->tp_name);
}

}  // namespace

void each_native_object_type(void (*add)(PyTypeObject* type, void* to), void* to) {
  for (const NativeType& row : native_types()) add(row.type, to);
}

namespace {

// It has nothing to be made again of, and stays as it is.
bool is_time_zone(PyObject* object) noexcept {
  return std::string_view(Py_TYPE(object)->tp_name) == "datetime.timezone";
}

}  // namespace

bool is_native_value(PyObject* object) noexcept {
  const NativeType* row = find(Py_TYPE(object));
  if (!row || row->kind != Kind::Value) return false;
  Ref zone = attribute(object, "tzinfo");  // one of Python code would be asked in comparisons
  clear_error();
  const NativeType* zone_row = zone ? find(zone.type()) : nullptr;
  return !zone || zone.is(Py_None) || zone_row;
}

bool holds_native_value(PyObject* object) noexcept {
  if (!PyTuple_CheckExact(object)) return is_native_value(object) && !is_time_zone(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (holds_native_value(PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

bool is_own_native_type(PyTypeObject* type) noexcept {
  if (type == &PyBaseObject_Type) return false;
  const NativeType* row = find(native_base(type));
  return row && row->kind != Kind::Value;
}

bool is_known_subclass(PyTypeObject* type) noexcept { return type == random_class(); }

Ref native_object_state(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const NativeType* row = find(native_base(type));
  if (!row || (row->type != type && !is_known_subclass(type))) return nullptr;
  Ref state;
  switch (row->kind) {
    case Kind::Lock:
      state = Ref::boolean(is_locked(object));
      break;
    case Kind::RecursiveLock: {
      const long count = recursion_of(object);
      state = count < 0 ? Ref() : Ref::made(PyLong_FromLong(count));
      break;
    }
    case Kind::Random: {
      Ref method = attribute(reinterpret_cast<PyObject*>(row->type), "getstate");
      Ref inner = method ? Ref::steal(PyObject_CallOneArg(method.get(), object)) : Ref();
      Ref own = type == row->type ? Ref() : Ref::steal(PyObject_GenericGetDict(object, nullptr));
      Ref attributes = own ? Ref::made(PyDict_Copy(own.get())) : Ref::made(PyDict_New());
      Py_ssize_t position = 0;
      PyObject *name, *value;
      while (PyDict_Next(attributes.get(), &position, &name, &value))
        if (value != Py_None && !PyFloat_CheckExact(value)) return nullptr;  // gauss_next
      state = inner ? Ref::made(PyTuple_Pack(2, inner.get(), attributes.get())) : Ref();
      break;
    }
    case Kind::Stream: {
      state = call_method(object, "__getstate__");  // the last item is the dict of attributes
      const bool is_plain = state && PyTuple_Check(state.get()) && PyTuple_GET_SIZE(state.get()) > 0 &&
                            PyTuple_GET_ITEM(state.get(), PyTuple_GET_SIZE(state.get()) - 1) == Py_None;
      if (!is_plain) return nullptr;
      break;
    }
    case Kind::Array: {
      Ref code = attribute(object, "typecode"), bytes = call_method(object, "tobytes");
      state = code && bytes ? Ref::made(PyTuple_Pack(2, code.get(), bytes.get())) : Ref();
      break;
    }
    case Kind::NumpyArray:
      state = array_state(object);
      break;
    case Kind::Value:
      state = Ref::borrow(object);
      break;
  }
  return state ? Ref::made(PyTuple_Pack(2, type, state.get())) : Ref();
}

PyObject* native_object_callable() {
  static PyMethodDef definition = {"native_object", entry<native_object>, METH_VARARGS, nullptr};
  static constinit CachedObject object{[](const char*) { return Ref::made(PyCFunction_New(&definition, nullptr)); }};
  return object;
}

bool is_native_enum(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  const bool is_of_pybind = std::string_view(Py_TYPE(type)->tp_name) == "pybind11_builtins.pybind11_type" ||
                            std::string_view(Py_TYPE(type)->tp_name) == "pybind11_type";
  const bool is_enum = is_of_pybind && named_item(namespace_of(type), "__entries");
  clear_error();
  return is_enum;
}

bool is_numpy_array(PyObject* object) noexcept {
  const NativeType* row = find(Py_TYPE(object));
  return row && row->kind == Kind::NumpyArray;
}

bool is_locked(PyObject* lock) {
  Ref locked = call_method(lock, "locked");
  clear_error();
  return locked.is(Py_True);
}

}  // namespace minidynamo
