// Which fakes stand for tensors from before the trace that share a storage: each such fake has a storage of its own.
// And what the trace has done to such storages that goes ill with what may come later. Internal to csrc/tensor/.
#pragma once
#include <unordered_map>
#include <utility>

#include "tensor/torch_headers.h"

namespace minidynamo {

class RealStorages {
 public:
  // The storages of this thread's trace.
  static RealStorages& of_thread() noexcept {
    thread_local RealStorages own;
    return own;
  }

  void note(const at::Tensor& fake, const at::Tensor& real) {
    if (has_storage(fake) && has_storage(real))
      behind_.emplace(address(fake), real.unsafeGetTensorImpl()->unsafe_storage());
  }
  // The real storage that the tensor's stands for, or its own; null if it has none.
  const void* behind(const at::Tensor& tensor) const {
    if (!has_storage(tensor)) return nullptr;
    const auto known = behind_.find(address(tensor));
    return known == behind_.end() ? address(tensor) : known->second.unsafeGetStorageImpl();
  }
  // The trace has done this to tensors that share one storage from before it.
  struct Changes {
    bool layout = false;             // one has other sizes or strides (t_)
    bool written = false;            // its memory was written to
    bool requires_gradient = false;  // one was told to require a gradient
  };
  // Null: the storage is the trace's own.
  Changes* changes(const at::Tensor& tensor) {
    if (!has_storage(tensor)) return nullptr;
    const auto known = behind_.find(address(tensor));
    return known == behind_.end() ? nullptr : &changes_[known->second.unsafeGetStorageImpl()];
  }
  // Lets others begin with nothing.
  RealStorages take() noexcept { return std::exchange(*this, {}); }

 private:
  static bool has_storage(const at::Tensor& tensor) noexcept {
    return tensor.defined() && tensor.unsafeGetTensorImpl()->has_storage() &&
           tensor.unsafeGetTensorImpl()->unsafe_storage();
  }
  static const void* address(const at::Tensor& tensor) noexcept {
    return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  }

  // Real ones are kept, so that no later one has the address of an earlier.
  std::unordered_map<const void*, c10::Storage> behind_;
  std::unordered_map<const void*, Changes> changes_;
};

}  // namespace minidynamo
