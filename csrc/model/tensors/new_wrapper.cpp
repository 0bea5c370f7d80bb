#include "model/tensors/wrapper_call.h"

#include <algorithm>

#include "graph/constant.h"
#include "model/protocols/abstract.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/tensor_call.h"
#include "python/error_text.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/fake/wrapper_fake.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/native/special_methods.h"
#include "world/proxies/wrapper_tensors.h"
#include "world/state/held_values.h"

namespace minidynamo {
namespace {

Ref enter_whole(Tracer& tracer, Source* source) {
  Ref entered = enter(tracer, source);
  return entered && materialize_if_shadow(tracer, entered.get()) ? entered : Ref();
}

void note_part(Tracer& tracer, PyObject* part) {
  if (!is_fake(part)) return;
  // A wrapper has no memory itself; that there is one is noted all the same.
  tracer.storages.wrapped.push_back(is_wrapper(part) ? nullptr : storage_of_fake(part));
}

// True if each call makes it anew and nothing changes it: an instance of a class whose instances refuse to have their
// attributes set.
bool is_frozen_value(Tracer& tracer, PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!is_python_class(type) || tracer.world.is_opaque(object) || native_base(type) != &PyBaseObject_Type) return false;
  PyObject* setter = class_attribute(type, "__setattr__"_name);
  if (!setter || !PyFunction_Check(setter)) return false;
  const Ref attributes = attributes_of_wrapper(object);
  Py_ssize_t position = 0;
  PyObject *name, *value;
  while (PyDict_Next(attributes.get(), &position, &name, &value))
    if (!is_constant(value) && !is_guarded_by_identity(value)) return false;
  return true;
}

// True if each run of the graph may use this very object.
bool is_kept_by_graph(Tracer& tracer, PyObject* object) {
  if (is_constant(object)) return true;
  if (tracer.world.source_of(object)) return is_guarded_deep(tracer, object, enter_whole);
  return is_frozen_value(tracer, object);
}

bool has_no_node(const Tracer& tracer, PyObject* held) {
  return made_wrapper(held).has_value() && tracer.graph.producer(held) == kNoNode;
}

bool bring_into_graph(Tracer& tracer, PyObject* wrapper) {
  const MadeWrapper made = *made_wrapper(wrapper);
  const Ref attributes = attributes_of_wrapper(wrapper);
  const Ref names = Ref::made(PyList_New(0)), held = Ref::made(PyDict_New());
  std::vector<Ref> parts;
  Py_ssize_t position = 0;
  PyObject *name, *value;
  while (PyDict_Next(attributes.get(), &position, &name, &value)) {
    const bool is_kept = !is_tensor(value) && is_kept_by_graph(tracer, value);
    if (tracer.is_over()) return false;
    if (is_kept ? PyDict_SetItem(held.get(), name, value) < 0 : PyList_Append(names.get(), name) < 0)
      throw_out_of_memory();
    if (!is_kept) parts.push_back(Ref::borrow(value));
  }
  Ref target;
  {
    const NativeScope native;
    target = Ref::steal(PyObject_CallFunctionObjArgs("minidynamo._runtime.wrappers.maker"_imported,
                                                     as_object(Py_TYPE(wrapper)), made.arguments, made.keywords,
                                                     names.get(), held.get(), nullptr));
  }
  if (!target)
    return tracer.abort(BreakReason::UnsupportedTensor, "a wrapper cannot be made: " + take_error_text()) != nullptr;
  return record_node(tracer, NodeKind::CallFunction, target.get(), Arguments{parts}, wrapper, /*impure=*/false);
}

std::nullptr_t refuse(Tracer& tracer, PyTypeObject* type, const char* why) {
  return tracer.abort(BreakReason::UnsupportedTensor, std::string("a ") + type->tp_name + " is made " + why);
}

}  // namespace

Ref make_wrapper(Tracer& tracer, PyTypeObject* type, const Arguments& arguments) {
  if (tracer.transforms.records_operators() || tracer.limits.below_autograd)
    return refuse(tracer, type, "where its operators are recorded one by one");
  if (refuses_finalizer(tracer, type)) return nullptr;
  if (has_bound_special_method(type)) return refuse(tracer, type, "whose special methods are those of another object");
  std::vector<Ref> values;
  for (const Ref& value : arguments.values) {
    values.push_back(specialized(tracer, value.get()));
    if (!values.back()) return nullptr;
    if (has_fake(values.back().get())) return refuse(tracer, type, "of tensors, in a form that is not known");
  }
  if (!expose_all(tracer, values)) return nullptr;
  const Arguments plain{values, arguments.keyword_names};
  Ref positional = plain.positional(), keywords = plain.keywords();
  if (!keywords) keywords = Ref::made(PyDict_New());
  Ref made;
  {
    const NativeScope native;
    std::vector<Ref> all = {Ref::borrow(as_object(type))};
    all.insert(all.end(), values.begin(), values.begin() + static_cast<long>(plain.positional_count()));
    const Ref with_type = tuple_of(all);
    made = Ref::steal(
        PyObject_Call("torch._C.TensorBase._make_wrapper_subclass"_imported, with_type.get(), keywords.get()));
  }
  if (tracer.is_over()) return nullptr;
  if (!made)
    return tracer.abort(BreakReason::OperatorRaised, std::string(type->tp_name) + "() raised " + take_error_text());
  if (!is_wrapper(made.get())) return refuse(tracer, type, "that answers for its sizes, device or layout itself");
  if (requires_gradient(made.get())) {
    if (!tracer.may_assume()) return refuse(tracer, type, "that requires a gradient");
    tracer.assume(Assumption::Kind::IsNoOrigin, made.get());
  }
  guard_wrapper_class(tracer, type);
  note_made_wrapper(made.get(), std::move(positional), std::move(keywords));
  tracer.storages.wrapped.push_back(nullptr);
  return made;
}

bool is_open_wrapper(const Tracer& tracer, PyObject* tensor) {
  return !tracer.world.source_of(tensor) && has_no_node(tracer, tensor);
}

bool store_in_new_wrapper(Tracer& tracer, PyObject* wrapper, PyObject* name, PyObject* value) {
  if (value && !materialize_if_shadow(tracer, value)) return false;
  if (PyObject_GenericSetAttr(wrapper, name, value) < 0 || tracer.is_over()) return false;
  if (value) note_part(tracer, value);
  return true;
}

Ref part_of_new_wrapper(Tracer& tracer, PyObject* wrapper, PyObject* name, Ref part) {
  if (made_wrapper(wrapper) || is_constant(part.get())) return part;
  if (is_wrapper(part.get())) note_wrappers(part.get());
  if (is_fake(part.get())) {
    note_part(tracer, part.get());
    if (tracer.graph.producer(part.get()) != kNoNode) return part;
    const Ref operands[] = {Ref::borrow(wrapper), Ref::borrow(name)};
    const bool recorded =
        record_node(tracer, NodeKind::CallFunction, "builtins.getattr"_imported, Arguments{operands}, part.get(),
                    /*impure=*/false);
    return recorded ? part : Ref();
  }
  if (!is_tensor(part.get()) && tracer.world.source_of(part.get())) return part;
  return tracer.abort(BreakReason::TensorAttribute,
                      std::string("what a new ") + Py_TYPE(wrapper)->tp_name + " holds is asked for");
}

bool bring_wrappers_into_graph(Tracer& tracer, const Arguments& arguments) {
  std::vector<Ref> found;
  for (const Ref& value : arguments.values)
    any_held(value.get(), [&](PyObject* held) {
      if (has_no_node(tracer, held)) found.push_back(Ref::borrow(held));
      return false;
    });
  return std::ranges::all_of(found, [&](const Ref& one) {
    return tracer.graph.producer(one.get()) != kNoNode || bring_into_graph(tracer, one.get());
  });
}

}  // namespace minidynamo
