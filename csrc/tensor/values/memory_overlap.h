// How the memory of two tensors of one storage overlaps.
#pragma once
#include <ATen/core/TensorBase.h>

#include <cstdint>

namespace minidynamo {

enum class MemoryOverlap : uint8_t {
  None,
  Partial,  // some elements, or all of them in another order; also where the search was given up
  Full,     // element by element
};

MemoryOverlap memory_overlap(const at::TensorBase& one, const at::TensorBase& other);
// True if two elements lie in the same place, and where the search was given up.
bool overlaps_itself(const at::TensorBase& tensor);

}  // namespace minidynamo
