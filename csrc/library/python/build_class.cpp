// Class statements: the builtin function __build_class__.
#include "library/rules/handlers.h"

#include "model/native/native_call.h"
#include "model/objects/make_class.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/rule.h"
#include "model/protocols/upward.h"
#include "python/error_text.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"

namespace minidynamo {
namespace {

// The bases with those replaced that stand for others (__mro_entries__); `given` itself if there are none.
Ref resolve_bases(Tracer& tracer, const Ref& given) {
  Ref bases = Ref::made(PyList_New(0));
  bool changed = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.get()); ++i) {
    PyObject* base = PyTuple_GET_ITEM(given.get(), i);
    Ref method = PyType_Check(base) ? Ref() : load_optional(tracer, base, "__mro_entries__"_name);
    if (!method) {
      if (PyErr_Occurred() || PyList_Append(bases.get(), base) < 0) return nullptr;
      continue;
    }
    Ref entries = call(tracer, method.get(), {given});
    if (!entries) return nullptr;
    if (!PyTuple_Check(entries.get())) {
      PyErr_SetString(PyExc_TypeError, "__mro_entries__ must return a tuple");
      return nullptr;
    }
    changed = true;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(entries.get()); ++k)
      if (PyList_Append(bases.get(), PyTuple_GET_ITEM(entries.get(), k)) < 0) return nullptr;
  }
  return changed ? Ref::steal(PyList_AsTuple(bases.get())) : given;
}

Ref call_with_keywords(Tracer& tracer, PyObject* callable, std::initializer_list<PyObject*> positional,
                       PyObject* keywords) {
  Ref arguments = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  Py_ssize_t i = 0;
  for (PyObject* argument : positional) PyTuple_SET_ITEM(arguments.get(), i++, Ref::borrow(argument).release());
  return call_with(tracer, callable, arguments.get(), keywords);
}

// The namespace that a class body fills.
Ref prepare_namespace(Tracer& tracer, PyObject* metaclass, PyObject* name, PyObject* bases, PyObject* keywords) {
  if (metaclass == as_object(&PyType_Type)) return Ref::made(PyDict_New());
  Ref prepare = load_optional(tracer, metaclass, "__prepare__"_name);
  if (!prepare) return PyErr_Occurred() ? Ref() : Ref::made(PyDict_New());
  Ref made = call_with_keywords(tracer, prepare.get(), {name, bases}, keywords);
  if (!made) return nullptr;
  if (!PyMapping_Check(made.get())) {
    PyErr_Format(PyExc_TypeError, "%.200s.__prepare__() must return a mapping, not %.200s",
                 PyType_Check(metaclass) ? as_type(metaclass)->tp_name : "<metaclass>", made.type()->tp_name);
    return nullptr;
  }
  return made;
}

// The body returned its __class__ cell, which type.__new__ has filled if it got it.
bool check_class_cell(PyObject* cell, PyObject* made, PyObject* name) {
  if (!PyType_Check(made) || !PyCell_Check(cell) || PyCell_GET(cell) == made) return true;
  if (PyObject* other = PyCell_GET(cell))
    PyErr_Format(PyExc_TypeError, "__class__ set to %.200R defining %.200R as %.200R", other, name, made);
  else
    PyErr_Format(PyExc_RuntimeError,
                 "__class__ not set defining %.200R as %.200R. Was __classcell__ propagated to type.__new__?", name,
                 made);
  return false;
}

}  // namespace

namespace handlers {

Ref build_class(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.positional_count();
  if (count < 2 || !PyFunction_Check(arguments.values[0].get()) || !PyUnicode_Check(arguments.values[1].get()))
    return call_natively(tracer, callable, arguments);  // CPython's own message
  if (tracer.executed >= tracer.limits.classes_until)
    return tracer.abort(BreakReason::ClassDefinition, "a class is defined");
  PyObject* body = arguments.values[0].get();
  PyObject* name = arguments.values[1].get();
  Ref given = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(count) - 2));
  for (size_t i = 2; i < count; ++i)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i) - 2, Ref(arguments.values[i]).release());
  Ref bases = resolve_bases(tracer, given);
  if (!bases) return nullptr;
  Ref keywords = arguments.keywords();
  Ref metaclass = keywords ? Ref::borrow(PyDict_GetItemWithError(keywords.get(), "metaclass"_name)) : Ref();
  if (metaclass && PyDict_DelItem(keywords.get(), "metaclass"_name) < 0) return nullptr;
  if (!metaclass)
    metaclass = Ref::borrow(PyTuple_GET_SIZE(bases.get()) ? as_object(Py_TYPE(PyTuple_GET_ITEM(bases.get(), 0)))
                                                          : as_object(&PyType_Type));
  if (PyType_Check(metaclass.get())) {
    metaclass = Ref::borrow(as_object(winning_metaclass(as_type(metaclass.get()), bases.get())));
    if (!metaclass) return nullptr;
  }
  Ref members = prepare_namespace(tracer, metaclass.get(), name, bases.get(), keywords.get());
  if (!members) return nullptr;

  const CodeInfo* prepared = prepare(tracer, as_code(PyFunction_GET_CODE(body)));
  if (!prepared) return nullptr;
  auto frame = std::make_unique<Frame>(prepared, body, tracer.frame);
  frame->locals_mapping = members;
  Ref cell = evaluate(tracer, std::move(frame));
  if (!cell) return nullptr;
  if (!bases.is(given.get()) && !store_subscript(tracer, members.get(), "__orig_bases__"_name, given.get()))
    return nullptr;
  Ref made = call_with_keywords(tracer, metaclass.get(), {name, bases.get(), members.get()}, keywords.get());
  return made && check_class_cell(cell.get(), made.get(), name) ? made : Ref();
}

// The __new__ of any C class, which are one C function for all.
Ref native_new(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  static const Rule pure{Rule::Kind::Pure};
  PyObject* owner = arguments.values[0].get();
  const Arguments own{arguments.values.subspan(1), arguments.keyword_names};
  PyObject* first = own.positional_count() ? own.values[0].get() : nullptr;
  if (owner != as_object(&PyType_Type) || !first || !PyType_Check(first) ||
      !PyType_IsSubtype(as_type(first), &PyType_Type)) {
    auto* type = first && PyType_Check(first) ? as_type(first) : nullptr;
    if (type && refuses_finalizer(tracer, type)) return nullptr;
    return apply_rule(tracer, pure, callable, own);
  }
  return make_class(tracer, as_type(first), Arguments{own.values.subspan(1), own.keyword_names});
}

// Methods of `type`, or of C code, that change a class: one of the trace's own may be changed.
Ref change_class(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty() && tracer.classes.has(arguments.values[0].get())) {
    for (const Ref& value : arguments.values)
      if (!materialize_if_shadow(tracer, value.get())) return nullptr;
    return call_natively(tracer, callable, arguments);
  }
  return tracer.abort(BreakReason::ClassDefinition, "a class from before the call is changed");
}

// A trace cannot apply such a function, so its backward is not looked at. (The trace takes no number from torch for it:
// the number identifies one function, and no other gets it.)
Ref autograd_function_class(Tracer& tracer, PyObject*, const Arguments& arguments) {
  auto* made = arguments.values.empty() ? nullptr : arguments.values[0].get();
  if (!made || !tracer.classes.has(made))
    return tracer.abort(BreakReason::ClassDefinition, "a class from before the call is changed");
  Ref unknown = Ref::made(PyObject_CallNoArgs(as_object(&PyBaseObject_Type)));
  tracer.identities.kept.push_back(unknown);
  tracer.world.make_opaque(unknown.get());
  if (PyType_Type.tp_setattro(made, "_backward_cls"_name, unknown.get()) < 0) return nullptr;
  return Ref::none();
}

// The __init__ of a C class whose objects never change otherwise.
Ref initialize_own(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty() && tracer.world.source_of(arguments.values[0].get()))
    return tracer.abort(BreakReason::OutsideWrite, "an object from before the call is initialized again");
  return call_natively(tracer, callable, arguments);
}

}  // namespace handlers

}  // namespace minidynamo
