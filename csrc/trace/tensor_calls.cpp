// Recording calls on fakes.
#include "trace/tensor_calls.h"

#include <chrono>

#include "python/error_text.h"
#include "python/nesting.h"
#include "trace/attributes.h"
#include "trace/known_types.h"
#include "trace/operations.h"

namespace minidynamo {
namespace {

std::string target_text(PyObject* target) {
  if (PyUnicode_Check(target)) return PyUnicode_AsUTF8(target);
  Ref name = Ref::steal(PyObject_GetAttrString(target, "__name__"));
  PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : Py_TYPE(target)->tp_name;
}

// A result without tensors that may be taken as a constant of the trace.
bool is_plain_result(PyObject* result) {
  if (is_constant(result)) return true;
  if (PyTuple_Check(result) || PyList_CheckExact(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      if (!is_plain_result(PySequence_Fast_GET_ITEM(result, i))) return false;
    return true;
  }
  return PyType_Check(result);
}

bool record_node(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments, PyObject* result,
                 bool impure) {
  Ref positional = arguments.positional(), keywords = arguments.keywords();
  if (tracer.graph.nodes().size() >= tracer.limits.nodes)
    return tracer.give_up(BreakReason::NodeLimit, "the graph has more nodes than config allows") != nullptr;
  const NodeId node = tracer.graph.add_call(kind, Ref::borrow(target), positional.get(), keywords.get(), result, impure,
                                            tracer.frame ? tracer.frame->call_site() : nullptr);
  if (node != kNoNode) return true;
  const std::string why = take_error_text();
  return tracer.give_up(BreakReason::GraphArgument, target_text(target) + ": " + why) != nullptr;
}

Ref execute(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  std::vector<PyObject*> values;
  values.reserve(arguments.values.size() + 1);
  values.push_back(nullptr);
  for (const Ref& value : arguments.values) {
    if (!expose(tracer, value.get())) return nullptr;
    values.push_back(value.get());
  }
  const size_t count = arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET;
  Tracer::Native native(tracer);
  const auto start = std::chrono::steady_clock::now();
  Ref result = Ref::steal(kind == NodeKind::CallMethod
                              ? PyObject_VectorcallMethod(target, values.data() + 1, count, arguments.keyword_names)
                              : PyObject_Vectorcall(target, values.data() + 1, count, arguments.keyword_names));
  tracer.propagate_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

bool has_fake(PyObject* object, Visited* visited) {
  if (is_fake(object)) return true;
  NestingLevel level;
  if (level.is_too_deep()) return false;  // operators take no such arguments
  if (visited && (PyTuple_Check(object) || PyList_Check(object) || PyDict_Check(object)) && !visited->add(object))
    return false;
  if (PyTuple_Check(object) || PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      if (has_fake(PySequence_Fast_GET_ITEM(object, i), visited)) return true;
  } else if (PyDict_Check(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value))
      if (has_fake(value, visited)) return true;
  } else if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return has_fake(slice->start, visited) || has_fake(slice->stop, visited) || has_fake(slice->step, visited);
  }
  return false;
}

// Whether one of the elements is a container itself.
bool is_nested(PyObject* object) noexcept {
  if (PyDict_Check(object)) return true;
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (PyTuple_Check(item) || PyList_Check(item) || PyDict_Check(item)) return true;
  }
  return false;
}

}  // namespace

bool has_fake(PyObject* object) {
  if (!is_nested(object)) return has_fake(object, nullptr);
  Visited visited;
  return has_fake(object, &visited);
}

bool has_fake(const Arguments& arguments) {
  for (const Ref& value : arguments.values)
    if (has_fake(value.get())) return true;
  return false;
}

Ref record_call(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  flush_operator_reports();
  tracer.take_impure();
  Ref result = execute(tracer, kind, target, arguments);
  if (tracer.broken()) return nullptr;
  if (!result) return tracer.give_up(BreakReason::OperatorRaised, target_text(target) + " raised " + take_error_text());
  const bool impure = tracer.take_impure();
  if (!impure && !has_fake(result.get())) {
    if (is_plain_result(result.get())) return result;
    if (is_tensor(result.get())) return adopt_result(tracer, std::move(result));
    return tracer.give_up(BreakReason::UnsupportedResult,
                          target_text(target) + " returned a " + result.type()->tp_name);
  }
  if (!record_node(tracer, kind, target, arguments, result.get(), impure)) return nullptr;
  return result;
}

Ref record_opaque_call(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  flush_operator_reports();
  std::unordered_map<Ref, Ref> own_tensors;
  auto* const of_caller = std::exchange(tracer.tensors_of_opaque_call, &own_tensors);
  Ref result = execute(tracer, NodeKind::CallFunction, target, arguments);
  if (result && is_tensor(result.get()) && !is_fake(result.get()))
    result = Ref::borrow(tracer.fake_for_real(result.get()));
  tracer.tensors_of_opaque_call = of_caller;
  if (tracer.broken()) return nullptr;
  if (!result) return tracer.give_up(BreakReason::OperatorRaised, target_text(target) + " raised " + take_error_text());
  if (!has_fake(result.get()) && !is_plain_result(result.get()))
    return tracer.give_up(BreakReason::UnsupportedResult,
                          target_text(target) + " returned a " + result.type()->tp_name);
  tracer.take_impure();
  return record_node(tracer, NodeKind::CallFunction, target, arguments, result.get(), true) ? result : Ref();
}

Ref record_operator(Tracer& tracer, const char* operator_name, std::initializer_list<PyObject*> operands) {
  static constinit Imported module{"operator"};
  Ref function = Ref::steal(PyObject_GetAttrString(module, operator_name));
  std::vector<Ref> values;
  for (PyObject* operand : operands) values.push_back(Ref::borrow(operand));
  return record_call(tracer, NodeKind::CallFunction, function.get(), Arguments{values});
}

Ref record_constant_tensor(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  if (has_fake(arguments)) {
    // as_tensor(t) and the like are ordinary operations; data mixed from tensors is read element by element.
    if (is_fake(arguments.values[0].get())) return record_call(tracer, NodeKind::CallFunction, target, arguments);
    return tracer.give_up(BreakReason::DataDependent,
                          target_text(target) + " of a list with tensors reads their values");
  }
  Ref real;
  {
    TensorTraceSuspended suspended;
    real = execute(tracer, NodeKind::CallFunction, target, arguments);
  }
  if (tracer.broken()) return nullptr;
  if (!real) return tracer.give_up(BreakReason::OperatorRaised, target_text(target) + " raised " + take_error_text());
  Ref fake = make_fake(real.get());
  if (!fake) return tracer.give_up(BreakReason::UnsupportedTensor, target_text(target) + ": " + take_error_text());
  if (!record_node(tracer, NodeKind::CallFunction, target, arguments, fake.get(), false)) return nullptr;
  return fake;
}

Ref record_state_change(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  if (has_fake(arguments)) return tracer.give_up(BreakReason::DataDependent, target_text(target) + " with a tensor");
  tracer.modes.note(target, arguments.positional().get());
  Ref result = execute(tracer, NodeKind::CallFunction, target, arguments);
  if (tracer.broken()) return nullptr;
  if (!result) return tracer.give_up(BreakReason::OperatorRaised, target_text(target) + " raised " + take_error_text());
  if (!record_node(tracer, NodeKind::CallFunction, target, arguments, result.get(), true)) return nullptr;
  tracer.graph.mark_last_as_mode();
  return result;
}

Ref load_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name) {
  static constinit Imported builtins_getattr{"builtins.getattr"};
  static PyObject* const grad_name = interned("grad");
  static PyObject* const grad_fn_name = interned("grad_fn");
  static PyObject* const leaf_name = interned("is_leaf");
  static PyObject* const version_name = interned("_version");
  static PyObject* const class_name = interned("__class__");
  static PyObject* const dict_name = interned("__dict__");

  Source* source = tracer.outside.source_of(tensor);
  Ref attribute = lookup_in_class(tracer, Py_TYPE(tensor), name);
  if (!attribute && PyErr_Occurred()) return nullptr;
  if (!attribute || !Py_TYPE(attribute.get())->tp_descr_set) {
    // Python attributes that the user put on a tensor.
    if (source && has_fake(tensor)) {
      PyObject* real = source->value.get();
      Ref dict = Ref::steal(PyObject_GenericGetDict(real, nullptr));
      if (!dict) return nullptr;
      Source* own = tracer.guards.child(source, Access::InstanceDict, nullptr, -1, dict.get());
      if (PyObject* raw = PyDict_GetItemWithError(dict.get(), name))
        return tracer.outside.enter(tracer, tracer.guards.child(own, Access::DictItem, name, -1, raw));
      if (PyErr_Occurred()) return nullptr;
      if (!attribute) tracer.guards.add_missing(own, Access::DictItem, name, -1, tracer.origin());
    } else if (Ref dict = Ref::steal(PyObject_GenericGetDict(tensor, nullptr))) {
      if (PyObject* own = PyDict_GetItemWithError(dict.get(), name)) return Ref::borrow(own);
    }
  }
  if (!attribute) {
    PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", Py_TYPE(tensor)->tp_name, name);
    return nullptr;
  }
  PyTypeObject* kind = Py_TYPE(attribute.get());
  if (PyFunction_Check(attribute.get()) || kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type)
    return PyFunction_Check(attribute.get())
               ? Ref::steal(PyMethod_New(attribute.get(), tensor))
               : Ref::steal(kind->tp_descr_get(attribute.get(), tensor, reinterpret_cast<PyObject*>(Py_TYPE(tensor))));
  if (name == class_name) return Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
  if (name == grad_fn_name) {  // none, for leaves from outside and for what autograd does not follow
    Ref own = Ref::steal(PyObject_GetAttr(tensor, name));
    Ref leaf = !own.is(Py_None) ? Ref()
               : source         ? load_tensor_attribute(tracer, tensor, leaf_name)
                                : Ref::boolean(true);
    if (tracer.broken()) return nullptr;
    PyErr_Clear();
    if (leaf.is(Py_True)) return Ref::none();
  }
  if (name == grad_fn_name || name == version_name || name == dict_name)
    return tracer.give_up(BreakReason::TensorAttribute,
                          std::string("the trace cannot know a tensor's ") + PyUnicode_AsUTF8(name));
  if (source && (name == grad_name || name == leaf_name)) {
    Ref raw = Ref::steal(PyObject_GetAttr(source->value.get(), name));
    return raw ? tracer.outside.enter(tracer, tracer.guards.child(source, Access::Attribute, name, -1, raw.get()))
               : Ref();
  }
  tracer.take_impure();
  Ref value;
  {
    Tracer::Native native(tracer);
    value = Ref::steal(PyObject_GetAttr(tensor, name));
  }
  if (tracer.broken()) return nullptr;
  if (!value) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    return tracer.give_up(BreakReason::OperatorRaised,
                          std::string("a tensor's ") + PyUnicode_AsUTF8(name) + " raised " + take_error_text());
  }
  if (!has_fake(value.get())) {
    if (is_plain_result(value.get())) return value;
    return tracer.give_up(BreakReason::TensorAttribute,
                          std::string("a tensor's ") + PyUnicode_AsUTF8(name) + " is a " + value.type()->tp_name);
  }
  const Ref operands[] = {Ref::borrow(tensor), Ref::borrow(name)};
  if (!record_node(tracer, NodeKind::CallFunction, builtins_getattr, Arguments{operands}, value.get(),
                   tracer.take_impure()))
    return nullptr;
  return value;
}

bool store_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name, PyObject*) {
  // Attributes of the user's own on a tensor that the trace made; what torch defines changes the tensor itself.
  Ref attribute = lookup_in_class(tracer, Py_TYPE(tensor), name);
  if (!attribute && PyErr_Occurred()) return false;
  if (attribute || tracer.outside.source_of(tensor))
    return tracer.give_up(BreakReason::TensorAttributeWrite,
                          std::string("a tensor's ") + PyUnicode_AsUTF8(name) + " is set") != nullptr;
  return tracer.give_up(BreakReason::TensorAttributeWrite,
                        std::string("attribute '") + PyUnicode_AsUTF8(name) + "' is put on a tensor") != nullptr;
}

}  // namespace minidynamo
