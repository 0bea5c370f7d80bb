#include "python/version/dict_watcher.h"

#include <unordered_map>
#include <vector>

#include "python/process/out_of_memory.h"

#if PY_VERSION_HEX >= 0x030D0000

namespace minidynamo {
namespace {

// All under the GIL. Never destroyed: dicts end until the interpreter has.
struct Watched {
  std::unordered_map<PyObject*, uint64_t*> cells;
  std::vector<uint64_t*> unused;
};

uint64_t last_version = 0;

Watched* watched() noexcept {
  static Watched* made = nullptr;
  if (!made) try_to([] { made = new Watched; });
  return made;
}

// Called for any watched dict, before the change.
int note_event(PyDict_WatchEvent event, PyObject* dict, PyObject*, PyObject*) {
  Watched* all = watched();
  const auto found = all ? all->cells.find(dict) : decltype(all->cells)::iterator();
  if (!all || found == all->cells.end()) return 0;
  *found->second = ++last_version;
  if (event == PyDict_EVENT_DEALLOCATED) {
    uint64_t* cell = found->second;
    all->cells.erase(found);
    try_to([&] { all->unused.push_back(cell); });  // without memory it is not used again
  }
  return 0;
}

// The watcher of this process; -1: there is none left.
int watcher() noexcept {
  constexpr int kNotAsked = -2;
  static constinit int id = kNotAsked;
  if (id == kNotAsked) {
    id = PyDict_AddWatcher(note_event);
    if (id < 0) clear_error();
  }
  return id;
}

uint64_t* watch(Watched& all, PyObject* dict) {
  if (all.unused.empty()) {
    constexpr size_t kAtOnce = 256;
    auto* cells = new uint64_t[kAtOnce];
    all.unused.reserve(kAtOnce);
    for (size_t i = 0; i < kAtOnce; ++i) all.unused.push_back(cells + i);
  }
  uint64_t* const cell = all.unused.back();
  const auto [place, is_new] = all.cells.try_emplace(dict, cell);
  if (!is_new) return place->second;
  if (PyDict_Watch(watcher(), dict) < 0) {
    clear_error();
    all.cells.erase(place);
    return nullptr;
  }
  all.unused.pop_back();
  *cell = ++last_version;
  return cell;
}

}  // namespace

const uint64_t* watched_version(PyObject* dict) noexcept {
  Watched* all = watched();
  if (!all || watcher() < 0) return nullptr;
  if (const auto found = all->cells.find(dict); found != all->cells.end()) return found->second;
  const uint64_t* cell = nullptr;
  try_to([&] { cell = watch(*all, dict); });
  return cell;
}

uint64_t fresh_version() noexcept { return ++last_version; }

}  // namespace minidynamo

#endif
