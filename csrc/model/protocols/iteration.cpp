#include "model/native/special_method.h"
#include "model/objects/generator.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/tensors/tensor_items.h"
#include "python/version/type_version.h"
#include "world/external/external_iterator.h"
#include "world/native/native_code.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/proxy.h"

namespace minidynamo {
Ref iterator_of(Tracer& tracer, PyObject* iterable) {
  switch (proxy_kind(iterable)) {
    case ProxyKind::Tensor:
      return iterator_of_tensor(tracer, iterable);
    case ProxyKind::Array:
      if (const Ref iterator = Ref::steal(PyObject_GetIter(twin_of_array(iterable))); !iterator) return nullptr;
      return Ref::steal(PySeqIter_New(iterable));
    case ProxyKind::Bool:
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Float:
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
    case ProxyKind::None:
      break;
  }
  const bool is_own_iterator = Py_TYPE(iterable)->tp_iter == PyObject_SelfIter;
  if (is_traced_generator(iterable) || is_outside_iterator(iterable) ||
      (is_own_iterator && tracer.world.is_opaque(iterable)))
    return Ref::borrow(iterable);
  if (Ref method = python_method(tracer, iterable, "__iter__")) {
    Ref iterator = call(tracer, method.get(), {Ref::borrow(iterable)});
    if (!iterator || PyIter_Check(iterator.get())) return iterator;
    PyErr_Format(PyExc_TypeError, "iter() returned non-iterator of type '%.100s'", iterator.type()->tp_name);
    return nullptr;
  }
  if (tracer.is_over() || !prepare_for_native(tracer, iterable)) return nullptr;
  return adopt_result(tracer, Ref::steal(PyObject_GetIter(iterable)));
}

Ref next_or_stop(Tracer& tracer, PyObject* iterator) {
  if (!PyIter_Check(iterator)) {
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not an iterator", Py_TYPE(iterator)->tp_name);
    return nullptr;
  }
  Ref item;
  if (Ref method = python_method(tracer, iterator, "__next__")) {
    item = call(tracer, method.get(), {Ref::borrow(iterator)});
  } else {
    if (tracer.is_over() || !prepare_for_native(tracer, iterator)) return nullptr;
    item = Ref::steal(Py_TYPE(iterator)->tp_iternext(iterator));
  }
  if (tracer.is_over()) return nullptr;
  return adopt_result(tracer, std::move(item));
}

Ref next_item(Tracer& tracer, PyObject* iterator) {
  Ref item = next_or_stop(tracer, iterator);
  if (!item && !tracer.is_over() && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_StopIteration)) clear_error();
  return item;
}

}  // namespace minidynamo
