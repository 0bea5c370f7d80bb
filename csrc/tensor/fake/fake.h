// Fake tensors: torch.Tensor objects with the dispatch keys, device, sizes, strides, dtype and autograd state of real
// ones, and no data. Any operation on one computes metadata only, in C++, and is seen by the observer of the trace.
//
// This header is the tracer's whole view of tensors; it needs no LibTorch.
#pragma once
#include <optional>
#include <string>

#include "python/ref.h"
#include "size/expression.h"

namespace minidynamo {

bool is_tensor(PyObject* object) noexcept;  // an instance of torch.Tensor or of a subclass
// Or what a transform that the trace runs made around one.
bool is_fake(PyObject* object) noexcept;

// A fake in place of a real tensor that exists outside the trace: same metadata and Python class (nn.Parameter kept), a
// leaf of its own in autograd. Null with a Python error (NotImplementedError, saying why) for what cannot be faked:
// sparse, quantized or nested layouts, tensor subclasses with __torch_dispatch__, functorch wrappers.
Ref make_fake(PyObject* real);
// The tensor is a view, its base has come to require gradients since the view was made, and autograd has not made the
// view's history yet: it does so at the first look at the history. A write to the view in place raises before that
// look, not after.
bool has_unmade_history(PyObject* tensor) noexcept;

// True if an exception says that C code wanted the data of a fake (numpy(), data_ptr(), a composite operator that reads
// values): not an error of the traced program, but a reason to give the trace up.
bool is_fake_data_error(PyObject* exception) noexcept;

// Why an operator's result cannot be told.
enum class FakeProblem : uint8_t {
  Data,              // it depends on the values of a tensor
  NoImplementation,  // the operator has no fake (meta) implementation, or that one failed
  Devices,           // the arguments lie on different devices
  Kind,              // the result is of a kind that has no fake form
  RealTensor,        // it writes to a real tensor
  Overlap,           // it writes to memory that another argument shows
};

// Receives reports of operators that reach the Fake dispatch key, for the trace.
class OperatorObserver {
 public:
  virtual ~OperatorObserver() = default;
  // An operator that no recorded Python call stands for (C code called it: docs/architecture.md, rule 3). `target` is
  // the torch._ops.OpOverload, args and kwargs Python objects as one would call it, result what it returned (with None
  // in place of tensors that have died). Only operators that began while `recording_call()` was false are reported,
  // each before the next one begins (which may be in a recorded call) or by flush_operator_reports(). False with a
  // Python error set aborts what runs.
  virtual bool operator_ran(PyObject* target, PyObject* args, PyObject* kwargs, PyObject* result) noexcept = 0;
  // Called just before that: the thread's grad mode when the operator ran.
  virtual void operator_ran_in_grad_mode(bool) noexcept {}
  // True while a Python call is being executed on fakes that will become one node itself.
  virtual bool recording_call() const noexcept = 0;
  // True if what is told of is to run with autograd off, with all that a backward pass needs of it.
  virtual bool runs_below_autograd() const noexcept { return false; }
  // Told of every operator: it writes to an argument, or draws random numbers (its node must not be removed if unused).
  virtual void operator_has_side_effect() noexcept = 0;
  // Told of every operator that writes to a tensor that somebody else can see: the storage (tensor_facts.h), and
  // true if autograd has the write in its graph. False with a Python error set aborts what runs.
  virtual bool operator_writes(const void*, bool /*is_differentiated*/) noexcept { return true; }
  // Told of every operator that may raise because of values, before its writes are told of, and of every one that
  // communicates with other processes, which cannot be run again.
  virtual void operator_may_fail() noexcept {}
  virtual void operator_communicates() noexcept {}
  // A real tensor met a fake, or was used while tracing: the fake that stands for it (borrowed), or null with a Python
  // error set if the trace does not know it.
  virtual PyObject* fake_for_real(PyObject* real) noexcept = 0;
  // The operator's result depends on data (item(), nonzero(), bool(t)...), cannot be faked, or touches data: the trace
  // must be abandoned. Sets the Python error; `reason` is one sentence naming the operator.
  virtual void cannot_fake(const std::string& operator_name, FakeProblem problem,
                           const std::string& reason) noexcept = 0;
  // A symbol for a size that depends on the values of a tensor; nullopt: the trace takes none. `elements_of`: it is how
  // many elements of this tensor are not 0, the same as long as `version` is; null: it is something else.
  virtual std::optional<Expression> unknown_size(SizeRange, PyObject* /*elements_of*/, uint32_t /*version*/) noexcept {
    return std::nullopt;
  }
};

// While one lives on a thread, this thread traces: factory functions give fakes, real tensors go through
// fake_for_real, the observer hears of operators. It saves the thread-local torch state that a trace may change (grad
// mode, inference mode, autocast and its weight cache, default dtype and device, RNG state of the default CPU
// generator, functorch stack, dispatch key sets) and restores it on destruction, whatever happened.
class TensorTraceScope {
 public:
  explicit TensorTraceScope(OperatorObserver& observer);
  ~TensorTraceScope();
  TensorTraceScope(const TensorTraceScope&) = delete;
  TensorTraceScope& operator=(const TensorTraceScope&) = delete;

 private:
  struct Saved;
  Saved* saved_;
};

// Suspends the above for a region that must run for real (creating a small constant tensor, the backend).
class TensorTraceSuspended {
 public:
  TensorTraceSuspended();
  ~TensorTraceSuspended();
  TensorTraceSuspended(const TensorTraceSuspended&) = delete;
  TensorTraceSuspended& operator=(const TensorTraceSuspended&) = delete;

 private:
  uint64_t included_;  // keys of the thread: of the trace, and of transforms that it runs
  OperatorObserver* observer_;
};

// True while the metadata of an operator is being computed on this thread. Meta kernels may be Python code, which the
// frame hook must leave alone.
bool fake_kernel_running() noexcept;

// operator_ran() is told of an operator when the next one begins, or by this call: until C++ has returned, autograd may
// still replace the result's tensor object. To be called after C code returned to the evaluator. False with a Python
// error set.
bool flush_operator_reports() noexcept;

struct FakeMemoStatistics {
  long hits = 0, misses = 0, entries = 0;
};
FakeMemoStatistics fake_memo_statistics() noexcept;
void clear_fake_memo() noexcept;

}  // namespace minidynamo
