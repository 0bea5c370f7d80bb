#include "library/rules/other_compilers.h"

#include "model/protocols/abstract.h"
#include "model/tensors/tensor_call.h"
#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"

namespace minidynamo {
namespace {

// An object that never changes, and that holds what it wraps.
Ref call_wrapped(Tracer& tracer, PyObject* wrapper, const Arguments& arguments) {
  Ref wrapped = Ref::steal(PyObject_GetAttr(wrapper, "__wrapped__"_name));
  Source* source = wrapped ? source_or_pin(tracer, wrapper) : nullptr;
  if (!source) return nullptr;
  tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  Ref known = load_part(tracer, source, Access::Attribute, "__wrapped__"_name, wrapped.get());
  return known ? call(tracer, known.get(), arguments) : Ref();
}

// With the settings of the capture that is going on, not with those that torch.compile was given.
Ref call_original(Tracer& tracer, PyObject* function, const Arguments& arguments) {
  Ref original = load_attribute(tracer, function, "_torchdynamo_orig_callable"_name);
  return original ? call(tracer, original.get(), arguments) : Ref();
}

// TorchScript's interpreter calls operators, which tell shapes of fakes as of others. What the function holds itself no
// graph would see.
Ref call_script(Tracer& tracer, PyObject* function, const Arguments& arguments) {
  Source* source = source_or_pin(tracer, function);
  if (!source) return nullptr;
  tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  return record_opaque_call(tracer, function, arguments, OwnTensors::Refused);
}

}  // namespace

const Rule* rule_of_wrapper() noexcept {
  static const Rule rule{Rule::Kind::Handler, call_wrapped};
  return &rule;
}

const Rule* rule_of_compiled() noexcept {
  static const Rule rule{Rule::Kind::Handler, call_original};
  return &rule;
}

const Rule* rule_of_script(PyTypeObject* type) {
  static const Rule function{Rule::Kind::Handler, call_script};
  static const Rule module{Rule::Kind::Refuse, nullptr, BreakReason::UnknownFunction,
                           "a torch.jit module is called, which keeps its parameters to itself"};
  static constinit ImportedType script_function{"torch.jit.ScriptFunction"};
  static constinit ImportedType script_module{"torch.jit.ScriptModule"};
  if (type == script_function) return &function;
  if (is_static_class(type)) return nullptr;
  PyTypeObject* const module_type = script_module;
  clear_error();
  return module_type && PyType_IsSubtype(type, module_type) ? &module : nullptr;
}

}  // namespace minidynamo
