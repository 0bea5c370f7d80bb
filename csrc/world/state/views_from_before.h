// Tensors from before the call that are views of one memory.
#pragma once
#include <unordered_map>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// Their fakes are no views of each other. So these are made to count their writes together, as the real ones do. What
// autograd makes of a write to one becomes part of the history of all, which fakes cannot show: that is reported.
class ViewsFromBefore {
 public:
  // `fake` stands for `real`. False: autograd has seen a write to another view, and `real` will have another history.
  bool take_in(PyObject* real, PyObject* fake);
  // Autograd sees a write to a fake of this storage. False: another view of the memory is in the trace.
  bool note_differentiated(const void* storage);

 private:
  struct Views {
    Ref first;  // a fake
    int count = 0;
    bool is_differentiated = false;
  };
  std::unordered_map<const void*, Views> views_;            // by what the real ones count with
  std::unordered_map<const void*, Views*> views_of_fakes_;  // by storages of fakes
};

}  // namespace minidynamo
