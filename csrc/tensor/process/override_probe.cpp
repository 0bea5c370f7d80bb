#include "tensor/process/override_probe.h"

#include <ATen/PythonTorchFunctionTLS.h>

#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/process/function_mode_stack.h"

namespace minidynamo {
namespace {

using at::impl::PythonTorchFunctionTLS;

thread_local OverrideProbe* open_probe = nullptr;

}  // namespace

namespace {

struct Aside {
  bool is_muted = false;
  FunctionOverrides set_by_program = FunctionOverrides::All;
};
thread_local Aside aside;

FunctionOverrides on_thread() noexcept {
  switch (PythonTorchFunctionTLS::get_disabled_state()) {
    case at::impl::TorchFunctionDisabledState::ENABLED:
      return FunctionOverrides::All;
    case at::impl::TorchFunctionDisabledState::SUBCLASSES_DISABLED:
      return FunctionOverrides::OfModes;
    case at::impl::TorchFunctionDisabledState::ALL_DISABLED:
      return FunctionOverrides::None;
  }
  return FunctionOverrides::None;
}

void set_on_thread(FunctionOverrides state) noexcept {
  using at::impl::TorchFunctionDisabledState;
  PythonTorchFunctionTLS::set_disabled_state(state == FunctionOverrides::All ? TorchFunctionDisabledState::ENABLED
                                             : state == FunctionOverrides::OfModes
                                                 ? TorchFunctionDisabledState::SUBCLASSES_DISABLED
                                                 : TorchFunctionDisabledState::ALL_DISABLED);
}

FunctionOverrides muted(FunctionOverrides state) noexcept {
  return state == FunctionOverrides::All ? FunctionOverrides::OfModes : state;
}

}  // namespace

FunctionOverrides function_overrides() noexcept { return aside.is_muted ? aside.set_by_program : on_thread(); }

SubclassesMuted::SubclassesMuted() noexcept : outer_(aside.set_by_program), was_muted_(aside.is_muted) {
  aside = {true, on_thread()};
  set_on_thread(muted(aside.set_by_program));
}

SubclassesMuted::~SubclassesMuted() {
  set_on_thread(aside.set_by_program);
  aside = {was_muted_, outer_};
}

OverridesAsSet::OverridesAsSet() noexcept {
  if (aside.is_muted) set_on_thread(aside.set_by_program);
}

OverridesAsSet::~OverridesAsSet() {
  if (!aside.is_muted) return;
  aside.set_by_program = on_thread();
  set_on_thread(muted(aside.set_by_program));
}

SubclassesDisabled::SubclassesDisabled() noexcept : outer_(aside.set_by_program) {
  aside.set_by_program = muted(outer_);
}

SubclassesDisabled::~SubclassesDisabled() {
  aside.set_by_program = outer_;
  set_on_thread(muted(outer_));
}

PyObject* OverrideProbe::note(PyObject*, PyObject* arguments) {
  if (open_probe && !open_probe->asked_) open_probe->asked_ = Ref::borrow(arguments);
  PyErr_SetString(PyExc_RuntimeError, "a call that was made for show has asked");
  return nullptr;
}

// torch wants the method to be bound to the mode.
PyObject* OverrideProbe::mode() {
  static constinit CachedObject made{[](const char*) {
    static PyMethodDef definition = {"__torch_function__", entry<OverrideProbe::note>, METH_VARARGS, nullptr};
    const Ref types = Ref::steal(PyImport_ImportModule("types"));
    Ref object = types ? Ref::steal(PyObject_CallMethod(types.get(), "SimpleNamespace", nullptr)) : Ref();
    const Ref method = object ? Ref::made(PyCFunction_New(&definition, object.get())) : Ref();
    const bool is_ready = method && PyObject_SetAttrString(object.get(), "__torch_function__", method.get()) == 0;
    return is_ready ? std::move(object) : Ref();
  }};
  return made.get();
}

OverrideProbe::OverrideProbe() : outer_(std::exchange(open_probe, this)) { push_function_mode(mode()); }

OverrideProbe::~OverrideProbe() {
  PythonTorchFunctionTLS::pop_stack();
  open_probe = outer_;
}

bool OverrideProbe::is_open() noexcept { return open_probe != nullptr; }

FunctionModesShown::FunctionModesShown(size_t count) : count_(count) {
  for (size_t i = 0; i < count; ++i) push_function_mode(Py_True);
}

FunctionModesShown::~FunctionModesShown() {
  for (size_t i = 0; i < count_; ++i) PythonTorchFunctionTLS::pop_stack();
}

}  // namespace minidynamo
