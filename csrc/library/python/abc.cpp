#include "library/python/abc.h"

#include "library/rules/handlers.h"

#include "model/native/native_call.h"
#include "model/native/reported_type.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/process/out_of_memory.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"

namespace minidynamo {

namespace {

PyObject* cache_token() { return "_abc.get_cache_token"_imported; }

PyObject* subclass_check() { return "_abc._abc_subclasscheck"_imported; }

// True if, for (abstract class, class, [token]), the class is a subclass of the abstract class by now. It was not when
// the token was that in the list; tokens change when any class is registered with any abstract one.
PyObject* is_subclass_now(PyObject* self, PyObject*) {
  PyObject* seen = PyTuple_GET_ITEM(self, 2);
  Ref token = Ref::steal(PyObject_CallNoArgs(cache_token()));
  if (!token) return nullptr;
  const int is_unchanged = PyObject_RichCompareBool(token.get(), PyList_GET_ITEM(seen, 0), Py_EQ);
  if (is_unchanged) return is_unchanged < 0 ? nullptr : Ref::boolean(false).release();
  Ref answer = Ref::steal(
      PyObject_CallFunctionObjArgs(subclass_check(), PyTuple_GET_ITEM(self, 0), PyTuple_GET_ITEM(self, 1), nullptr));
  if (answer.is(Py_False)) PyList_SetItem(seen, 0, token.release());
  return answer.release();
}

void guard_answer(Tracer& tracer, PyTypeObject* type, PyObject* abstract_class) {
  static PyMethodDef question = {"is_subclass_now", entry<is_subclass_now>, METH_NOARGS, nullptr};
  Ref token = Ref::steal(PyObject_CallNoArgs(cache_token()));
  Ref seen = Ref::made(PyList_New(1));
  PyList_SET_ITEM(seen.get(), 0, token.release());
  Ref state = Ref::made(PyTuple_Pack(3, abstract_class, type, seen.get()));
  Ref asked = Ref::made(PyCFunction_New(&question, state.get()));
  const std::string text = std::string("is_subclass[") + type->tp_name + ", " + as_type(abstract_class)->tp_name + "]";
  Source* source = tracer.guards.kept(asked.get(), text);
  tracer.guards.add(tracer.guards.child(source, Access::CallResult, nullptr, -1, Py_False), GuardKind::Constant,
                    tracer.origin());
}

}  // namespace

void guard_is_no_subclass(Tracer& tracer, PyTypeObject* type, PyObject* classes) {
  static constinit ImportedType abc_meta{"abc.ABCMeta"};
  if (PyTuple_Check(classes)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i)
      guard_is_no_subclass(tracer, type, PyTuple_GET_ITEM(classes, i));
  } else if (PyType_IsSubtype(Py_TYPE(classes), abc_meta)) {
    guard_answer(tracer, type, classes);
  }
}

namespace {

// CPython's cache for an abstract class lies beneath an attribute that the program can take away; and before CPython
// looks there, and where it does not find the answer, it calls what lies beneath two others, which the program can set.
void guard_what_decides(Tracer& tracer, PyObject* abstract_class) {
  static PyObject* const names[] = {"_abc_impl"_name, "__subclasscheck__"_name, "__subclasshook__"_name};
  if (!PyType_Check(abstract_class)) return;
  for (PyObject* name : names) (void)lookup_in_class(tracer, as_type(abstract_class), name);
}

// A class that the trace makes is abstract if it inherits methods that are: asked for here first, with guards.
bool look_for_abstract_methods(Tracer& tracer, PyTypeObject* made) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made->tp_bases); ++i) {
    PyObject* base = PyTuple_GET_ITEM(made->tp_bases, i);
    if (tracer.classes.has(base)) continue;
    Ref names = load_attribute(tracer, base, "__abstractmethods__"_name);
    if (!names && (tracer.is_over() || !PyErr_ExceptionMatches(PyExc_AttributeError))) return false;
    clear_error();
    Ref each = names ? Ref::steal(PySequence_Tuple(names.get())) : Ref::made(PyTuple_New(0));
    for (Py_ssize_t k = 0; each && k < PyTuple_GET_SIZE(each.get()); ++k) {
      PyObject* name = PyTuple_GET_ITEM(each.get(), k);
      Ref method = PyUnicode_Check(name) ? lookup_in_class(tracer, made, name) : Ref();
      if (method) (void)load_attribute(tracer, method.get(), "__isabstractmethod__"_name);
      if (tracer.is_over()) return false;
      clear_error();
    }
  }
  return true;
}

}  // namespace

namespace handlers {

Ref abc_init(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* made = arguments.values.empty() ? nullptr : arguments.values[0].get();
  if (made && PyType_Check(made) && tracer.classes.has(made) && !look_for_abstract_methods(tracer, as_type(made)))
    return nullptr;
  return change_class(tracer, callable, arguments);
}

Ref abc_subclasscheck(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty()) guard_what_decides(tracer, arguments.values[0].get());
  Ref is = call_natively(tracer, callable, arguments);
  if (is.is(Py_False) && PyType_Check(arguments.values[0].get()) && PyType_Check(arguments.values[1].get()))
    guard_answer(tracer, as_type(arguments.values[1].get()), arguments.values[0].get());
  return is;
}

Ref abc_instancecheck(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() != 2 || arguments.keyword_names || !PyType_Check(arguments.values[0].get()))
    return call_natively(tracer, callable, arguments);
  guard_what_decides(tracer, arguments.values[0].get());
  PyObject* object = arguments.values[1].get();
  if (PyTypeObject* shown = type_stood_for(object)) {
    const Ref classes[] = {arguments.values[0], Ref::borrow(as_object(shown))};
    return abc_subclasscheck(tracer, subclass_check(), Arguments{classes});
  }
  Ref is = call_natively(tracer, callable, arguments);
  if (is.is(Py_False)) guard_answer(tracer, Py_TYPE(object), arguments.values[0].get());
  return is;
}

}  // namespace handlers

}  // namespace minidynamo
