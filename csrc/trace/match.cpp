#include "trace/match.h"

#include "library/rules/handlers.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/interned.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo {

Ref match_keys(Tracer& tracer, PyObject* subject, PyObject* keys) {
  const Py_ssize_t count = PyTuple_GET_SIZE(keys);
  Ref seen = Ref::made(PySet_New(nullptr));
  Ref values = Ref::made(PyTuple_New(count));
  Ref get = load_attribute(tracer, subject, "get"_name);
  if (!get) return nullptr;
  Ref missing = Ref::steal(PyObject_CallNoArgs(as_object(&PyBaseObject_Type)));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys, i);
    const int duplicate = PySet_Contains(seen.get(), key);
    if (duplicate < 0 || PySet_Add(seen.get(), key) < 0) return nullptr;
    if (duplicate) {
      PyErr_Format(PyExc_ValueError, "mapping pattern checks duplicate key (%R)", key);
      return nullptr;
    }
    Ref value = call(tracer, get.get(), {Ref::borrow(key), missing});
    if (!value) return nullptr;
    if (value == missing) return Ref::none();
    PyTuple_SET_ITEM(values.get(), i, value.release());
  }
  return values;
}

Ref match_class(Tracer& tracer, PyObject* subject, PyObject* type, int positional, PyObject* names) {
  if (!PyType_Check(type)) {
    constexpr bool calls_it_a_class = PY_VERSION_HEX >= 0x030C0000;
    PyErr_Format(PyExc_TypeError, "called match pattern must be a %s", calls_it_a_class ? "class" : "type");
    return nullptr;
  }
  const Ref operands[] = {Ref::borrow(subject), Ref::borrow(type)};
  Ref matches = handlers::builtin_isinstance(tracer, "builtins.isinstance"_imported, Arguments{operands});
  if (!matches || matches.is(Py_False)) return matches ? Ref::none() : Ref();

  Ref found = Ref::made(PyList_New(0));
  // An attribute that is missing means "no match"; any other error is an error.
  Ref seen = Ref::made(PySet_New(nullptr));
  auto bind = [&](PyObject* given) -> int {
    if (!PyUnicode_CheckExact(given)) {
      PyErr_Format(PyExc_TypeError, "__match_args__ elements must be strings (got %s)", Py_TYPE(given)->tp_name);
      return -1;
    }
    const int is_repeated = PySet_Contains(seen.get(), given);
    if (is_repeated < 0 || PySet_Add(seen.get(), given) < 0) return -1;
    if (is_repeated) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple sub-patterns for attribute %R", as_type(type)->tp_name, given);
      return -1;
    }
    const Ref name = as_interned(given);
    Ref value = load_attribute(tracer, subject, name.get());
    if (value) return PyList_Append(found.get(), value.get()) < 0 ? -1 : 1;
    if (tracer.is_over() || !PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    clear_error();
    return 0;
  };
  if (positional > 0) {
    Ref match_args = load_attribute(tracer, type, "__match_args__"_name);
    bool matches_self = false;
    if (!match_args) {
      if (tracer.is_over() || !PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
      clear_error();
      match_args = Ref::made(PyTuple_New(0));
      matches_self = PyType_HasFeature(as_type(type), _Py_TPFLAGS_MATCH_SELF);
    }
    if (!PyTuple_CheckExact(match_args.get())) {
      PyErr_Format(PyExc_TypeError, "%s.__match_args__ must be a tuple (got %s)", as_type(type)->tp_name,
                   match_args.type()->tp_name);
      return nullptr;
    }
    const Py_ssize_t allowed = matches_self ? 1 : PyTuple_GET_SIZE(match_args.get());
    if (allowed < positional) {
      PyErr_Format(PyExc_TypeError, "%s() accepts %d positional sub-pattern%s (%d given)", as_type(type)->tp_name,
                   static_cast<int>(allowed), allowed == 1 ? "" : "s", positional);
      return nullptr;
    }
    if (matches_self) {
      if (PyList_Append(found.get(), subject) < 0) return nullptr;
    } else {
      for (int i = 0; i < positional; ++i) {
        const int bound = bind(PyTuple_GET_ITEM(match_args.get(), i));
        if (bound <= 0) return bound < 0 ? Ref() : Ref::none();
      }
    }
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const int bound = bind(PyTuple_GET_ITEM(names, i));
    if (bound <= 0) return bound < 0 ? Ref() : Ref::none();
  }
  return Ref::steal(PyList_AsTuple(found.get()));
}

}  // namespace minidynamo
