#include "world/proxies/runtime_value.h"

#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo {
namespace {

struct LateObject {
  PyObject_HEAD;
  size_t place;  // in the effect log
  size_t nodes;  // that the graph had
  long executed;
};

LateObject* as_late(PyObject* object) noexcept { return reinterpret_cast<LateObject*>(object); }

void deferred_dealloc(PyObject* self) { PyObject_Free(self); }

ProxyType number_type = type_of_unknown(ProxyKind::RuntimeNumber, "float", sizeof(LateObject), deferred_dealloc);
ProxyType text_type = type_of_unknown(ProxyKind::RuntimeText, "str", sizeof(LateObject), deferred_dealloc);

}  // namespace

bool is_deferred_number(PyObject* object) noexcept { return Py_IS_TYPE(object, &number_type.type); }
bool is_deferred_text(PyObject* object) noexcept { return Py_IS_TYPE(object, &text_type.type); }
bool is_runtime_value(PyObject* object) noexcept { return is_deferred_number(object) || is_deferred_text(object); }
size_t place_of_runtime_value(PyObject* object) noexcept { return as_late(object)->place; }

Ref emit_runtime_value(Tracer& tracer, DeferredCall call, LateKind kind) {
  if (!tracer.may_assume() || tracer.symbols.bodies || tracer.transforms.inside())
    return tracer.abort(BreakReason::UnknownFunction, "the time is asked for in the middle of what the graph computes");
  PyTypeObject& type = (kind == LateKind::Number ? number_type : text_type).type;
  make_ready(type);
  Ref object = Ref::made(as_object(PyObject_New(LateObject, &type)));
  as_late(object.get())->place = tracer.effects.end();
  as_late(object.get())->nodes = tracer.graph.nodes().size();
  as_late(object.get())->executed = tracer.executed;
  tracer.effects.append_unordered_call(std::move(call));
  tracer.world.make_opaque(object.get());
  tracer.identities.kept.push_back(object);  // opaque by its address
  return object;
}

std::vector<PyObject*> runtime_values(const Tracer& tracer) {
  std::vector<PyObject*> values;
  for (const Ref& kept : tracer.identities.kept)
    if (is_runtime_value(kept.get())) values.push_back(kept.get());
  return values;
}

std::optional<long> runtime_value_in_graph(const Tracer& tracer) {
  const std::vector<Node>& nodes = tracer.graph.nodes();
  for (PyObject* value : runtime_values(tracer))
    for (size_t i = as_late(value)->nodes; i < nodes.size(); ++i)
      if (nodes[i].used && nodes[i].kind != NodeKind::Placeholder && !nodes[i].sets_mode)
        return as_late(value)->executed;
  return std::nullopt;
}

}  // namespace minidynamo
