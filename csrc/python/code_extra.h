// Data of our own attached to code objects (co_extra): one slot per process, freed when the code object dies.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Says once what frees the data; must come before the other two. False with a Python error set if CPython has no slot
// left.
bool reserve_code_extra(void (*free)(void*)) noexcept;

// The data attached to a code object; null if there is none.
void* code_extra(PyCodeObject* code) noexcept;

// Attaches data (null: detaches without freeing). False with a Python error set on failure.
bool set_code_extra(PyCodeObject* code, void* data) noexcept;

}  // namespace minidynamo
