// contextvars.ContextVar: get, set and reset. What the trace sets waits in the effect log until the trace is over; a
// reset takes it back, and so does the end of `with` with a token.
#include "library/rules/handlers.h"

#include "model/protocols/arguments.h"
#include "python/objects/context_variable.h"
#include "python/process/out_of_memory.h"
#include "world/external/context_token.h"
#include "world/external/enter.h"

namespace minidynamo::handlers {
namespace {

// The variable that a method is called on; null ends the trace.
Source* variable_of(Tracer& tracer, const Arguments& arguments, size_t least, size_t most) {
  const size_t count = arguments.values.size();
  Source* variable = count ? tracer.world.source_of(arguments.values[0].get()) : nullptr;
  if (count >= least && count <= most && !arguments.keyword_names && variable &&
      PyContextVar_CheckExact(variable->value.get()))
    return variable;
  tracer.abort(BreakReason::UnknownFunction, "a method of a ContextVar that the trace made");
  return nullptr;
}

Ref reset(Tracer& tracer, PyObject* variable, PyObject* token) {
  const ContextSet* last = tracer.effects.last_set(variable);
  if (!last || !last->token.is(token))
    return tracer.abort(BreakReason::UnknownFunction, "a ContextVar is reset to what it was before another was set");
  if (!tracer.effects.undo_last_set(variable))
    return tracer.abort(BreakReason::UnknownFunction, "a ContextVar is reset that a cached function has read");
  return Ref::none();
}

// The call of set() that returned the token whose method is called; null ends the trace.
const ContextSet* set_of_token(Tracer& tracer, const Arguments& arguments) {
  PyObject* token = arguments.values.empty() ? nullptr : arguments.values[0].get();
  const std::vector<const ContextSet*> sets =
      token && is_context_token(token) ? tracer.effects.sets_until(token) : std::vector<const ContextSet*>();
  if (!sets.empty()) return sets.back();
  tracer.abort(BreakReason::UnknownFunction, "a token of a ContextVar that the trace did not make, or that was used");
  return nullptr;
}

}  // namespace

Ref context_variable_get(Tracer& tracer, PyObject*, const Arguments& arguments) {
  Source* variable = variable_of(tracer, arguments, 1, 2);
  if (!variable) return nullptr;
  if (const ContextSet* set = tracer.effects.last_set(arguments.values[0].get())) return set->value;
  // Its own default counts only if the call passes none.
  const int32_t with_default = arguments.values.size() == 1;
  const Ref raw = Ref::steal(context_value(variable->value.get(), with_default));
  PyObject* found = raw ? raw.get() : nullptr;  // null: the variable has no value
  Ref value = load_part(tracer, variable, Access::ContextValue, nullptr, found, with_default);
  if (value || tracer.is_over()) return value;
  if (!with_default) return arguments.values[1];
  PyErr_SetObject(PyExc_LookupError, variable->value.get());
  return nullptr;
}

Ref context_variable_set(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (!variable_of(tracer, arguments, 2, 2)) return nullptr;
  Ref token = make_context_token();
  tracer.effects.set_context({arguments.values[0], arguments.values[1], token});
  return token;
}

Ref context_variable_reset(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (!variable_of(tracer, arguments, 2, 2)) return nullptr;
  return reset(tracer, arguments.values[0].get(), arguments.values[1].get());
}

Ref context_token_enter(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return set_of_token(tracer, arguments) ? arguments.values[0] : Ref();
}

Ref context_token_exit(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const ContextSet* set = set_of_token(tracer, arguments);
  return set ? reset(tracer, Ref(set->variable).get(), arguments.values[0].get()) : Ref();
}

}  // namespace minidynamo::handlers
