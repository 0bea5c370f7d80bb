#include "tensor/fake/tensor_facts.h"

#include <ATen/MemoryOverlap.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "python/cached.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "tensor/fake/fake_tensor.h"
#include "tensor/fake/tensor_object.h"
#include "tensor/symbolic/symbolic_size.h"
#include "tensor/values/real_storages.h"

namespace minidynamo {
namespace {

const torch::autograd::AutogradMeta* autograd_meta(const at::Tensor& tensor) noexcept {
  return torch::autograd::impl::get_autograd_meta(tensor);
}

Ref hooks_of(const at::Tensor& tensor) {
  // Python keeps the dict beside the tensor's object; without one there are none.
  PyObject* object = tensor.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj();
  PyObject* hooks = object ? reinterpret_cast<TensorObject*>(object)->backward_hooks : nullptr;
  return hooks ? Ref::borrow(hooks) : Ref::none();
}

Ref accumulate_hooks_of(const at::Tensor& tensor) {
  PyObject* object = tensor.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj();
  PyObject* hooks = object ? reinterpret_cast<TensorObject*>(object)->post_accumulate_grad_hooks : nullptr;
  return hooks ? Ref::borrow(hooks) : Ref::none();
}

bool has_engine_hooks(const at::Tensor& tensor) {
  if (!autograd_meta(tensor)) return false;  // torch's own questions are for those that have one
  const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(tensor);
  if (accumulator && !(accumulator->pre_hooks().empty() && accumulator->post_hooks().empty())) return true;
  return !torch::autograd::impl::hooks(tensor).empty() && hooks_of(tensor).is(Py_None);
}

bool is_view(const at::Tensor& tensor) noexcept {
  const auto* view = torch::autograd::impl::get_view_autograd_meta(tensor);
  return view && view->has_bw_view();
}

}  // namespace

const char* tensor_fact_text(TensorFact fact) noexcept {
  switch (fact) {
    case TensorFact::StorageOffset:
      return ".storage_offset()";
    case TensorFact::IsView:
      return "._is_view()";
    case TensorFact::OutputNumber:
      return ".output_nr";
    case TensorFact::RetainsGradient:
      return ".retains_grad";
    case TensorFact::BackwardHooks:
      return "._backward_hooks";
    case TensorFact::AccumulateHooks:
      return "._post_accumulate_grad_hooks";
    case TensorFact::Gradient:
      return ".grad";
    case TensorFact::Version:
      return "._version";
    case TensorFact::EngineHooks:
      return "'s hooks in autograd's engine";
  }
  return "?";
}

namespace {

Ref number(PyObject* made) noexcept {
  if (!made) clear_error();
  return Ref::steal(made);
}

}  // namespace

Ref tensor_fact(PyObject* object, TensorFact fact) noexcept {
  if (!is_tensor(object)) return nullptr;
  const at::Tensor& tensor = unpack_tensor(object);
  const torch::autograd::AutogradMeta* meta = autograd_meta(tensor);
  switch (fact) {
    case TensorFact::StorageOffset:
      return number(PyLong_FromLongLong(tensor.unsafeGetTensorImpl()->storage_offset()));
    case TensorFact::IsView:
      return Ref::boolean(is_view(tensor));
    case TensorFact::OutputNumber:
      return number(PyLong_FromLong(meta ? meta->output_nr_ : 0));
    case TensorFact::RetainsGradient:
      return Ref::boolean(meta && meta->retains_grad_);
    case TensorFact::BackwardHooks:
      return hooks_of(tensor);
    case TensorFact::AccumulateHooks:
      return accumulate_hooks_of(tensor);
    case TensorFact::Gradient:
      return meta && meta->grad_.defined() ? wrap_tensor(meta->grad_) : Ref::none();
    case TensorFact::Version:
      if (tensor.is_inference()) return nullptr;  // which count nothing
      return number(PyLong_FromUnsignedLong(tensor.unsafeGetTensorImpl()->version_counter().current_version()));
    case TensorFact::EngineHooks:
      return Ref::boolean(has_engine_hooks(tensor));
  }
  return nullptr;
}

const void* storage_of_fake(PyObject* object) noexcept {
  if (!is_fake(object)) return nullptr;
  return unpack_tensor(object).unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

bool append_metadata(PyObject* fake, std::string& bytes) {
  if (!is_fake(fake)) return false;
  const c10::TensorImpl& tensor = *unpack_tensor(fake).unsafeGetTensorImpl();
  const std::optional<SizesAndStrides> symbolic = symbolic_layout(fake);
  if (tensor.layout() != c10::kStrided || (!symbolic && tensor.has_symbolic_sizes_strides())) return false;
  auto add = [&](const auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add(Py_TYPE(fake));
  add(tensor.key_set().raw_repr());
  add(c10::typeMetaToScalarType(tensor.dtype()));
  add(tensor.device().type());
  add(tensor.device().index());
  add(tensor.requires_grad());
  add(tensor.dim());
  add(symbolic.has_value());
  if (symbolic) {
    for (const Expression size : symbolic->sizes) add(size.id);
    for (const Expression stride : symbolic->strides) add(stride.id);
    return true;
  }
  for (const int64_t size : tensor.sizes()) add(size);
  for (const int64_t stride : tensor.strides()) add(stride);
  return true;
}

Ref empty_tensor_like(PyObject* fake) {
  try {
    const TensorTraceSuspended suspended;
    const at::Tensor& tensor = unpack_tensor(fake);
    const c10::InferenceMode plain(false);
    return wrap_tensor(
        at::detail::empty_cpu({0}, at::device(c10::kCPU).dtype(tensor.scalar_type())).to(tensor.device()));
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
}

bool requires_gradient(PyObject* tensor) noexcept { return unpack_tensor(tensor).requires_grad(); }

void note_gradient_required(PyObject* fake) {
  if (RealStorages::Changes* changes = RealStorages::of_thread().changes(unpack_tensor(fake)))
    changes->requires_gradient = true;
}

bool is_leaf_with_gradient(PyObject* object) noexcept {
  const torch::autograd::AutogradMeta* meta = autograd_meta(unpack_tensor(object));
  return meta && meta->requires_grad_ && !meta->grad_fn_;
}

bool is_operator_name(std::string_view name) {
  static constinit Cached<std::unordered_set<std::string>> cache;
  const std::unordered_set<std::string>* names = cache.get([] {
    auto found = std::make_unique<std::unordered_set<std::string>>();
    for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames())
      if (op.name.starts_with("aten::")) found->insert(op.name.substr(6));
    return found;
  });
  return names->contains(std::string(name));
}

StorageSharing::Place StorageSharing::place_of(PyObject* object) noexcept {
  const c10::TensorImpl* impl = unpack_tensor(object).unsafeGetTensorImpl();
  if (!impl->has_storage()) return {impl, 0, 0};
  const c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  // Two storages may lie over one memory: of tensors made of one array.
  const void* const memory = storage ? storage->data() : nullptr;
  return {memory ? memory : storage, impl->storage_offset(), storage ? storage->nbytes() : 0};
}

StorageSharing StorageSharing::of(const std::vector<PyObject*>& tensors, const std::vector<bool>& written) {
  StorageSharing made;
  made.written_ = written;
  for (PyObject* tensor : tensors) made.places_.push_back(place_of(tensor));
  const size_t count = tensors.size();
  made.groups_.assign(count, kAlone);
  for (uint32_t i = 0; i < count; ++i) {
    if (made.groups_[i] != kAlone) continue;
    bool shared = false, is_written = written[i];
    for (uint32_t k = i + 1; k < count; ++k) {
      if (made.places_[k].storage != made.places_[i].storage) continue;
      shared = true;
      is_written = is_written || written[k];
    }
    if (!shared || !is_written) continue;
    for (uint32_t k = i; k < count; ++k)
      if (made.places_[k].storage == made.places_[i].storage) made.groups_[k] = i;
  }
  made.last_ = made.places_;
  return made;
}

bool StorageSharing::can_be_written(const std::vector<PyObject*>& tensors, const std::vector<bool>& written) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (written[i] && at::has_internal_overlap(unpack_tensor(tensors[i])) == at::MemOverlap::Yes) return false;
  auto root = [&](uint32_t i) -> const c10::TensorImpl* {
    const at::Tensor& tensor = unpack_tensor(tensors[i]);
    return is_view(tensor) ? tensor._base().unsafeGetTensorImpl() : tensor.unsafeGetTensorImpl();
  };
  for (const std::vector<uint32_t>& group : of(tensors, written).groups())
    for (uint32_t i : group)
      if (root(i) != root(group[0])) return false;
  return true;
}

std::vector<std::vector<uint32_t>> StorageSharing::groups() const {
  std::vector<std::vector<uint32_t>> found;
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i] != i) continue;
    found.emplace_back();
    for (uint32_t k = i; k < groups_.size(); ++k)
      if (groups_[k] == i) found.back().push_back(k);
  }
  return found;
}

bool StorageSharing::matches(PyObject* const* tensors) noexcept {
  // Mostly the tensors lie where they lay.
  const size_t count = groups_.size();
  size_t same = 0;
  while (same < count && place_of(tensors[same]) == last_[same]) ++same;
  if (same == count) return true;
  scratch_.clear();
  for (uint32_t i = 0; i < count; ++i) scratch_.emplace_back(place_of(tensors[i]).storage, i);
  std::sort(scratch_.begin(), scratch_.end());
  for (size_t begin = 0, end; begin < count; begin = end) {
    bool is_written = false;
    for (end = begin; end < count && scratch_[end].first == scratch_[begin].first; ++end)
      is_written = is_written || written_[scratch_[end].second];
    const uint32_t first = scratch_[begin].second;
    const uint32_t group = end - begin > 1 && is_written ? first : kAlone;
    for (size_t at = begin; at < end; ++at) {
      const uint32_t i = scratch_[at].second;
      if (groups_[i] != group) return false;
      if (group == kAlone) continue;
      const Place place = place_of(tensors[i]);
      if (place.offset != places_[i].offset || place.bytes != places_[i].bytes) return false;
    }
  }
  for (uint32_t i = 0; i < count; ++i) last_[i] = place_of(tensors[i]);
  return true;
}

bool StorageSharing::matches_slowly(PyObject* const* tensors) const noexcept {
  const size_t count = groups_.size();
  for (uint32_t i = 0; i < count; ++i) {
    const Place place = place_of(tensors[i]);
    uint32_t first = i;
    bool shared = false, is_written = false;
    for (uint32_t k = 0; k < count; ++k) {
      if (place_of(tensors[k]).storage != place.storage) continue;
      first = std::min(first, k);
      shared = shared || k != i;
      is_written = is_written || written_[k];
    }
    if (groups_[i] != (shared && is_written ? first : kAlone)) return false;
    if (groups_[i] != kAlone && (place.offset != places_[i].offset || place.bytes != places_[i].bytes)) return false;
  }
  return true;
}

}  // namespace minidynamo
