// Whose random numbers those are that are drawn while a backend works: they are put back where it drew them itself, and
// left alone where another thread of the program did.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Begins to watch, on behalf of this thread: a capsule. Null with a Python error.
Ref watch_random();
// Ends it: a tuple of
//   was_alone  there was no other thread when it began, so that what others have done since, the work has set off
//   ran        another thread has run Python code
//   drew       another thread has called an operator that draws random numbers
//   drew_here  this thread has
// Null with a Python error.
Ref end_random_watch(PyObject* capsule);

}  // namespace minidynamo
