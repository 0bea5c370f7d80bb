// A builtin container that stands for an external one.
#pragma once
#include <vector>

#include "guard/source.h"
#include "python/ref.h"

namespace minidynamo {

struct ShadowContainer {
  Ref original, object;
  Source* source;
  bool filled = false;          // before, it holds nothing but what the trace has put to the end of a list
  bool changed_before = false;  // an earlier change is in the effect log
  // The elements after filling, in the order of a snapshot. Empty if all of them are constants, tensors, classes,
  // functions or modules, whose ends the program does not see.
  std::vector<Ref> entered;
  bool is_used = false;  // see World::each_used_holder
  // After filling, or as the effect log has it: its elements (dict: key, value, ...), to see what the trace changed.
  std::vector<Ref> snapshot;
  uint64_t version = 0;  // for a dict that holds what the snapshot says; 0: unknown
  Ref deque_iterator;    // over a deque, since the snapshot: stale as soon as elements come or go
};

// The elements that a container holds now, in the order of a snapshot.
std::vector<Ref> elements_of(PyObject* container);
// True if what a container came to hold when it was filled is still there, in its place.
bool keeps_entered(const ShadowContainer& shadow);
// True if it holds anything else than its snapshot.
bool differs_from_snapshot(const ShadowContainer& shadow);
// The elements that it held at a time.
struct HeldElements {
  explicit HeldElements(const ShadowContainer& shadow);
  std::vector<Ref> elements;
  bool were_all;  // it was filled
};
// True if it holds that still. What has come in by filling it since is no change.
bool holds_still(const ShadowContainer& shadow, const HeldElements& earlier);

// Called when the snapshot has been made.
void begin_snapshot(ShadowContainer& shadow);
// For a deque: true if since the snapshot items were set, at most. Iterators over it go on then, as they do eagerly.
bool keeps_places(const ShadowContainer& shadow) noexcept;

// The effect log has what a filled one holds now.
void accept_changes(ShadowContainer& shadow);
// True if a filled one may have been changed at some time, even if it holds again what it held.
bool may_have_been_changed(const ShadowContainer& shadow) noexcept;

}  // namespace minidynamo
