// How often tensors count to have been written to (Tensor._version).
#pragma once
#include <cstdint>
#include <optional>

#include "python/ref.h"

namespace minidynamo {

// Nothing: it is no tensor, or one that counts nothing (made in inference mode). Runs no Python code.
std::optional<uint32_t> version_count(PyObject* tensor) noexcept;
void set_version_count(PyObject* tensor, uint32_t count) noexcept;

// The address of the tensor's version counter; a view shares its base's. Null where version_count() has no value.
const void* version_counter(PyObject* tensor) noexcept;
// Makes `tensor` share the version counter of `other`.
void share_version_counter(PyObject* tensor, PyObject* other) noexcept;

}  // namespace minidynamo
