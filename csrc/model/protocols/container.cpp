// Operations on containers: items, membership, length.
#include "model/native/special_method.h"
#include "model/protocols/abstract.h"
#include "model/protocols/descriptor.h"
#include "model/proxies/numpy_call.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/tensor_items.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "world/external/class_lookup.h"
#include "world/external/container_reads.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/native/native_objects.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/proxy.h"
#include "world/state/identity.h"

namespace minidynamo {
namespace {

// The result of a class's __class_getitem__ for a key, if that is Python code; null Ref without error otherwise.
Ref python_class_getitem(Tracer& tracer, PyObject* container, PyObject* key) {
  if (!PyType_Check(container)) return nullptr;
  Ref found = lookup_in_class(tracer, as_type(container), "__class_getitem__"_name);
  if (!found) return nullptr;
  const bool is_python = Py_IS_TYPE(found.get(), &PyClassMethod_Type) || function_of_generic(tracer, found.get());
  Ref method = is_python ? load_attribute(tracer, container, "__class_getitem__"_name) : Ref();
  return method ? call(tracer, method.get(), {Ref::borrow(key)}) : Ref();
}

}  // namespace

Ref checked_length(Ref given) {
  if (given) given = Ref::steal(PyNumber_Index(given.get()));
  if (!given) return nullptr;
  if (is_negative(given.get())) {
    PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
    return nullptr;
  }
  const Py_ssize_t size = PyNumber_AsSsize_t(given.get(), PyExc_OverflowError);
  return size < 0 ? Ref() : Ref::made(PyLong_FromSsize_t(size));
}

int contains(Tracer& tracer, PyObject* container, PyObject* item) {
  switch (proxy_kind(container)) {
    case ProxyKind::Tensor:
      return tensor_contains(tracer, container, item);
    case ProxyKind::Array:
    case ProxyKind::Bool:
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Float:
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
    case ProxyKind::None:
      break;
  }
  if (is_namespace(tracer, container) && PyUnicode_CheckExact(item)) {
    const bool found = static_cast<bool>(load_from_namespace(tracer, container, item));
    return PyErr_Occurred() ? -1 : found;
  }
  guard_as_key(tracer, container, item);
  if (ShadowContainer* shadow = tracer.world.shadow(container);
      shadow && !shadow->filled && PyDict_CheckExact(shadow->object.get()) && is_plain_key(item)) {
    bool found = false;
    Ref value = item_of_shadow(tracer, *shadow, item, found);
    return PyErr_Occurred() ? -1 : found;
  }
  if (Ref method = python_method(tracer, container, "__contains__")) {
    Ref result = call(tracer, method.get(), {Ref::borrow(container), Ref::borrow(item)});
    return result ? truth(tracer, result.get()) : -1;
  }
  if (tracer.is_over() || !prepare_for_native(tracer, container, SetOrder::Ignored) ||
      !prepare_for_native(tracer, item, SetOrder::Ignored))
    return -1;
  if (PyTuple_Check(container) || PyList_Check(container)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(container); ++i) {
      PyObject* element = PySequence_Fast_GET_ITEM(container, i);
      if (holds_objects(element) || holds_objects(item)) {
        require_distinct(tracer, element);
        require_distinct(tracer, item);
      }
      guard_different(tracer, element, item);
      if (element == item) break;
      if (!check_comparable(tracer, element)) return -1;
    }
  } else if (holds_objects(container) && !PyDict_Check(container) && !PyAnySet_Check(container)) {
    require_distinct(tracer, container);
    require_distinct(tracer, item);
  }
  guard_special_methods(tracer, container);
  if (tracer.is_over()) return -1;
  const int found = PySequence_Contains(container, item);
  return tracer.is_over() ? -1 : found;
}

Ref subscript(Tracer& tracer, PyObject* container, PyObject* given) {
  switch (proxy_kind(container)) {
    case ProxyKind::Tensor:
      return tensor_subscript(tracer, container, given);
    case ProxyKind::Array: {
      const Ref key = specialized(tracer, given);
      return key ? array_subscript(tracer, container, key.get()) : Ref();
    }
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
      if (is_size_or_float(tracer, container)) {
        const Ref number = specialized(tracer, container);
        return number ? Ref::steal(PyObject_GetItem(number.get(), given)) : Ref();
      }
      break;
    case ProxyKind::Bool:
    case ProxyKind::Float:
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
    case ProxyKind::None:
      break;
  }
  const Ref held = specialized(tracer, given);
  if (!held) return nullptr;
  PyObject* key = held.get();
  if (is_namespace(tracer, container) && PyUnicode_CheckExact(key)) {
    Ref found = load_from_namespace(tracer, container, key);
    if (!found && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, key);
    return found;
  }
  if (is_numpy_array(container) && holds_fake_array(key)) return array_subscript(tracer, container, key);
  guard_as_key(tracer, container, key);
  if (ShadowContainer* shadow = tracer.world.shadow(container); shadow && !shadow->filled) {
    if (PyDict_CheckExact(shadow->object.get()) && is_plain_key(key)) {
      bool found = false;
      Ref value = item_of_shadow(tracer, *shadow, key, found);
      if (!found && !PyErr_Occurred()) {
        Ref wrapped = Ref::made(PyTuple_Pack(1, key));
        PyErr_SetObject(PyExc_KeyError, wrapped.get());
      }
      return value;
    }
    if (PyList_CheckExact(container) && PyLong_CheckExact(key)) {
      Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
      if (index == -1 && PyErr_Occurred()) return nullptr;
      const Py_ssize_t length = length_of_shadow(tracer, *shadow);
      if (index < 0) index += length;
      if (index >= 0 && index < length) return element_of_shadow(tracer, *shadow, index);
      PyErr_SetString(PyExc_IndexError, "list index out of range");
      return nullptr;
    }
  }
  if (Ref method = python_method(tracer, container, "__getitem__"))
    return call(tracer, method.get(), {Ref::borrow(container), Ref::borrow(key)});
  if (tracer.is_over()) return nullptr;
  if (Ref made = python_class_getitem(tracer, container, key)) return made;
  if (tracer.is_over() || PyErr_Occurred()) return nullptr;
  if (!prepare_for_native(tracer, container) || !prepare_for_native(tracer, key, SetOrder::Ignored)) return nullptr;
  return adopt_result(tracer, Ref::steal(PyObject_GetItem(container, key)));
}

namespace {

// A value set at this key is kept as it is: of a slice, or in an array of numbers, it is read.
bool only_keeps(PyObject* container, PyObject* key) noexcept {
  if (PyDict_Check(container)) return true;
  return !PySlice_Check(key) && (PyList_Check(container) || Py_IS_TYPE(container, known_types()->deque));
}

}  // namespace

bool store_subscript(Tracer& tracer, PyObject* container, PyObject* given, PyObject* value) {
  const ProxyKind kind = proxy_kind(container);
  if (kind == ProxyKind::Tensor) return store_tensor_subscript(tracer, container, given, value);
  const Ref held = specialized(tracer, given);
  if (!held) return false;
  PyObject* key = held.get();
  if (value && !materialize_if_shadow(tracer, value)) return false;
  if (kind == ProxyKind::Array || (is_numpy_array(container) && value && holds_fake_array(value)))
    return store_array_subscript(tracer, container, key, value);
  if (!prepare_for_native(tracer, key, SetOrder::Ignored)) return false;
  guard_as_key(tracer, container, key);
  if (Ref method = python_method(tracer, container, value ? "__setitem__" : "__delitem__")) {
    Ref done = value ? call(tracer, method.get(), {Ref::borrow(container), Ref::borrow(key), Ref::borrow(value)})
                     : call(tracer, method.get(), {Ref::borrow(container), Ref::borrow(key)});
    return static_cast<bool>(done);
  }
  if (tracer.is_over() || !prepare_for_native(tracer, container)) return false;
  if (value && !only_keeps(container, key) && !prepare_for_native(tracer, value)) return false;
  if (tracer.world.source_of(container) && !tracer.world.shadow(container))
    return tracer.abort(BreakReason::OutsideWrite, std::string("an item of a ") + Py_TYPE(container)->tp_name +
                                                       " from before the call is set") != nullptr;
  const int status = value ? PyObject_SetItem(container, key, value) : PyObject_DelItem(container, key);
  return status == 0 && !tracer.is_over();
}

Ref length(Tracer& tracer, PyObject* object) {
  switch (proxy_kind(object)) {
    case ProxyKind::Tensor:
      return tensor_length(tracer, object);
    case ProxyKind::Array:
      object = twin_of_array(object);
      break;
    case ProxyKind::Bool:
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Float:
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
    case ProxyKind::None:
      break;
  }
  ShadowContainer* shadow = tracer.world.shadow(object);
  if (shadow && tells_length(tracer, *shadow)) return Ref::made(PyLong_FromSsize_t(length_of_shadow(tracer, *shadow)));
  if (Ref method = python_method(tracer, object, "__len__"))
    return checked_length(call(tracer, method.get(), {Ref::borrow(object)}));
  if (tracer.is_over() || !prepare_for_native(tracer, object, SetOrder::Ignored)) return nullptr;
  const Py_ssize_t size = PyObject_Size(object);
  return size < 0 || tracer.is_over() ? Ref() : Ref::made(PyLong_FromSsize_t(size));
}

}  // namespace minidynamo
