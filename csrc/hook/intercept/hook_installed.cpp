#include "hook/intercept/hook_installed.h"

#include <utility>

#include "hook/intercept/hook_chain.h"
#include "hook/runtime.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

int installed_count = 0;  // changed under the GIL

// The code object of the wrapper that torch._compile._disable_dynamo puts around torch's Python meta kernels; null
// until looked up.
PyObject* wrapper = nullptr;

// Looked up when the hook is first installed: later, looking would itself come through the hook.
void find_meta_kernel_wrapper() {
  static bool looked = false;
  if (looked) return;
  const MemoryWatch memory;
  Ref disable = import_object("torch._compile._disable_dynamo");
  if (disable && PyFunction_Check(disable.get())) {
    PyObject* consts = as_code(PyFunction_GET_CODE(disable.get()))->co_consts;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(consts) && !wrapper; ++i)
      if (PyCode_Check(PyTuple_GET_ITEM(consts, i))) wrapper = Ref::borrow(PyTuple_GET_ITEM(consts, i)).release();
  }
  clear_error();
  looked = !memory.failed();  // a second thread that comes in the middle looks too
}

}  // namespace

bool is_hook_wanted() noexcept { return installed_count > 0; }
PyObject* meta_kernel_wrapper() noexcept { return wrapper; }

HookInstalled::HookInstalled() {
  find_meta_kernel_wrapper();
  ++installed_count;
  hook_chain().join();
}

HookInstalled::~HookInstalled() {
  if (--installed_count == 0) hook_chain().leave();
}

const char* hook_owner() noexcept {
  const EvalFrame now = installed_eval_frame();
  return now == hook_chain().ours() ? "minidynamo" : now == evaluate_frame_of_cpython() ? "CPython" : "another tool";
}

void set_global_capture(PyObject* config) {
  static HookInstalled* installed = nullptr;
  set_global_config(config);
  if (config && !installed) {
    installed = new HookInstalled;
  } else if (!config && installed) {
    delete std::exchange(installed, nullptr);
  }
}

}  // namespace minidynamo
