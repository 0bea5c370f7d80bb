#include "hook/runtime.h"

namespace minidynamo {

ThreadMode& thread_mode() noexcept {
  thread_local ThreadMode mode;
  return mode;
}

Runtime& runtime() noexcept {
  static Runtime* const instance = new Runtime;  // holds references: not destroyed after the interpreter
  return *instance;
}

}  // namespace minidynamo
