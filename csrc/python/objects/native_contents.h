// Reads what C code keeps in an object, through the C code: no method, property or __getattribute__ of a Python class
// that derives from the C class is called. A trace and a guard walk read objects of the program in this way only.
#pragma once
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// The elements of a list, dict, set, frozenset, tuple, bytearray, deque, defaultdict or OrderedDict, or of an instance
// of a subclass, in the order in which the C class iterates. Borrowed.
struct NativeContents {
  std::vector<PyObject*> items;   // for a dict: key, value, key, value...
  std::vector<Py_hash_t> hashes;  // for a dict: the keys' hashes, as the dict knows them
};
NativeContents native_contents(PyObject* container);

// The number of items (for a dict: of pairs).
Py_ssize_t native_size(PyObject* container) noexcept;

// The attribute that a getset or member descriptor of C code, or a slot, returns: the first one of that name in the
// MRO, past any attribute of a Python class that hides it. For an object whose class has no such descriptor, the
// attribute as its C code finds it. A null Ref with a Python error set if there is none.
Ref native_attribute(PyObject* object, PyObject* name);
Ref native_attribute(PyObject* object, const char* name);

}  // namespace minidynamo
