#include "world/state/shadow_container.h"

#include <algorithm>

#include "python/objects/iterators.h"
#include "python/objects/native_contents.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "world/external/known_types.h"

namespace minidynamo {
std::vector<Ref> elements_of(PyObject* container) {
  const std::vector<PyObject*> items = native_contents(container).items;
  std::vector<Ref> held;
  held.reserve(items.size());
  for (PyObject* item : items) held.push_back(Ref::borrow(item));
  return held;
}

// Asked for every item of a loop over an iterator from before the call: without making a copy.
namespace {

// True if a dict that was filled in order has lost a key and got it again, at another position, which iterators see.
bool has_moved_keys(PyObject* dict) noexcept {
  Py_ssize_t position = 0, count = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &position, &key, &value)) ++count;
  return position > count;
}

}  // namespace

bool keeps_entered(const ShadowContainer& shadow) {
  PyObject* object = shadow.object.get();
  if (PyDict_CheckExact(object) && shadow.version && shadow.version == dict_version(object)) return true;
  const std::vector<PyObject*> now = native_contents(object).items;
  return now.size() >= shadow.entered.size() &&
         std::equal(shadow.entered.begin(), shadow.entered.end(), now.begin(),
                    [](const Ref& entered, PyObject* item) { return entered.is(item); });
}

bool differs_from_snapshot(const ShadowContainer& shadow) {
  PyObject* object = shadow.object.get();
  const std::vector<Ref>& before = shadow.snapshot;
  if (!shadow.filled && !PyList_Check(object)) return false;  // nothing has been put into it
  if (PyList_Check(object)) {
    if (static_cast<size_t>(PyList_GET_SIZE(object)) != before.size()) return true;
    for (size_t i = 0; i < before.size(); ++i)
      if (!before[i].is(PyList_GET_ITEM(object, static_cast<Py_ssize_t>(i)))) return true;
    return false;
  }
  // The order of an OrderedDict changes without the dict's version.
  const bool is_dict = PyDict_Check(object) && !PyODict_Check(object);
  if (is_dict && shadow.version && shadow.version == dict_version(object)) return false;
  const std::vector<Ref> now = elements_of(object);
  bool differs = now.size() != before.size();
  for (size_t i = 0; !differs && i < now.size(); ++i) differs = !before[i].is(now[i].get());
  return differs || (is_dict && has_moved_keys(object));
}

HeldElements::HeldElements(const ShadowContainer& shadow)
    : elements(elements_of(shadow.object.get())), were_all(shadow.filled) {}

bool holds_still(const ShadowContainer& shadow, const HeldElements& earlier) {
  const std::vector<Ref> now = elements_of(shadow.object.get());
  if (earlier.were_all || !shadow.filled) return now == earlier.elements;
  if (!PyList_Check(shadow.object.get())) return !differs_from_snapshot(shadow);
  const auto entered = static_cast<size_t>(native_size(shadow.original.get()));
  return now.size() == entered + earlier.elements.size() && shadow.snapshot.size() >= entered &&
         std::equal(now.begin(), now.begin() + static_cast<ptrdiff_t>(entered), shadow.snapshot.begin()) &&
         std::equal(earlier.elements.begin(), earlier.elements.end(), now.begin() + static_cast<ptrdiff_t>(entered));
}

void begin_snapshot(ShadowContainer& shadow) {
  PyObject* object = shadow.object.get();
  if (native_base(Py_TYPE(object)) != known_types()->deque) return;
  shadow.deque_iterator = Ref::made(known_types()->deque->tp_iter(object));
}

bool keeps_places(const ShadowContainer& shadow) noexcept {
  return shadow.deque_iterator && !look_at_deque_iterator(shadow.deque_iterator.get()).is_stale;
}

void accept_changes(ShadowContainer& shadow) {
  PyObject* object = shadow.object.get();
  shadow.snapshot = elements_of(object);
  begin_snapshot(shadow);
  shadow.version = PyDict_CheckExact(object) ? dict_version(object) : 0;
  shadow.changed_before = true;
}

bool may_have_been_changed(const ShadowContainer& shadow) noexcept {
  PyObject* object = shadow.object.get();
  return !PyDict_Check(object) || PyODict_Check(object) || shadow.version != dict_version(object);
}

}  // namespace minidynamo
