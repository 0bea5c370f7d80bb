#include "trace/known_types.h"

#include <optional>
#include <string>

#include "trace/tracer.h"

namespace minidynamo {

Ref import_object(const char* dotted_path) {
  std::optional<Tracer::Native> native;  // importing is not what the program does
  if (Tracer* tracer = Tracer::current()) native.emplace(*tracer);
  // The longest importable prefix is the module, the rest are attributes.
  const std::string path = dotted_path;
  for (size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('.', end - 1)) {
    Ref module = Ref::steal(PyImport_ImportModule(path.substr(0, end).c_str()));
    if (!module) {
      if (!PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) return nullptr;
      PyErr_Clear();
      continue;
    }
    Ref object = std::move(module);
    size_t start = end;
    while (object && start < path.size()) {
      const size_t stop = path.find('.', start + 1);
      object = Ref::steal(PyObject_GetAttrString(object.get(), path.substr(start + 1, stop - start - 1).c_str()));
      start = stop == std::string::npos ? path.size() : stop;
    }
    return object;
  }
  PyErr_Format(PyExc_ImportError, "no module in %s", dotted_path);
  return nullptr;
}

const KnownTypes* known_types() {
  static KnownTypes types;
  static bool ready = false;
  if (ready) return &types;
  // Never released: they live as long as torch does.
  auto type = [](const char* path, PyTypeObject*& out) {
    out = reinterpret_cast<PyTypeObject*>(import_object(path).release());
    return out != nullptr;
  };
  ready = type("torch.nn.Module", types.module) && type("torch.Size", types.size) && type("torch.dtype", types.dtype) &&
          type("torch.device", types.device) && type("torch.layout", types.layout) &&
          type("torch.memory_format", types.memory_format) && type("torch._ops.OpOverload", types.op_overload) &&
          type("torch._ops.OpOverloadPacket", types.op_overload_packet) &&
          type("torch._library.custom_ops.CustomOpDef", types.custom_op_def) &&
          type("enum.EnumMeta", types.enum_meta) && type("functools.partial", types.partial) &&
          type("collections.OrderedDict", types.ordered_dict) && type("collections.defaultdict", types.default_dict) &&
          type("collections.deque", types.deque) && type("_thread._local", types.thread_local_storage) &&
          type("torch.FloatTensor.__class__", types.tensor_type);
  if (ready) {
    types.module_getattr = import_object("torch.nn.Module.__getattr__").release();
    ready = types.module_getattr != nullptr;
  }
  return ready ? &types : nullptr;
}

}  // namespace minidynamo
