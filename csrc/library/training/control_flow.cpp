// torch's operators for control flow. Their Python functions (torch.cond, while_loop, map, scan) are traced up to the
// operator itself, which is given functions of flat tensors: each becomes a body, and what all of them use besides is
// passed to each.
//
// Whatever the operators would refuse, or treat in a way of their own, ends the trace before the call, so that torch
// itself says what is wrong with it.
#include "library/rules/handlers.h"

#include <algorithm>
#include <optional>

#include "model/native/body.h"
#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "python/error_text.h"
#include "python/native_method.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo::handlers {
namespace {

// The results of a body: tensors, and how they lie in tuples, lists and dicts.
struct Flat {
  std::vector<Ref> leaves;
  Ref spec;
};

Ref attribute(PyObject* object, const char* name) { return Ref::steal(PyObject_GetAttrString(object, name)); }

bool is_same(PyObject* a, PyObject* b) { return PyObject_RichCompareBool(a, b, Py_EQ) == 1; }

// "float32 (2, 3)"
std::string text_of(PyObject* fake) {
  std::string text;
  for (const char* name : {"dtype", "shape", "device"}) {
    const Ref part = attribute(fake, name);
    const Ref shown = part ? Ref::steal(PyObject_Str(part.get())) : Ref();
    const char* words = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
    text += (text.empty() ? "" : " ") + std::string(words ? words : "?");
  }
  clear_error();
  return text;
}

bool is_alike(PyObject* a, PyObject* b) {
  if (!is_of_kind(a, b)) return false;
  const Ref one = Ref::steal(PyObject_CallMethod(a, "stride", nullptr));
  const Ref other = Ref::steal(PyObject_CallMethod(b, "stride", nullptr));
  const bool same = one && other && is_same(one.get(), other.get());
  clear_error();
  return same;
}

class Operator {
 public:
  Operator(Tracer& tracer, const char* name, PyObject* operation)
      : tracer_(tracer), name_(name), operation_(operation) {}

  std::nullptr_t refuse(const std::string& why) {
    if (tracer_.is_over()) return nullptr;
    clear_error();
    return tracer_.abort(BreakReason::HigherOrder, name_ + ": " + why);
  }

  bool are_tensors(PyObject* sequence) {
    if (tracer_.limits.below_autograd || TransformState::now() != TransformState{})
      return refuse(std::string("it is called ") + tracer_.transforms.place()), false;
    const bool is_sequence = PyTuple_CheckExact(sequence) || PyList_CheckExact(sequence);
    if (!is_sequence || !std::ranges::all_of(items_of(sequence), [](const Ref& item) { return is_fake(item.get()); }))
      return refuse("an operand is no tensor"), false;
    if (std::ranges::all_of(items_of(sequence), [](const Ref& item) { return is_class_of_graphs(item.type()); }))
      return true;
    return refuse("an operand is of a class of the program's"), false;
  }

  // A fake of the same kind, with a storage of its own. `rows`: of so many of them; -1: of one row of it.
  Ref made_like(PyObject* fake, std::optional<Py_ssize_t> rows = {}) {
    const NativeScope native;
    const Ref detached = call_native_method(fake, "detach");
    Ref of = detached;
    if (of && rows && *rows < 0) of = Ref::steal(PyObject_CallMethod(of.get(), "select", "ii", 0, 0));
    if (of && rows && *rows >= 0) {
      const Ref one = Ref::steal(PyObject_CallMethod(of.get(), "unsqueeze", "i", 0));
      const Ref counts = Ref::made(PyList_New(0));
      const Ref dimensions = one ? Ref::steal(PyObject_CallMethod(one.get(), "dim", nullptr)) : Ref();
      const long count = dimensions ? PyLong_AsLong(dimensions.get()) : 0;
      for (long i = 0; i < count; ++i)
        if (PyList_Append(counts.get(), Ref::made(PyLong_FromSsize_t(i ? 1 : *rows)).get()) < 0) throw_out_of_memory();
      of = one ? Ref::steal(PyObject_CallMethod(one.get(), "repeat", "(O)", counts.get())) : Ref();
      return of ? of : refuse("a result cannot be stacked");
    }
    Ref made = of ? Ref::steal(PyObject_CallOneArg("torch.empty_like"_imported, of.get())) : Ref();
    return made ? made : refuse("an operand cannot be passed");
  }

  // Traces a function that is to be a body. `parameters`: what it is given anew each time that it runs.
  std::unique_ptr<Subgraph> body(PyObject* function, const std::vector<Ref>& given, const std::vector<Ref>& parameters,
                                 const char* name, Flat& result, bool gives_one_tensor = false) {
    std::vector<PyObject*> reaches = {function};
    for (const Ref& one : given) reaches.push_back(one.get());
    if (!sets_grad_mode()) return nullptr;
    Body body(tracer_, name_, reaches);
    for (const Ref& parameter : parameters) body.add_parameter("operand", parameter);
    const Ref returned = call(tracer_, function, Arguments{given});
    if (returned && !sets_grad_mode()) return nullptr;
    if (!returned) return refuse("a function raises " + take_error_text()), nullptr;
    if (!body.only_computes() || !flatten(returned.get(), result)) return nullptr;
    for (size_t i = 0; i < result.leaves.size(); ++i) {
      PyObject* leaf = result.leaves[i].get();
      if (!is_fake(leaf)) return refuse("a function returns something else than tensors"), nullptr;
      for (size_t k = 0; k < i; ++k)
        if (shares_storage(leaf, result.leaves[k].get()))
          return refuse("a function returns tensors that share their memory"), nullptr;
      if (!body.made(leaf)) return refuse("a function returns a tensor that it was given"), nullptr;
    }
    if (gives_one_tensor && result.leaves.size() != 1) return refuse("the condition is not one tensor"), nullptr;
    const Ref output = gives_one_tensor ? result.leaves[0] : tuple_of(result.leaves);
    std::unique_ptr<Subgraph> taken = body.take(output.get(), name);
    if (!taken || !body.leaves_operands(*taken)) return nullptr;
    std::vector<Ref> outside = parameters;
    outside.insert(outside.end(), taken->operands.begin(), taken->operands.end());
    for (const Ref& one : outside) {
      if (tracer_.storages.is_written(one.get()))
        return refuse("a function writes to a tensor that it was given"), nullptr;
      for (const Ref& leaf : result.leaves)
        if (shares_storage(leaf.get(), one.get()))
          return refuse("a function returns a view of a tensor that it was given"), nullptr;
    }
    return taken;
  }

  bool are_alike(const std::vector<Ref>& ones, const char* of_ones, const std::vector<Ref>& others,
                 const char* of_others) {
    if (ones.size() != others.size())
      return refuse(std::string(of_ones) + " and " + of_others + " are not equally many"), false;
    for (size_t i = 0; i < ones.size(); ++i)
      if (!is_alike(ones[i].get(), others[i].get()))
        return refuse(std::string(of_ones) + " has " + text_of(ones[i].get()) + " where " + of_others + " has " +
                      text_of(others[i].get())),
               false;
    return true;
  }

  // The operator's results in the trace: autograd, if any of the inputs has to do with it, knows them as a whole.
  Ref results(const std::vector<Ref>& made, const std::vector<Ref>& inputs) {
    Ref result = with_history(tuple_of(made).get(), {}, inputs);
    return result ? result : refuse("its results have no gradient");
  }

  // The values that the bodies use besides their parameters, each once; each body takes all of them.
  static std::vector<Ref> share_operands(std::initializer_list<Subgraph*> bodies) {
    std::vector<Ref> all;
    for (const Subgraph* one : bodies)
      for (const Ref& operand : one->operands)
        if (std::ranges::find(all, operand) == all.end()) all.push_back(operand);
    for (Subgraph* one : bodies) one->set_operands(all);
    return all;
  }

  Ref record(std::vector<Ref> values, const Ref& result, bool impure) {
    if (!sets_grad_mode()) return nullptr;
    return record_body_call(tracer_, operation_, values, nullptr, result.get(), impure) ? result : Ref();
  }

  bool flatten(PyObject* object, Flat& flat) {
    const NativeScope native;
    const Ref both = Ref::steal(PyObject_CallOneArg("torch.utils._pytree.tree_flatten"_imported, object));
    if (!both || !PyTuple_Check(both.get())) return refuse("a function returns what cannot be taken apart"), false;
    flat = {items_of(PyTuple_GET_ITEM(both.get(), 0)), Ref::borrow(PyTuple_GET_ITEM(both.get(), 1))};
    return true;
  }

  Ref unflatten(PyObject* leaves, const Ref& spec) {
    const NativeScope native;
    const Ref list = Ref::made(PySequence_List(leaves));
    Ref made = Ref::steal(
        PyObject_CallFunctionObjArgs("torch.utils._pytree.tree_unflatten"_imported, list.get(), spec.get(), nullptr));
    return made ? made : refuse("a function returns what cannot be put together again");
  }

 private:
  Tracer& tracer_;
  const std::string name_;
  PyObject* const operation_;

  // In a region of transforms each node runs in the mode that it was recorded in: bodies begin and end in the caller's.
  bool sets_grad_mode() {
    return !tracer_.transforms.inside() || tracer_.transforms.use_grad_mode(tracer_, grad_mode_enabled());
  }

  static bool shares_storage(PyObject* a, PyObject* b) { return storage_of_fake(a) == storage_of_fake(b); }
};

bool append(std::vector<Ref>& all, Ref one) {
  all.push_back(std::move(one));
  return static_cast<bool>(all.back());
}

}  // namespace

// invoke_subgraph_placeholder(function, ...)
Ref nested_region(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.positional_count()) return call_function(tracer, callable, arguments);
  const MarkedRegion region(tracer.graph);
  return call(tracer, arguments.values[0].get(), Arguments{arguments.values.subspan(1), arguments.keyword_names});
}

// cond_op(predicate, true_function, false_function, operands)
Ref cond_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  Operator operation(tracer, "torch.cond", callable);
  if (arguments.values.size() != 4 || arguments.keyword_names) return operation.refuse("it is called with keywords");
  PyObject* predicate = arguments.values[0].get();
  PyObject* operands = arguments.values[3].get();
  if (PyBool_Check(predicate) || PyLong_CheckExact(predicate) || PyFloat_CheckExact(predicate)) {
    const int truth = PyObject_IsTrue(predicate);
    return call_with(tracer, arguments.values[truth ? 1 : 2].get(), Ref::steal(PySequence_Tuple(operands)).get(),
                     nullptr);
  }
  if (TransformState::now().levels) {
    return call(tracer, "minidynamo._runtime.transforms.cond"_imported, arguments);
  }
  if (!is_fake(predicate)) return operation.refuse("the predicate is neither a tensor nor a number");
  if (!operation.are_tensors(operands)) return nullptr;
  const std::vector<Ref> given = items_of(operands);
  Flat of_true, of_false;
  auto when_true = operation.body(arguments.values[1].get(), given, {}, "cond_true", of_true);
  auto when_false = when_true ? operation.body(arguments.values[2].get(), given, {}, "cond_false", of_false) : nullptr;
  if (!when_false) return nullptr;
  if (!is_same(of_true.spec.get(), of_false.spec.get()))
    return operation.refuse("the branches return different structures");
  if (!operation.are_alike(of_true.leaves, "the true branch", of_false.leaves, "the false branch")) return nullptr;
  std::vector<Ref> made;
  for (const Ref& leaf : of_true.leaves)
    if (!append(made, operation.made_like(leaf.get()))) return nullptr;
  const std::vector<Ref> used = Operator::share_operands({when_true.get(), when_false.get()});
  const Ref results = operation.results(made, used);
  if (!results) return nullptr;
  const bool impure = when_true->impure || when_false->impure;
  const Ref recorded = operation.record(
      {arguments.values[0], object_for(std::move(when_true)), object_for(std::move(when_false)), tuple_of(used)},
      results, impure);
  return recorded ? operation.unflatten(results.get(), of_true.spec) : Ref();
}

// while_loop_op(condition, body, carried, additional)
Ref while_loop_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  Operator operation(tracer, "while_loop", callable);
  if (arguments.values.size() != 4 || arguments.keyword_names) return operation.refuse("it is called with keywords");
  if (!operation.are_tensors(arguments.values[2].get()) || !operation.are_tensors(arguments.values[3].get()))
    return nullptr;
  const std::vector<Ref> carried = items_of(arguments.values[2].get());
  const std::vector<Ref> additional = items_of(arguments.values[3].get());
  Flat of_condition, of_body;
  const auto trace = [&](const Ref& function, const char* name, Flat& result, bool is_condition) {
    std::vector<Ref> parameters;
    for (const Ref& one : carried)
      if (!append(parameters, operation.made_like(one.get()))) return std::unique_ptr<Subgraph>();
    std::vector<Ref> given = parameters;
    given.insert(given.end(), additional.begin(), additional.end());
    return operation.body(function.get(), given, parameters, name, result, is_condition);
  };
  auto condition = trace(arguments.values[0], "while_loop_cond", of_condition, true);
  auto body = condition ? trace(arguments.values[1], "while_loop_body", of_body, false) : nullptr;
  if (!body || !operation.are_alike(carried, "what is carried", of_body.leaves, "what the body returns"))
    return nullptr;
  std::vector<Ref> made;
  for (const Ref& one : carried)
    if (!append(made, operation.made_like(one.get()))) return nullptr;
  const std::vector<Ref> used = Operator::share_operands({condition.get(), body.get()});
  std::vector<Ref> inputs = carried;
  inputs.insert(inputs.end(), used.begin(), used.end());
  const Ref results = operation.results(made, inputs);
  if (!results) return nullptr;
  const bool impure = condition->impure || body->impure;
  const Ref recorded = operation.record(
      {object_for(std::move(condition)), object_for(std::move(body)), tuple_of(carried), tuple_of(used)}, results,
      impure);
  return recorded ? operation.unflatten(results.get(), of_body.spec) : Ref();
}

// map_impl(function, stacked, others)
Ref map_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  Operator operation(tracer, "map", callable);
  if (arguments.values.size() != 3 || arguments.keyword_names) return operation.refuse("it is called with keywords");
  if (!operation.are_tensors(arguments.values[1].get()) || !operation.are_tensors(arguments.values[2].get()))
    return nullptr;
  const std::vector<Ref> stacked = items_of(arguments.values[1].get()), others = items_of(arguments.values[2].get());
  if (stacked.empty()) return operation.refuse("there is nothing to map over");
  std::vector<Ref> parameters;
  for (const Ref& one : stacked)
    if (!append(parameters, operation.made_like(one.get(), -1))) return nullptr;
  for (const Ref& one : others)
    if (!append(parameters, operation.made_like(one.get()))) return nullptr;
  Flat of_body;
  auto body = operation.body(arguments.values[0].get(), parameters, parameters, "map_body", of_body);
  if (!body) return nullptr;
  const Py_ssize_t rows = PyObject_Size(stacked[0].get());
  std::vector<Ref> made;
  for (const Ref& leaf : of_body.leaves)
    if (!append(made, operation.made_like(leaf.get(), rows))) return nullptr;
  std::vector<Ref> inputs = others;
  inputs.insert(inputs.end(), body->operands.begin(), body->operands.end());
  std::vector<Ref> all = stacked;
  all.insert(all.end(), inputs.begin(), inputs.end());
  const Ref results = operation.results(made, all);
  if (!results) return nullptr;
  const bool impure = body->impure;
  const Ref recorded =
      operation.record({object_for(std::move(body)), list_of(stacked), list_of(inputs)}, results, impure);
  return recorded ? operation.unflatten(results.get(), of_body.spec) : Ref();
}

// scan_op(function, initial, stacked, additional): the function returns what is carried, then what is stacked.
Ref scan_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  Operator operation(tracer, "scan", callable);
  if (arguments.values.size() != 4) return operation.refuse("it is called with keywords");
  for (size_t i = 1; i < 4; ++i)
    if (!operation.are_tensors(arguments.values[i].get())) return nullptr;
  const std::vector<Ref> carried = items_of(arguments.values[1].get()), stacked = items_of(arguments.values[2].get());
  if (stacked.empty() || PyObject_Size(arguments.values[3].get()) != 0)
    return operation.refuse("its operands are unusual");
  std::vector<Ref> parameters;
  for (const Ref& one : carried)
    if (!append(parameters, operation.made_like(one.get()))) return nullptr;
  for (const Ref& one : stacked)
    if (!append(parameters, operation.made_like(one.get(), -1))) return nullptr;
  Flat of_body;
  auto body = operation.body(arguments.values[0].get(), parameters, parameters, "scan_combine_fn", of_body);
  if (!body) return nullptr;
  if (of_body.leaves.size() < carried.size()) return operation.refuse("the function carries less than it was given");
  const auto last_carried = of_body.leaves.begin() + static_cast<ptrdiff_t>(carried.size());
  if (!operation.are_alike(carried, "what is carried", {of_body.leaves.begin(), last_carried},
                           "what the function carries on"))
    return nullptr;
  const Py_ssize_t rows = PyObject_Size(stacked[0].get());
  std::vector<Ref> made;
  for (size_t i = 0; i < of_body.leaves.size(); ++i) {
    const bool is_carried = i < carried.size();
    if (!append(made, operation.made_like(of_body.leaves[i].get(), is_carried ? std::nullopt : std::optional(rows))))
      return nullptr;
  }
  const std::vector<Ref> used = body->operands;
  std::vector<Ref> inputs = carried;
  inputs.insert(inputs.end(), stacked.begin(), stacked.end());
  inputs.insert(inputs.end(), used.begin(), used.end());
  const Ref results = operation.results(made, inputs);
  if (!results) return nullptr;
  const bool impure = body->impure;
  const Ref recorded = operation.record(
      {object_for(std::move(body)), list_of(carried), list_of(stacked), tuple_of(used)}, results, impure);
  return recorded ? operation.unflatten(results.get(), of_body.spec) : Ref();
}

}  // namespace minidynamo::handlers
