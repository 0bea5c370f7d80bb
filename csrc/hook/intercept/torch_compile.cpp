#include "hook/intercept/torch_compile.h"

#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

// torch's C functions for the callback of the calling thread: None (not at work), False (runs what it has compiled),
// or what compiles frames. Setting it counts the threads that have one; the hook is installed while there are any.
PyObject *get_callback = nullptr, *set_callback = nullptr;

Ref callback() noexcept { return Ref::steal(PyCFunction_GET_FUNCTION(get_callback)(nullptr, nullptr)); }

void set(PyObject* value) noexcept {
  Ref previous = Ref::steal(PyObject_CallOneArg(set_callback, value));
  if (!previous) clear_error();
}

}  // namespace

void find_torch_compile() {
  Ref get = import_object("torch._C._dynamo.eval_frame.get_eval_frame_callback");
  Ref set = get ? import_object("torch._C._dynamo.eval_frame.set_eval_frame") : Ref();
  clear_error();
  if (!set || !PyCFunction_Check(get.get()) || PyCFunction_GET_FLAGS(get.get()) != METH_NOARGS) return;
  get_callback = get.release();
  set_callback = set.release();
}

bool torch_is_at_work() noexcept { return get_callback && !callback().is(Py_None); }

bool install_behind_torch(EvalFrame ours, EvalFrame& next) noexcept {
  if (!get_callback) return false;
  // torch's hook remembers what is installed when it installs itself, so it is made to do so with ours there: by one
  // more thread at work, or by taking out and putting back this one's part.
  const EvalFrame torchs = installed_eval_frame();
  const Ref own = callback();
  if (own.is(Py_None)) {
    install_eval_frame(ours);
    set(Py_False);
    set(Py_None);
    next = nullptr;  // the function that torch's has called so far is unknown
  } else {
    set(Py_None);
    next = installed_eval_frame() != torchs ? installed_eval_frame() : nullptr;
    install_eval_frame(ours);
    set(own.get());
  }
  if (installed_eval_frame() == torchs) return true;
  next = torchs;  // it is not torch's
  install_eval_frame(ours);
  return false;
}

}  // namespace minidynamo
