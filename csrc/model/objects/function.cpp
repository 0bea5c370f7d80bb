// Python functions: binding arguments to their parameters, as CPython does when it makes a frame, and running them.
#include "model/objects/function.h"

#include <algorithm>

#include "model/native/native_call.h"
#include "model/protocols/arguments.h"
#include "model/protocols/upward.h"
#include "model/proxies/size_operation.h"
#include "python/objects/native_contents.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"

namespace minidynamo {
namespace {

Ref default_value(Tracer& tracer, PyFunctionObject* function, int32_t index) {
  PyObject* raw = PyTuple_GET_ITEM(function->func_defaults, index);
  Source* source = tracer.world.source_of(as_object(function));
  if (!source) return Ref::borrow(raw);
  Source* defaults = tracer.guards.child(source, Access::Attribute, "__defaults__"_name, -1, function->func_defaults);
  return load_part(tracer, defaults, Access::Index, nullptr, raw, index);
}

Ref keyword_default(Tracer& tracer, PyFunctionObject* function, PyObject* parameter) {
  PyObject* raw = function->func_kwdefaults ? PyDict_GetItemWithError(function->func_kwdefaults, parameter) : nullptr;
  if (!raw) return nullptr;
  Source* source = tracer.world.source_of(as_object(function));
  if (!source) return Ref::borrow(raw);
  Source* defaults =
      tracer.guards.child(source, Access::Attribute, "__kwdefaults__"_name, -1, function->func_kwdefaults);
  return load_part(tracer, defaults, Access::DictItem, parameter, raw);
}

// A function keeps its identity when its __code__ is replaced.
void guard_code(Tracer& tracer, PyObject* function) {
  Source* source = tracer.world.source_of(function);
  if (!source) return;
  tracer.guards.add(tracer.guards.child(source, Access::Attribute, "__code__"_name, -1, PyFunction_GET_CODE(function)),
                    GuardKind::Identity, tracer.origin());
  if (is_guarded_by_identity(function)) return;
  PyObject* globals = PyFunction_GET_GLOBALS(function);
  Source* names = tracer.guards.child(source, Access::Attribute, "__globals__"_name, -1, globals);
  tracer.guards.add(names, GuardKind::Names, tracer.origin());
  tracer.world.know_namespace(globals, names);
}

enum class Bound : uint8_t { Yes, WrongArguments, Failed };

Bound bind_arguments(Tracer& tracer, PyFunctionObject* function, const Arguments& arguments, Frame& frame) {
  PyCodeObject* code = frame.code();
  const int32_t positional = code->co_argcount, keyword_only = code->co_kwonlyargcount,
                named = positional + keyword_only;
  const auto given = static_cast<int32_t>(arguments.positional_count());
  int32_t next = named;
  const int32_t rest_slot = (code->co_flags & CO_VARARGS) ? next++ : -1;
  const int32_t keywords_slot = (code->co_flags & CO_VARKEYWORDS) ? next++ : -1;

  if (given > positional && rest_slot < 0) return Bound::WrongArguments;
  for (int32_t i = 0; i < std::min(given, positional); ++i) frame.local(i) = arguments.values[i];
  if (rest_slot >= 0) {
    Ref rest = Ref::made(PyTuple_New(std::max(0, given - positional)));
    for (int32_t i = positional; i < given; ++i) {
      if (!materialize_if_shadow(tracer, arguments.values[i].get())) return Bound::Failed;
      PyTuple_SET_ITEM(rest.get(), i - positional, Ref(arguments.values[i]).release());
    }
    frame.local(rest_slot) = std::move(rest);
  }
  if (keywords_slot >= 0) frame.local(keywords_slot) = Ref::made(PyDict_New());
  PyObject* names = frame.prepared->bytecode.localsplus_names.get();
  for (size_t k = 0; k < arguments.keyword_count(); ++k) {
    PyObject* keyword = PyTuple_GET_ITEM(arguments.keyword_names, k);
    const Ref& value = arguments.values[given + k];
    int32_t slot = -1;
    for (int32_t i = code->co_posonlyargcount; i < named && slot < 0; ++i)
      if (PyTuple_GET_ITEM(names, i) == keyword) slot = i;
    for (int32_t i = code->co_posonlyargcount; i < named && slot < 0; ++i)
      if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), keyword) == 0) slot = i;
    if (slot >= 0) {
      if (frame.local(slot)) return Bound::WrongArguments;
      frame.local(slot) = value;
    } else if (keywords_slot >= 0) {
      if (!materialize_if_shadow(tracer, value.get())) return Bound::Failed;
      if (PyDict_SetItem(frame.local(keywords_slot).get(), keyword, value.get()) < 0) return Bound::Failed;
    } else {
      return Bound::WrongArguments;
    }
  }
  const auto defaults = static_cast<int32_t>(function->func_defaults ? PyTuple_GET_SIZE(function->func_defaults) : 0);
  for (int32_t i = given; i < positional; ++i) {
    if (frame.local(i)) continue;
    if (i < positional - defaults) return Bound::WrongArguments;
    frame.local(i) = default_value(tracer, function, i - (positional - defaults));
    if (!frame.local(i)) return Bound::Failed;
  }
  for (int32_t i = positional; i < named; ++i) {
    if (frame.local(i)) continue;
    frame.local(i) = keyword_default(tracer, function, PyTuple_GET_ITEM(names, i));
    if (!frame.local(i)) return PyErr_Occurred() ? Bound::Failed : Bound::WrongArguments;
  }
  return Bound::Yes;
}

// True if a class's attribute is a function, or a static or class method, property or partial of it.
bool leads_to(PyObject* attribute, PyObject* function) {
  if (attribute == function) return true;
  auto holds_as = [&](const char* name) {
    const Ref held = native_attribute(attribute, name);
    clear_error();
    return held.is(function);
  };
  if (Py_IS_TYPE(attribute, &PyStaticMethod_Type) || Py_IS_TYPE(attribute, &PyClassMethod_Type))
    return holds_as("__func__");
  if (PyObject_TypeCheck(attribute, &PyProperty_Type)) return holds_as("fget") || holds_as("fset") || holds_as("fdel");
  return Py_IS_TYPE(attribute, known_types()->partial) && holds_as("func");
}

// True if C code may have found `function` where the trace can guard it: in the class of its first argument.
bool guard_callback(Tracer& tracer, PyObject* function, FastLocals slots) {
  if (tracer.world.source_of(function) || tracer.made.functions.count(Ref::borrow(function))) return true;
  auto* object = as_function(function);
  auto* code = as_code(object->func_code);
  PyObject* first = code->co_argcount > 0 ? slots[0] : nullptr;
  if (first && PyCell_Check(first)) first = PyCell_GET(first);
  if (!first) return false;
  PyTypeObject* const candidates[] = {Py_TYPE(first), PyType_Check(first) ? as_type(first) : nullptr};
  for (PyTypeObject* type : candidates) {
    if (!type) continue;
    for (PyObject* name : {object->func_name, code->co_name}) {
      Ref found = lookup_in_class(tracer, type, name);
      if (found && leads_to(found.get(), function)) {
        source_or_pin(tracer, function);
        return true;
      }
      if (PyErr_Occurred()) return false;
    }
  }
  // A function of another name that stands there as a special method.
  for (PyTypeObject* type : candidates)
    for (PyObject* name : type ? special_method_names() : std::vector<PyObject*>()) {
      PyObject* raw = class_attribute(type, name);
      if (!raw || !leads_to(raw, function)) continue;
      if (!lookup_in_class(tracer, type, name)) return false;
      source_or_pin(tracer, function);
      return true;
    }
  return false;
}

}  // namespace

Ref call_function(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (const std::optional<SkipReason> rule = skip_reason(callable)) return tracer.abort(rule->reason, rule->detail);
  auto* function = as_function(callable);
  const CodeInfo* prepared = prepare(tracer, as_code(function->func_code));
  if (!prepared) return nullptr;
  guard_code(tracer, callable);
  auto frame = std::make_unique<Frame>(prepared, callable, tracer.frame);
  frame->called_directly = arguments.is_direct;
  switch (bind_arguments(tracer, function, arguments, *frame)) {
    case Bound::Yes:
      return evaluate(tracer, std::move(frame));
    case Bound::Failed:
      return nullptr;
    case Bound::WrongArguments:
      break;
  }
  return call_natively(tracer, callable, arguments);  // CPython's own error message
}

Ref run_called_from_c(Tracer& tracer, PyObject* callable, FastLocals slots) {
  if (std::optional<Ref> answer = number_asked_by_native_code(tracer, callable, slots)) return std::move(*answer);
  if (const std::optional<SkipReason> rule = skip_reason(callable)) return tracer.abort(rule->reason, rule->detail);
  auto* function = as_function(callable);
  const CodeInfo* prepared = prepare(tracer, as_code(function->func_code));
  if (!prepared) return nullptr;
  tracer.classes.notice();
  if (!guard_callback(tracer, callable, slots)) {
    if (PyErr_Occurred() && !tracer.is_over()) clear_error();
    return tracer.abort(BreakReason::UnknownCallback, callable_name(callable) + " was called by native code");
  }
  guard_code(tracer, callable);
  auto frame = std::make_unique<Frame>(prepared, callable, tracer.frame);
  PyCodeObject* code = frame->code();
  const auto defaults = static_cast<int32_t>(function->func_defaults ? PyTuple_GET_SIZE(function->func_defaults) : 0);
  const int32_t first_default = code->co_argcount - defaults;
  for (int32_t i = 0; i < prepared->locals_count; ++i) {
    if (!slots[i]) continue;
    const bool is_default = i >= first_default && i < code->co_argcount &&
                            slots[i] == PyTuple_GET_ITEM(function->func_defaults, i - first_default);
    frame->local(i) = is_default ? default_value(tracer, function, i - first_default) : Ref::borrow(slots[i]);
    if (!frame->local(i)) return nullptr;
  }
  Ref result = evaluate(tracer, std::move(frame));
  // C code checks that the result of a special method is an int.
  return result && stands_for_number(tracer, result.get()) ? specialized(tracer, result.get()) : std::move(result);
}

}  // namespace minidynamo
