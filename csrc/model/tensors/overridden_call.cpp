#include "model/tensors/overridden_call.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "model/native/native_call.h"
#include "model/native/special_method.h"
#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "python/code/bound_method.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/process/override_probe.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/state/held_values.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo {
namespace {

PyObject* override_name() { return "__torch_function__"_name; }

// The first object of a class among what a call was handed.
Ref argument_of_class(PyObject* arguments, PyObject* keywords, PyObject* type) {
  Ref found;
  auto is_it = [&](PyObject* object) {
    const bool is = as_object(Py_TYPE(object)) == type;
    if (is) found = Ref::borrow(object);
    return is;
  };
  if (!any_held(arguments, is_it) && keywords) any_held(keywords, is_it);
  return found;
}

// Calls a __torch_function__ with what torch hands to it, as the arguments of its call.
Ref ask(Tracer& tracer, PyObject* owner, PyObject* handed) {
  const Ref method = load_attribute(tracer, owner, override_name());
  if (!method) return nullptr;
  if (!Py_IS_TYPE(method.get(), &PyMethod_Type) && !PyCFunction_Check(method.get()) && !PyFunction_Check(method.get()))
    return tracer.abort(BreakReason::UnsupportedOperand,
                        std::string("the __torch_function__ of a ") + Py_TYPE(owner)->tp_name + " is no method");
  return call_with(tracer, method.get(), handed, nullptr);
}

// As torch asks: the innermost mode, then the arguments, those of a subclass before those of its bases.
std::optional<Ref> answer(Tracer& tracer, PyObject* handed) {
  PyObject* function = PyTuple_GET_ITEM(handed, 0);
  PyObject* types = PyTuple_GET_ITEM(handed, 1);
  if (PyFunction_Check(function)) source_or_pin(tracer, function);
  auto nobody_answers = [&](PyObject* last) {
    return tracer.abort(BreakReason::UnsupportedOperand, std::string("the __torch_function__ of a ") +
                                                             Py_TYPE(last)->tp_name + " has no answer to " +
                                                             callable_name(function));
  };
  if (tracer.function_modes.any()) {
    const FunctionModes::Popped popped(tracer.function_modes);
    Ref result = ask(tracer, popped.mode(), handed);
    return result.is(Py_NotImplemented) ? Ref(nobody_answers(popped.mode())) : std::move(result);
  }
  if (PyTuple_GET_SIZE(types) == 0) return std::nullopt;
  PyObject* keywords = PyTuple_GET_SIZE(handed) > 3 ? PyTuple_GET_ITEM(handed, 3) : nullptr;
  Ref last;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); ++i) {
    last = argument_of_class(PyTuple_GET_ITEM(handed, 2), keywords, PyTuple_GET_ITEM(types, i));
    if (!last) break;
    Ref result = ask(tracer, last.get(), handed);
    if (!result.is(Py_NotImplemented)) return result;
  }
  return last ? Ref(nobody_answers(last.get()))
              : Ref(tracer.abort(BreakReason::UnsupportedOperand,
                                 callable_name(function) + " is given an object with a __torch_function__"));
}

// `run` makes the call for show.
std::optional<Ref> ask_torch(Tracer& tracer, const std::function<Ref()>& run) {
  Ref handed;
  {
    const NativeScope native;
    const OverrideProbe probe;
    (void)run();
    clear_error();
    handed = probe.asked();
  }
  if (tracer.is_over()) return Ref();
  return handed ? answer(tracer, handed.get()) : std::nullopt;
}

// Builtins that are operators.
bool is_builtin_operator(PyObject* callable) {
  static constinit Imported absolute{"builtins.abs"}, power{"builtins.pow"}, quotient{"builtins.divmod"};
  return callable == absolute || callable == power || callable == quotient;
}

// True if C code of torch's is called by this that looks for others' answers first.
bool is_function_of_torch(PyObject* callable) {
  static constinit ImportedType tensor_base{"torch._C.TensorBase"};
  static constinit ImportedType tensor_class{"torch.Tensor"};
  if (callable == "torch._C._set_grad_enabled"_imported || is_builtin_operator(callable)) return true;
  PyTypeObject* type = Py_TYPE(callable);
  const KnownTypes* known = known_types();
  if (type == known->op_overload || type == known->op_overload_packet || type == known->custom_op_def) return true;
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type)
    return PyDescr_TYPE(callable) == tensor_base || PyDescr_TYPE(callable) == tensor_class;
  if (!PyCFunction_Check(callable)) return false;
  PyObject* self = PyCFunction_GET_SELF(callable);
  if (!self) {  // torch.sin: a static method of a C class
    const char* own_name = as_builtin(callable)->m_ml->ml_name;
    const Ref same = Ref::steal(PyObject_GetAttrString("torch._C._VariableFunctions"_imported, own_name));
    clear_error();
    return same.is(callable);
  }
  if (is_tensor(self)) return true;
  if (!PyModule_Check(self)) return false;
  const char* name = PyModule_GetName(self);
  clear_error();
  static constexpr std::string_view kModules[] = {"torch._C._nn",      "torch._C._linalg", "torch._C._fft",
                                                  "torch._C._special", "torch._C._sparse", "torch._C._nested"};
  return name && std::ranges::find(kModules, std::string_view(name)) != std::end(kModules);
}

// True if a Python function that is given these may come to call a method of a class of the program's.
bool may_call_methods(const Arguments& arguments) {
  auto is_of_own_class = [](PyObject* object) { return is_fake(object) && !is_class_of_graphs(Py_TYPE(object)); };
  return std::ranges::any_of(arguments.values,
                             [&](const Ref& value) { return any_held(value.get(), is_of_own_class); });
}

// torch's own Python functions look for others' answers themselves, and are traced.
bool is_python_of_torch(const Rule& rule, PyObject* callable) {
  if (!PyFunction_Check(callable) || as_function(callable)->func_name == override_name()) return false;
  if (rule.kind == Rule::Kind::Leaf || rule.kind == Rule::Kind::TensorMethod) return true;
  const Ref module = Ref::steal(PyObject_GetAttr(callable, "__module__"_name));
  clear_error();
  const char* name = module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
  if (!name) return clear_error(), false;
  return std::string_view(name) == "torch._tensor";
}

}  // namespace

bool has_override(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (is_tensor(object)) return !is_plain_tensor_class(type);
  if (!is_python_class(type) || is_constant(object)) return false;
  PyObject* found = class_attribute(type, override_name());
  return found && found != "torch._C._disabled_torch_function_impl"_imported.get();
}

bool may_be_overridden(const Tracer& tracer, const Arguments& arguments) {
  const FunctionOverrides active = function_overrides();
  if (active == FunctionOverrides::None) return false;
  if (tracer.function_modes.any()) return true;
  return active == FunctionOverrides::All &&
         std::ranges::any_of(arguments.values, [](const Ref& value) { return any_held(value.get(), has_override); });
}

bool may_be_overridden(const Tracer& tracer, PyObject* tensor) {
  const Ref held = Ref::borrow(tensor);
  return may_be_overridden(tracer, Arguments{std::span<const Ref>(&held, 1)});
}

std::optional<Ref> overridden_call(Tracer& tracer, NodeKind kind, PyObject* target, const Arguments& arguments) {
  if (!may_be_overridden(tracer, arguments)) return std::nullopt;
  if (!expose_all(tracer, arguments.values)) return Ref();
  std::vector<PyObject*> values = vectorcall_values(arguments);
  const size_t count = arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return ask_torch(tracer, [&] {
    return Ref::steal(kind == NodeKind::CallMethod
                          ? PyObject_VectorcallMethod(target, values.data() + 1, count, arguments.keyword_names)
                          : PyObject_Vectorcall(target, values.data() + 1, count, arguments.keyword_names));
  });
}

std::optional<Ref> overridden_rule(Tracer& tracer, const Rule& rule, PyObject* callable, const Arguments& arguments) {
  if (is_python_of_torch(rule, callable))
    return may_be_overridden(tracer, arguments) || may_call_methods(arguments)
               ? std::optional(call_function(tracer, callable, arguments))
               : std::nullopt;
  if (!is_function_of_torch(callable)) return std::nullopt;  // before the arguments are walked over: they may be large
  PyObject* const self = bound_self(callable);
  const bool is_bound = self && is_tensor(self);
  const bool may_matter = may_be_overridden(tracer, arguments) || may_call_methods(arguments) ||
                          (is_bound && may_be_overridden(tracer, self));
  if (!may_matter) return std::nullopt;
  if (is_bound) {
    const Prepended with_self(Ref::borrow(self), arguments);
    if (!may_be_overridden(tracer, with_self.arguments)) return std::nullopt;
    if (!expose_all(tracer, with_self.arguments.values)) return Ref();
    std::vector<PyObject*> values = vectorcall_values(arguments);
    const size_t count = arguments.positional_count() | PY_VECTORCALL_ARGUMENTS_OFFSET;
    return ask_torch(tracer, [&] {
      return Ref::steal(PyObject_Vectorcall(callable, values.data() + 1, count, arguments.keyword_names));
    });
  }
  if (PyCFunction_Check(callable) && is_builtin_operator(callable))
    for (const Ref& value : arguments.values)
      for (const char* name : {"__abs__", "__pow__", "__rpow__", "__divmod__", "__rdivmod__"})
        if (own_tensor_method(tracer, value.get(), name))
          return Ref(tracer.abort(BreakReason::UnsupportedOperand,
                                  std::string("a ") + value.type()->tp_name + " has a " + name + " of its own"));
  return overridden_call(tracer, NodeKind::CallFunction, callable, arguments);
}

std::optional<Ref> overridden_method(Tracer& tracer, const char* name, std::initializer_list<Ref> operands) {
  const Arguments arguments{std::span<const Ref>(operands.begin(), operands.size())};
  if (!may_be_overridden(tracer, arguments) && !own_tensor_method(tracer, operands.begin()->get(), name))
    return tracer.is_over() ? std::optional<Ref>(Ref()) : std::nullopt;
  const Ref method_name = Ref::made(PyUnicode_InternFromString(name));
  Ref callable, self;
  PyObject* tensor = operands.begin()->get();
  if (!load_method(tracer, tensor, method_name.get(), callable, self)) return Ref();
  return self ? call(tracer, callable.get(), operands)
              : call(tracer, callable.get(), Arguments{arguments.values.subspan(1)});
}

bool ask_length_hint(Tracer& tracer, PyObject* iterable) {
  if (!is_fake(iterable)) return true;
  const auto hint = overridden_method(tracer, "__len__", {Ref::borrow(iterable)});
  return !hint || *hint;
}

std::optional<Ref> overridden_attribute(Tracer& tracer, PyObject* tensor, PyObject* descriptor) {
  if (!may_be_overridden(tracer, tensor)) return std::nullopt;
  return ask_torch(tracer, [&] {
    return Ref::steal(Py_TYPE(descriptor)->tp_descr_get(descriptor, tensor, as_object(Py_TYPE(tensor))));
  });
}

std::optional<Ref> overridden_store(Tracer& tracer, PyObject* tensor, PyObject* descriptor, PyObject* value) {
  if (!may_be_overridden(tracer, tensor)) return std::nullopt;
  std::optional<Ref> result = ask_torch(tracer, [&] {
    Py_TYPE(descriptor)->tp_descr_set(descriptor, tensor, value);
    return Ref();
  });
  if (result) return result;
  return Ref(tracer.abort(BreakReason::TensorAttributeWrite, "an attribute of a tensor is set past a mode"));
}

}  // namespace minidynamo
