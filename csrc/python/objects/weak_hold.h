// Holding objects weakly: what stands for one in a table, and being told when one dies.
#pragma once
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// True if nothing but its owners' references keeps an object alive, so that a weak one can stand for it: no, of
// constants, containers and classes of C code, which know no weak references or never die.
bool can_be_held_weakly(PyObject* object) noexcept;

// Makes a stand-in for an object: a weak reference of a type of its own, which is distinct from the program's weak
// references. Null with a Python error set on failure.
Ref stand_for(PyObject* object);
// True if it is such a thing; `object_stood_for` is null if the object is gone.
bool stands_for_object(PyObject* object) noexcept;
PyObject* object_stood_for(PyObject* stands_for) noexcept;

// The object that can be held weakly in place of a namespace: the module, for a dict that is a module's namespace;
// otherwise the dict.
PyObject* owner_of_names(PyObject* globals) noexcept;

// Calls back when one of the watched objects dies: once, and before its memory can be another object's. That may be at
// any time, also in the middle of other code.
class DeathWatch {
 public:
  explicit DeathWatch(std::function<void()> on_death);
  ~DeathWatch();
  DeathWatch(const DeathWatch&) = delete;

  // Watches an object that can be held weakly. False, without a Python error, if it cannot be watched.
  bool watch(PyObject* object);
  // True of the callback of a weak reference that a watch has made.
  static bool is_callback(PyObject* callback) noexcept;

 private:
  std::function<void()> on_death_;
  Ref callback_;  // its capsule leads here as long as the watch lives
  Ref capsule_;
  std::vector<Ref> references_;
  std::unordered_set<PyObject*> watched_;

  static PyObject* object_died(PyObject* capsule, PyObject* reference);
  static PyMethodDef definition_;
};

}  // namespace minidynamo
