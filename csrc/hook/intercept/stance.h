// The stance that the program set by torch.compiler.set_stance, which holds for the whole process: whether captured
// code is used at all, and what happens where no entry fits.
//
// torch keeps it in a variable of the module torch._dynamo.eval_frame, which is imported when the program first sets a
// stance. torch has no notification: the version of the dict that holds the variable (before that, of sys.modules) says
// that nothing has changed, which is one comparison on the way of a hit.
#pragma once
#include <string>

#include "python/process/memory_word.h"
#include "python/ref.h"

namespace minidynamo {

enum class Stance : uint8_t {
  Default,
  ForceEager,
  EagerOnRecompile,
  FailOnRecompile,
  EagerThenCompile,
  AotEagerThenCompile,
  ForcedBackend,
  Unknown,
};

namespace stance_details {
struct Watched {
  PyObject* dict = nullptr;  // owned
  MemoryWord version{nullptr, 0};
  Stance stance = Stance::Default;
};
inline constinit Watched watched;
void look_again() noexcept;
}  // namespace stance_details

// Runs no Python code.
inline Stance current_stance() noexcept {
  using namespace stance_details;
  if (!watched.dict || !watched.version.is_unchanged()) [[unlikely]]
    look_again();
  return watched.stance;
}

// The configuration in place of `config` under ForcedBackend, or for the first call under AotEagerThenCompile. Null
// with a Python error on failure.
Ref config_with_forced_backend(PyObject* config);
Ref config_with_aot_eager(PyObject* config);

// For Unknown: sets the error.
void raise_unknown_stance();

// While there is one on this thread, entries are used and none are made (minidynamo.run).
class CachedOnly {
 public:
  CachedOnly() noexcept { ++depth(); }
  ~CachedOnly() { --depth(); }
  CachedOnly(const CachedOnly&) = delete;
  static bool is_on() noexcept { return depth() > 0; }

 private:
  static int& depth() noexcept;
};

}  // namespace minidynamo
