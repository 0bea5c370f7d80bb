#include "tensor/values/saved_inputs.h"

#include "tensor/fake/tensor_object.h"
#include "tensor/values/version_counts.h"

namespace minidynamo {
namespace {

struct Copy {
  Ref object;
  at::Tensor contents;
  uint32_t version;
};

struct Unwritten {
  Ref object;
  uint32_t version;
};

// While one lives, neither autograd nor version counters hear of operators on this thread.
class BelowCounting {
 public:
  BelowCounting() noexcept = default;

 private:
  const c10::AutoGradMode off_{false};
  const at::AutoDispatchBelowADInplaceOrView below_;
};

}  // namespace

struct SavedInputs::Saved {
  std::vector<Copy> copies;
  std::vector<Unwritten> unwritten;
};

bool can_be_saved(PyObject* object, uint64_t& bytes) noexcept {
  const at::Tensor& tensor = unpack_tensor(object);
  bytes = tensor.layout() == at::kStrided ? tensor.nbytes() : 0;
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided && !tensor.is_inference() &&
         !tensor.key_set().has(c10::DispatchKey::Python);
}

SavedInputs::SavedInputs(PyObject* inputs, const WrittenInputs& written) : saved_(std::make_unique<Saved>()) {
  const BelowCounting unheard;
  for (uint32_t position : written.before) {
    PyObject* object = PyTuple_GET_ITEM(inputs, position);
    saved_->copies.push_back(
        {Ref::borrow(object), unpack_tensor(object).detach().clone(), version_count(object).value_or(0)});
  }
  for (uint32_t position : written.behind) {
    PyObject* object = PyTuple_GET_ITEM(inputs, position);
    saved_->unwritten.push_back({Ref::borrow(object), version_count(object).value_or(0)});
  }
}

SavedInputs::~SavedInputs() = default;

bool SavedInputs::restore() const {
  for (const Unwritten& one : saved_->unwritten)
    if (version_count(one.object.get()).value_or(0) != one.version) return false;
  const BelowCounting unheard;
  for (const Copy& copy : saved_->copies) {
    unpack_tensor(copy.object.get()).detach().copy_(copy.contents);
    if (version_count(copy.object.get())) set_version_count(copy.object.get(), copy.version);
  }
  return true;
}

}  // namespace minidynamo
