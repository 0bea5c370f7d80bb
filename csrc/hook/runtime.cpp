#include "hook/runtime.h"

#include <utility>

#include "cache/code_cache.h"
#include "emit/resume.h"
#include "world/state/frame.h"
#include "world/state/tracer.h"

namespace minidynamo {

Runtime& runtime() noexcept {
  static Runtime* const instance = new Runtime;  // holds references: not destroyed after the interpreter
  return *instance;
}

void set_global_config(PyObject* config) noexcept {
  runtime().global_config = Ref::borrow(config);
  captures_globally = config != nullptr;
}

void reset_runtime() {
  Runtime& state = runtime();
  CacheRegistry::instance().reset();
  // Emptied first: letting go of a record may run code that adds some.
  const auto records = std::exchange(state.uncaptured, {});
  state.break_counts.clear();
  const auto captures = std::exchange(state.captures, {});
  state.statistics = {};
  state.compiled_functions = 0;
  forget_resume_functions();
  if (!Tracer::any_running()) forget_prepared_codes();  // another thread's trace holds on to them
}

}  // namespace minidynamo
