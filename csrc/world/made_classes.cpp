#include "world/made_classes.h"

#include "model/attribute.h"
#include "python/out_of_memory.h"
#include "python/subclasses.h"
#include "world/tracer.h"

namespace minidynamo {
namespace {

PyTypeObject* as_type(const Ref& object) noexcept { return reinterpret_cast<PyTypeObject*>(object.get()); }

}  // namespace

MadeClasses::Making::Making(MadeClasses& classes, PyTypeObject* base, PyObject* name, long now)
    : classes_(classes),
      base_(base),
      name_(name),
      now_(now),
      before_(newest_subclass(base)),
      outer_(std::exchange(classes.making_, this)) {}

MadeClasses::Making::~Making() {
  try_to([&] { classes_.notice(); });
  classes_.making_ = outer_;
}

void MadeClasses::notice() {
  if (!making_) return;
  PyObject *error, *value, *traceback;
  PyErr_Fetch(&error, &value, &traceback);
  Ref newest = newest_subclass(making_->base_);
  PyErr_Restore(error, value, traceback);
  if (!newest || newest.is(making_->before_.get()) || !PyType_HasFeature(as_type(newest), Py_TPFLAGS_HEAPTYPE)) return;
  if (PyUnicode_Compare(reinterpret_cast<PyHeapTypeObject*>(newest.get())->ht_name, making_->name_) != 0) return;
  if (!made_at_.emplace(newest.get(), making_->now_).second) return;
  classes_.push_back(std::move(newest));
}

void MadeClasses::forget_in_bases() noexcept {
  for (const Ref& made : classes_) forget_subclass(as_type(made));
}

namespace {

bool has_itself(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  return tracer.effects.pending(reinterpret_cast<PyObject*>(type), name) ||
         PyDict_GetItemWithError(type->tp_dict, name) != nullptr;
}

// Whether the classes from `index` on are those that the class there looks through itself.
bool is_rest_of_order(PyObject* order, Py_ssize_t index) {
  PyObject* own = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order, index))->tp_mro;
  if (!own || PyTuple_GET_SIZE(order) - index != PyTuple_GET_SIZE(own)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(own); ++i)
    if (PyTuple_GET_ITEM(own, i) != PyTuple_GET_ITEM(order, index + i)) return false;
  return true;
}

}  // namespace

Ref lookup_in_made_class(Tracer& tracer, PyTypeObject* type, PyObject* name) {
  Ref order = Ref::borrow(type->tp_mro);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order.get()); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(order.get(), i));
    if (tracer.classes.has(reinterpret_cast<PyObject*>(base))) {
      if (PyObject* own = PyDict_GetItemWithError(base->tp_dict, name)) return Ref::borrow(own);
      if (PyErr_Occurred()) return nullptr;
      continue;
    }
    // What a lookup in the base gives is guarded; that also says when the base has it not itself.
    Ref found = lookup_in_class(tracer, base, name);
    if (!found && PyErr_Occurred()) return nullptr;
    if (is_rest_of_order(order.get(), i) || (found && has_itself(tracer, base, name))) return found;
  }
  return nullptr;
}

}  // namespace minidynamo
