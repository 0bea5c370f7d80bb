#include "bytecode/stack_depth.h"

#include <algorithm>

#include "bytecode/op_facts.h"

namespace minidynamo {

namespace {

class DepthAnalysis {
 public:
  DepthAnalysis(const Bytecode& bytecode, StackDepths& depths) : bytecode_(bytecode), depths_(depths) {}

  bool run() {
    const size_t count = bytecode_.instructions.size();
    depths_.before.assign(count, -1);
    depths_.maximum = 0;
    if (count == 0) return fail(0, "there are no instructions");
    if (!reach(0, 0)) return false;
    for (const ExceptionRegion& region : bytecode_.regions) {
      if (region.start < 0 || region.end > static_cast<int32_t>(count) || region.depth < 0) {
        return fail(region.target, "its exception region lies outside of the code");
      }
      if (!reach(region.target, region.depth + 1 + (region.push_lasti ? 1 : 0))) return false;
    }
    while (!pending_.empty()) {
      const int32_t index = pending_.back();
      pending_.pop_back();
      if (!follow(index)) return false;
    }
    return check_regions();
  }

 private:
  // Walks straight on from an instruction whose depth is known.
  bool follow(int32_t index) {
    for (;;) {
      const Instruction& instruction = bytecode_.instructions[index];
      const int32_t depth = depths_.before[index];
      if (depth < stack_inputs(instruction)) return fail(index, "the stack is read below its bottom");
      if (is_jump(instruction.op) && !reach(instruction.target, depth + stack_effect(instruction, true))) return false;
      if (ends_flow(instruction.op)) return true;
      const int32_t after = depth + stack_effect(instruction, false);
      const int32_t next = index + 1;
      const bool known = next < static_cast<int32_t>(depths_.before.size()) && depths_.before[next] >= 0;
      if (!reach(next, after)) return false;
      if (known) return true;
      pending_.pop_back();
      index = next;
    }
  }

  bool reach(int32_t index, int32_t depth) {
    if (index < 0 || index >= static_cast<int32_t>(depths_.before.size())) {
      return fail(index, "control leaves the code");
    }
    int32_t& known = depths_.before[index];
    if (known == depth) return true;
    if (known >= 0) return fail(index, "it is reached with different stack depths");
    known = depth;
    depths_.maximum = std::max(depths_.maximum, depth);
    pending_.push_back(index);
    return true;
  }

  bool check_regions() {
    for (const ExceptionRegion& region : bytecode_.regions) {
      for (int32_t index = region.start; index < region.end; ++index) {
        const int32_t depth = depths_.before[index];
        if (depth >= 0 && depth < region.depth) return fail(index, "its exception handler expects a deeper stack");
      }
    }
    return true;
  }

  bool fail(int32_t index, const char* reason) {
    PyErr_Format(PyExc_ValueError, "cannot assemble %V: instruction %d: %s", bytecode_.qualname.get(), "bytecode",
                 index, reason);
    return false;
  }

  const Bytecode& bytecode_;
  StackDepths& depths_;
  std::vector<int32_t> pending_;
};

}  // namespace

bool compute_stack_depths(const Bytecode& bytecode, StackDepths& depths) {
  return DepthAnalysis(bytecode, depths).run();
}

}  // namespace minidynamo
