// The contents of fakes' storages, where the trace knows them (known_values.h). Internal to csrc/tensor/.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "tensor/dispatch/operator_info.h"
#include "tensor/fake/fake_tensor.h"

namespace minidynamo {

class KnownStorages {
 public:
  static KnownStorages& of_thread() noexcept;

  bool empty() const noexcept { return known_.empty(); }
  // A real tensor over the known contents of a fake's storage, or an undefined one.
  at::Tensor value_of(const at::Tensor& fake) const;
  void learn(const at::Tensor& fake, const at::Tensor& real);
  void forget(const at::Tensor& fake) noexcept;
  // Lets others begin with nothing.
  KnownStorages take() noexcept { return std::exchange(*this, {}); }
  void note_read(const at::Tensor& fake) { reads_.push_back(fake.unsafeGetTensorImpl()); }
  std::vector<const void*> take_reads() noexcept { return std::exchange(reads_, {}); }

 private:
  struct Contents {
    c10::weak_intrusive_ptr<c10::StorageImpl> owner;  // keeps the address from coming twice
    c10::Storage real;
  };
  std::unordered_map<const c10::StorageImpl*, Contents> known_;
  std::vector<const void*> reads_;
};

// One call of an operator for its values.
class KnownCall {
 public:
  // `arguments`, with known values in place of fakes, if all tensors among them are known, and the operator's results
  // follow from them.
  static std::optional<KnownCall> of(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments);

  // The operator's results; empty if it raises, or if the tensors that it writes to are then unknown.
  std::optional<std::vector<c10::IValue>> run(const c10::OperatorHandle& op, c10::DispatchKeySet keys) &&;
  // Notes that these values were asked for.
  void note_reads(c10::ArrayRef<c10::IValue> arguments) const;
  // Lets fakes that the operator gave have the values that it gave.
  static void learn(c10::ArrayRef<c10::IValue> fakes, c10::ArrayRef<c10::IValue> values);

 private:
  torch::jit::Stack stack_;
};

// True if a tensor is small enough.
bool may_be_known(const at::Tensor& tensor) noexcept;
// True if an operator returns numbers only.
bool gives_no_tensor(const c10::OperatorHandle& op);

}  // namespace minidynamo
