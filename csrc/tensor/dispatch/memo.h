// The memo of metadata propagation: (operator, everything its arguments say that metadata can depend on) -> what the
// results look like. Process-wide, bounded, safe to use from several threads.
//
// It does not compute metadata (meta_call.h), and it never holds a tensor.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "size/expression.h"
#include "tensor/dispatch/operator_info.h"
#include "tensor/fake/fake_tensor.h"

namespace minidynamo {

// Tensors are numbered in the order in which an operator's arguments (or results) mention them, lists included.
struct TensorResult {
  enum class Kind : uint8_t { Undefined, Argument, Earlier, View, ViewOfEarlier, Fresh };
  Kind kind = Kind::Fresh;
  int source = -1;  // Argument, View: number among the arguments; Earlier, ViewOfEarlier: among the results
  FakeLayout layout;
  int64_t bytes = 0;
  c10::Device device = c10::kCPU;
};

// One return value of an operator.
struct ReturnShape {
  enum class Kind : uint8_t { Tensor, TensorList, Value };
  Kind kind = Kind::Tensor;
  size_t count = 1;   // tensors it consumes from MetadataResult::tensors
  c10::IValue value;  // Value: int, bool, double, None
};

struct MetadataResult {
  std::vector<TensorResult> tensors;
  std::vector<ReturnShape> returns;
  std::vector<SizeCondition> conditions;  // on symbolic sizes: what makes the results look so
};

// The words that identify a call. Reused storage on the stack: a key is built for every operator that runs.
class MemoKey {
 public:
  // False if the call must not be remembered (generators, storages, objects).
  bool build(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors);
  c10::ArrayRef<uint64_t> words() const { return words_; }
  uint64_t hash() const { return hash_; }

 private:
  c10::SmallVector<uint64_t, 96> words_;
  uint64_t hash_ = 0;
  size_t next_tensor_ = 0;

  bool add(const c10::IValue& value, c10::ArrayRef<const at::Tensor*> tensors);
  void add_symbols(const at::Tensor& tensor);
  void add_tensor(c10::ArrayRef<const at::Tensor*> tensors);
};

std::shared_ptr<const MetadataResult> find_in_memo(const MemoKey& key);
void add_to_memo(const MemoKey& key, std::shared_ptr<const MetadataResult> result);

}  // namespace minidynamo
