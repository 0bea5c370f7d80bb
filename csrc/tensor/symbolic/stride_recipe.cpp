#include "tensor/symbolic/stride_recipe.h"

#include <algorithm>
#include <numeric>

namespace minidynamo {

StrideRecipe stride_recipe(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  StrideRecipe recipe(sizes.size(), -1);
  c10::SmallVector<int8_t, 5> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);  // the last dimension is the innermost one of equal strides
  std::stable_sort(order.begin(), order.end(), [&](int8_t a, int8_t b) { return strides[a] < strides[b]; });
  for (size_t i = 1; i < order.size(); ++i) {
    const int8_t inner = order[i - 1];
    if (strides[inner] != 0 && strides[order[i]] == sizes[inner] * strides[inner]) recipe[order[i]] = inner;
  }
  return recipe;
}

}  // namespace minidynamo
