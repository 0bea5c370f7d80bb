// How a fake tensor is represented: a plain c10::TensorImpl with the dispatch keys of a real tensor and
// DispatchKey::Fake, whose storage has the real one's size and device but no data (touching the data raises).
//
// Internal to csrc/tensor/ (LibTorch types); the other rooms see tensors through fake.h.
#pragma once
#include "tensor/fake/fake_layout.h"
#include "tensor/python_errors.h"

namespace minidynamo {

inline bool is_fake_tensor(const at::TensorBase& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::Fake);
}

// Storage::is_alias_of would look at the data.
inline bool same_storage(const c10::Storage& a, const c10::Storage& b) noexcept {
  return a.unsafeGetStorageImpl() == b.unsafeGetStorageImpl();
}

// A storage without data. It cannot be resized from Python; operators that resize (resize_, set_) change its size.
c10::Storage new_fake_storage(int64_t bytes, c10::Device device);
void refuse_data(const c10::Storage& storage);  // whoever asks for it gets an error, which is_fake_data_error knows
bool is_fake_storage(const c10::Storage& storage) noexcept;
// Bytes that a storage needs for these sizes and strides.
int64_t storage_bytes(const FakeLayout& layout);

// A fake with a storage of its own.
at::Tensor new_fake(const FakeLayout& layout, int64_t bytes, c10::Device device);
// A fake that shares the storage of `base`, as a view of it would. Whether autograd considers it a view is up to
// autograd.
at::Tensor new_fake_view(const FakeLayout& layout, const at::Tensor& base);
// A fake that shares a storage with something that was no fake when the operator began (set_ to a bare storage).
at::Tensor new_fake_on(const FakeLayout& layout, c10::Storage storage, c10::Device device);

// Changes the metadata of an existing fake (and, if not null, its storage), as t_, resize_ and set_ do.
void change_fake(const at::Tensor& fake, const FakeLayout& layout, const c10::Storage* storage);

// Makes torch's dispatcher call this room's kernel for DispatchKey::Fake. Cheap once done.
void install_fake_fallback();

}  // namespace minidynamo
