#include "hook/runtime.h"

namespace minidynamo {

Runtime& runtime() noexcept {
  static Runtime* const instance = new Runtime;  // holds references: not destroyed after the interpreter
  return *instance;
}

void set_global_config(PyObject* config) noexcept {
  runtime().global_config = Ref::borrow(config);
  captures_globally = config != nullptr;
}

}  // namespace minidynamo
