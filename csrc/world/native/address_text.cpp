#include "world/native/address_text.h"

#include <algorithm>
#include <string_view>

#include "python/objects/mapping_proxy.h"
#include "python/objects/native_contents.h"
#include "python/process/nesting.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

// C types of which the text is made of a value, or of names. Any other may show an address.
bool is_shown_by_value(PyTypeObject* base) noexcept {
  while (base->tp_base && base->tp_base->tp_repr == base->tp_repr && base->tp_base->tp_str == base->tp_str)
    base = base->tp_base;
  for (PyTypeObject* type : {&PySuper_Type, &PyLong_Type, &PyBool_Type, &PyFloat_Type, &PyComplex_Type, &PyUnicode_Type,
                             &PyBytes_Type, &PyByteArray_Type, &PyRange_Type, &PyType_Type, &PyModule_Type,
                             Py_TYPE(Py_None), Py_TYPE(Py_Ellipsis), Py_TYPE(Py_NotImplemented)})
    if (base == type) return true;
  const std::string_view name = base->tp_name;
  for (const char* prefix : {"datetime.", "decimal.", "numpy."})
    if (name.starts_with(prefix)) return name != "numpy.ndarray";
  for (const char* known :
       {"re.Pattern", "array.array", "torch.dtype", "torch.device", "torch.layout", "torch.memory_format",
        "torch.qscheme", "torch.finfo", "torch.iinfo", "itertools.count", "hash.hash"})
    if (name == known) return true;
  return false;
}

// The objects that the text of one is made of, besides names; false: it is not made of others.
bool add_shown_parts(PyObject* object, std::vector<Ref>& parts) {
  auto add_attributes = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      parts.push_back(native_attribute(object, name));
      if (!parts.back()) clear_error(), parts.back() = Ref::none();
    }
    return true;
  };
  PyTypeObject* base = native_base(Py_TYPE(object));
  const std::string_view name = base->tp_name;
  if (is_container(object)) {
    for (PyObject* item : native_contents(object).items) parts.push_back(Ref::borrow(item));
    return name != "collections.defaultdict" || add_attributes({"default_factory"});
  }
  if (base == &PySlice_Type) return add_attributes({"start", "stop", "step"});
  if (base == &PyStaticMethod_Type || base == &PyClassMethod_Type) return add_attributes({"__func__"});
  if (base == known_types()->partial) return add_attributes({"func", "args", "keywords"});
  if (base == &PyDictKeys_Type || base == &PyDictValues_Type || base == &PyDictItems_Type)
    return add_attributes({"mapping"});
  if (base == &Py_GenericAliasType || name == "types.UnionType") return add_attributes({"__args__"});
  if (name == "types.SimpleNamespace") return add_attributes({"__dict__"});
  if (base == &PyDictProxy_Type) return parts.push_back(Ref::borrow(proxied_mapping(object))), true;
  if (PyExceptionInstance_Check(object))
    return parts.push_back(Ref::borrow(reinterpret_cast<PyBaseExceptionObject*>(object)->args)), true;
  return false;
}

// True if `wanted(part, may_show_address)` holds for any object whose text is part of this object's text.
template <typename Wanted>
bool any_shown(PyObject* object, Visited& visited, const Wanted& wanted) {
  NestingLevel level;
  if (level.is_too_deep()) return wanted(object, true);
  // A Python class's own __repr__ is traced, and says what it says.
  PyTypeObject *type = Py_TYPE(object), *base = native_base(type);
  if (type->tp_repr != base->tp_repr || type->tp_str != base->tp_str) return false;
  if (is_shown_by_value(base)) return wanted(object, false);
  std::vector<Ref> parts;
  if (!add_shown_parts(object, parts)) return wanted(object, true);
  if (is_set(object) && wanted(object, false)) return true;
  return visited.add(object) && std::any_of(parts.begin(), parts.end(),
                                            [&](const Ref& part) { return any_shown(part.get(), visited, wanted); });
}

}  // namespace

bool shows_address(PyObject* object) {
  Visited visited;
  return any_shown(object, visited, [](PyObject*, bool may_show_address) { return may_show_address; });
}

bool can_show(Tracer& tracer, PyObject* object) {
  Visited visited;
  return !any_shown(object, visited, [&](PyObject* part, bool may_show_address) {
    if (may_show_address)
      tracer.abort(BreakReason::ObjectIdentity, "an object's address is put into a string");
    else if (tracer.world.is_opaque(part))
      use_opaque(tracer, part);
    else if (is_set(part))
      knows_order(tracer, part);
    return tracer.is_over();
  });
}

}  // namespace minidynamo
