// The state of the trace's own objects at some moment, as far as a piece of the program can reach them: to find out
// afterwards whether it has changed anything.
//
// The trace's own objects are real ones, and change without a record of it. So all that can be reached is walked
// through: from given objects, from the effect log and from what shadows hold, through containers, instances, cells and
// functions. Changes of objects from before the trace are in the effect log (effect_log.h).
#pragma once
#include <string>
#include <vector>

#include "world/state/tracer.h"

namespace minidynamo {

class HeldState {
 public:
  HeldState(Tracer& tracer, const std::vector<PyObject*>& roots);
  // The change since then, in words; empty: nothing.
  std::string change() const;
  std::string change_but_for_effects() const;  // the changes in the effect log are left out

 private:
  struct Holder {
    Ref object;
    std::vector<Ref> held;
  };
  struct Container {
    ShadowContainer* shadow;
    HeldElements held;
  };
  struct FilledDict {
    ShadowContainer* shadow;
    uint64_t version;
  };
  Tracer& tracer_;
  std::vector<Holder> holders_;
  std::vector<Container> containers_;
  std::vector<FilledDict> dicts_;
  std::vector<ShadowContainer*> unfilled_;
  size_t shadows_, logged_, changes_;
  std::string unknown_;  // the object that is reached whose state cannot be seen
  std::vector<TorchModes::Change> modes_;
  std::vector<Ref> function_modes_;
  size_t contexts_;
  int nesting_;
};

// The fakes that an object of the trace holds, each once, in the order in which they are met.
std::vector<PyObject*> fakes_held_by(Tracer& tracer, PyObject* object);

}  // namespace minidynamo
