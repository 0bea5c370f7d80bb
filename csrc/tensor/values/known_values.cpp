#include "tensor/values/known_values.h"

#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/values/known_storages.h"

#include <torch/csrc/autograd/variable.h>

namespace minidynamo {
namespace {

constexpr int64_t kMostElements = 64;
constexpr size_t kMostBytes = 4096;  // size of a storage

bool has_contents(const c10::TensorImpl* impl) noexcept {
  return impl->is_cpu() && impl->layout() == c10::kStrided && impl->has_storage() && !impl->is_conj() &&
         !impl->is_neg() && impl->numel() <= kMostElements && impl->unsafe_storage().nbytes() <= kMostBytes;
}

// True if an operator leaves memory uninitialized (`torch.empty`), which has no known value.
bool leaves_memory_as_it_was(std::string_view name) noexcept { return name.find("empty") != std::string_view::npos; }

}  // namespace

bool may_be_known(const at::Tensor& tensor) noexcept { return has_contents(tensor.unsafeGetTensorImpl()); }

bool gives_no_tensor(const c10::OperatorHandle& op) {
  for (const c10::Argument& result : op.schema().returns()) {
    const c10::TypeKind kind = result.type()->kind();
    if (kind != c10::TypeKind::NumberType && kind != c10::TypeKind::BoolType && kind != c10::TypeKind::IntType &&
        kind != c10::TypeKind::FloatType && kind != c10::TypeKind::SymIntType)
      return false;
  }
  return true;
}

KnownStorages& KnownStorages::of_thread() noexcept {
  thread_local KnownStorages storages;
  return storages;
}

at::Tensor KnownStorages::value_of(const at::Tensor& fake) const {
  const c10::TensorImpl* impl = fake.unsafeGetTensorImpl();
  if (known_.empty() || !has_contents(impl)) return {};
  const auto found = known_.find(impl->unsafe_storage().unsafeGetStorageImpl());
  if (found == known_.end()) return {};
  auto real = c10::make_intrusive<c10::TensorImpl>(c10::Storage(found->second.real),
                                                   c10::DispatchKeySet(c10::DispatchKey::CPU), impl->dtype());
  real->set_sizes_and_strides(impl->sizes(), impl->strides(), impl->storage_offset());
  return at::Tensor(std::move(real));
}

void KnownStorages::learn(const at::Tensor& fake, const at::Tensor& real) {
  const c10::TensorImpl *impl = fake.unsafeGetTensorImpl(), *values = real.unsafeGetTensorImpl();
  if (!has_contents(impl) || !has_contents(values) || impl->dtype() != values->dtype()) return;
  if (impl->sizes() != values->sizes() || impl->strides() != values->strides() ||
      impl->storage_offset() != values->storage_offset() ||
      impl->unsafe_storage().nbytes() > values->unsafe_storage().nbytes())
    return;
  const c10::Storage& storage = impl->unsafe_storage();
  known_.insert_or_assign(storage.unsafeGetStorageImpl(),
                          Contents{storage.getWeakStorageImpl(), values->unsafe_storage()});
}

void KnownStorages::forget(const at::Tensor& fake) noexcept {
  if (!known_.empty() && fake.unsafeGetTensorImpl()->has_storage())
    known_.erase(fake.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
}

std::optional<KnownCall> KnownCall::of(const OperatorInfo& info, c10::ArrayRef<c10::IValue> arguments) {
  if (!info.builtin || info.random || info.changes_layout || leaves_memory_as_it_was(info.name)) return std::nullopt;
  const KnownStorages& storages = KnownStorages::of_thread();
  KnownCall call;
  bool is_known = true;
  // False: a tensor with values that are not known.
  auto replace = [&](const at::Tensor& tensor, at::Tensor& value) {
    if (!tensor.defined()) return true;
    value = is_fake_tensor(tensor) ? storages.value_of(tensor) : may_be_known(tensor) ? tensor : at::Tensor();
    return value.defined();
  };
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) {
      at::Tensor value;
      is_known = replace(argument.toTensor(), value);
      call.stack_.emplace_back(std::move(value));
    } else if (argument.isTensorList()) {
      c10::List<at::Tensor> values;
      for (const c10::IValue& item : argument.toListRef()) {
        at::Tensor value;
        is_known = is_known && replace(item.toTensor(), value);
        values.push_back(std::move(value));
      }
      call.stack_.emplace_back(std::move(values));
    } else if (argument.isList() && !argument.isIntList() && !argument.isDoubleList() && !argument.isBoolList()) {
      is_known = false;  // a list of optional tensors: an index, which is rare on constants
    } else if (argument.isStorage() || argument.isGenerator() || argument.isObject() || argument.isPyObject()) {
      is_known = false;
    } else {
      call.stack_.push_back(argument);
    }
    if (!is_known) return std::nullopt;
  }
  return call;
}

std::optional<std::vector<c10::IValue>> KnownCall::run(const c10::OperatorHandle& op, c10::DispatchKeySet keys) && {
  c10::impl::ExcludeDispatchKeyGuard no_fake(c10::DispatchKey::Fake);
  try {
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Fake), &stack_);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // the graph will raise it
    return std::nullopt;
  }
  return std::vector<c10::IValue>(std::make_move_iterator(stack_.begin()), std::make_move_iterator(stack_.end()));
}

void KnownCall::note_reads(c10::ArrayRef<c10::IValue> arguments) const {
  for (const c10::IValue& argument : arguments)
    if (argument.isTensor() && is_fake_tensor(argument.toTensor()))
      KnownStorages::of_thread().note_read(argument.toTensor());
}

void KnownCall::learn(c10::ArrayRef<c10::IValue> fakes, c10::ArrayRef<c10::IValue> values) {
  KnownStorages& storages = KnownStorages::of_thread();
  auto learn_one = [&](const at::Tensor& fake, const at::Tensor& value) {
    if (!fake.defined() || !value.defined() || !is_fake_tensor(fake) || !may_be_known(fake) || !may_be_known(value))
      return;
    if (const at::Tensor already = storages.value_of(fake); already.defined()) return;  // a view, or an argument
    c10::impl::ExcludeDispatchKeyGuard no_fake(c10::DispatchKey::Fake);
    at::AutoDispatchBelowADInplaceOrView below;
    at::Tensor own = at::empty_strided(fake.sizes(), fake.strides(), value.options());
    own.copy_(value);
    storages.learn(fake, own);
  };
  if (fakes.size() != values.size()) return;
  for (size_t i = 0; i < fakes.size(); ++i) {
    if (fakes[i].isTensor() && values[i].isTensor()) {
      learn_one(fakes[i].toTensor(), values[i].toTensor());
    } else if (fakes[i].isTensorList() && values[i].isTensorList()) {
      const auto some = fakes[i].toTensorList(), their = values[i].toTensorList();
      for (size_t k = 0; k < some.size() && k < their.size(); ++k) learn_one(some.get(k), their.get(k));
    }
  }
}

Ref known_value(PyObject* fake) {
  if (!is_fake(fake)) return nullptr;
  try {
    const at::Tensor value = KnownStorages::of_thread().value_of(unpack_tensor(fake));
    if (!value.defined()) return nullptr;
    c10::impl::ExcludeDispatchKeyGuard no_fake(c10::DispatchKey::Fake);
    at::AutoDispatchBelowAutograd below;
    return wrap_tensor(value.clone());
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
}

bool has_known_value(PyObject* fake) noexcept {
  const KnownStorages& storages = KnownStorages::of_thread();
  return !storages.empty() && is_fake(fake) && storages.value_of(unpack_tensor(fake)).defined();
}

void know_value(PyObject* fake, PyObject* real) noexcept {
  try {
    const at::Tensor &shown = unpack_tensor(fake), &values = unpack_tensor(real);
    if (!may_be_known(shown) || !may_be_known(values)) return;
    KnownCall::learn({c10::IValue(shown)}, {c10::IValue(values)});
  } catch (...) {  // not known, then
  }
}

std::vector<const void*> take_value_reads() noexcept { return KnownStorages::of_thread().take_reads(); }

const void* address_of_tensor(PyObject* tensor) noexcept { return unpack_tensor(tensor).unsafeGetTensorImpl(); }

}  // namespace minidynamo
