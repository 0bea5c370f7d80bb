// Guards that the user does not want checked: before the guards of a trace are finished, all of them are offered, and
// those that are not wanted are dropped (minidynamo/_capture/guard_filter.py puts them into torch's terms).
//
// What would make a check unsafe is kept: the type of what another guard or a value of the call is fetched through,
// that an input of the graph is a tensor, and what relates objects to each other (identities, shared memory, sizes).
#pragma once
#include <string>
#include <vector>

#include "guard/guard_builder.h"

namespace minidynamo {

struct OfferedGuard {
  std::string path;               // L['self'].layers[0].weight; of what is absent, what would be there
  const char* kind;               // guard_name(); "Missing"
  std::vector<PyObject*> owners;  // its object, then those that it was fetched from, outwards; without the absent
  bool is_absent;
};

// Before the tree is finished.
void filter_guards(GuardBuilder& builder, const GuardFilter& filter);

}  // namespace minidynamo
