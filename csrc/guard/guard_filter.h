// Guards that the user does not want checked: before the guards of a trace are finished, all of them are offered, and
// those that are not wanted are dropped (minidynamo/_guard_filter.py puts them into torch's terms).
//
// What would make a check unsafe is kept: the type of what another guard or a value of the call is fetched through,
// that an input of the graph is a tensor, and what relates objects to each other (identities, shared memory, sizes).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "guard/guard_builder.h"

namespace minidynamo {

struct OfferedGuard {
  std::string path;               // L['self'].layers[0].weight; of what is absent, what would be there
  const char* kind;               // guard_name(); "Missing"
  std::vector<PyObject*> owners;  // what it is about, then what that was fetched from, outwards; without what is absent
  bool is_absent;
};

// Which of the guards are wanted, by position.
using GuardFilter = std::function<std::vector<bool>(const std::vector<OfferedGuard>&)>;

// While it lives, guards that are finished on this thread are those that the filter wants.
class GuardFilterScope {
 public:
  explicit GuardFilterScope(GuardFilter filter);
  ~GuardFilterScope();
  GuardFilterScope(const GuardFilterScope&) = delete;

 private:
  friend void filter_guards(GuardBuilder& builder);
  GuardFilter filter_;
  GuardFilterScope* outer_;
};

// By the innermost scope of the thread, if there is one.
void filter_guards(GuardBuilder& builder);

}  // namespace minidynamo
