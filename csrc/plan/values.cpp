#include "plan/values.h"

#include "emit/rebuild.h"
#include "model/native/native_callback.h"
#include "model/objects/generator.h"
#include "model/objects/object_end.h"
#include "model/protocols/items_read.h"
#include "model/tensors/tensor_attribute.h"
#include "plan/new_leaves.h"
#include "python/objects/itertools_fields.h"
#include "python/objects/reach.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "tensor/autograd/below_autograd.h"
#include "tensor/autograd/history.h"
#include "tensor/fake/plain_tensor.h"
#include "tensor/fake/tensor_facts.h"
#include "tensor/fake/wrapper_fake.h"
#include "world/external/context_token.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/native_objects.h"
#include "world/native/outer_handled_exception.h"
#include "world/proxies/drawn_number.h"
#include "world/proxies/fake_array.h"
#include "world/proxies/runtime_value.h"
#include "world/proxies/symbolic_float.h"
#include "world/proxies/wrapper_tensors.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo {
namespace {

// Others stand for plain tensors there, and have their class outside.
bool is_in_graphs_as_it_is(PyObject* fake) { return is_class_of_graphs(Py_TYPE(fake)) || is_wrapper(fake); }

constexpr int kMostRestarts = 4;       // after which all that can be is made empty first, cycle or not
constexpr size_t kMostSteps = 20'000;  // steps of a plan: each is code that every call runs

bool has_own_gradient(PyObject* fake) { return !tensor_fact(fake, TensorFact::Gradient).is(Py_None); }

// Can be made empty first and filled later.
bool can_be_filled(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyList_Type || type == &PyDict_Type || type == &PySet_Type || type == &PyCell_Type ||
         reconstruct_rule_of(type) == ReconstructRule::Fields || can_be_made_empty(type);
}

}  // namespace

ValueId ValuePlanner::refuse(std::string what) {
  if (refusal_.empty()) refusal_ = std::move(what);
  return kNoValue;
}

bool ValuePlanner::has_given_dict(PyObject* object) const {
  const auto& given = tracer_.made.given_dicts;
  return !given.empty() && given.count(Ref::borrow(object));
}

void ValuePlanner::start_again() {
  ++restarts_;
  found_cycle_ = false;
  plan_ = Plan{};
  outputs_.clear();
  values_.clear();
  drawn_.clear();
  late_.clear();
  log_planned = 0;
  live_values_.clear();
  output_index_.clear();
  live_.clear();
  building_.clear();
  to_fill_.clear();
  watched_.clear();
  states_.clear();
  written_.clear();
  moved_.clear();
  written_objects_.clear();
  left_out_.clear();
}

ValueId ValuePlanner::add(PlanStep step) {
  plan_.steps.push_back(std::move(step));
  return static_cast<ValueId>(plan_.steps.size() - 1);
}

ValueId ValuePlanner::constant(PyObject* object) { return add({PlanStep::Kind::Constant, Ref::borrow(object)}); }

ValueId ValuePlanner::value_of(PyObject* object) {
  if (!object) {  // it was to be made for the plan
    if (is_out_of_memory()) throw_out_of_memory();
    clear_error();
    return refuse("an object that cannot be made again");
  }
  if (auto known = values_.find(object); known != values_.end()) return known->second;
  const Ref held = Ref::borrow(object);  // asking for its parts may run code
  NestingLevel level;
  if (level.is_too_deep()) return refuse("an object is nested too deep");
  if (plan_.steps.size() > kMostSteps) return refuse("too many objects leave the trace");
  for (size_t i = 0; i < building_.size(); ++i) {
    if (building_[i] != object) continue;
    size_t marked = 0;
    for (size_t k = i; k < building_.size(); ++k)
      if (can_be_filled(building_[k])) marked += cyclic_.insert(building_[k]).second;
    if (!marked) return refuse("an object contains itself");
    found_cycle_ = true;
    return kNoValue;
  }
  ValueId value;
  if (cyclic_.count(object) || has_given_dict(object) || (restarts_ > kMostRestarts && can_be_filled(object))) {
    value = make_empty(object);
    to_fill_.push_back(object);
  } else {
    building_.push_back(object);
    value = make_value(object);
    building_.pop_back();
  }
  if (value == kNoValue) return kNoValue;
  values_.emplace(object, value);
  keep_alive_.push_back(Ref::borrow(object));
  return value;
}

bool ValuePlanner::is_planned(PyObject* object) const {
  if (PyCell_Check(object) && PyCell_GET(object)) object = PyCell_GET(object);
  return values_.count(object) > 0 || expected_.count(object) > 0;
}

bool ValuePlanner::keeps_planned(PyObject* object) const {
  if (is_planned(object)) return true;
  return reaches(object, [this](PyObject* kept) {
    if (is_constant(kept) || is_tensor(kept) || PyType_Check(kept) || PyModule_Check(kept)) return Visit::Pass;
    const bool may_be_last = !tracer_.world.source_of(kept) || tracer_.ends.let_go.count(kept);
    return may_be_last && is_planned(kept) ? Visit::Found : Visit::Enter;
  });
}

std::vector<bool> ValuePlanner::passed_locals(const Frame& frame, const OriginalPosition& at, ResumePlace place) {
  std::vector<bool> passed;
  for (int32_t local = 0; local < at.prepared->locals_count; ++local) {
    const int32_t slot = at.local(local);
    PyObject* held = frame.has_lazy_local(slot) ? frame.lazy_locals[slot].raw : frame.slots[slot].get();
    if (!held || is_read_after(*at.prepared, place, local)) {
      passed.push_back(held != nullptr);
      continue;
    }
    const bool can_be_needed =
        (!is_tensor(held) || (keeps_tensors_ && is_fake(held))) && !is_constant(held) && !is_symbolic_float(held);
    passed.push_back(can_be_needed && (frame.has_lazy_local(slot) || tracer_.world.source_of(held) ||
                                       keeps_planned(held) || has_observable_end(held)));
    const bool is_iterator = PyIter_Check(held);  // knows no weak references; the loop has it on the stack
    if (can_be_needed && !is_iterator && !passed.back()) left_out_.push_back(held);
  }
  const std::vector<SlotKind>& stack = at.prepared->stack_layout().before(place.instruction);
  if (std::ranges::find(stack, SlotKind::Saved) != stack.end())
    for (size_t i = 0; i < stack.size(); ++i)
      passed.push_back(stack[i] != SlotKind::Saved || frame.slots[frame.prepared->locals_count + i]);
  return passed;
}

bool ValuePlanner::found_left_out() {
  const size_t known = expected_.size();
  for (PyObject* held : left_out_)
    if (keeps_planned(held)) expected_.insert(held);
  return expected_.size() > known;
}

ValueId ValuePlanner::slot_value(Frame& frame, size_t slot) {
  const auto locals = static_cast<size_t>(frame.prepared->locals_count);
  if (slot < locals && frame.has_lazy_local(static_cast<int32_t>(slot)))
    return live(source_of_untouched(tracer_, frame, static_cast<int32_t>(slot)));
  if (const Frame::LazySlot* waiting = frame.lazy_local_in(slot)) return live(waiting->source);
  return value_of(frame.slots[slot].get());
}

void ValuePlanner::define(PyObject* object, PyObject* callable, PyObject* argument) {
  keep_alive_.push_back(Ref::borrow(object));
  values_[object] = call(callable, {argument});
}

ValueId ValuePlanner::outside_value(PyObject* object, Source* source) {
  // An object that its guard fixes is a constant of the residual code, unless an argument may be all that holds it: the
  // program can end it, which a constant of code that runs would put off.
  const bool is_fixed = PyType_Check(object) ||
                        ((PyCFunction_Check(object) || PyFunction_Check(object)) && is_guarded_by_identity(object));
  const bool may_end = source->access == Access::Local;
  return PyModule_Check(object) || (is_fixed && !may_end) ? constant(object) : live(source);
}

// True if it is a number that id() gave, or a constant tuple or set with one.
bool ValuePlanner::holds_identity(PyObject* object) const {
  if (tracer_.identities.given_out.count(Ref::borrow(object))) return true;
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (holds_identity(PyTuple_GET_ITEM(object, i))) return true;
  } else if (PyFrozenSet_CheckExact(object)) {
    Py_ssize_t position = 0;
    PyObject* item;
    Py_hash_t hash;
    while (next_in_set(object, position, item, hash))
      if (holds_identity(item)) return true;
  }
  return false;
}

ValueId ValuePlanner::make_value(PyObject* object) {
  if (tracer_.classes.has(object)) {
    tracer_.classes.need(object);
    return refuse("a class that the function defines outlives the capture");
  }
  if (const DeferredCall* cache = tracer_.effects.cache_behind(object)) {
    PyObject* keywords = cache->keywords ? cache->keywords.get() : Py_None;
    return call(call_with_callable(), {cache->callable.get(), cache->positional.get(), keywords});
  }
  if (Source* source = tracer_.world.source_of(object)) return outside_value(object, source);
  static constinit Imported handled{"sys.exception"};  // residual code runs where the trace began
  if (was_handled_before(object)) return call(handled, {});
  if (!tracer_.identities.given_out.empty() && holds_identity(object))
    return refuse("an object's id() leaves the trace");
  if (is_constant(object) && !holds_native_value(object)) return constant(object);
  const ProxyKind kind = proxy_kind(object);
  switch (kind) {
    case ProxyKind::Int:
      if (tracer_.symbols.active()) return size(expression_of(object));
      break;
    case ProxyKind::FloatOfSizes:
      if (tracer_.symbols.active()) return size(float_expression_of(object).bits);
      break;
    case ProxyKind::Bool:
      if (tracer_.symbols.active()) return truth(condition_of(object));
      break;
    case ProxyKind::Array:
      return fake_array(object);
    case ProxyKind::Float: {
      const auto drawn = drawn_.find(tensor_of_number(object));
      if (drawn != drawn_.end()) return drawn->second;
      return call("torch._C.TensorBase.item"_imported, {tensor_of_number(object)});
    }
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
      return late(object);
    case ProxyKind::Tensor:  // below, unless it is opaque
    case ProxyKind::None:
      break;
  }
  if (tracer_.world.is_opaque(object)) return refuse("an object that the trace did not make leaves it");
  if (kind == ProxyKind::Tensor) {
    if (has_own_attributes(object) || has_own_gradient(object)) to_fill_.push_back(object);
    if (const auto drawn = drawn_.find(object); drawn != drawn_.end())
      return requires_gradient(object) ? refuse("a random tensor that was told to require a gradient") : drawn->second;
    if (!requires_gradient(object) || is_leaf_with_gradient(object)) return tensor(object);
    return tracer_.limits.below_autograd ? without_history(object) : tensor(object);
  }
  if (is_native_callback(object)) return value_of(behind_callback(object));
  if (is_item_preparer(object)) return value_of(behind_preparer(object));
  if (is_traced_generator(object)) return generator(object);
  if (is_context_token(object)) return context_token(object);
  return reconstruct_by_type(object);
}

ValueId ValuePlanner::late(PyObject* object) {
  const size_t place = place_of_runtime_value(object);
  if (!late_.count(place) && (is_planning_log || !plan_log_until(place)))
    return refuse("a number that comes later than what it is kept in");
  const auto found = late_.find(place);
  return found == late_.end() ? refuse("a number of which the log says nothing") : found->second;
}

bool ValuePlanner::runtime_value(size_t place, const DeferredCall& call) {
  std::vector<PyObject*> operands;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call.positional.get()); ++i)
    operands.push_back(PyTuple_GET_ITEM(call.positional.get(), i));
  const ValueId value = with_operands(PlanStep::Kind::Call, operands);
  if (value == kNoValue) return false;
  plan_.steps[value].object = call.callable;
  late_.emplace(place, value);
  return true;
}

// The graph returns a plain tensor, and no leaves.
ValueId ValuePlanner::tensor(PyObject* fake) {
  if (made_wrapper(fake)) return new_wrapper(fake);
  const bool is_leaf = is_leaf_with_gradient(fake), is_parameter = is_parameter_class(Py_TYPE(fake));
  const ValueId plain = output(fake);
  if (plain == kNoValue) return kNoValue;
  if (!is_leaf && history_reaches_new_leaf(tracer_, fake)) {
    if (!is_plain_tensor_class(Py_TYPE(fake))) return refuse("a tensor whose history ends in new leaves");
    const ValueId name = constant(kept(name_of_history(fake)));
    return add({PlanStep::Kind::Call, Ref::borrow(with_unseen_history_callable()), 0, {plain, name}});
  }
  if (!is_leaf && !is_parameter && is_in_graphs_as_it_is(fake)) return plain;
  const ValueId type = value_of(as_object(Py_TYPE(fake)));
  if (type == kNoValue) return kNoValue;
  if (!is_leaf && !is_parameter)
    return add({PlanStep::Kind::Call, Ref::borrow("torch._C.TensorBase.as_subclass"_imported), 0, {plain, type}});
  const ValueId requires_grad = constant(is_leaf ? Py_True : Py_False);
  return add({PlanStep::Kind::Call,
              Ref::borrow("torch._C.TensorBase._make_subclass"_imported),
              0,
              {type, plain, requires_grad}});
}

// Made of its parts as they leave: it holds the very tensors that the program put into it.
ValueId ValuePlanner::new_wrapper(PyObject* wrapper) {
  const MadeWrapper made = *made_wrapper(wrapper);
  const Ref attributes = attributes_of_wrapper(wrapper);
  keep_alive_.push_back(attributes);
  return call("minidynamo._runtime.wrappers.make_wrapper"_imported,
              {as_object(Py_TYPE(wrapper)), made.arguments, made.keywords, attributes.get()});
}

// Computed anew from the numbers that the call was made with.
ValueId ValuePlanner::size(Expression e) {
  e = tracer_.symbols.trace().simplify(e);
  if (symbols_of(e).empty()) {
    const Ref number = tracer_.symbols.object(e);
    if (!number) return clear_error(), refuse("a number that cannot be made");
    keep_alive_.push_back(number);
    return constant(number.get());
  }
  auto called = [&](PyObject* callable, std::vector<ValueId> operands) {
    return add({PlanStep::Kind::Call, Ref::borrow(callable), 0, std::move(operands)});
  };
  std::vector<ValueId> numbers;
  std::vector<int32_t> symbols = symbols_of(e);
  for (const int32_t number : symbols) {
    const OpenNumber& from = tracer_.symbols.numbers()[number];
    if (!from.source) {
      const NodeId node = tracer_.symbols.node_of(symbol(number));
      if (node == kNoNode) return clear_error(), refuse("a number that the graph does not give");
      numbers.push_back(output_of(node));
      continue;
    }
    const ValueId owner = live(from.source);
    if (from.dimension < 0) {
      numbers.push_back(owner);
      continue;
    }
    const Ref dimension = Ref::made(PyLong_FromLong(from.dimension));
    keep_alive_.push_back(dimension);
    numbers.push_back(called(size_of_tensor_callable(), {owner, constant(dimension.get())}));
  }
  if (symbols.size() == 1 && symbol(symbols[0]) == e) return numbers[0];
  // Its steps as numbers, symbols by their places among the operands.
  const std::vector<SizeStep> steps = steps_of(e);
  const Ref program = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(2 * steps.size())));
  for (size_t i = 0; i < steps.size(); ++i) {
    int64_t operand = steps[i].operand;
    if (steps[i].kind == SizeStep::Kind::Symbol)
      operand = std::find(symbols.begin(), symbols.end(), operand) - symbols.begin();
    PyTuple_SET_ITEM(program.get(), static_cast<Py_ssize_t>(2 * i),
                     Ref::made(PyLong_FromLong(static_cast<long>(steps[i].kind))).release());
    PyTuple_SET_ITEM(program.get(), static_cast<Py_ssize_t>(2 * i + 1),
                     Ref::made(PyLong_FromLongLong(operand)).release());
  }
  keep_alive_.push_back(program);
  std::vector<ValueId> operands = {constant(program.get())};
  operands.insert(operands.end(), numbers.begin(), numbers.end());
  return called(compute_size_callable(), std::move(operands));
}

ValueId ValuePlanner::make_empty(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyList_Type) return add({PlanStep::Kind::List});
  if (type == &PyDict_Type) return add({PlanStep::Kind::Dict});
  if (type == &PySet_Type) return add({PlanStep::Kind::Set});
  if (type == &PyCell_Type) return call(as_object(&PyCell_Type), {});
  if (reconstruct_rule_of(type) == ReconstructRule::Fields) return call(rebuild_iterator_callable(), {as_object(type)});
  const ValueId own_type = value_of(as_object(type));
  if (own_type == kNoValue) return kNoValue;
  const ValueId none = constant(Py_None), attributes = add({PlanStep::Kind::Dict});
  return add({PlanStep::Kind::Call, Ref::borrow(rebuild_instance_callable()), 0, {own_type, none, attributes}});
}

void ValuePlanner::draw_numbers() {
  const std::vector<Node>& nodes = tracer_.graph.nodes();
  if (tracer_.drawn.empty() ||
      std::ranges::any_of(nodes, [](const Node& node) { return node.kind != NodeKind::Placeholder; }))
    return;
  plan_.draws_numbers = true;
  for (const DrawnNumber& drawn : tracer_.drawn) {
    PlanStep step{PlanStep::Kind::Call, drawn.method, 0, {live(drawn.source->parent)}};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(drawn.arguments.get()); ++i)
      step.operands.push_back(constant(PyTuple_GET_ITEM(drawn.arguments.get(), i)));
    drawn_.emplace(drawn.fake.get(), add(std::move(step)));
  }
}

void ValuePlanner::finish_draws() {
  std::unordered_set<ValueId> used = {plan_.result};
  for (const PlanStep& step : plan_.steps) used.insert(step.operands.begin(), step.operands.end());
  if (plan_.end) each_value(*plan_.end, [&](ValueId value) { used.insert(value); });
  for (const auto& [fake, value] : drawn_)
    if (!used.count(value)) plan_.steps[value].kind = PlanStep::Kind::CallEffect;
}

bool ValuePlanner::fill_cycles() {
  while (!to_fill_.empty()) {
    PyObject* object = to_fill_.back();
    to_fill_.pop_back();
    if (!fill(object)) return false;
  }
  return true;
}

bool ValuePlanner::fill_now(PyObject* object) {
  const auto waiting = std::ranges::find(to_fill_, object);
  if (waiting == to_fill_.end()) return true;
  to_fill_.erase(waiting);
  return fill(object);
}

bool ValuePlanner::set_states() {
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto [object, state] = states_[i];
    if (!effect(set_state_callable(), {object, state})) return false;
  }
  return true;
}

bool ValuePlanner::fill(PyObject* object) {
  if (is_fake(object)) return fill_tensor(object);
  PyTypeObject* type = Py_TYPE(object);
  auto with_copy = [&](const char* method, PyObject* made) {
    Ref copy = Ref::steal(made);
    keep_alive_.push_back(copy);
    return effect(method, {object, copy.get()});
  };
  if (type == &PyList_Type) return with_copy("builtins.list.extend", PySequence_List(object));
  if (type == &PyDict_Type) return with_copy("builtins.dict.update", PyDict_Copy(object));
  if (type == &PySet_Type) return with_copy("builtins.set.update", PySet_New(object));  // with the hashes it knows
  if (type == &PyCell_Type) {
    PyObject* contents = PyCell_GET(object);
    return !contents || effect("builtins.setattr", {object, "cell_contents"_name, contents});
  }
  if (reconstruct_rule_of(type) == ReconstructRule::Fields) {
    const Ref fields = fields_of(object);
    keep_alive(fields);
    if (fields) return effect(fill_iterator_callable(), {object, fields.get()});
    return refuse(std::string("a ") + type->tp_name + " leaves the trace") != kNoValue;
  }
  PyObject* given = has_given_dict(object) ? instance_dict(object) : nullptr;
  Ref parts = given ? instance_parts_but_dict(object) : instance_parts(object);
  if (!parts) {
    clear_error();
    return refuse(std::string("an instance of ") + type->tp_name) != kNoValue;
  }
  keep_alive_.push_back(parts);
  const bool is_filled =
      effect(fill_instance_callable(), {object, PyTuple_GET_ITEM(parts.get(), 0), PyTuple_GET_ITEM(parts.get(), 1)});
  return is_filled && (!given || effect("builtins.object.__setattr__", {object, "__dict__"_name, given}));
}

// Sets the attributes that the program, or autograd, has put on a tensor that the trace made.
bool ValuePlanner::fill_tensor(PyObject* object) {
  if (has_own_gradient(object) &&
      !effect("builtins.setattr", {object, "grad"_name, kept(tensor_fact(object, TensorFact::Gradient))}))
    return false;
  const Ref own = Ref::made(PyObject_GenericGetDict(object, nullptr)), attributes = Ref::made(PyDict_Copy(own.get()));
  keep_alive_.push_back(attributes);
  Py_ssize_t position = 0;
  PyObject *name, *value;
  while (PyDict_Next(attributes.get(), &position, &name, &value))
    if (!effect("builtins.object.__setattr__", {object, name, value})) return false;
  return true;
}

ValueId ValuePlanner::live(Source* source) {
  if (auto known = live_values_.find(source); known != live_values_.end()) return known->second;
  const ValueId value = add({PlanStep::Kind::Live});
  live_.emplace_back(value, source);
  live_values_.emplace(source, value);
  return value;
}

// The same of a condition on such numbers, which is one of an expression and 0.
ValueId ValuePlanner::truth(SizeCondition condition) {
  static constinit Imported functions[] = {Imported{"_operator.eq"}, Imported{"_operator.ne"}, Imported{"_operator.lt"},
                                           Imported{"_operator.le"}};
  const ValueId number = size(condition.expression);
  if (number == kNoValue) return kNoValue;
  const Ref zero = Ref::made(PyLong_FromLong(0));
  keep_alive_.push_back(zero);
  PyObject* function = functions[static_cast<size_t>(condition.relation)];
  return add({PlanStep::Kind::Call, Ref::borrow(function), 0, {number, constant(zero.get())}});
}

ValueId ValuePlanner::output(PyObject* fake) {
  const NodeId node = tracer_.graph.origin(fake);
  return node == kNoNode ? refuse("a tensor whose origin the graph does not know") : output_of(node);
}

ValueId ValuePlanner::output_of(NodeId node) {
  auto [entry, added] = output_index_.try_emplace(node, static_cast<uint32_t>(outputs_.size()));
  if (added) outputs_.push_back(node);
  return add({PlanStep::Kind::Output, nullptr, entry->second});
}

// A graph that runs below autograd makes no history of a tensor. Residual code can imitate a history that a backward
// pass has used up; any other would have to be complete, since its receiver may use it.
ValueId ValuePlanner::without_history(PyObject* fake) {
  if (!tracer_.backward.used_up.has(fake)) return refuse("a tensor leaves whose gradient may still be asked for");
  const ValueId made = output(fake);
  if (made == kNoValue) return kNoValue;
  const ValueId name = constant(kept(name_of_history(fake)));
  return add({PlanStep::Kind::Call, Ref::borrow(with_used_up_history_callable()), 0, {made, name}});
}

ValueId ValuePlanner::with_operands(PlanStep::Kind kind, const std::vector<PyObject*>& operands) {
  PlanStep step{kind};
  for (PyObject* operand : operands) {
    step.operands.push_back(value_of(operand));
    if (step.operands.back() == kNoValue) return kNoValue;
  }
  return add(std::move(step));
}

ValueId ValuePlanner::call(PyObject* callable, const std::vector<PyObject*>& arguments) {
  const ValueId value = with_operands(PlanStep::Kind::Call, arguments);
  if (value != kNoValue) plan_.steps[value].object = Ref::borrow(callable);
  return value;
}

bool ValuePlanner::effect(PyObject* callable, const std::vector<PyObject*>& arguments) {
  const ValueId step = with_operands(PlanStep::Kind::CallEffect, arguments);
  if (step == kNoValue) return false;
  plan_.steps[step].object = Ref::borrow(callable);
  return true;
}

bool ValuePlanner::effect(const char* callable_path, std::initializer_list<PyObject*> arguments) {
  return effect(import_object(callable_path).get(), arguments);
}

bool ValuePlanner::watched_are_held() {
  std::unordered_set<ValueId> held, references;
  for (const auto& [reference, referent] : watched_) references.insert(reference);
  for (ValueId id = 0; id < plan_.steps.size(); ++id)
    if (!references.count(id)) held.insert(plan_.steps[id].operands.begin(), plan_.steps[id].operands.end());
  if (plan_.end) each_value(*plan_.end, [&](ValueId value) { held.insert(value); });
  for (const auto& [reference, referent] : watched_)
    if (!held.count(referent) && plan_.steps[referent].kind == PlanStep::Kind::Call)
      return refuse("an object that only a weak reference leads to leaves the trace") != kNoValue;
  return true;
}

bool ValuePlanner::generators_are_held() {
  for (PyObject* generator : tracer_.made.generators)
    if (runs_when_dropped(generator) && !is_planned(generator))
      return refuse("a generator that is suspended inside of try is dropped") != kNoValue;
  return true;
}

void ValuePlanner::is_written_to(PyObject* object) {
  const Source* source = tracer_.world.source_of(object);
  if (source && source->access != Access::Pinned) written_objects_.insert(object);
}

// By type, since objects of two types are two objects; a __dict__ of instances is a dict as any.
void ValuePlanner::keep_written_apart() {
  struct Group {
    std::vector<Source*> written, others;
  };
  // An object that was changed and changed back looks the same at the end, but not to the code that read it in between.
  for (const ShadowContainer& shadow : tracer_.world.shadows())
    if (shadow.filled ? may_have_been_changed(shadow) : tracer_.world.is_changed(shadow))
      is_written_to(shadow.object.get());
  std::unordered_map<PyTypeObject*, Group> groups;
  for (PyObject* object : written_objects_) {
    Source* source = tracer_.world.source_of(object);
    groups[Py_TYPE(object)].written.push_back(source);
    PyObject* raw = source->value.get();
    if (is_static_class(Py_TYPE(raw)) || !has_instance_dict(Py_TYPE(raw))) continue;
    PyObject* dict = instance_dict(raw);
    Source* own = tracer_.guards.child(source, Access::InstanceDict, nullptr, -1, dict ? dict : raw);
    const bool may_be_held = own->slot >= 0 || (own->held_elsewhere && !own->inline_attributes);
    if (may_be_held)
      groups[&PyDict_Type].written.push_back(own);
    else  // which tells it from all others
      tracer_.guards.add(own, GuardKind::HeldOnce, tracer_.origin());
  }
  if (groups.empty()) return;
  const auto dicts = groups.find(&PyDict_Type);
  std::unordered_set<PyObject*> written_dicts;
  if (dicts != groups.end())
    for (const Source* source : dicts->second.written) written_dicts.insert(source->value.get());
  tracer_.world.each_known([&](PyObject* object, Source* source) {
    if (source->access == Access::Pinned) return;
    const auto group = groups.find(Py_TYPE(object));
    if (group != groups.end() && !written_objects_.count(object) && !written_dicts.count(source->value.get()))
      group->second.others.push_back(source);
    if (dicts == groups.end() || !has_instance_dict(Py_TYPE(source->value.get()))) return;
    Source* own = tracer_.guards.find(source, Access::InstanceDict, nullptr, -1);
    if (own && !written_dicts.count(own->value.get())) dicts->second.others.push_back(own);
  });
  for (auto& [type, group] : groups) tracer_.guards.require_disjoint(std::move(group.written), std::move(group.others));
}

// Where an input of the graph comes from.
Source* ValuePlanner::input_of(const Node& placeholder) const {
  PyObject* example = placeholder.example.get();
  if (const DrawnNumber* drawn = drawn_number(tracer_, example)) return drawn->source;
  if (!is_symbolic_int(example)) {
    Source* source = tracer_.world.source_of(example);
    if (is_in_graphs_as_it_is(example)) return source;
    const TensorTraceSuspended suspended;
    const Ref plain = plain_tensor(source->value.get());
    return tracer_.guards.child(source, Access::PlainTensor, nullptr, -1, plain.get());
  }
  return tracer_.symbols.numbers()[symbols_of(expression_of(example)).front()].source;
}

bool ValuePlanner::gather(std::vector<Source*>& inputs) {
  // The graph's inputs come first, in the order of its placeholders; Live steps index everything that is gathered.
  std::vector<uint32_t> slots, different;  // slots of tensors; of tensors, or the objects that they are made of
  size_t calls = 0;
  for (const Node& node : tracer_.graph.nodes()) {
    if (!node.used) continue;
    if (node.kind != NodeKind::Placeholder) {
      calls += !node.sets_mode;
      continue;
    }
    Source* source = input_of(node);
    if (static_cast<size_t>(node.input) >= inputs.size()) inputs.resize(node.input + 1);
    inputs[node.input] = source;
  }
  // The other inputs are ints, and generators that numbers are drawn from.
  const auto is_given_tensor = [](const Source* input) {
    return is_tensor(input->value.get()) && input->access != Access::Draw;
  };
  std::vector<PyObject*> tensors;
  std::vector<size_t> place(inputs.size());  // among these, by input
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t slot = tracer_.guards.gather(inputs[i]);
    if (!is_given_tensor(inputs[i])) continue;
    place[i] = slots.size();
    slots.push_back(slot);
    tensors.push_back(inputs[i]->value.get());
  }
  for (Source* input : inputs)  // behind the inputs
    if (is_given_tensor(input))
      different.push_back(tracer_.guards.gather(input->access == Access::PlainTensor ? input->parent : input));
  // A write to one input is a write to those that share its storage, and a backend that makes the graph a function of
  // values relies on which these are.
  std::vector<bool> written(slots.size());
  for (const Node& node : tracer_.graph.nodes()) {
    if (!node.used || node.kind != NodeKind::Placeholder || !is_fake(node.example.get()) || node.impure) continue;
    written[place[node.input]] = tracer_.storages.is_written(node.example.get());
  }
  if (std::find(written.begin(), written.end(), true) != written.end()) {
    if (!StorageSharing::can_be_written(tensors, written)) return false;
    if (slots.size() > 1) tracer_.guards.storages(slots, std::move(written));
  }
  tracer_.guards.distinct(std::move(different));
  if (tracer_.world.distinct_sources().size() > 1) {
    std::vector<uint32_t> require_distinct;
    for (Source* source : tracer_.world.distinct_sources()) require_distinct.push_back(tracer_.guards.gather(source));
    tracer_.guards.distinct(std::move(require_distinct));
  }
  for (const auto& [value, source] : live_) plan_.steps[value].index = tracer_.guards.gather(source);
  keep_written_apart();
  plan_.calls_graph = calls > 0;
  plan_.output_count = static_cast<uint32_t>(outputs_.size());
  return true;
}

}  // namespace minidynamo
