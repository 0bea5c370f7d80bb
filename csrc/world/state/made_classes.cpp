#include "world/state/made_classes.h"

#include "python/error_set_aside.h"
#include "python/objects/subclasses.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {

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
  const ErrorSetAside error;
  Ref newest = newest_subclass(making_->base_);
  if (!newest || newest.is(making_->before_.get()) || !PyType_HasFeature(as_type(newest.get()), Py_TPFLAGS_HEAPTYPE))
    return;
  if (PyUnicode_Compare(reinterpret_cast<PyHeapTypeObject*>(newest.get())->ht_name, making_->name_) != 0) return;
  if (!made_at_.emplace(newest.get(), making_->now_).second) return;
  classes_.push_back(std::move(newest));
}

void MadeClasses::forget_in_bases() noexcept {
  for (const Ref& made : classes_) forget_subclass(as_type(made.get()));
}

}  // namespace minidynamo
