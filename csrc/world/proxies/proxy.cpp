#include "world/proxies/proxy.h"

#include "tensor/fake/fake.h"
#include "tensor/symbolic/symbolic_size.h"

namespace minidynamo {
namespace {

// The mark of a ProxyType: no other type has this function.
void free_proxy(void* memory) { PyObject_Free(memory); }

}  // namespace

ProxyType make_proxy_type(ProxyKind kind, const char* name, Py_ssize_t size, destructor dealloc) noexcept {
  ProxyType made = {{PyVarObject_HEAD_INIT(nullptr, 0)}, kind};
  made.type.tp_name = name;
  made.type.tp_basicsize = size;
  made.type.tp_dealloc = dealloc;
  made.type.tp_free = free_proxy;
  made.type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  return made;
}

ProxyKind proxy_kind(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_free == free_proxy) return reinterpret_cast<const ProxyType*>(type)->kind;
  if (is_fake(object)) return ProxyKind::Tensor;
  if (is_symbolic_int(object)) return ProxyKind::Int;
  if (is_float_of_sizes(object)) return ProxyKind::FloatOfSizes;
  return is_symbolic_bool(object) ? ProxyKind::Bool : ProxyKind::None;
}

}  // namespace minidynamo
