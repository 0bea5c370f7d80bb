#include "world/state/world.h"

#include "world/external/types.h"

namespace minidynamo {

Source* World::source_of(PyObject* object) const noexcept {
  auto found = sources_.find(object);
  return found == sources_.end() ? nullptr : found->second;
}

PyObject* World::replacement_of(PyObject* outside_object) const noexcept {
  auto found = replacements_.find(outside_object);
  return found == replacements_.end() ? nullptr : found->second.get();
}

ShadowContainer* World::shadow(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (is_constant_type(type) || type == &PyFunction_Type || type == &PyTuple_Type) return nullptr;
  auto found = shadow_of_.find(object);
  if (found == shadow_of_.end()) return nullptr;
  ++shadow_uses_;
  note_use(*found->second);
  return found->second;
}

ShadowContainer& World::add_shadow(Ref original, Ref object, Source* source) {
  PyObject* key = object.get();
  replace(original.get(), object);
  know(key, source);
  shadows_.push_back({std::move(original), std::move(object), source});
  shadow_of_.emplace(key, &shadows_.back());
  return shadows_.back();
}

}  // namespace minidynamo
