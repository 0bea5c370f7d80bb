#include "hook/intercept/module_call.h"

#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

struct ModuleMachinery {
  Ref call;                    // nn.Module._wrapped_call_impl
  std::vector<Ref> hooks;      // dicts of global hooks
  std::vector<Ref> own_hooks;  // names of a module's own
};

const ModuleMachinery& machinery() {
  static constinit Cached<ModuleMachinery> found;
  return *found.get([] {
    auto made = std::make_unique<ModuleMachinery>();
    made->call = import_object("torch.nn.Module._wrapped_call_impl");
    for (const char* path :
         {"torch.nn.modules.module._global_forward_hooks", "torch.nn.modules.module._global_forward_pre_hooks",
          "torch.nn.modules.module._global_backward_hooks", "torch.nn.modules.module._global_backward_pre_hooks"})
      made->hooks.push_back(import_object(path));
    for (const char* name :
         {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_compiled_call_impl"})
      made->own_hooks.push_back(Ref::made(PyUnicode_InternFromString(name)));
    return made;
  });
}

bool is_empty(PyObject* value) noexcept {
  return value == Py_None || (PyDict_Check(value) && PyDict_GET_SIZE(value) == 0);
}

}  // namespace

Ref module_forward(PyObject* module, PyObject* call) {
  const ModuleMachinery& known = machinery();
  if (!known.call || call != known.call.get()) return nullptr;
  for (const Ref& hooks : known.hooks)
    if (!hooks || !is_empty(hooks.get())) return nullptr;
  for (const Ref& name : known.own_hooks) {
    PyObject* value = instance_attribute(module, name.get());
    if (value ? !is_empty(value) : !class_attribute(Py_TYPE(module), name.get())) return nullptr;
  }
  if (instance_attribute(module, "forward"_name)) return nullptr;
  PyObject* forward = class_attribute(Py_TYPE(module), "forward"_name);
  return forward && PyFunction_Check(forward) ? Ref::borrow(forward) : Ref();
}

}  // namespace minidynamo
