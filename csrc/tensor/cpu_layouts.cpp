#include "tensor/cpu_layouts.h"

namespace minidynamo {
namespace {

bool is_bool(const at::Tensor& tensor) { return tensor.scalar_type() == c10::kBool; }

// bool ** bool is bool; the meta kernel says int64.
void pow_of_bools(c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors, MetadataResult& result) {
  const bool bools = is_bool(*tensors[0]) && (tensors.size() > 1 ? is_bool(*tensors[1]) : arguments[1].isBool());
  TensorResult& output = result.tensors[0];
  if (!bools || output.kind != TensorResult::Kind::Fresh) return;
  output.layout.dtype = c10::scalarTypeToTypeMeta(c10::kBool);
  output.bytes = storage_bytes(output.layout);
}

}  // namespace

void correct_layouts(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments,
                     c10::ArrayRef<const at::Tensor*> tensors, MetadataResult& result) {
  if (info.name == "aten::pow.Tensor_Scalar" || info.name == "aten::pow.Tensor_Tensor") {
    pow_of_bools(arguments, tensors, result);
  }
}

}  // namespace minidynamo
