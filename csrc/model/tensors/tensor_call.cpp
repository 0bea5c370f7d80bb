// Recording calls on fakes.
#include "model/tensors/tensor_call.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "graph/constant.h"
#include "model/native/native_call.h"
#include "model/objects/plain_classes.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "model/protocols/descriptor.h"
#include "model/proxies/number_call.h"
#include "model/proxies/size_operation.h"
#include "model/tensors/overridden_call.h"
#include "model/tensors/tensor_attribute.h"
#include "model/tensors/tensor_names.h"
#include "model/tensors/transform_call.h"
#include "model/tensors/wrapper_call.h"
#include "python/error_text.h"
#include "python/named_item.h"
#include "python/objects/native_contents.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/scoped_value.h"
#include "python/version/type_version.h"
#include "tensor/dispatch/operator_warnings.h"
#include "tensor/fake/comparable_storages.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/wrapper_fake.h"
#include "tensor/process/override_probe.h"
#include "tensor/values/known_values.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/proxies/symbolic_float.h"
#include "world/proxies/wrapper_tensors.h"
#include "world/state/held_values.h"
#include "world/state/identity.h"

namespace minidynamo {
std::string target_text(PyObject* target) {
  if (PyUnicode_Check(target)) return PyUnicode_AsUTF8(target);
  Ref name = Ref::steal(PyObject_GetAttrString(target, "__name__"));
  clear_error();
  return name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : Py_TYPE(target)->tp_name;
}

namespace {

// A result without tensors that may be taken as a constant of the trace.
bool is_plain_result(PyObject* result) {
  if (is_constant(result) || is_symbolic_int_or_float(result)) return true;
  if (PyTuple_Check(result) || PyList_CheckExact(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      if (!is_plain_result(PySequence_Fast_GET_ITEM(result, i))) return false;
    return true;
  }
  return PyType_Check(result);
}

}  // namespace

bool record_node(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments, PyObject* result,
                 bool impure) {
  Ref positional = arguments.positional(), keywords = arguments.keywords();
  if (tracer.graph.nodes().size() >= tracer.limits.nodes)
    return tracer.abort(BreakReason::NodeLimit, "the graph has more nodes than config allows") != nullptr;
  if (!tracer.storages.wrapped.empty() && !bring_wrappers_into_graph(tracer, arguments)) return false;
  const NodeId node = tracer.graph.add_call(kind, Ref::borrow(target), positional.get(), keywords.get(), result, impure,
                                            tracer.frame ? tracer.frame->call_site() : nullptr);
  if (node != kNoNode) return true;
  const std::string why = take_error_text();
  return tracer.abort(BreakReason::GraphArgument, target_text(target) + ": " + why) != nullptr;
}

namespace {

// An operator warns. The trace ends before it, so that it does so in Python, at its line, as often as eager does; where
// the trace cannot end, whatever runs the graph warns. `run` executes the operator again.
template <typename Run>
Ref run_with_warning(Tracer& tracer, PyObject* target, Run run) {
  static auto* const given = new std::unordered_set<std::string>;  // at the end of which traces have ended so far
  const Ref warning = take_error();
  const Ref text = Ref::steal(PyObject_Str(warning.get()));
  PyObject* globals = tracer.frame ? tracer.frame->globals.get() : nullptr;
  PyObject* module = globals && PyDict_Check(globals) ? named_item(globals, "__name__"_name) : nullptr;
  const char* words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const std::string message = words ? words : "?";
  const bool is_ignored =
      is_warning_ignored(warning.get(), module ? module : Py_None, tracer.frame ? tracer.frame->line() : 0);
  if (is_ignored || !tracer.breaks.are_allowed) return run(OperatorWarnings::As::Ignored);
  // A warning that torch makes once in a process may have been made by now.
  if (given->count(message) && !tracer.consume_side_effect_flag()) {
    Ref result = run(OperatorWarnings::As::ErrorsIfNotGivenYet);
    if (result || tracer.is_over() || !PyErr_ExceptionMatches(PyExc_Warning)) return result;
    clear_error();
  }
  given->insert(message);
  return tracer.abort(BreakReason::Warning, target_text(target) + " warns: " + message.substr(0, 200));
}

// False, with the trace given up, if an argument holds an object with a __torch_function__. Those that torch itself
// calls, whatever the function is, have answered before.
bool overrides_nothing(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  if (function_overrides() != FunctionOverrides::All) return true;
  for (const Ref& value : arguments.values)
    if (any_held(value.get(), has_override))
      return tracer.abort(BreakReason::UnsupportedOperand,
                          target_text(target) + " is given an object with a __torch_function__") != nullptr;
  return true;
}

bool assigns_an_item(NodeKind kind, PyObject* target) {
  return kind == NodeKind::CallMethod
             ? target == "__setitem__"_name
             : target == "operator.setitem"_imported || target == "torch.Tensor.__setitem__"_imported;
}

}  // namespace

Ref execute(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  if (!expose_all(tracer, arguments.values) || !overrides_nothing(tracer, target, arguments)) return nullptr;
  std::vector<PyObject*> values = vectorcall_values(arguments);
  const size_t count = arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET;
  const NativeScope native;
  const PlainClasses plain(arguments.values);
  std::optional<ComparableStorages> compared;
  if (assigns_an_item(kind, target)) compared.emplace(arguments.values);
  auto run = [&](OperatorWarnings::As as) {
    const OperatorWarnings warnings(as);
    return Ref::steal(kind == NodeKind::CallMethod
                          ? PyObject_VectorcallMethod(target, values.data() + 1, count, arguments.keyword_names)
                          : PyObject_Vectorcall(target, values.data() + 1, count, arguments.keyword_names));
  };
  const auto start = std::chrono::steady_clock::now();
  Ref result = run(OperatorWarnings::As::Errors);
  if (!result && !tracer.is_over() && PyErr_ExceptionMatches(PyExc_Warning))
    result = run_with_warning(tracer, target, run);
  if (result && !tracer.storages.wrapped.empty()) note_wrappers(result.get());
  tracer.propagate_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

namespace {

bool shares_storage(PyObject* fake, const void* storage) { return storage_of_fake(fake) == storage; }

// True if the trace has written to what a fake shows.
bool is_written(const Tracer& tracer, PyObject* fake) { return tracer.storages.is_written(fake); }

Ref enter_fact(Tracer& tracer, PyObject* fake, TensorFact fact) {
  Source* source = tracer.world.source_of(fake);
  Ref raw = tensor_fact(source->value.get(), fact);
  if (!raw) return nullptr;
  return load_part(tracer, source, Access::TensorFact, nullptr, raw.get(), static_cast<int32_t>(fact));
}

// The number of writes to a tensor, as its fake counts them, beginning with the tensor's own count; that is guarded. A
// parameter is written to between calls, so that its number would be another one at each. Null without a break: it is
// not known.
Ref load_version(Tracer& tracer, PyObject* tensor) {
  Ref version = tensor_fact(tensor, TensorFact::Version);
  const bool is_outside = tracer.world.source_of(tensor) != nullptr;
  // Views count together, results of `data` and detach() may or may not: where another one shows the same memory, or
  // may.
  auto may_count_too = [&](PyObject* fake) {
    return fake != tensor && (is_outside ? is_written(tracer, fake) : shares_storage(fake, storage_of_fake(tensor)));
  };
  if (!version || std::ranges::any_of(tracer.world.fakes(), may_count_too)) return nullptr;
  if (!is_outside) return version;
  if (is_leaf_with_gradient(tensor)) return nullptr;
  return enter_fact(tracer, tensor, TensorFact::Version) ? version : Ref();
}

// A fact of one tensor. Of one from outside it is asked of the real one, and guarded; what the trace made has its own,
// which may follow from those of the tensors that it is a view of.
Ref load_tensor_fact(Tracer& tracer, PyObject* tensor, TensorFact fact) {
  const bool is_outside = tracer.world.source_of(tensor) != nullptr;
  auto unknown = [&] {
    return tracer.abort(BreakReason::TensorAttribute,
                        std::string("the trace cannot know a tensor's ") + (tensor_fact_text(fact) + 1));
  };
  if (is_wrapper(tensor)) {
    if (fact != TensorFact::StorageOffset) return unknown();
    return is_outside ? enter_fact(tracer, tensor, fact) : tensor_fact(tensor, fact);
  }
  switch (fact) {
    case TensorFact::StorageOffset: {
      const void* storage = storage_of_fake(tensor);
      for (PyObject* fake : tracer.world.fakes())
        if (shares_storage(fake, storage) && !enter_fact(tracer, fake, fact)) return nullptr;
      return tensor_fact(tensor, fact);  // with what in-place operators made of it
    }
    case TensorFact::IsView:
      return is_outside ? enter_fact(tracer, tensor, fact) : tensor_fact(tensor, fact);
    case TensorFact::OutputNumber:
    case TensorFact::RetainsGradient: {
      if (!is_outside) return tensor_fact(tensor, fact);
      if (is_written(tracer, tensor)) return unknown();
      return enter_fact(tracer, tensor, fact);
    }
    case TensorFact::BackwardHooks:
    case TensorFact::AccumulateHooks: {
      Ref hooks = tensor_fact(is_outside ? tracer.world.source_of(tensor)->value.get() : tensor, fact);
      if (std::ranges::any_of(tracer.backward.hooks_to_come, [&](const auto& one) { return one.leaf.is(tensor); }))
        return unknown();
      if (!hooks.is(Py_None)) return unknown();
      return is_outside ? enter_fact(tracer, tensor, fact) : hooks;
    }
    case TensorFact::Gradient: {
      if (tracer.backward.receiving.count(tensor)) return tensor_fact(tensor, fact);
      Ref leaf = native_attribute(tensor, "is_leaf"_name);
      if (!leaf.is(Py_True)) {  // torch warns, unless the tensor was told to keep its gradient
        const bool keeps = !is_outside && tensor_fact(tensor, TensorFact::RetainsGradient).is(Py_True);
        return keeps ? tensor_fact(tensor, fact) : unknown();
      }
      if (const AttributeWrite* write = tracer.effects.pending(tensor, "grad"_name)) return write->value;
      return is_outside ? enter_fact(tracer, tensor, fact) : tensor_fact(tensor, fact);
    }
    case TensorFact::EngineHooks: {
      const Ref has_some = enter_fact(tracer, tensor, fact);
      if (has_some.is(Py_True))
        return tracer.abort(BreakReason::AutogradCall, "a tensor has hooks in autograd's engine");
      return has_some;
    }
    case TensorFact::Version: {
      Ref version = load_version(tracer, tensor);
      return version || tracer.is_over() ? version : unknown();
    }
  }
  return unknown();
}

}  // namespace

bool can_be_carried(Tracer& tracer, PyObject* target, PyObject* result) {
  if (!is_fake(result)) return true;
  const bool is_given = tracer.graph.producer(result) != kNoNode;
  if (!is_given && !is_plain_tensor_class(Py_TYPE(result)) && !is_wrapper(result))
    return tracer.abort(BreakReason::UnsupportedTensor,
                        target_text(target) + " returns a " + Py_TYPE(result)->tp_name) != nullptr;
  if (!is_leaf_with_gradient(result) || tracer.world.source_of(result)) return true;
  // A leaf for gradients that are taken within the trace.
  if (tracer.may_assume()) return tracer.assume(Assumption::Kind::IsNoOrigin, result), true;
  return tracer.abort(BreakReason::TensorAttributeWrite,
                      target_text(target) + " makes a tensor that requires a gradient") != nullptr;
}

namespace {

// The answer to a question about tensors that is no tensor: guarded, or known to depend on what is guarded anyway.
Ref plain_result(Tracer& tracer, PyObject* target, const Arguments& arguments, Ref result) {
  if (!has_fake(arguments)) return result;
  // The operator module's functions compare what is in containers by identity.
  Ref module = PyUnicode_Check(target) ? Ref() : Ref::steal(PyObject_GetAttr(target, "__module__"_name));
  Ref name = PyUnicode_Check(target) ? Ref::borrow(target) : Ref::steal(PyObject_GetAttr(target, "__name__"_name));
  clear_error();
  if (module && PyUnicode_Check(module.get()) && PyUnicode_Compare(module.get(), "_operator"_name) == 0) {
    for (const Ref& value : arguments.values) require_distinct(tracer, value.get());
    return tracer.is_over() ? Ref() : result;
  }
  if (PyFunction_Check(target)) return result;  // torch's own Python, which asks for sizes and kinds
  const auto is_unknown = [&](PyObject* held) {
    return is_size(tracer, held) && tracer.symbols.trace().is_unknown(expression_of(held));
  };
  // A tensor without elements has other strides.
  if (name && !PyUnicode_CompareWithASCIIString(name.get(), "stride") && any_held(result.get(), is_unknown))
    return tracer.abort(BreakReason::ScalarRead, "the strides of a tensor depend on values");
  const TensorName* row = name ? find_tensor_name(name.get()) : nullptr;
  if (row && row->how == TensorName::How::Fact && is_fake(arguments.values[0].get()))
    return load_tensor_fact(tracer, arguments.values[0].get(), row->fact);
  if (row && (row->how == TensorName::How::Metadata || row->how == TensorName::How::Values)) return result;
  return tracer.abort(BreakReason::TensorAttribute, "what " + target_text(target) + " depends on is not known");
}

}  // namespace

bool has_fake(PyObject* object) { return any_held(object, is_fake); }

bool has_fake(const Arguments& arguments) {
  for (const Ref& value : arguments.values)
    if (has_fake(value.get())) return true;
  return false;
}

namespace {

// The object, or a container like it, with numbers in place of tensors whose values were read; null: the object itself
// will do. `found` counts them.
Ref with_numbers(PyObject* object, const std::vector<const void*>& read, size_t& found) {
  if (is_fake(object)) {
    if (std::find(read.begin(), read.end(), address_of_tensor(object)) == read.end()) return nullptr;
    ++found;
    const Ref value = known_value(object);
    const TensorTraceSuspended suspended;
    return value ? Ref::steal(PyObject_CallMethodNoArgs(value.get(), "item"_name)) : Ref();
  }
  if (PySlice_Check(object)) {
    auto* slice = as_slice(object);
    Ref parts[] = {with_numbers(slice->start, read, found), with_numbers(slice->stop, read, found),
                   with_numbers(slice->step, read, found)};
    if (!parts[0] && !parts[1] && !parts[2]) return nullptr;
    return Ref::made(PySlice_New(parts[0] ? parts[0].get() : slice->start, parts[1] ? parts[1].get() : slice->stop,
                                 parts[2] ? parts[2].get() : slice->step));
  }
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return nullptr;
  Ref items = Ref::made(PySequence_List(object));
  bool any = false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    Ref number = with_numbers(PyList_GET_ITEM(items.get(), i), read, found);
    if (!number) continue;
    any = true;
    PyList_SetItem(items.get(), i, number.release());
  }
  if (!any) return nullptr;
  return PyList_CheckExact(object) ? items : Ref::made(PyList_AsTuple(items.get()));
}

// An operator took known tensors for numbers: whatever runs the graph would have to know them too, so the numbers stand
// there instead. False: it read what it was not given as such.
bool replace_read_tensors(Tracer& tracer, PyObject* target, std::vector<Ref>& values) {
  std::vector<const void*> read = take_value_reads();
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  if (read.empty()) return true;
  size_t found = 0;
  for (Ref& value : values)
    if (Ref number = with_numbers(value.get(), read, found)) value = std::move(number);
  const bool is_native = !PyFunction_Check(target);  // torch's own Python may do something else with a number
  if (found == read.size() && is_native && !PyErr_Occurred()) return true;
  clear_error();
  return tracer.abort(BreakReason::DataDependent, target_text(target) + " reads the values of a tensor") != nullptr;
}

}  // namespace

bool can_stand_in_graph(const Arguments& arguments) {
  return std::ranges::all_of(arguments.values, [](const Ref& value) {
    PyObject* object = value.get();
    if (is_plain_scalar(object) || is_tensor(object) || PyTuple_Check(object) || PyList_Check(object) ||
        PyDict_Check(object) || PySlice_Check(object))
      return true;
    const bool can_stand = static_cast<bool>(as_constant(object));
    clear_error();
    return can_stand;
  });
}

namespace {

// In a region of transforms, where the operators are recorded that it runs.
Ref call_below_transforms(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  const size_t recorded = tracer.graph.nodes().size();
  Ref result = call_recording_operators(tracer, kind, target, arguments);
  // For a call that writes to its arguments and returns nothing, all has been recorded.
  if (result.is(Py_None) && tracer.graph.nodes().size() > recorded) return result;
  if (!result || minidynamo::has_fake(result.get())) {
    const bool is_plain = !result || is_transform_wrapper(result.get());
    return is_plain || can_be_carried(tracer, target, result.get()) ? result : Ref();
  }
  if (is_plain_result(result.get())) return plain_result(tracer, target, arguments, std::move(result));
  return tracer.abort(BreakReason::UnsupportedResult, target_text(target) + " returned a " + result.type()->tp_name);
}

}  // namespace

namespace {

// torch.lstm and the like: one operator to eager mode, but one for each step in time and gate to AOTAutograd.
bool is_recurrent_layer(PyObject* target) {
  if (!target || !PyCFunction_Check(target)) return false;
  const std::string_view name = as_builtin(target)->m_ml->ml_name;
  return name == "lstm" || name == "gru" || name == "rnn_tanh" || name == "rnn_relu";
}

}  // namespace

bool is_step_of_fused_optimizer(PyObject* target) {
  return target && PyCFunction_Check(target) &&
         std::string_view(as_builtin(target)->m_ml->ml_name).starts_with("_fused_");
}

Ref record_call(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  if (tracer.limits.only_common_forms && is_step_of_fused_optimizer(target))
    return tracer.abort(BreakReason::BackendFailed, "the backend refuses " + target_text(target));
  if (tracer.limits.keeps_recurrent_layers_out && is_recurrent_layer(target))
    return tracer.abort(BreakReason::RecurrentLayer, "torch." + target_text(target) + " runs between two graphs");
  if (any_symbolic_floats() && holds_symbolic_float(arguments))
    return record_call_with_numbers(tracer, kind, target, arguments);
  if (is_below_transforms(tracer, arguments)) {
    // Operators are recorded there as they arrive, with numbers that torch has put in the place of symbolic ones.
    std::vector<Ref> numbers;
    for (const Ref& value : arguments.values) {
      numbers.push_back(specialized(tracer, value.get()));
      if (!numbers.back()) return nullptr;
    }
    return call_below_transforms(tracer, kind, target, Arguments{numbers, arguments.keyword_names});
  }
  flush_operator_reports();
  tracer.consume_side_effect_flag();
  take_value_reads();
  Ref result = execute(tracer, kind, target, arguments);
  if (tracer.is_over()) return nullptr;
  if (!result) return tracer.abort(BreakReason::OperatorRaised, target_text(target) + " raised " + take_error_text());
  const bool impure = tracer.consume_side_effect_flag();
  if (impure && is_written_in_wrapper(tracer))
    return tracer.abort(BreakReason::UnsupportedTensor,
                        target_text(target) + " writes to a tensor that another one wraps");
  if (!can_be_carried(tracer, target, result.get())) return nullptr;
  if (!impure && !has_fake(result.get())) {
    if (is_plain_result(result.get())) return plain_result(tracer, target, arguments, std::move(result));
    if (is_tensor(result.get())) return adopt_result(tracer, std::move(result));
    return tracer.abort(BreakReason::UnsupportedResult, target_text(target) + " returned a " + result.type()->tp_name);
  }
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  if (!replace_read_tensors(tracer, target, values)) return nullptr;
  if (!record_node(tracer, kind, target, Arguments{values, arguments.keyword_names}, result.get(), impure))
    return nullptr;
  return result;
}

Ref record_opaque_call(Tracer& tracer, PyObject* target, const Arguments& arguments, OwnTensors its_own) {
  if (tracer.function_modes.any() && function_overrides() != FunctionOverrides::None)
    return tracer.abort(BreakReason::ActiveMode,
                        target_text(target) + " is called where a TorchFunctionMode is active");
  flush_operator_reports();
  std::unordered_map<Ref, Ref> own_tensors;
  Ref result;
  {
    const ScopedValue<std::unordered_map<Ref, Ref>*> own{tracer.tensors_of_opaque_call, &own_tensors};
    result = execute(tracer, NodeKind::CallFunction, target, arguments);
    if (result && is_tensor(result.get()) && !is_fake(result.get()))
      result = Ref::borrow(tracer.fake_for_real(result.get()));
  }
  if (tracer.is_over()) return nullptr;
  if (its_own == OwnTensors::Refused && !own_tensors.empty()) {
    clear_error();
    return tracer.abort(BreakReason::UnknownTensor, target_text(target) + " uses a tensor of its own");
  }
  if (!result) return tracer.abort(BreakReason::OperatorRaised, target_text(target) + " raised " + take_error_text());
  if (!has_fake(result.get()) && !is_plain_result(result.get()))
    return tracer.abort(BreakReason::UnsupportedResult, target_text(target) + " returned a " + result.type()->tp_name);
  tracer.consume_side_effect_flag();
  return record_node(tracer, NodeKind::CallFunction, target, arguments, result.get(), true) ? result : Ref();
}

Ref record_operator(Tracer& tracer, const char* operator_name, std::initializer_list<PyObject*> operands) {
  Ref function = Ref::made(PyObject_GetAttrString("operator"_imported, operator_name));
  std::vector<Ref> values;
  for (PyObject* operand : operands) values.push_back(Ref::borrow(operand));
  if (auto result = overridden_call(tracer, NodeKind::CallFunction, function.get(), Arguments{values})) return *result;
  return record_call(tracer, NodeKind::CallFunction, function.get(), Arguments{values});
}

namespace {

bool is_within_autocast() {
  const NativeScope native;
  const Ref inside = Ref::steal(PyObject_CallNoArgs("torch.autocast_increment_nesting"_imported)),
            now = Ref::steal(PyObject_CallNoArgs("torch.autocast_decrement_nesting"_imported));
  return !now || PyLong_AsLong(now.get()) > 0;
}

}  // namespace

Ref record_state_change(Tracer& tracer, PyObject* target, const Arguments& arguments) {
  if (has_fake(arguments)) return tracer.abort(BreakReason::DataDependent, target_text(target) + " with a tensor");
  tracer.modes.note(target, arguments.positional().get());
  // Within an autocast of the caller, the casts that are kept by now may be the program's own.
  Ref result = target == "torch.clear_autocast_cache"_imported && is_within_autocast()
                   ? Ref::none()
                   : execute(tracer, NodeKind::CallFunction, target, arguments);
  if (tracer.is_over()) return nullptr;
  if (!result) return tracer.abort(BreakReason::OperatorRaised, target_text(target) + " raised " + take_error_text());
  if (tracer.transforms.records_operators())
    return result;  // its changes to operators show in what is recorded of them
  if (!record_node(tracer, NodeKind::CallFunction, target, arguments, result.get(), true)) return nullptr;
  tracer.graph.mark_last_as_mode();
  return result;
}

namespace {

// _base: of a tensor from outside that it has none; of a view that the trace made, the tensor that it is a view of.
Ref load_base(Tracer& tracer, PyObject* tensor, PyObject* name) {
  Ref is_view = load_tensor_fact(tracer, tensor, TensorFact::IsView);
  if (!is_view) return nullptr;
  if (is_view.is(Py_False)) return Ref::none();
  Ref base = tracer.world.source_of(tensor) ? Ref() : native_attribute(tensor, name);
  clear_error();
  if (base && is_fake(base.get()) && tracer.graph.producer(base.get()) != kNoNode) {
    if (!tracer.world.source_of(base.get())) return base;
    Ref base_is_view = load_tensor_fact(tracer, base.get(), TensorFact::IsView);
    if (!base_is_view || base_is_view.is(Py_False)) return base_is_view ? base : Ref();
  }
  return tracer.abort(BreakReason::TensorAttribute, "the trace cannot know a tensor's _base");
}

// The value of a fake's attribute that stands for what operators make of it (x.T, x.real, x.data).
Ref record_attribute(Tracer& tracer, PyObject* tensor, PyObject* name) {
  tracer.consume_side_effect_flag();
  Ref value;
  const bool is_below = is_below_transforms(tracer, tensor);
  if (is_below) {
    value = load_recording_operators(tracer, tensor, name);
  } else {
    const NativeScope native;
    const PlainClasses plain(tensor);
    auto run = [&](OperatorWarnings::As as) {
      const OperatorWarnings warnings(as);
      return Ref::steal(PyObject_GetAttr(tensor, name));
    };
    value = run(OperatorWarnings::As::Errors);
    if (!value && !tracer.is_over() && PyErr_ExceptionMatches(PyExc_Warning))
      value = run_with_warning(tracer, name, run);
  }
  if (tracer.is_over() || (is_below && minidynamo::has_fake(value.get()))) return value;
  if (!value) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    return tracer.abort(BreakReason::OperatorRaised,
                        std::string("a tensor's ") + PyUnicode_AsUTF8(name) + " raised " + take_error_text());
  }
  if (!minidynamo::has_fake(value.get())) {
    if (is_plain_result(value.get())) return value;
    return tracer.abort(BreakReason::TensorAttribute,
                        std::string("a tensor's ") + PyUnicode_AsUTF8(name) + " is a " + value.type()->tp_name);
  }
  const Ref operands[] = {Ref::borrow(tensor), Ref::borrow(name)};
  if (!record_node(tracer, NodeKind::CallFunction, "builtins.getattr"_imported, Arguments{operands}, value.get(),
                   tracer.consume_side_effect_flag()))
    return nullptr;
  return value;
}

// An attribute that torch.Tensor itself defines and computes.
Ref load_torch_attribute(Tracer& tracer, PyObject* tensor, PyObject* name) {
  auto unknown = [&] {
    return tracer.abort(BreakReason::TensorAttribute,
                        std::string("the trace cannot know a tensor's ") + PyUnicode_AsUTF8(name));
  };
  const TensorName* row = find_tensor_name(name);
  if (!row) return unknown();
  switch (row->how) {
    case TensorName::How::Leaf:
      if (has_unmade_history(tensor)) return unknown();
      [[fallthrough]];
    case TensorName::How::Metadata:
    case TensorName::How::Values:
    case TensorName::How::Operators:
      return record_attribute(tracer, tensor, name);
    case TensorName::How::Fact:
      return load_tensor_fact(tracer, tensor, row->fact);
    case TensorName::How::GradientFunction: {
      Ref function = native_attribute(tensor, name);
      const bool is_own = tracer.limits.below_autograd && !tracer.world.source_of(tensor);
      if (!function.is(Py_None) && !tracer.limits.below_autograd) tracer.backward.needs_below_autograd = true;
      return function.is(Py_None) || is_own ? function : unknown();
    }
    case TensorName::How::Base:
      return load_base(tracer, tensor, name);
  }
  return unknown();
}

}  // namespace

Ref load_hooks(Tracer& tracer, PyObject* tensor, TensorFact fact) { return enter_fact(tracer, tensor, fact); }

bool load_engine_hooks(Tracer& tracer, PyObject* tensor) {
  return static_cast<bool>(load_tensor_fact(tracer, tensor, TensorFact::EngineHooks));
}

Ref load_described_attribute(Tracer& tracer, PyObject* tensor, PyObject* descriptor, PyObject* name) {
  if (auto result = overridden_attribute(tracer, tensor, descriptor)) return *result;
  return load_torch_attribute(tracer, tensor, name);
}

Ref load_tensor_attribute(Tracer& tracer, PyObject* tensor, PyObject* name) {
  static constinit ImportedType tensor_class{"torch.Tensor"};

  if (has_own_getattribute(tracer, tensor))
    return tracer.abort(BreakReason::UnsupportedTensor,
                        std::string("a ") + Py_TYPE(tensor)->tp_name + " looks for attributes in a way of its own");
  Ref attribute = lookup_in_class(tracer, Py_TYPE(tensor), name);
  if (!attribute && PyErr_Occurred()) return nullptr;
  if (!attribute || !Py_TYPE(attribute.get())->tp_descr_set) {
    Ref own = load_own_tensor_attribute(tracer, tensor, name);
    if (own || PyErr_Occurred()) return own;
  }
  if (!attribute && Py_TYPE(tensor) != tensor_class)
    if (Ref fallback = lookup_in_class(tracer, Py_TYPE(tensor), "__getattr__"_name);
        fallback && PyFunction_Check(fallback.get()))
      return call(tracer, fallback.get(), {Ref::borrow(tensor), Ref::borrow(name)});
  if (tracer.is_over()) return nullptr;
  if (!attribute) {
    PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '%U'", Py_TYPE(tensor)->tp_name, name);
    return nullptr;
  }
  PyTypeObject* kind = Py_TYPE(attribute.get());
  if (PyFunction_Check(attribute.get())) return Ref::made(PyMethod_New(attribute.get(), tensor));
  if (kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type)
    return Ref::steal(kind->tp_descr_get(attribute.get(), tensor, as_object(Py_TYPE(tensor))));
  if (name == "__class__"_name) return Ref::borrow(as_object(Py_TYPE(tensor)));
  if (!kind->tp_descr_get) return attribute;
  if (kind == &PyMemberDescr_Type && is_new_wrapper(tracer, tensor)) {
    Ref part = Ref::steal(PyObject_GenericGetAttr(tensor, name));
    return part ? part_of_new_wrapper(tracer, tensor, name, std::move(part)) : Ref();
  }
  const bool is_computed = kind == &PyGetSetDescr_Type || kind == &PyMemberDescr_Type || kind == &PyProperty_Type;
  if (is_computed && attribute.is(class_attribute(tensor_class, name)))
    return load_described_attribute(tracer, tensor, attribute.get(), name);
  return bind_descriptor(tracer, attribute.get(), tensor, name);
}

}  // namespace minidynamo
