// One walk over the nodes of a GuardProgram. See guard_program.h for why it may skip what it skips.
#pragma once
#include "guard/guard_program.h"

namespace minidynamo {

// A constant check also remembers an equal object that is another than the last; the one before is put into
// `release_later` if it may hold something else.
bool passes(Check& check, Reached object, std::vector<Ref>& release_later);

class Walk {
 public:
  // `slots` has room for what the nodes gather.
  Walk(GuardProgram& program, const FrameView& frame, PyObject** slots) noexcept;

  bool run();
  bool visit_child(uint32_t index, Reached parent);

 private:
  friend class SteadyWalk;
  GuardProgram& program_;
  GuardNode* nodes_;
  Check* checks_;
  const FrameView& frame_;
  PyObject** slots_;
  std::vector<uint32_t> changed_;  // nodes of this root whose versions are others than in the last walk

  bool refuse(uint32_t node) noexcept;
  bool pass(const GuardNode& node, uint32_t begin, uint32_t end, Reached value);
  bool pass_volatile(const GuardNode& node, Reached value);
  bool visit_root(uint32_t root, PyObject* value, SteadyRoot& steady);
  bool visit(uint32_t index, Reached value);
  bool revisit(uint32_t index);
  bool descend(uint32_t index, Reached value);
  bool backs_version(const GuardNode& node, PyObject* dict) const noexcept;
  bool visit_versioned(uint32_t index, Reached value);
};

}  // namespace minidynamo
