#include "world/native/native_code.h"

#include "python/objects/numpy_scalar.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/external_iterator.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_objects.h"
#include "world/proxies/proxy.h"
#include "world/proxies/runtime_value.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo {
bool use_opaque(Tracer& tracer, PyObject* object) {
  Source* source = tracer.world.source_of(object);
  switch (proxy_kind(object)) {
    case ProxyKind::Float:
      return refuse_number(tracer, object, "native code") != nullptr;
    case ProxyKind::RuntimeNumber:
    case ProxyKind::RuntimeText:
      return tracer.abort(BreakReason::ScalarRead, "native code uses a number that the trace does not know") != nullptr;
    case ProxyKind::Array:
      return tracer.abort(BreakReason::NumpyCall, std::string("native code uses a ") + Py_TYPE(object)->tp_name +
                                                      " whose values the trace does not know") != nullptr;
    case ProxyKind::Tensor:
    case ProxyKind::Int:
    case ProxyKind::FloatOfSizes:
    case ProxyKind::Bool:
    case ProxyKind::None:
      break;  // from before the call
  }
  if (!source)
    return tracer.abort(BreakReason::OpaqueObject, std::string("a ") + Py_TYPE(object)->tp_name +
                                                       " whose value the trace does not know is used") != nullptr;
  const BreakReason reason = is_tensor(object) ? BreakReason::UnsupportedTensor : BreakReason::OpaqueObject;
  return tracer.abort(reason, std::string("a ") + Py_TYPE(object)->tp_name + " from before the call is used (" +
                                  source->to_text() + ")") != nullptr;
}

namespace {

bool make_fit(Tracer& tracer, PyObject* object) {
  guard_special_methods(tracer, object);
  if (ShadowContainer* shadow = tracer.world.shadow(object)) return shadow->filled || fill(tracer, *shadow);
  if (tracer.world.is_opaque(object)) return use_opaque(tracer, object);
  Source* source = tracer.world.source_of(object);
  if (!source || is_fake(object) || is_outside_iterator(object) || is_numpy_scalar(object)) return true;
  PyTypeObject* type = Py_TYPE(object);
  if (PyExceptionInstance_Check(object)) return use_opaque(tracer, object);
  if (PyWeakref_CheckRefExact(object)) {  // hashes and compares as what it leads to, which is the same while it is
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    return static_cast<bool>(referent_of(tracer, object));
  }
  if (is_native_enum(object)) {
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
    return true;
  }
  if (wrap_rule_of(type) == WrapRule::Date) {
    const Ref zone = zone_with_state(object);
    return !zone || prepare_for_native(tracer, zone.get());
  }
  const Known known = row_of_base(type).known;
  if (known == Known::Given || known == Known::Methods || is_constant(object)) return true;
  if (type->tp_descr_get) return true;
  return tracer.abort(BreakReason::OpaqueObject, std::string("native code uses a ") + type->tp_name +
                                                     " from before the call (" + source->to_text() + ")") != nullptr;
}

}  // namespace

bool prepare_for_native(Tracer& tracer, PyObject* object, SetOrder order) {
  if (is_number(object) || PyUnicode_CheckExact(object)) return true;
  if (tracer.symbols.active() && is_symbolic_number(object)) return true;
  if (!make_fit(tracer, object)) return false;
  return order == SetOrder::Ignored || !is_set(object) || knows_order(tracer, object);
}

std::nullptr_t refuse_what_warns(Tracer& tracer, const std::string& what) {
  clear_error();
  return tracer.abort(BreakReason::Warning, what + " warns");
}

bool gave_no_warning(Tracer& tracer, const WarningTrap& trap, const char* what) {
  return (trap.is_set() && !trap.has_caught()) || refuse_what_warns(tracer, what) != nullptr;
}

Ref adopt_result(Tracer& tracer, Ref result) {
  flush_operator_reports();
  if (tracer.is_over()) return nullptr;
  if (!result || !is_tensor(result.get()) || is_fake(result.get())) return result;
  PyObject* fake = tracer.fake_for_real(result.get());
  return fake ? Ref::borrow(fake) : Ref();
}

namespace {

// True if a variable or the stack of a traced frame holds the object.
bool is_in_variables(const Tracer& tracer, PyObject* object) {
  for (const Frame* frame = tracer.frame; frame; frame = frame->caller)
    for (size_t slot = 0; slot < frame->stack_top; ++slot) {
      PyObject* held = frame->slots[slot].get();
      if (held && PyCell_Check(held)) held = PyCell_GET(held);
      if (held == object) return true;
    }
  return false;
}

}  // namespace

Ref referent_of(Tracer& tracer, PyObject* reference) {
  Source* source = tracer.world.source_of(reference);
  PyObject* referent = PyWeakref_GET_OBJECT(reference);
  if (!source) {  // made in the trace, which keeps all tensors that it makes
    if (is_fake(referent) && !tracer.world.source_of(referent) && !is_in_variables(tracer, referent))
      return tracer.abort(BreakReason::Finalizer, "a weak reference to a tensor is asked, which may be gone");
    return Ref::borrow(referent);
  }
  Ref found = load_part(tracer, source, Access::Referent, nullptr, referent == Py_None ? nullptr : referent);
  return found || PyErr_Occurred() ? found : Ref::none();
}

}  // namespace minidynamo
