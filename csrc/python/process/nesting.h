// Walks over nested containers recurse on the C stack, and a container may hold itself: each level asks whether to go
// on.
#pragma once
#include <unordered_set>

#include "python/ref.h"

namespace minidynamo {

class NestingLevel {
 public:
  NestingLevel() noexcept { ++depth_; }
  ~NestingLevel() { --depth_; }
  NestingLevel(const NestingLevel&) = delete;

  // Deeper than programs nest data that they mean to be looked at.
  static bool is_too_deep() noexcept { return depth_ > kDeepest; }

 private:
  static constexpr int kDeepest = 500;
  static inline thread_local int depth_ = 0;
};

// For walks that need to see each container once: what holds the same one twice at every level would take forever.
class Visited {
 public:
  bool add(PyObject* container) { return seen_.insert(container).second; }

 private:
  std::unordered_set<PyObject*> seen_;
};

}  // namespace minidynamo
