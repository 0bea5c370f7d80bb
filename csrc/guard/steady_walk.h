// A walk over what one root leads to, as a list of steps that prove that it would pass once more.
//
// Most calls find everything as the last one did. Then a walk over nodes does nothing but compare versions and follow
// pointers: a few hundred instructions for each module of a model. So what a walk reads of objects that were the same
// in two calls is written down, in its order, and read by the next calls without the nodes between. Where something
// changes from call to call, a step of the list is a walk over that part.
//
// Soundness: an object is taken for the one of before only where an unchanged dict or class proves it (versions are
// never used twice). Elsewhere an equal address says no more than that the object may be read: what the nodes ask of it
// is asked again. An address is read only behind the steps that prove that the object in which it lies is alive, and of
// which class it is. If a step fails, a walk over the nodes decides.
#pragma once
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "guard/guard_kinds.h"
#include "python/process/memory_word.h"

namespace minidynamo {

struct GuardNode;
class Walk;

class SteadyWalk {
 public:
  // Records a root that the walk has just passed; null if nothing is gained.
  static std::unique_ptr<SteadyWalk> record(Walk& walk, uint32_t root);

  // For the root's value of that walk, if no walk has been over its nodes since.
  bool passes(Walk& walk) const;

 private:
  class Recorder;
  class Checker;

  struct Words {
    uint32_t end;  // those before it, from the last such step's on
  };
  struct ClassVersion {
    PyTypeObject* type;
    uint32_t version;
  };
  struct Fetched {  // a node whose step leads to the same address as before, or nowhere
    uint32_t node;
    Reached parent, result;
  };
  struct Checked {
    const Check* check;
    Reached object;
  };
  struct Backed {  // a dict whose version says less than it seems (Walk::backs_version)
    const GuardNode* node;
    PyObject* dict;
  };
  struct Walked {
    uint32_t node;
    Reached parent;
  };
  using Step = std::variant<Words, ClassVersion, Fetched, Checked, Backed, Walked>;

  std::vector<MemoryWord> words_;
  std::vector<Step> steps_;
  std::vector<std::pair<int32_t, PyObject*>> gathered_;  // slot, object
};

// How the walks over a root have gone, and what proves that the next one goes the same way.
struct SteadyRoot {
  std::unique_ptr<SteadyWalk> walk;
  uint32_t passed = 0;  // walks in a row over a value at the same address
  uint32_t wanted = 2;  // such walks before one is written down; a capture itself makes one

  // Drops the list, which no longer fits, or could not be made. The next one is made after twice as many walks.
  void forget() noexcept;
};

}  // namespace minidynamo
