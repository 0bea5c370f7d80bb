// torch.autograd.Function: forward and backward of the user's class are traced, one after the other, and become the two
// bodies of torch.ops.higher_order.autograd_function_apply, so that the graph is differentiated by the user's backward.
// Without a gradient asked for, only the forward is traced, in place.
//
// The operator's forward body gets the tensors that the function is applied to, then what else it uses, and returns
// ((results), (what the backward uses)). The backward body gets a gradient for each result and what was kept for it,
// and returns a gradient, or None, for each input of the forward body.
#include "library/rules/handlers.h"

#include <algorithm>

#include "model/native/body.h"
#include "model/native/native_call.h"
#include "model/objects/object_end.h"
#include "model/protocols/abstract.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/transform_call.h"
#include "python/code/bound_method.h"
#include "python/error_set_aside.h"
#include "python/error_text.h"
#include "python/named_item.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "tensor/autograd/forward_gradients.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"

namespace minidynamo::handlers {
namespace {

PyObject* set_gradients_enabled() { return "torch._C._set_grad_enabled"_imported; }

// As autograd runs a forward, without a word in the graph: the operator does it too.
class GradientsOff {
 public:
  explicit GradientsOff(Tracer& tracer) : before_(Ref::boolean(grad_mode_enabled())) {
    const Ref off = Ref::made(PyTuple_Pack(1, Py_False));
    tracer.modes.note(set_gradients_enabled(), off.get());
    set(Py_False);
  }
  ~GradientsOff() {
    const ErrorSetAside error;
    set(before_.get());
  }
  GradientsOff(const GradientsOff&) = delete;
  GradientsOff& operator=(const GradientsOff&) = delete;

 private:
  static void set(PyObject* value) noexcept {
    const NativeScope native;
    if (!Ref::steal(PyObject_CallOneArg(set_gradients_enabled(), value))) clear_error();
  }
  const Ref before_;
};

bool holds(const std::vector<Ref>& items, PyObject* object) {
  return std::ranges::any_of(items, [&](const Ref& item) { return item.is(object); });
}

std::nullptr_t refuse_within(Tracer& tracer) {
  return tracer.abort(BreakReason::AutogradFunction,
                      std::string("an autograd.Function is applied ") + tracer.transforms.place());
}

std::nullptr_t refuse_unusual(Tracer& tracer) {
  return tracer.abort(BreakReason::AutogradFunction, "an autograd.Function is applied in an unusual way");
}

// True for a class that torch.func makes for one of its levels.
bool is_of_one_level(PyObject* function_class) {
  static constinit ImportedType one_level{"torch.autograd.function._SingleLevelFunction"};
  static constinit ImportedType of_programs{"torch.autograd.Function"};
  auto* type = as_type(function_class);
  return PyType_IsSubtype(type, one_level) && !PyType_IsSubtype(type, of_programs);
}

class Application {
 public:
  Application(Tracer& tracer, PyObject* function_class, std::span<const Ref> inputs)
      : tracer_(tracer), class_(function_class), inputs_(inputs.begin(), inputs.end()) {}

  Ref run() {
    std::vector<Ref> needed;
    bool any = false;
    for (const Ref& input : inputs_) {
      needed.push_back(Ref::boolean(is_fake(input.get()) && requires_gradient(input.get())));
      any |= needed.back().is(Py_True);
      if (is_fake(input.get())) tensors_.push_back(input);
    }
    context_ = call(tracer_, "minidynamo._runtime.autograd_function.Context"_imported, {tuple_of(needed)});
    if (!context_) return nullptr;
    const bool has_backward = any && grad_mode_enabled();
    if (has_backward && tracer_.limits.below_autograd) return refuse_within(tracer_);
    Ref result = has_backward ? with_backward() : forward_alone();
    if (result && is_shared(context_.get())) drop_unused_objects(tracer_);
    if (result && is_shared(context_.get())) return refuse("its ctx is kept for later");
    return result;
  }

 private:
  Tracer& tracer_;
  PyObject* const class_;
  const std::vector<Ref> inputs_;
  std::vector<Ref> tensors_;  // those of the inputs that are
  Ref context_;

  std::nullptr_t refuse(const std::string& why) {
    if (tracer_.is_over()) return nullptr;
    clear_error();
    const Ref name = Ref::steal(PyObject_GetAttrString(class_, "__name__"));
    const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
    clear_error();
    return tracer_.abort(BreakReason::AutogradFunction, std::string(text ? text : "?") + ".apply: " + why);
  }

  // `method` is null if the user's class has none of its own and inherits that of torch's class.
  bool own_method(const char* name, Ref& method) {
    const Ref key = Ref::made(PyUnicode_InternFromString(name));
    method = load_attribute(tracer_, class_, key.get());
    const Ref inherited = Ref::steal(PyObject_GetAttr("torch.autograd.Function"_imported, key.get()));
    if (!method || !inherited) return false;
    if (method.is(inherited.get())) method.reset();
    return true;
  }

  // The value that was set on the ctx: null Ref without error if none was.
  Ref told(const char* name) {
    const Ref own = Ref::steal(PyObject_GenericGetDict(context_.get(), nullptr));
    Ref value = own ? Ref::borrow(named_item(own.get(), name)) : Ref();
    clear_error();
    return value;
  }

  std::vector<Ref> told_tensors(const char* name) {
    const Ref value = told(name);
    return value && PyTuple_Check(value.get()) ? items_of(value.get()) : std::vector<Ref>{};
  }

  // forward() and setup_context(), as autograd calls them.
  Ref forward() {
    Ref forward, setup;
    if (!own_method("forward", forward) || !own_method("setup_context", setup)) return nullptr;
    if (!forward) return refuse("it has no forward");
    std::vector<Ref> given = inputs_;
    if (!setup) given.insert(given.begin(), context_);
    Ref result = call(tracer_, forward.get(), Arguments{given});
    if (result && setup && !call(tracer_, setup.get(), {context_, tuple_of(inputs_), result})) return nullptr;
    if (!result) return nullptr;
    const Ref saved = told("to_save");
    if (saved && saved.type() == &PyTuple_Type &&
        PyObject_SetAttrString(context_.get(), "saved_tensors", saved.get()) < 0)
      return nullptr;
    return result;
  }

  // An input that is returned as it is becomes a view, unless it was written to.
  bool as_view(Ref& result) {
    if (!is_fake(result.get()) || !holds(tensors_, result.get()) || holds(told_tensors("dirty_tensors"), result.get()))
      return true;
    const Ref operands[] = {result, result};
    result = record_call(tracer_, NodeKind::CallMethod, "view_as"_name, Arguments{operands});
    return static_cast<bool>(result);
  }

  Ref forward_alone() {
    const bool was_enabled = grad_mode_enabled();
    const auto set = [&](PyObject* enabled) {
      const Ref value[] = {Ref::borrow(enabled)};
      return !was_enabled || record_state_change(tracer_, set_gradients_enabled(), Arguments{value});
    };
    if (!set(Py_False)) return nullptr;
    Ref result;
    {
      const ForwardGradientsOff as_autograd_does;
      result = forward();
    }
    if (!result) {
      if (tracer_.is_over()) return nullptr;
      ErrorSetAside error;
      if (!set(Py_True)) error.drop();
      return nullptr;
    }
    if (PyTuple_CheckExact(result.get())) {
      std::vector<Ref> items = items_of(result.get());
      for (Ref& item : items)
        if (!as_view(item)) return nullptr;
      result = tuple_of(items);
    } else if (!as_view(result)) {
      return nullptr;
    }
    return set(Py_True) ? result : Ref();
  }

  // A tensor of which nothing is known but what every gradient of `result` has in common, and what its backward is
  // given: the same in the layout of the result, whatever the gradient's own is.
  bool add_gradient(Body& body, const Ref& result, Ref& given) {
    Ref parameter;
    bool is_channels_last = false;
    {
      const NativeScope native;
      const Ref dtype = Ref::steal(PyObject_GetAttrString(result.get(), "dtype"));
      const Ref device = Ref::steal(PyObject_GetAttrString(result.get(), "device"));
      const Ref shape = Ref::steal(PyObject_GetAttrString(result.get(), "shape"));
      const Ref keywords = Ref::made(Py_BuildValue("{s:O,s:O}", "dtype", dtype.get(), "device", device.get()));
      const Ref none = Ref::made(PyTuple_Pack(1, Ref::made(PyTuple_New(0)).get()));
      const Ref one = Ref::steal(PyObject_Call("torch.empty"_imported, none.get(), keywords.get()));
      if (one && shape) parameter = Ref::steal(PyObject_CallMethod(one.get(), "expand", "(O)", shape.get()));
      const Ref format = Ref::made(Py_BuildValue("{s:O}", "memory_format", "torch.channels_last"_imported.get()));
      const Ref ask = Ref::steal(PyObject_GetAttrString(result.get(), "is_contiguous"));
      const Ref nothing = Ref::made(PyTuple_New(0));
      is_channels_last = ask && !Ref::steal(PyObject_Call(ask.get(), nothing.get(), nullptr)).is(Py_True) &&
                         Ref::steal(PyObject_Call(ask.get(), nothing.get(), format.get())).is(Py_True);
      clear_error();
    }
    if (!parameter) return refuse("its result has no gradient"), false;
    body.add_parameter("grad", parameter);
    std::vector<Ref> operands = {parameter};
    Ref names;
    if (is_channels_last) {
      operands.push_back(Ref::borrow("torch.channels_last"_imported));
      names = Ref::made(Py_BuildValue("(s)", "memory_format"));
    }
    given = record_call(tracer_, NodeKind::CallMethod, "contiguous"_name, Arguments{operands, names.get()});
    return static_cast<bool>(given);
  }

  // The gradients that the user's backward returns, one for each input. Empty: the trace is given up.
  std::vector<Ref> backward(const std::vector<Ref>& gradients) {
    Ref backward, vjp, boxed;
    if (!own_method("backward", backward) || !own_method("vjp", vjp))
      return refuse("its backward is not known"), std::vector<Ref>{};
    boxed = load_attribute(tracer_, class_, "boxed_grads_call"_name);
    if (!boxed) clear_error();
    if (static_cast<bool>(backward) == static_cast<bool>(vjp) || (boxed && !boxed.is(Py_False)))
      return refuse("its backward is called in a way of its own"), std::vector<Ref>{};
    std::vector<Ref> given = {context_};
    given.insert(given.end(), gradients.begin(), gradients.end());
    const Ref result = call(tracer_, (backward ? backward : vjp).get(), Arguments{given});
    if (!result) return refuse("its backward raises " + take_error_text()), std::vector<Ref>{};
    std::vector<Ref> made = PyTuple_Check(result.get()) ? items_of(result.get()) : std::vector<Ref>{result};
    while (made.size() > inputs_.size() && made.back().is(Py_None)) made.pop_back();
    bool fits = made.size() == inputs_.size();
    for (size_t i = 0; fits && i < made.size(); ++i)
      fits = made[i].is(Py_None) || (is_fake(made[i].get()) && is_fake(inputs_[i].get()));
    if (!fits) return refuse("its backward does not give a gradient or None for each input"), std::vector<Ref>{};
    return made;
  }

  std::vector<long> positions(const std::vector<Ref>& marked, const std::vector<Ref>& results) {
    std::vector<long> found;
    for (size_t i = 0; i < results.size(); ++i)
      if (holds(marked, results[i].get())) found.push_back(static_cast<long>(i));
    return found;
  }

  // In a region of transforms, where each node runs in the mode that it was recorded in, a body leaves the one that it
  // was begun in.
  bool sets_grad_mode(bool on) { return !tracer_.transforms.inside() || tracer_.transforms.use_grad_mode(tracer_, on); }

  bool is_told_gradients_of_all(size_t results) {
    const Ref materialize = told("materialize_grads"), constants = told("_materialize_non_diff_grads");
    return (!materialize || materialize.is(Py_True) || results == 1) && (!constants || constants.is(Py_True));
  }

  Ref with_backward() {
    std::vector<Ref> results, outputs;  // all that the forward returns; the tensors among it
    std::vector<long> dirty, constant, saved_positions;
    bool is_tuple = false;
    std::unique_ptr<Subgraph> forward_body, backward_body;
    if (!sets_grad_mode(true)) return nullptr;
    {
      const GradientsOff as_autograd_does(tracer_);
      Body body(tracer_, "an autograd.Function");
      const Ref result = forward();
      if (!result) return nullptr;
      is_tuple = PyTuple_Check(result.get());
      results = is_tuple ? items_of(result.get()) : std::vector<Ref>{result};
      for (Ref& one : results) {
        if (!as_view(one)) return nullptr;
        if (is_fake(one.get())) outputs.push_back(one);
      }
      const std::vector<Ref> written = told_tensors("dirty_tensors");
      dirty = positions(written, outputs);
      constant = positions(told_tensors("non_differentiable"), outputs);
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (std::count(outputs.begin(), outputs.end(), outputs[i]) > 1) return refuse("it returns a tensor twice");
        if (!body.made(outputs[i].get()) && !holds(written, outputs[i].get()))
          return refuse("it returns a tensor that it did not make");
      }
      if (!std::ranges::all_of(written,
                               [&](const Ref& one) { return holds(outputs, one.get()) && holds(tensors_, one.get()); }))
        return refuse("it marks a tensor as dirty that it does not return, or was not given");
      if (outputs.empty()) return refuse("it returns no tensor");
      if (!is_told_gradients_of_all(results.size())) return refuse("its backward is told which gradients are missing");
      const std::vector<Ref> saved = told_tensors("to_save");
      if (!std::ranges::all_of(saved, [](const Ref& one) { return one.is(Py_None) || is_fake(one.get()); }))
        return refuse("it saves something else than tensors for its backward");
      // A real ctx would notice a write to a saved tensor.
      for (const Ref& one : saved) {
        if (one.is(Py_None) || holds(written, one.get())) continue;
        if (!tracer_.may_assume()) return refuse("what it saves may be written to before its backward");
        tracer_.assume(Assumption::Kind::Unwritten, one.get());
      }

      {
        if (!sets_grad_mode(false)) return nullptr;
        std::vector<PyObject*> reaches = {context_.get()};
        Body after(tracer_, "the backward of an autograd.Function", reaches);
        std::vector<Ref> gradients;
        for (const Ref& one : results) {
          gradients.push_back(Ref::none());
          if (is_fake(one.get()) && !add_gradient(after, one, gradients.back())) return nullptr;
        }
        const std::vector<Ref> made = backward(gradients);
        if (made.empty() || !after.only_computes() || !sets_grad_mode(false)) return nullptr;
        std::vector<Ref> for_tensors;
        for (size_t i = 0; i < made.size(); ++i)
          if (is_fake(inputs_[i].get())) for_tensors.push_back(made[i]);
        backward_body = after.take(tuple_of(for_tensors).get(), "bwd_body");
        if (!backward_body || !after.leaves_operands(*backward_body)) return nullptr;
      }
      for (size_t i = 0; i < backward_body->operands.size(); ++i)
        if (holds(saved, backward_body->operands[i].get())) saved_positions.push_back(static_cast<long>(i));
      const Ref given = Ref::made(PyTuple_Pack(2, tuple_of(outputs).get(), tuple_of(backward_body->operands).get()));
      if (!sets_grad_mode(false)) return nullptr;
      forward_body = body.take(given.get(), "fwd_body");
      if (!forward_body) return nullptr;
    }
    // Each tensor that the function is applied to gets its gradient; what it has used besides gets none.
    std::vector<Ref> operands = tensors_;
    for (const Ref& operand : forward_body->operands)
      if (!holds(tensors_, operand.get())) operands.push_back(operand);
    forward_body->set_operands(operands);
    backward_body->output.items.resize(operands.size(), Argument{Argument::Kind::Constant, kNoNode, Ref::none(), {}});

    if (!sets_grad_mode(true)) return nullptr;
    Ref made;
    {
      const NativeScope native;
      made = Ref::steal(PyObject_CallFunctionObjArgs(
          "minidynamo._runtime.autograd_function.with_history"_imported, tuple_of(outputs).get(),
          list_of_numbers(dirty).get(), list_of_numbers(constant).get(), tuple_of(operands).get(), nullptr));
    }
    if (tracer_.is_over()) return nullptr;
    if (!made) return refuse("torch does not take its results: " + take_error_text());
    const bool impure = forward_body->impure;
    std::vector<Ref> values = {object_for(std::move(forward_body)), object_for(std::move(backward_body))};
    values.insert(values.end(), operands.begin(), operands.end());
    values.push_back(list_of_numbers(constant));
    values.push_back(list_of_numbers(saved_positions));
    Ref names = Ref::made(Py_BuildValue("(ss)", "non_differentiable_idx", "saved_for_backward_idx"));
    if (!dirty.empty()) {
      values.push_back(list_of_numbers(dirty));
      names = Ref::made(Py_BuildValue("(sss)", "non_differentiable_idx", "saved_for_backward_idx", "dirty_idx"));
    }
    if (!record_body_call(tracer_, "torch._functorch.autograd_function.autograd_function_apply"_imported, values,
                          names.get(), made.get(), impure))
      return nullptr;
    size_t next = 0;
    for (Ref& one : results)
      if (is_fake(one.get())) one = Ref::borrow(PyTuple_GET_ITEM(made.get(), static_cast<Py_ssize_t>(next++)));
    return is_tuple ? tuple_of(results) : results[0];
  }
};

// A class that the trace has made has none until it is applied (library/python/build_class.cpp).
bool has_backward_class(PyObject* function_class) {
  const Ref found = Ref::steal(PyObject_GetAttr(function_class, "_backward_cls"_name));
  clear_error();
  return found && PyType_Check(found.get());
}

// In torch 2.13 Function.apply is Python code, which finds the C function its inputs. From 2.14 on the C function does
// all.
bool is_all_of_apply() { return PyCFunction_Check(static_cast<PyObject*>("torch.autograd.Function.apply"_imported)); }

// Below autograd torch's own machinery runs, on fakes: the ctx is a node of autograd's graph, whose backward the engine
// comes to (backward.cpp). Of the program's class it calls what the trace has looked up.
Ref apply_below_autograd(Tracer& tracer, PyObject* callable, PyObject* function_class, const Arguments& arguments) {
  static PyObject* const names[] = {"forward"_name, "setup_context"_name, "jvp"_name, "_backward_cls"_name};
  for (PyObject* name : names)
    if (!load_attribute(tracer, function_class, name)) return nullptr;
  if (is_all_of_apply()) source_or_pin(tracer, "torch.autograd.function._bind_default_args"_imported);
  if (tracer.classes.has(function_class) && !has_backward_class(function_class)) {
    const NativeScope native;
    if (!Ref::steal(
            PyObject_CallOneArg("minidynamo._runtime.autograd_function.add_backward_class"_imported, function_class))) {
      clear_error();
      return refuse_within(tracer);
    }
  }
  return call_that_calls_back(tracer, callable, arguments);
}

// To inputs that are what forward takes, where no transform is at work on the call.
Ref apply_to(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (tracer.limits.below_autograd && !tracer.transforms.inside() && bound_self(callable))
    return apply_below_autograd(tracer, callable, arguments.values[0].get(), Arguments{arguments.values.subspan(1)});
  if (tracer.transforms.records_operators()) {
    if (is_of_one_level(arguments.values[0].get()) && bound_self(callable))
      return apply_below_autograd(tracer, callable, arguments.values[0].get(), Arguments{arguments.values.subspan(1)});
    const std::span<const Ref> inputs = arguments.values.subspan(1);
    const auto is_dual = [](const Ref& input) { return has_tangent(input.get()); };
    const auto has_gradient = [](const Ref& input) { return is_tensor(input.get()) && requires_gradient(input.get()); };
    if (TransformState::now().levels || tracer.limits.below_autograd) return refuse_within(tracer);
    if (std::ranges::any_of(inputs, is_dual)) {
      if (!bound_self(callable) || (grad_mode_enabled() && std::ranges::any_of(inputs, has_gradient)))
        return refuse_within(tracer);
      return apply_below_autograd(tracer, callable, arguments.values[0].get(), Arguments{inputs});
    }
  }
  return Application(tracer, arguments.values[0].get(), arguments.values.subspan(1)).run();
}

// Adds default arguments and asks for transforms of torch.func first, as the Python code of torch 2.13 does.
Ref apply_whole(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const Ref& function_class = arguments.values[0];
  const Ref setup = load_attribute(tracer, function_class.get(), "setup_context"_name);
  if (!setup) return nullptr;
  const bool sets_up = !setup.is("torch.autograd.function._SingleLevelFunction.setup_context"_imported);
  const Arguments given{arguments.values.subspan(1), arguments.keyword_names};
  Ref inputs = given.positional();
  Ref keywords = given.keywords();
  if (!keywords) keywords = Ref::none();
  if (sets_up) {
    const Ref forward = load_attribute(tracer, function_class.get(), "forward"_name);
    if (!forward) return nullptr;
    const Ref bound = call(tracer, "torch.autograd.function._bind_default_args"_imported, {forward, inputs, keywords});
    if (!bound) return nullptr;
    if (!PyTuple_CheckExact(bound.get()) || PyTuple_GET_SIZE(bound.get()) != 2) return refuse_unusual(tracer);
    inputs = Ref::borrow(PyTuple_GET_ITEM(bound.get(), 0));
    keywords = Ref::borrow(PyTuple_GET_ITEM(bound.get(), 1));
  }
  const Ref transforms = call(tracer, "torch._C._are_functorch_transforms_active"_imported, {});
  if (!transforms) return nullptr;
  if (transforms.is(Py_True)) {
    if (!sets_up) return call_natively(tracer, callable, arguments);  // torch's own error message
    return call(tracer, "torch.autograd.function._call_custom_function_call"_imported,
                {function_class, inputs, keywords});
  }
  if (!PyTuple_CheckExact(inputs.get()) || (!keywords.is(Py_None) && PyDict_GET_SIZE(keywords.get())))
    return refuse_unusual(tracer);
  std::vector<Ref> values{function_class};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs.get()); ++i)
    values.push_back(Ref::borrow(PyTuple_GET_ITEM(inputs.get(), i)));
  return apply_to(tracer, callable, Arguments{values});
}

}  // namespace

// _FunctionBase.apply
Ref apply_autograd_function(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.empty() || !PyType_Check(arguments.values[0].get())) return refuse_unusual(tracer);
  if (is_all_of_apply() && !is_of_one_level(arguments.values[0].get())) return apply_whole(tracer, callable, arguments);
  if (arguments.keyword_names) return refuse_unusual(tracer);
  return apply_to(tracer, callable, arguments);
}

// pybind's functions have an object of their own as the first.
Ref return_argument(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (!arguments.values.empty() && !arguments.keyword_names) return arguments.values.back();
  return tracer.abort(BreakReason::UnknownFunction, "it is called by keyword");
}

}  // namespace minidynamo::handlers
