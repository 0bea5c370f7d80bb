// The layout of a fake: everything about it but its autograd state and the storage it may share.
#pragma once
#include <memory>

#include "tensor/torch_headers.h"

namespace minidynamo {

struct SymbolicLayout;

struct FakeLayout {
  c10::SmallVector<int64_t, 5> sizes, strides;
  int64_t offset = 0;
  caffe2::TypeMeta dtype;
  bool conjugate = false, negative = false;
  std::shared_ptr<const SymbolicLayout> symbols =
      nullptr;  // where sizes are symbolic (tensor/symbolic/symbolic_fake.h); above: hints

  static FakeLayout of(const at::Tensor& tensor);
  bool operator==(const FakeLayout& other) const = default;
};

}  // namespace minidynamo
