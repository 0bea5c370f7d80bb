// Detects that C code issues a warning, which belongs at the place where the program stands, under the filters that the
// program has by then.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// While a trap lives, a warning that this thread issues is an error, whatever the program's filters say: the trap adds
// a filter in front, for warnings of this thread alone. Other threads may run in the meantime, and change filters.
class WarningTrap {
 public:
  WarningTrap() noexcept;
  ~WarningTrap();
  WarningTrap(const WarningTrap&) = delete;
  WarningTrap& operator=(const WarningTrap&) = delete;

  // False: the program's filters are no list, and nothing is caught.
  bool is_set() const noexcept { return static_cast<bool>(filters_); }
  // A warning was given: what the code under the trap raises may come from it.
  bool has_caught() const noexcept { return *caught_by_thread() != caught_before_; }

 private:
  Ref filters_;
  bool had_registry_;
  long caught_before_;

  static long* caught_by_thread() noexcept;
};

}  // namespace minidynamo
