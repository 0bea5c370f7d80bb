// True if C code runs that may come to call torch's operators past those who are to hear of them: the
// TorchFunctionModes of a trace, which do not lie on the thread's stack (world/torch/function_modes.h), and classes of
// tensors, which are muted in a trace (tensor/process/override_probe.h).
#pragma once

namespace minidynamo {

class ModeBypass {
 public:
  ModeBypass() noexcept { ++depth; }
  ~ModeBypass() { --depth; }
  ModeBypass(const ModeBypass&) = delete;
  ModeBypass& operator=(const ModeBypass&) = delete;
  static bool is_open() noexcept { return depth > 0; }

 private:
  static inline thread_local int depth = 0;
};

}  // namespace minidynamo
