#include "world/world.h"

#include "world/types.h"

namespace minidynamo {

Source* World::source_of(PyObject* object) const noexcept {
  auto found = sources_.find(object);
  return found == sources_.end() ? nullptr : found->second;
}

PyObject* World::replacement_of(PyObject* outside_object) const noexcept {
  auto found = replacements_.find(outside_object);
  return found == replacements_.end() ? nullptr : found->second.get();
}

StandIn* World::stand_in(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (is_constant_type(type) || type == &PyFunction_Type || type == &PyTuple_Type) return nullptr;
  auto found = stand_in_of_.find(object);
  if (found == stand_in_of_.end()) return nullptr;
  ++stand_in_uses_;
  return found->second;
}

StandIn& World::add_stand_in(Ref original, Ref object, Source* source) {
  PyObject* key = object.get();
  replace(original.get(), object);
  know(key, source);
  stand_ins_.push_back({std::move(original), std::move(object), source});
  stand_in_of_.emplace(key, &stand_ins_.back());
  return stand_ins_.back();
}

}  // namespace minidynamo
