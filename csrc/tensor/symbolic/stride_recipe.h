// How the strides of a tensor follow from its sizes, as far as they seem to: what stays true of them when sizes change.
#pragma once
#include "tensor/torch_headers.h"

namespace minidynamo {

// By dimension: the dimension whose size times stride this stride is, or -1 where it is a number of its own.
using StrideRecipe = c10::SmallVector<int8_t, 5>;
StrideRecipe stride_recipe(c10::IntArrayRef sizes, c10::IntArrayRef strides);

}  // namespace minidynamo
