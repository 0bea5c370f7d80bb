#include "model/objects/let_go.h"

#include <algorithm>
#include <unordered_set>
#include <variant>

#include "bytecode/op_facts.h"
#include "model/objects/instance_dict.h"
#include "model/objects/object_end.h"
#include "model/objects/witness.h"
#include "python/objects/native_contents.h"
#include "python/objects/reach.h"
#include "world/external/types.h"

namespace minidynamo {
namespace {

// The object from before the trace that an in-trace one stands for.
PyObject* outside(const Tracer& tracer, PyObject* object) {
  const Source* source = tracer.world.source_of(object);
  return source ? source->value.get() : object;
}

// Calls visit(object) for what the container held before the trace, and holds no more.
template <typename Visit>
void each_gone(const Tracer& tracer, const ShadowContainer& shadow, Visit visit) {
  if (keeps_entered(shadow)) return;
  std::unordered_set<PyObject*> held;
  for (const Ref& element : elements_of(shadow.object.get())) held.insert(outside(tracer, element.get()));
  for (PyObject* element : native_contents(shadow.original.get()).items)
    if (!held.count(element)) visit(element);
}

}  // namespace

void look_at_let_go(Tracer& tracer, Frame& frame) {
  ObjectEnds& ends = tracer.ends;
  bool is_heard = false;
  Source* source = nullptr;
  ends.writes_known = tracer.effects.writes();
  for (; ends.looked_at < tracer.effects.end(); ++ends.looked_at) {
    const auto* write = std::get_if<AttributeWrite>(&tracer.effects.effects()[ends.looked_at]);
    if (!write || is_fake(write->object.get()) || !tracer.world.source_of(write->object.get())) continue;
    const OwnPlace place = own_place(tracer, write->object.get(), write->name.get());
    const bool is_kept = write->value && place.held.is(outside(tracer, write->value.get()));
    if (!place.held || is_kept || !note_let_go(tracer, place.held.get())) continue;
    is_heard = true;
    source = place.source_of_held(tracer);
  }
  const bool is_prologue = frame.is_in_prologue();  // it takes items out of a list
  tracer.world.each_used_holder([&](const ShadowContainer& shadow) {
    if (!is_prologue) each_gone(tracer, shadow, [&](PyObject* element) { is_heard |= note_let_go(tracer, element); });
  });
  if (!is_heard || !tracer.breaks.are_allowed) return;
  if (source && !runs_anywhere(frame.current().op)) return end_behind_instruction(tracer, source);
  tracer.abort(BreakReason::Finalizer, "an object is let go whose end can be seen");
}

bool may_be_gone(const Tracer& tracer, PyObject* object) {
  const auto look = [object](PyObject* kept) {
    if (kept == object) return Visit::Found;
    const bool is_fixed = is_constant(kept) || is_tensor(kept) || PyType_Check(kept) || PyModule_Check(kept);
    return is_fixed ? Visit::Pass : Visit::Enter;
  };
  return std::ranges::any_of(tracer.ends.let_go, [&](PyObject* gone) { return reaches(gone, look); });
}

}  // namespace minidynamo
