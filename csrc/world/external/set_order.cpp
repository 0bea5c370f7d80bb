#include "world/external/set_order.h"

#include <algorithm>
#include <string_view>

#include "guard/constants.h"
#include "python/code/bound_method.h"
#include "python/objects/native_contents.h"
#include "python/process/nesting.h"
#include "tensor/fake/fake.h"
#include "world/external/callable_table.h"
#include "world/external/known_types.h"
#include "world/external/types.h"
#include "world/native/address_hash.h"

namespace minidynamo {
namespace {

// True if a guard requires every later call to have this same object.
bool has_fixed_address(const Tracer& tracer, PyObject* object) {
  if (is_guarded_by_identity(object)) return !tracer.classes.has(object);
  const Source* source = tracer.world.source_of(object);
  return source && source->access == Access::Pinned;
}

bool hash_follows_address(const Tracer& tracer, PyObject* object) {
  if (is_fake(object)) return true;
  NestingLevel level;
  if (level.is_too_deep()) return true;
  if (PyTuple_Check(object) || PyFrozenSet_Check(object))
    return std::ranges::any_of(native_contents(object).items,
                               [&](PyObject* item) { return hash_follows_address(tracer, item); });
  if (is_constant(object)) return is_nan(object);
  if (PyMethod_Check(object)) return !has_fixed_address(tracer, PyMethod_GET_SELF(object));
  if (PyObject* behind = identity_behind(object)) return hash_follows_address(tracer, behind);
  return is_hashed_by_address(object) && !has_fixed_address(tracer, object);
}

// True for the name of a set's method that visits the items in the order of the set.
bool reads_order(std::string_view name) noexcept {
  static constexpr std::string_view kNames[] = {"pop",        "__iter__",   "__repr__",     "__str__",
                                                "__format__", "__reduce__", "__reduce_ex__"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// The object that a C method or slot is bound to. Null: the callable is neither, or not bound.
Ref self_of_method(PyObject* callable) noexcept {
  return PyCFunction_Check(callable) || is_bound_slot(callable) ? bound_self_of(callable) : Ref();
}

bool is_method_of_set(PyObject* callable) noexcept {
  if (const Ref self = self_of_method(callable)) return is_set(self.get());
  if (!Py_IS_TYPE(callable, &PyMethodDescr_Type) && !Py_IS_TYPE(callable, &PyWrapperDescr_Type)) return false;
  return PyDescr_TYPE(callable) == &PySet_Type || PyDescr_TYPE(callable) == &PyFrozenSet_Type;
}

bool asks_for_no_order(PyObject* callable) {
  static constinit CallableTable<bool> table;
  static constexpr CallableTable<bool>::Row kRows[] = {
      {"builtins.set", true},
      {"builtins.frozenset", true},
      {"builtins.len", true},
      {"builtins.bool", true},
      {"builtins.id", true},
      {"builtins.hash", true},
      {"builtins.type", true},
      {"builtins.callable", true},
      {"builtins.isinstance", true},
      {"builtins.issubclass", true},
      {"builtins.getattr", true},
      {"builtins.hasattr", true},
      {"builtins.list.append", true},
      {"builtins.list.insert", true},
      {"builtins.list.remove", true},
      {"builtins.list.index", true},
      {"builtins.list.count", true},
      {"builtins.dict.get", true},
      {"builtins.dict.setdefault", true},
      {"builtins.dict.pop", true},
      {"builtins.dict.__setitem__", true},
      {"builtins.object.__setattr__", true},
      {"collections.deque.append", true},
      {"collections.deque.appendleft", true},
  };
  if (is_method_of_set(callable)) {
    const Ref name = Ref::made(PyObject_GetAttrString(callable, "__name__"));
    return !reads_order(PyUnicode_AsUTF8(name.get()));
  }
  return table.find(callable, kRows) != nullptr;
}

// Modules of a model live on: one that is found again is guarded to be the same, and so comes in the same order.
bool is_made_to_stay(Tracer& tracer, PyObject* item) {
  Source* source = tracer.world.source_of(item);
  if (!source || !PyObject_TypeCheck(item, known_types()->module)) return false;
  tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  return true;
}

}  // namespace

bool knows_order(Tracer& tracer, PyObject* set) {
  if (PySet_GET_SIZE(set) < 2) return true;
  for (PyObject* item : native_contents(set).items)
    if (hash_follows_address(tracer, item) && !is_made_to_stay(tracer, item))
      return tracer.abort(BreakReason::UnsupportedObject, "the order of a set is asked that has a " +
                                                              std::string(Py_TYPE(item)->tp_name) +
                                                              ", which follows from its address") != nullptr;
  return true;
}

bool knows_orders_read(Tracer& tracer, PyObject* callable, std::span<const Ref> arguments) {
  const Ref self = self_of_method(callable);
  std::vector<PyObject*> sets;
  if (self && is_set(self.get())) sets.push_back(self.get());
  for (const Ref& argument : arguments)
    if (is_set(argument.get())) sets.push_back(argument.get());
  if (sets.empty() || asks_for_no_order(callable)) return true;
  return std::ranges::all_of(sets, [&](PyObject* set) { return knows_order(tracer, set); });
}

}  // namespace minidynamo
