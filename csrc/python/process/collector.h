// The garbage collector, kept from running: it runs finalizers of other people's objects wherever something is
// allocated.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// While one lives, the collector does not run by itself, on any thread. Scopes nest and are counted over all threads:
// the last to end puts back what was there. What the program says meanwhile (gc.enable(), gc.disable()) holds from then
// on. Needs the GIL at both ends.
class CollectorPaused {
 public:
  CollectorPaused() noexcept;
  ~CollectorPaused();
  CollectorPaused(const CollectorPaused&) = delete;
  CollectorPaused& operator=(const CollectorPaused&) = delete;
};

}  // namespace minidynamo
