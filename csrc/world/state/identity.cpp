#include "world/state/identity.h"

#include "guard/constants.h"
#include "python/objects/native_contents.h"
#include "python/process/nesting.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/class_lookup.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/native_code.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo {

namespace {

bool is_outside_instance(Tracer& tracer, PyObject* object, Source*& source) {
  if (is_constant(object) && !is_nan(object)) return false;
  source = tracer.world.source_of(object);
  return source && source->access != Access::Pinned;
}

// Guards that an external object is none of the others. Objects that the trace knows by their address only (keys of a
// dict from before the call) have no place where they could be found again: to be none of these, the object must be the
// same.
void tell_from_others(Tracer& tracer, PyObject* object, Source* source) {
  if (tracer.world.pins_type(Py_TYPE(object)))
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  else
    tracer.world.require_distinct(source);
}

void require_distinct(Tracer& tracer, PyObject* object, Visited& visited) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyUnicode_Type || is_number(object) || is_fake(object) || tracer.is_over()) return;
  const ShadowContainer* shadow = tracer.world.shadow(object);
  if (shadow && !shadow->filled) return;  // its contents have not entered
  NestingLevel level;
  if (level.is_too_deep()) return;  // CPython's comparison ends there too
  if (is_container(object)) {
    if (!visited.add(object)) return;
    for (PyObject* item : native_contents(object).items) require_distinct(tracer, item, visited);
    return;
  }
  // The referent of an outside weak reference has entered with it.
  PyObject* behind = identity_behind(object);
  if (behind && (PyWeakref_Check(object) || !tracer.world.source_of(object)))
    return require_distinct(tracer, behind, visited);
  if (!check_comparable(tracer, object)) return;
  if (Source * source; is_outside_instance(tracer, object, source)) tell_from_others(tracer, object, source);
}

}  // namespace

bool check_comparable(Tracer& tracer, PyObject* object) {
  if (is_symbolic_float(object)) return true;  // a comparison by its value has specialized it before
  return !tracer.world.is_opaque(object) || compares_natively(object) || use_opaque(tracer, object);
}

bool holds_objects(PyObject* object) noexcept {
  return is_container(object) || PyDictViewSet_Check(object) || PyDictValues_Check(object);
}

void require_distinct(Tracer& tracer, PyObject* object) {
  Visited visited;
  require_distinct(tracer, object, visited);
}

void guard_as_key(Tracer& tracer, PyObject* container, PyObject* key) {
  PyTypeObject* type = Py_TYPE(key);
  if (type == &PyUnicode_Type || (is_number(key) && !is_nan(key)) || is_fake(key)) return;
  guard_special_methods(tracer, key);  // it may get a __hash__ or __eq__
  if (!check_comparable(tracer, key)) return;
  if (PyFrozenSet_Check(key)) {
    for (PyObject* item : native_contents(key).items) guard_as_key(tracer, container, item);
    return;
  }
  if (PyObject* behind = identity_behind(key); behind && !tracer.world.source_of(key))
    return guard_as_key(tracer, container, behind);
  if (PyTuple_Check(key)) {
    NestingLevel level;
    if (level.is_too_deep()) {
      tracer.abort(BreakReason::ContainerTooLarge, "a key is nested too deep");
      return;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) guard_as_key(tracer, container, PyTuple_GET_ITEM(key, i));
    return;
  }
  Source* source;
  if (!is_hashed_by_address(key) || !is_outside_instance(tracer, key, source)) return;
  if (tracer.world.source_of(container))
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  else
    tell_from_others(tracer, key, source);
}

void guard_different(Tracer& tracer, PyObject* left, PyObject* right) {
  Source *left_source, *right_source;
  if (left == right) return;
  const bool is_left = is_outside_instance(tracer, left, left_source),
             is_right = is_outside_instance(tracer, right, right_source);
  if (is_left && is_right)
    tracer.guards.add_relation(left_source, GuardKind::NotSameAs, right_source, tracer.origin());
  else if (is_left && tracer.world.pins_type(Py_TYPE(right)) && tracer.world.source_of(right))
    tracer.guards.add(left_source, GuardKind::Identity, tracer.origin());
  else if (is_right && tracer.world.pins_type(Py_TYPE(left)) && tracer.world.source_of(left))
    tracer.guards.add(right_source, GuardKind::Identity, tracer.origin());
}

}  // namespace minidynamo
