#include "world/state/views_from_before.h"

#include "tensor/fake/tensor_facts.h"
#include "tensor/values/version_counts.h"

namespace minidynamo {

bool ViewsFromBefore::take_in(PyObject* real, PyObject* fake) {
  const void* const counter = version_counter(real);
  if (!counter || !version_count(fake)) return true;
  Views& views = views_[counter];
  views_of_fakes_[storage_of_fake(fake)] = &views;
  ++views.count;
  if (!views.first) {
    views.first = Ref::borrow(fake);
    return true;
  }
  share_version_counter(fake, views.first.get());
  return !views.is_differentiated;
}

bool ViewsFromBefore::note_differentiated(const void* storage) {
  const auto found = views_of_fakes_.find(storage);
  if (found == views_of_fakes_.end()) return true;
  found->second->is_differentiated = true;
  return found->second->count == 1;
}

}  // namespace minidynamo
