#include "model/objects/object_end.h"

#include <algorithm>

#include "model/objects/generator.h"
#include "python/error_set_aside.h"
#include "python/handled_exception.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/dict_version.h"
#include "world/external/known_types.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/state/world.h"

namespace minidynamo {
namespace {

constexpr size_t kNoSlot = SIZE_MAX;

// The object in a variable of a frame, or at a place of its stack.
struct Held {
  size_t slot;
  PyObject* object = nullptr;  // null: nothing; in the trace, or as it was before
  PyObject* original = nullptr;
  Source* source = nullptr;  // null: of the trace, or of a variable that no instruction has used
  bool is_outside = false;

  Source* found_source(Tracer& tracer, Frame& frame) const {
    return source ? source : source_of_untouched(tracer, frame, static_cast<int32_t>(slot));
  }
};

Held held_in(const Tracer& tracer, const Frame& frame, size_t slot) {
  if (slot < frame.lazy_locals.size() && frame.lazy_locals[slot].raw) {
    PyObject* raw = frame.lazy_locals[slot].raw;
    return {slot, raw, raw, nullptr, true};
  }
  PyObject* object = frame.slots[slot].get();
  const Frame::LazySlot* waiting = frame.lazy_local_in(slot);
  Source* source = waiting ? waiting->source : object ? tracer.world.source_of(object) : nullptr;
  return {slot, object, source ? source->value.get() : object, source, source != nullptr};
}

// True if another variable or the stack of the frame holds the object.
bool is_in_slot(const Frame& frame, PyObject* object, size_t but) noexcept {
  for (size_t slot = 0; slot < frame.stack_top; ++slot) {
    const bool is_waiting = slot < frame.lazy_locals.size() && frame.lazy_locals[slot].raw == object;
    if (slot != but && (is_waiting || frame.slots[slot].is(object))) return true;
  }
  return false;
}

bool is_in_other_slot(const Frame& frame, const Held& held) noexcept {
  return is_in_slot(frame, held.object, held.slot) || is_in_slot(frame, held.original, held.slot);
}

// True of a resume function's parameter, or an item of a list that it is given: no place outside of the frame holds it.
// A weak reference, by which it may have been found first, holds nothing.
bool is_of_frame(const Source& source) noexcept {
  return source.access == Access::Local || source.access == Access::Referent ||
         (source.access == Access::Index && source.parent && source.parent->access == Access::Local);
}

// A resume function lets go of an object from before the trace, which its variables and stack may be all that holds.
// `on_purpose`: by `del`, or for None. The program means its end then, though others seem to hold it.
void note_lost(Tracer& tracer, Frame& frame, const Held& held, bool on_purpose = false) {
  const bool may_be_last = held.source ? is_of_frame(*held.source) : !is_shared(held.original);
  if (frame.is_in_prologue() || !(may_be_last || on_purpose) || is_in_other_slot(frame, held)) return;
  if (note_let_go(tracer, held.original, kDeepest)) end_behind_instruction(tracer, held.found_source(tracer, frame));
}

}  // namespace

void end_behind_instruction(Tracer& tracer, Source* outside) {
  if (outside) tracer.ends.released.push_back(outside);
  tracer.breaks.forced_at = tracer.executed + 1;
  tracer.ends.ask_for_break = true;
}

bool note_let_go(Tracer& tracer, PyObject* object, int depth) {
  if (is_constant(object) || !tracer.ends.let_go.insert(object).second) return false;
  const World& world = tracer.world;
  // The trace does not know whether others hold objects that it has used, and holds itself.
  return has_loud_end(object, depth, [&world](PyObject* kept) {
    return is_shared(kept) && !world.source_of(kept) && !world.replacement_of(kept);
  });
}

void note_deleted(Tracer& tracer, Frame& frame, int32_t index) {
  const Held held = held_in(tracer, frame, static_cast<size_t>(index));
  if (!held.object || !tracer.breaks.are_allowed) return;
  if (held.is_outside && frame.is_of_resume_function()) return note_lost(tracer, frame, held, true);
  if (!held.is_outside && is_shared(held.object)) return;
  if (has_witnesses(held.original) && !is_in_other_slot(frame, held))
    end_behind_instruction(tracer, held.is_outside ? held.found_source(tracer, frame) : nullptr);
}

void note_overwritten(Tracer& tracer, Frame& frame, int32_t index) {
  const Held held = held_in(tracer, frame, static_cast<size_t>(index));
  if (!held.object || !tracer.breaks.are_allowed) return;
  if (held.is_outside) {
    if (frame.is_of_resume_function()) note_lost(tracer, frame, held, frame.top().is(Py_None));
  } else if (!is_shared(held.object) && (frame.top().is(Py_None) || is_weakly_referenced(held.object)) &&
             has_witnesses(held.object) && !is_in_other_slot(frame, held)) {
    end_behind_instruction(tracer, nullptr);
  }
}

void note_dropped(Tracer& tracer, Frame& frame, size_t depth) {
  if (!tracer.breaks.are_allowed || !frame.is_of_resume_function()) return;
  for (size_t slot = frame.prepared->locals_count + depth; slot < frame.stack_top; ++slot) {
    const Held held = held_in(tracer, frame, slot);
    if (held.is_outside)
      note_lost(tracer, frame, held);
    else if (held.object && PyGen_CheckExact(held.object) && !is_in_other_slot(frame, held))
      end_behind_instruction(tracer, nullptr);
  }
}

void note_handled_ends(Tracer& tracer, Frame& frame) {
  if (!tracer.breaks.are_allowed || !frame.is_of_resume_function()) return;
  const Ref handled = innermost_handled();
  Source* source = tracer.world.source_of(handled.get());
  if (!source || !has_witness(source->value.get()) || is_in_slot(frame, handled.get(), kNoSlot)) return;
  end_behind_instruction(tracer, source);
}

void note_return(Tracer& tracer, const Frame& root) {
  std::vector<bool>& lost = tracer.ends.lost_at_return;
  lost.assign(root.code()->co_argcount, true);
  const auto is_bound = [&](const Source* source) {
    if (source && source->access == Access::Local && static_cast<size_t>(source->index) < lost.size())
      lost[source->index] = false;
  };
  for (size_t slot = 0; slot < root.stack_top; ++slot) {
    if (slot < root.lazy_locals.size() && root.lazy_locals[slot].raw && slot < lost.size()) lost[slot] = false;
    if (PyObject* object = root.slots[slot].get()) is_bound(tracer.world.source_of(object));
  }
  for (const Frame::LazySlot& waiting : root.lazy_stack) is_bound(waiting.source);
}

void note_inlined_return(Tracer& tracer, Frame& frame) {
  if (!tracer.breaks.are_allowed) return;
  for (int32_t local = 0; local < frame.prepared->locals_count; ++local)
    if (const Held held = held_in(tracer, frame, static_cast<size_t>(local)); held.is_outside)
      note_lost(tracer, frame, held);
}

void note_exception_leaves(Tracer& tracer, Frame& frame) {
  bool is_kept = false;
  {
    const ErrorSetAside error;
    note_dropped(tracer, frame, 0);
    for (int32_t local = 0; local < frame.prepared->locals_count && !is_kept; ++local) {
      PyObject* object = frame.slots[local].get();
      if (object && PyCell_Check(object)) object = PyCell_GET(object);
      is_kept = object && !tracer.world.source_of(object) && has_observable_end(object);
    }
  }
  if (is_kept) tracer.abort(BreakReason::Finalizer, "a traceback keeps an object whose end can be seen");
}

void drop_unused_functions(Tracer& tracer) {
  for (;;) {
    std::vector<Ref> unused;
    for (auto at = tracer.made.functions.begin(); at != tracer.made.functions.end();) {
      const auto next = std::next(at);
      if (!is_shared(at->get())) unused.push_back(std::move(tracer.made.functions.extract(at).value()));
      at = next;
    }
    if (unused.empty()) return;
  }
}

void drop_unused_objects(Tracer& tracer) {
  auto& owners = tracer.made.instance_dicts;
  const auto is_unused = [](const auto& entry) {
    PyObject* owner = entry.second.get();
    const bool is_its_dict = entry.first == instance_dict(owner);  // alive, then
    return !is_shared(owner) && is_its_dict && !is_shared(entry.first) && !has_observable_end(owner);
  };
  auto& given = tracer.made.given_dicts;
  const auto is_alone = [](const Ref& owner) { return !is_shared(owner.get()) && !has_observable_end(owner.get()); };
  for (;;) {
    drop_unused_functions(tracer);
    // The last hold may lead to others that are in the tables.
    if (const auto unused = std::ranges::find_if(owners, is_unused); unused != owners.end()) {
      const Ref last_hold = std::move(unused->second);
      owners.erase(unused);
    } else if (const auto alone = std::ranges::find_if(given, is_alone); alone != given.end()) {
      const Ref last_hold = std::move(given.extract(alone).value());
    } else {
      return;
    }
  }
}

}  // namespace minidynamo
