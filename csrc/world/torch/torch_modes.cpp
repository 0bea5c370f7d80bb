#include "world/torch/torch_modes.h"

#include <algorithm>

#include "python/process/out_of_memory.h"
#include "tensor/process/override_probe.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

struct Accessors {
  const char *setter, *getter;
  bool is_of_process = false;
  PyObject *setter_object = nullptr, *getter_object = nullptr;
};

// The getter takes what the setter takes before the value.
const std::vector<Accessors>& accessors() {
  static constinit Cached<std::vector<Accessors>> found;
  return *found.get([] {
    auto rows = std::make_unique<std::vector<Accessors>>(std::initializer_list<Accessors>{
        {"torch._C._set_grad_enabled", "torch.is_grad_enabled"},
        {"torch.set_autocast_enabled", "torch.is_autocast_enabled"},
        {"torch.set_autocast_dtype", "torch.get_autocast_dtype"},
        {"torch.set_autocast_cache_enabled", "torch.is_autocast_cache_enabled"},
        {"torch._C._set_sdp_use_math", "torch._C._get_math_sdp_enabled", true},
        {"torch._C._set_sdp_use_flash", "torch._C._get_flash_sdp_enabled", true},
        {"torch._C._set_sdp_use_mem_efficient", "torch._C._get_mem_efficient_sdp_enabled", true},
        {"torch._C._set_sdp_use_cudnn", "torch._C._get_cudnn_sdp_enabled", true},
        {"torch._C._set_sdp_use_overrideable", "torch._C._get_overrideable_sdp_enabled", true},
    });
    for (Accessors& row : *rows) {
      row.setter_object = import_object(row.setter).release();
      row.getter_object = import_object(row.getter).release();
    }
    return rows;
  });
}

}  // namespace

void TorchModes::note(PyObject* setter, PyObject* arguments) {
  nesting_ +=
      (setter == "torch.autocast_increment_nesting"_imported) - (setter == "torch.autocast_decrement_nesting"_imported);
  for (const Accessors& row : accessors()) {
    if (row.setter_object != setter) continue;
    Ref prefix = Ref::made(PyTuple_GetSlice(arguments, 0, PyTuple_GET_SIZE(arguments) - 1));
    const bool known = std::any_of(settings_.begin(), settings_.end(), [&](const Setting& setting) {
      return setting.setter == setter && PyObject_RichCompareBool(setting.prefix.get(), prefix.get(), Py_EQ) == 1;
    });
    if (known) return;
    Ref before = Ref::steal(PyObject_CallObject(row.getter_object, prefix.get()));
    if (before)
      settings_.push_back({setter, row.getter_object, std::move(prefix), std::move(before), row.is_of_process});
    clear_error();
    return;
  }
}

bool TorchModes::leave(PyObject* context) {
  return std::erase_if(contexts_, [&](const OpenContext& open) { return open.context.is(context); }) > 0;
}

void TorchModes::close() {
  for (; !contexts_.empty(); contexts_.pop_back()) {
    PyObject* context = contexts_.back().context.get();
    const OverridesAsSet as_set;
    if (contexts_.back().is_in_graph)
      Ref::drop(PyObject_CallOneArg("torch.autograd.grad_mode._exit_inference_mode"_imported, context));
    else
      Ref::drop(PyObject_CallMethod(context, "__exit__", "OOO", Py_None, Py_None, Py_None));
    clear_error();
  }
  for (const Setting& setting : settings_) {
    if (!setting.is_of_process) continue;
    Ref value = Ref::made(PyTuple_Pack(1, setting.before.get()));
    Ref arguments = Ref::steal(PySequence_Concat(setting.prefix.get(), value.get()));
    if (arguments) Ref::drop(PyObject_CallObject(setting.setter, arguments.get()));
    clear_error();
  }
}

bool TorchModes::has_set(PyObject* getter, PyObject* arguments) const {
  return std::any_of(settings_.begin(), settings_.end(), [&](const Setting& setting) {
    return setting.getter == getter && PyObject_RichCompareBool(setting.prefix.get(), arguments, Py_EQ) == 1;
  });
}

std::vector<TorchModes::Change> TorchModes::changes() const {
  std::vector<Change> found;
  for (const Setting& setting : settings_) {
    Ref now = Ref::steal(PyObject_CallObject(setting.getter, setting.prefix.get()));
    clear_error();
    if (now && !now.is(setting.before.get())) found.push_back({setting.setter, setting.prefix, setting.before, now});
  }
  return found;
}

}  // namespace minidynamo
