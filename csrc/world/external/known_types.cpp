#include "world/external/known_types.h"

#include <algorithm>
#include <optional>
#include <string>

#include "python/named_item.h"
#include "python/native_scope.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"

namespace minidynamo {

namespace {

// The attribute that the part of `path` behind `start` names; a null Ref with a Python error set if there is none.
Ref attribute_at(Ref object, const std::string& path, size_t start) {
  while (object && start < path.size()) {
    const size_t stop = std::min(path.find('.', start + 1), path.size());
    object = Ref::steal(PyObject_GetAttrString(object.get(), path.substr(start + 1, stop - start - 1).c_str()));
    start = stop;
  }
  return object;
}

}  // namespace

Ref import_object(const char* dotted_path) {
  NativeScope native;  // importing is not what the program does
  const std::string path = dotted_path;
  auto prefixes = [&](auto visit) {  // the longest first
    for (size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('.', end - 1))
      if (Ref found = visit(path.substr(0, end), end)) return found;
    return Ref();
  };
  // Nearly always all of it is there already, and asking the import system for what is no module is slow.
  PyObject* modules = PyImport_GetModuleDict();
  Ref known = prefixes([&](const std::string& name, size_t end) {
    Ref module = Ref::borrow(named_item(modules, name.c_str()));
    return module && !module.is(Py_None) ? attribute_at(std::move(module), path, end) : Ref();
  });
  clear_error();
  if (known) return known;
  Ref imported = prefixes([&](const std::string& name, size_t end) {
    clear_error();
    Ref module = Ref::steal(PyImport_ImportModule(name.c_str()));
    return module ? attribute_at(std::move(module), path, end) : Ref();
  });
  if (!imported && !PyErr_Occurred()) PyErr_Format(PyExc_ImportError, "no module in %s", dotted_path);
  return imported;
}

Ref import_loaded(const char* dotted_path) {
  const std::string path = dotted_path;
  PyObject* modules = PyImport_GetModuleDict();
  Ref found;
  for (size_t end = path.rfind('.'); !found && end != std::string::npos && end > 0; end = path.rfind('.', end - 1))
    if (PyObject* module = named_item(modules, path.substr(0, end).c_str()); module && PyModule_Check(module))
      found = attribute_at(Ref::borrow(module), path, end);
  clear_error();
  return found;
}

namespace {

// Never released: they live as long as torch does.
std::unique_ptr<KnownTypes> find_known_types() {
  auto types = std::make_unique<KnownTypes>();
  auto type = [](const char* path, PyTypeObject*& out) {
    out = as_type(import_object(path).release());
    return out != nullptr;
  };
  const bool ready =
      type("torch.nn.Module", types->module) && type("torch.Size", types->size) && type("torch.dtype", types->dtype) &&
      type("torch.device", types->device) && type("torch.layout", types->layout) &&
      type("torch.memory_format", types->memory_format) && type("torch._ops.OpOverload", types->op_overload) &&
      type("torch._ops.OpOverloadPacket", types->op_overload_packet) &&
      type("torch._library.custom_ops.CustomOpDef", types->custom_op_def) && type("enum.EnumMeta", types->enum_meta) &&
      type("functools.partial", types->partial) && type("collections.OrderedDict", types->ordered_dict) &&
      type("collections.defaultdict", types->default_dict) && type("collections.deque", types->deque) &&
      type("_thread._local", types->thread_local_storage) && type("torch.FloatTensor.__class__", types->tensor_type);
  if (!ready) return nullptr;
  types->module_getattr = import_object("torch.nn.Module.__getattr__").release();
  return types->module_getattr ? std::move(types) : nullptr;
}

}  // namespace

const KnownTypes* known_types() {
  static constinit Cached<KnownTypes> types;
  return types.get(find_known_types);
}

bool is_plain_tensor_class(PyTypeObject* type) {
  if (as_object(type) == "torch.Tensor"_imported.get()) return true;
  return class_attribute(type, "__torch_function__"_name) == "torch._C._disabled_torch_function_impl"_imported.get();
}

}  // namespace minidynamo
