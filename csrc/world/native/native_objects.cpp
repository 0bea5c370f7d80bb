#include "world/native/native_objects.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "python/named_item.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/known_types.h"
#include "world/external/types.h"

namespace minidynamo {
namespace {

PyTypeObject* random_class() {
  static constinit ImportedType type{"random.Random"};
  return type;
}

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }
Ref call_method(PyObject* object, const char* name) { return Ref::steal(PyObject_CallMethod(object, name, nullptr)); }

bool is_torch_generator(PyTypeObject* type) {
  static constinit ImportedType generator{"torch.Generator"};
  return type == generator;
}

// (device, bytes): the bytes of the tensor that get_state() returns.
Ref torch_generator_state(PyObject* generator) {
  const TensorTraceSuspended suspended;
  const Ref device = attribute(generator, "device"), state = call_method(generator, "get_state");
  const Ref numbers = state ? call_method(state.get(), "tolist") : Ref();
  const Ref bytes = numbers ? Ref::steal(PyBytes_FromObject(numbers.get())) : Ref();
  return device && bytes ? Ref::made(PyTuple_Pack(2, device.get(), bytes.get())) : Ref();
}

Ref torch_generator_of(PyObject* made_class, PyObject* state) {
  const Ref numbers = Ref::steal(PySequence_List(PyTuple_GET_ITEM(state, 1)));
  const Ref positional = numbers ? Ref::made(PyTuple_Pack(1, numbers.get())) : Ref(),
            keywords = Ref::made(PyDict_New());
  if (!positional || PyDict_SetItem(keywords.get(), "dtype"_name, "torch.uint8"_imported) < 0) return nullptr;
  const Ref bytes = Ref::steal(PyObject_Call("torch.tensor"_imported, positional.get(), keywords.get()));
  Ref made = bytes ? Ref::steal(PyObject_CallOneArg(made_class, PyTuple_GET_ITEM(state, 0))) : Ref();
  const Ref done = made ? Ref::steal(PyObject_CallMethod(made.get(), "set_state", "O", bytes.get())) : Ref();
  return done ? made : Ref();
}

long recursion_of(PyObject* lock) {  // as it shows itself: <unlocked _thread.RLock object owner=0 count=0 at ...>
  Ref shown = Ref::steal(PyObject_Repr(lock));
  const std::string_view text = shown ? PyUnicode_AsUTF8(shown.get()) : "";
  const size_t at = text.find("count=");
  return at == std::string_view::npos ? -1 : std::strtol(text.data() + at + 6, nullptr, 10);
}

// The state of an array that shares its memory with no other.
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
  auto* type = as_type(made_class);
  PyTypeObject* const native = native_base(type);
  Ref nothing = Ref::made(PyTuple_New(0)), made;
  auto then = [&](Ref done) { return done ? made.release() : nullptr; };
  switch (row_of_base(type).leaves) {
    case ReconstructRule::Lock: {
      made = Ref::steal(PyObject_CallNoArgs("_thread.allocate_lock"_imported));
      return !made || state != Py_True ? made.release() : then(call_method(made.get(), "acquire"));
    }
    case ReconstructRule::RecursiveLock:
      made = Ref::steal(PyObject_CallNoArgs(made_class));
      for (long left = PyLong_AsLong(state); made && left > 0; --left)
        if (!call_method(made.get(), "acquire")) return nullptr;
      return made.release();
    case ReconstructRule::RandomNumbers: {
      if (is_torch_generator(type)) return torch_generator_of(made_class, state).release();
      PyObject *inner, *attributes;
      if (!PyArg_ParseTuple(state, "OO", &inner, &attributes)) return nullptr;
      made = Ref::steal(native->tp_new(type, nothing.get(), nullptr));
      Ref method = attribute(as_object(native), "setstate");
      Ref done =
          made && method ? Ref::steal(PyObject_CallFunctionObjArgs(method.get(), made.get(), inner, nullptr)) : Ref();
      Ref own = done && type != native ? Ref::steal(PyObject_GenericGetDict(made.get(), nullptr)) : Ref();
      if (own && PyDict_Update(own.get(), attributes) < 0) return nullptr;
      return then(std::move(done));
    }
    case ReconstructRule::Stream:
      made = Ref::steal(PyObject_CallNoArgs(made_class));
      return made ? then(Ref::steal(PyObject_CallMethod(made.get(), "__setstate__", "(O)", state))) : nullptr;
    case ReconstructRule::Array:
      return PyObject_CallObject(made_class, state);
    case ReconstructRule::NumpyArray:
      return PyObject_CallMethod(state, "copy", nullptr);
    case ReconstructRule::Date: {  // its own arguments, as pickled
      Ref reduced = Ref::steal(PyObject_CallMethod(state, "__reduce_ex__", "i", 4));
      const bool has_arguments = reduced && PyTuple_Check(reduced.get()) && PyTuple_GET_SIZE(reduced.get()) == 2;
      return has_arguments ? PyObject_CallObject(made_class, PyTuple_GET_ITEM(reduced.get(), 1)) : nullptr;
    }
    default:
      break;
  }
  return PyErr_Format(PyExc_TypeError, "native_object() of a %s", type->tp_name);
}

// It has nothing to be made again of, and stays as it is.
bool is_time_zone(PyObject* object) noexcept {
  return std::string_view(Py_TYPE(object)->tp_name) == "datetime.timezone";
}

}  // namespace

bool holds_native_value(PyObject* object) noexcept {
  if (!PyTuple_CheckExact(object)) return is_date(object) && !is_time_zone(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (holds_native_value(PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

bool is_own_native_type(PyTypeObject* type) noexcept { return row_of_base(type).base == Base::Native; }

bool is_known_subclass(PyTypeObject* type) noexcept { return type == random_class(); }

Ref native_object_state(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyTypeObject* const native = native_base(type);
  if (native != type && !is_known_subclass(type)) return nullptr;
  Ref state;
  switch (row_of_base(type).leaves) {
    case ReconstructRule::Lock:
      state = Ref::boolean(is_locked(object));
      break;
    case ReconstructRule::RecursiveLock: {
      const long count = recursion_of(object);
      state = count < 0 ? Ref() : Ref::made(PyLong_FromLong(count));
      break;
    }
    case ReconstructRule::RandomNumbers: {
      if (is_torch_generator(type)) {
        state = torch_generator_state(object);
        break;
      }
      Ref method = attribute(as_object(native), "getstate");
      Ref inner = method ? Ref::steal(PyObject_CallOneArg(method.get(), object)) : Ref();
      Ref own = type == native ? Ref() : Ref::steal(PyObject_GenericGetDict(object, nullptr));
      Ref attributes = own ? Ref::made(PyDict_Copy(own.get())) : Ref::made(PyDict_New());
      Py_ssize_t position = 0;
      PyObject *name, *value;
      while (PyDict_Next(attributes.get(), &position, &name, &value))
        if (value != Py_None && !PyFloat_CheckExact(value)) return nullptr;  // gauss_next
      state = inner ? Ref::made(PyTuple_Pack(2, inner.get(), attributes.get())) : Ref();
      break;
    }
    case ReconstructRule::Stream: {
      state = call_method(object, "__getstate__");  // the last item is the dict of attributes
      const bool is_plain = state && PyTuple_Check(state.get()) && PyTuple_GET_SIZE(state.get()) > 0 &&
                            PyTuple_GET_ITEM(state.get(), PyTuple_GET_SIZE(state.get()) - 1) == Py_None;
      if (!is_plain) return nullptr;
      break;
    }
    case ReconstructRule::Array: {
      Ref code = attribute(object, "typecode"), bytes = call_method(object, "tobytes");
      state = code && bytes ? Ref::made(PyTuple_Pack(2, code.get(), bytes.get())) : Ref();
      break;
    }
    case ReconstructRule::NumpyArray:
      state = array_state(object);
      break;
    case ReconstructRule::Date:
      state = Ref::borrow(object);
      break;
    default:
      break;
  }
  return state ? Ref::made(PyTuple_Pack(2, type, state.get())) : Ref();
}

PyObject* native_object_callable() { return native_function<METH_VARARGS, native_object>("native_object"); }

bool is_native_enum(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  const bool is_of_pybind = std::string_view(Py_TYPE(type)->tp_name) == "pybind11_builtins.pybind11_type" ||
                            std::string_view(Py_TYPE(type)->tp_name) == "pybind11_type";
  const bool is_enum = is_of_pybind && named_item(namespace_of(type), "__entries");
  clear_error();
  return is_enum;
}

bool is_numpy_array(PyObject* object) noexcept { return row_of(Py_TYPE(object)).leaves == ReconstructRule::NumpyArray; }

bool is_locked(PyObject* lock) {
  Ref locked = call_method(lock, "locked");
  clear_error();
  return locked.is(Py_True);
}

}  // namespace minidynamo
