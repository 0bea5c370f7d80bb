// Numbers for the states of dicts, by a watcher of CPython's: for versions from 3.13 on, whose dicts have none of their
// own that moves with each change.
#pragma once
#include <cstdint>

#include "python/ref.h"

namespace minidynamo {

// The number of the dict's state: from now on each change gives it another, before it happens. No number is used twice,
// for whatever dict. The address may be read for good: one whose dict has ended is given to another.
// Null: the dict cannot be watched, since other code has taken all watchers that an interpreter has, or without memory.
const uint64_t* watched_version(PyObject* dict) noexcept;
// A number that is that of no dict.
uint64_t fresh_version() noexcept;

}  // namespace minidynamo
