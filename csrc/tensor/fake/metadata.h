// The properties that a compiled graph assumes of a tensor input, and of torch's global state, as small comparable
// records. Used by guard/ (fast check, message, printed form are made from the same record); needs no LibTorch here.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "python/ref.h"

namespace minidynamo {

// Sizes of which a trace knows no more than that they are at least 2, by bit of the dimension. Strides that follow from
// sizes follow from these.
using OpenSizes = uint64_t;

// Class, dispatch keys (with the thread's included and excluded sets applied), dtype, device, requires_grad, sizes,
// strides, and whether it is a leaf/conj/neg view as far as the keys say.
class TensorRecord {
 public:
  static TensorRecord of(PyObject* tensor, OpenSizes open = 0);  // a real tensor
  TensorRecord(TensorRecord&&) noexcept;
  TensorRecord& operator=(TensorRecord&&) noexcept;
  ~TensorRecord();

  bool matches(PyObject* object) const noexcept;   // the fast check: no allocation; false if not a tensor
  std::string difference(PyObject* object) const;  // first thing that differs, as a person would say it; "" if none
  std::string to_text(
      const std::string& source) const;  // as a Python expression, e.g. "L['x'].size() == (2, 3) and ..."
  // The sizes that differ, if nothing else does but strides that follow from them; 0 otherwise.
  OpenSizes changed_sizes(PyObject* object) const noexcept;

 private:
  struct Data;
  explicit TensorRecord(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// Grad mode, inference mode, autocast (enabled and dtype per device type, cache), deterministic algorithms, default
// dtype, matmul precision flags, torch-function modes and state, whether a dispatch-mode stack is active.
class TorchState {
 public:
  static TorchState now();
  TorchState(TorchState&&) noexcept;
  TorchState& operator=(TorchState&&) noexcept;
  ~TorchState();

  bool matches() const noexcept;   // is the thread's state still this
  std::string difference() const;  // "" if none
  std::string to_text() const;     // printed form of the guard

 private:
  struct Data;
  explicit TorchState(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace minidynamo
