// A witness tells the program of an object's end: a finalizer, a weak reference, a generator's finally. Of tensors
// these are references that no compiler has made; functions, classes and modules have none.
#pragma once
#include <functional>

#include "python/ref.h"

namespace minidynamo {

constexpr int kDeep = 3, kDeepest = 6;  // containers and objects in each other that are looked into

bool is_weakly_referenced(PyObject* object) noexcept;
// True if the program may see this very object's end, or that of what the frames in an exception's traceback keep.
bool has_witness(PyObject* object);
// The same, or of one that a tuple or list holds.
bool has_witnesses(PyObject* object);
// True if the program may see the end of the object, of what it holds open (a memoryview), or of what it holds.
bool has_observable_end(PyObject* object, int depth = kDeep);
// True if code of the program runs at that end, unasked: a weak reference without a callback does not count. What
// `lives_on` holds for does not end with the object.
bool has_loud_end(PyObject* object, int depth, const std::function<bool(PyObject*)>& lives_on);

}  // namespace minidynamo
