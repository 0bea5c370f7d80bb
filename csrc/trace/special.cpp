#include "trace/special.h"

#include "trace/attributes.h"
#include "trace/known_types.h"
#include "trace/operations.h"
#include "trace/tensor_calls.h"

namespace minidynamo::special {
namespace {

// Wrong numbers of arguments get CPython's own message.
bool takes(const Arguments& arguments, size_t least, size_t most) {
  return !arguments.keyword_names && arguments.values.size() >= least && arguments.values.size() <= most;
}

PyObject* argument(const Arguments& arguments, size_t index) { return arguments.values[index].get(); }

// An attribute's name, interned, as the lookups by address want it.
Ref attribute_name(PyObject* given) {
  if (!PyUnicode_Check(given)) {
    PyErr_Format(PyExc_TypeError, "attribute name must be string, not '%.200s'", Py_TYPE(given)->tp_name);
    return nullptr;
  }
  PyObject* name = Ref::borrow(given).release();
  PyUnicode_InternInPlace(&name);
  return Ref::steal(name);
}

Ref load(Tracer& tracer, PyObject* object, PyObject* given_name) {
  Ref name = attribute_name(given_name);
  return name ? load_attribute(tracer, object, name.get()) : Ref();
}

Ref done(bool ok) { return ok ? Ref::none() : Ref(); }

}  // namespace

Ref always_true(Tracer&, PyObject*, const Arguments&) { return Ref::boolean(true); }

Ref builtin_isinstance(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  PyObject* object = argument(arguments, 0);
  PyObject* classes = argument(arguments, 1);
  // Plain classes are answered by the MRO, which the type guard fixes.
  if (Py_IS_TYPE(classes, &PyType_Type) && Py_TYPE(classes)->tp_call) {
    if (PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(classes))) return Ref::boolean(true);
  }
  if (is_fake(object)) {  // torch's metaclasses look only at the class and at marks that a fake has too
    Tracer::Native native(tracer);
    const int is = PyObject_IsInstance(object, classes);
    return is < 0 || tracer.broken() ? Ref() : Ref::boolean(is);
  }
  if (!expose(tracer, classes)) return nullptr;
  const int is = PyObject_IsInstance(object, classes);
  return is < 0 || tracer.broken() ? Ref() : Ref::boolean(is);
}

Ref builtin_len(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, callable, arguments);
  return length(tracer, argument(arguments, 0));
}

Ref builtin_getattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 3)) return call_natively(tracer, callable, arguments);
  Ref value = load(tracer, argument(arguments, 0), argument(arguments, 1));
  if (value || tracer.broken() || arguments.values.size() == 2 || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return arguments.values[2];
}

Ref builtin_hasattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  Ref value = load(tracer, argument(arguments, 0), argument(arguments, 1));
  if (tracer.broken()) return nullptr;
  if (value) return Ref::boolean(true);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  return Ref::boolean(false);
}

Ref builtin_setattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 3, 3)) return call_natively(tracer, callable, arguments);
  Ref name = attribute_name(argument(arguments, 1));
  return done(name && store_attribute(tracer, argument(arguments, 0), name.get(), argument(arguments, 2)));
}

Ref builtin_delattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  Ref name = attribute_name(argument(arguments, 1));
  return done(name && store_attribute(tracer, argument(arguments, 0), name.get(), nullptr));
}

Ref builtin_iter(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, callable, arguments);
  return iterator_of(tracer, argument(arguments, 0));
}

Ref builtin_next(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 2)) return call_natively(tracer, callable, arguments);
  Ref item = next_item(tracer, argument(arguments, 0));
  if (item || PyErr_Occurred()) return item;
  if (arguments.values.size() == 2) return arguments.values[1];
  PyErr_SetNone(PyExc_StopIteration);
  return nullptr;
}

Ref builtin_sum(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 2)) return call_natively(tracer, callable, arguments);
  Ref total = arguments.values.size() == 2 ? arguments.values[1] : Ref::steal(PyLong_FromLong(0));
  if (PyUnicode_Check(total.get())) return call_natively(tracer, callable, arguments);
  Ref iterator = iterator_of(tracer, argument(arguments, 0));
  if (!iterator) return nullptr;
  constexpr int kAdd = 0;
  while (Ref item = next_item(tracer, iterator.get())) {
    total = binary_operation(tracer, kAdd, total.get(), item.get());
    if (!total) return nullptr;
  }
  return PyErr_Occurred() ? Ref() : total;
}

Ref builtin_hash(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, callable, arguments);
  PyObject* object = argument(arguments, 0);
  if (is_fake(object) || Py_TYPE(object)->tp_hash == PyBaseObject_Type.tp_hash)
    return tracer.give_up("object-identity", "the hash of an object comes from its address");
  guard_special_methods(tracer, object, {"__hash__"});
  return tracer.broken() ? Ref() : call_natively(tracer, callable, arguments);
}

Ref builtin_id(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return call_natively(tracer, callable, arguments);
  // Good for telling objects apart inside the trace (copy.deepcopy's memo); it may not leave it.
  PyObject* object = argument(arguments, 0);
  tracer.kept_for_identity.push_back(Ref::borrow(object));
  Ref address = Ref::steal(PyLong_FromVoidPtr(object));
  tracer.identities.insert(address);
  return address;
}

Ref object_reduce_ex(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2) || is_fake(argument(arguments, 0)))
    return tracer.give_up("pickling", "__reduce_ex__ of this object is not known");
  PyObject* object = argument(arguments, 0);
  PyTypeObject* type = Py_TYPE(object);
  static PyObject* const reduce_name = PyUnicode_InternFromString("__reduce__");
  static PyObject* const getstate_name = PyUnicode_InternFromString("__getstate__");
  static PyObject* const getnewargs_name = PyUnicode_InternFromString("__getnewargs__");
  static PyObject* const getnewargs_ex_name = PyUnicode_InternFromString("__getnewargs_ex__");
  static PyObject* const dict_name = PyUnicode_InternFromString("__dict__");
  static PyObject* const new_object = import_object("copyreg.__newobj__").release();
  (void)callable;
  Ref reduce = lookup_in_class(tracer, type, reduce_name);
  if (reduce && PyFunction_Check(reduce.get())) return call(tracer, reduce.get(), {Ref::borrow(object)});
  Ref arguments_method = lookup_in_class(tracer, type, getnewargs_name);
  if (!arguments_method) arguments_method = lookup_in_class(tracer, type, getnewargs_ex_name);
  const bool plain = PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && type->tp_dictoffset && type->tp_itemsize == 0 &&
                     type->tp_basicsize <= PyBaseObject_Type.tp_basicsize + 2 * static_cast<Py_ssize_t>(sizeof(void*)) &&
                     !PyDict_Check(object) && !PyList_Check(object) && !PyTuple_Check(object);
  if (tracer.broken() || arguments_method || !plain)
    return tracer.give_up("pickling", std::string("an instance of ") + type->tp_name + " is copied or pickled");
  Ref getstate = lookup_in_class(tracer, type, getstate_name);
  Ref state = getstate && PyFunction_Check(getstate.get()) ? call(tracer, getstate.get(), {Ref::borrow(object)})
                                                           : load_attribute_generically(tracer, object, dict_name);
  if (!state || !expose(tracer, state.get())) return nullptr;
  tracer.outside.source_or_pin(tracer, new_object);
  Ref class_only = Ref::steal(PyTuple_Pack(1, type));
  return Ref::steal(PyTuple_Pack(5, new_object, class_only.get(), state.get(), Py_None, Py_None));
}

Ref builtin_vars(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (!takes(arguments, 1, 1)) return tracer.give_up("locals", "vars() is called");
  Ref name = Ref::steal(PyUnicode_InternFromString("__dict__"));
  return load_attribute(tracer, argument(arguments, 0), name.get());
}

Ref object_setattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 3, 3) || is_fake(argument(arguments, 0)) || PyType_Check(argument(arguments, 0)))
    return tracer.give_up("outside-attribute-write", "object.__setattr__ on a tensor or a class");
  (void)callable;
  Ref name = attribute_name(argument(arguments, 1));
  return done(name && store_in_instance(tracer, argument(arguments, 0), name.get(), argument(arguments, 2)));
}

Ref object_delattr(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2) || is_fake(argument(arguments, 0)) || PyType_Check(argument(arguments, 0)))
    return tracer.give_up("outside-attribute-write", "object.__delattr__ on a tensor or a class");
  (void)callable;
  Ref name = attribute_name(argument(arguments, 1));
  return done(name && store_in_instance(tracer, argument(arguments, 0), name.get(), nullptr));
}

Ref object_getattribute(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!takes(arguments, 2, 2)) return call_natively(tracer, callable, arguments);
  Ref name = attribute_name(argument(arguments, 1));
  return name ? load_attribute_generically(tracer, argument(arguments, 0), name.get()) : Ref();
}

}  // namespace minidynamo::special
