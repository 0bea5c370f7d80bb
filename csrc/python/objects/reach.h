// Which objects an object keeps alive, by what it tells the garbage collector.
#pragma once
#include <functional>

#include "python/ref.h"

namespace minidynamo {

enum class Visit : uint8_t { Found, Enter, Pass };

// How far to look, and the answer where there is more.
struct Reach {
  int depth = 8;       // an instance's attributes may lie one step deeper than they are written
  size_t most = 4096;  // objects
  bool beyond = true;
};

// True if `look` finds one among the object itself and those that it keeps alive; it says which of them to look into.
// Frames, the names of modules and the builtins are not.
bool reaches(PyObject* object, const std::function<Visit(PyObject*)>& look, Reach reach = {});

}  // namespace minidynamo
