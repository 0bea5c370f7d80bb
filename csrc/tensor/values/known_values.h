// Values that a trace knows: of small tensors on the CPU that it made of constants, by operators that compute from such
// alone. They lie beside the fakes, by storage, so that views of one see what is written to another; what else is
// written to such a storage makes its values unknown.
//
// The graph makes such a tensor anew each time: only numbers that the program reads out of one become constants.
#pragma once
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// A new real tensor with the values of a fake; null without a Python error if they are not known.
Ref known_value(PyObject* fake);
bool has_known_value(PyObject* fake) noexcept;
// Says what a fake without history holds: the values of a real tensor, as they are now. Ignored if that is too large.
void know_value(PyObject* fake, PyObject* real) noexcept;

// Which tensors' values operators have read since the last call of this, as addresses.
std::vector<const void*> take_value_reads() noexcept;
// The address of a tensor there.
const void* address_of_tensor(PyObject* tensor) noexcept;

}  // namespace minidynamo
