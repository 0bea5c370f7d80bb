// Numbers for the states of dicts, by a watcher of CPython's: for versions from 3.13 on, whose dicts have none of their
// own that moves with each change.
#pragma once
#include <cstdint>

#include "python/ref.h"

namespace minidynamo {

// The number of the dict's state: from now on each change sets another, before it happens. No number is used twice, for
// any dict. The address stays readable for good: that of a dict that has ended is reused for another. Null: the dict
// cannot be watched, since other code has taken all watchers that an interpreter has, or for lack of memory.
const uint64_t* watched_version(PyObject* dict) noexcept;
// A number that no dict has.
uint64_t fresh_version() noexcept;

}  // namespace minidynamo
