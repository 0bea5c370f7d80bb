// Facts about a tensor beyond the metadata that TensorRecord compares, which a guard can compare one by one, and
// queries about fakes that need LibTorch.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "python/ref.h"

namespace minidynamo {

// Stored as the index of a source (Access::TensorFact).
enum class TensorFact : uint8_t {
  StorageOffset,
  IsView,
  OutputNumber,
  RetainsGradient,
  BackwardHooks,
  AccumulateHooks,
  Gradient,
  Version,
  EngineHooks,  // true if C++ code runs when autograd accumulates its gradient, as DistributedDataParallel's
};
inline constexpr int kTensorFacts = static_cast<int>(TensorFact::EngineHooks) + 1;

// The Python expression for it, after the tensor: ".storage_offset()".
const char* tensor_fact_text(TensorFact fact) noexcept;
// The answer: what Python would get, without asking Python (an active __torch_function__ mode would hear of it). Null
// without a Python error if the object is no tensor.
Ref tensor_fact(PyObject* tensor, TensorFact fact) noexcept;

// The storage that a fake shows, as an address that is true while the fake lives; null for what is no fake.
const void* storage_of_fake(PyObject* fake) noexcept;
// Adds all that there is to say of a fake but its place in memory, as bytes: for equal ones kernels are equal. Symbolic
// sizes are their expressions. False: it is no fake, or has sizes of another trace's.
bool append_metadata(PyObject* fake, std::string& bytes);
// A tensor that is no fake, has no elements, and is of the same dtype, device and layout: for questions about kinds.
Ref empty_tensor_like(PyObject* fake);
bool requires_gradient(PyObject* tensor) noexcept;
// To be told when a fake of a tensor from outside is told to require a gradient: its views may not be written to then.
void note_gradient_required(PyObject* fake);
// True if a fake is one for which autograd collects a gradient: no result of an operator.
bool is_leaf_with_gradient(PyObject* fake) noexcept;
// True if torch's dispatcher has an operator of this name ("add", "relu_").
bool is_operator_name(std::string_view name);

// Which of the storages of some tensors are one, and where in it the tensors lie: whatever a graph writes to one, it
// writes to all that share its storage. Compared among inputs of which at least one is written.
class StorageSharing {
 public:
  // `written`: by position in `tensors`.
  static StorageSharing of(const std::vector<PyObject*>& tensors, const std::vector<bool>& written);
  bool matches(PyObject* const* tensors) noexcept;               // the fast check
  bool matches_slowly(PyObject* const* tensors) const noexcept;  // the same the plain way
  size_t size() const noexcept { return groups_.size(); }
  // True if each element of what is written has a place of its own, and autograd sees those that share a storage as
  // views of one tensor. Of others no backend can tell how a write to one looks from the next.
  static bool can_be_written(const std::vector<PyObject*>& tensors, const std::vector<bool>& written);
  // Positions that share a storage with a written tensor, group by group.
  std::vector<std::vector<uint32_t>> groups() const;

 private:
  struct Place {
    const void* storage;
    int64_t offset;
    size_t bytes;
    bool operator==(const Place&) const noexcept = default;
  };
  static Place place_of(PyObject* tensor) noexcept;

  static constexpr uint32_t kAlone = UINT32_MAX;
  std::vector<bool> written_;
  std::vector<uint32_t> groups_;  // by position: the first position of its group, or kAlone
  std::vector<Place> places_;     // the places of those in groups
  std::vector<Place> last_;       // the places that passed last
  std::vector<std::pair<const void*, uint32_t>> scratch_;
};

}  // namespace minidynamo
