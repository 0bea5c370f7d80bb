// The ways from an object to what it holds: one row per Access, with the fast fetch that checks use, the plain slow one
// that tests and explanations use, and how a path is printed.
//
// Fetches run no user code and create no instance dict. Access::Attribute relies on the tracer's promise that the
// attribute is a C getter or member of a builtin type.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "guard/source.h"
#include "python/version/dict_version.h"

namespace minidynamo {

// The object that a path leads to. An instance whose attributes are inline has no dict object: then `object` is the
// instance and `inline_attributes` says that it stands for its own __dict__.
struct Reached {
  PyObject* object = nullptr;
  bool inline_attributes = false;
};

// The data of a fetch beside the parent, with what it remembers.
struct AccessStep {
  PyObject* key = nullptr;
  Py_hash_t hash = 0;
  int32_t index = -1;
  uint8_t form = 0;   // see step_form
  uint32_t hint = 0;  // where a dict held the key last time
};

// Roots only: the frame, and nothing else, is asked.
Lookup fetch_root(Access access, const AccessStep& step, const FrameView& frame, PyObject*& value) noexcept;

// A child. `owned` receives a reference where nothing else keeps the result alive. `slowly` asks the plain way: no
// hint, no probe sequence, no method cache, another path through CPython wherever there is one.
Lookup fetch(Access access, AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept;
Lookup fetch_slowly(Access access, const AccessStep& step, Reached parent, Reached& result, Ref& owned) noexcept;

// The variant of an access that fits the parent seen (an element of a tuple or of a list; a function's closure...).
// Fetches of one form refuse parents that are of another: what is proven of a tuple must not be believed of a list.
uint8_t step_form(Access access, PyObject* key, Reached parent) noexcept;

// The field of the parent that points to the child (a function's code, what a cell holds); null where no field is
// known. An empty field of a function stands for None.
PyObject* const* place_of(Access access, const AccessStep& step, Reached parent) noexcept;

// True if the child of an unchanged parent object is always the same object.
bool is_stable(Access access, uint8_t form) noexcept;

// The C class beneath a collections.deque or an instance of a subclass; null for other types. (No header names that
// class.)
PyTypeObject* deque_base(PyTypeObject* type) noexcept;

// The hash of a key as dict lookups need it; 0 for unhashable ones (which no dict can hold).
Py_hash_t key_hash(PyObject* key) noexcept;

// A path as text: L['self'].layers[0].weight
struct PathStep {
  Access access;
  PyObject* key;
  int32_t index;
  const std::string* text;  // Pinned: how it prints
};
std::string path_text(std::span<const PathStep> path);
// The guard that the last step of the path leads nowhere: 'bias' not in L['self']._parameters
std::string absence_text(std::span<const PathStep> path);

const char* access_name(Access access) noexcept;

}  // namespace minidynamo
