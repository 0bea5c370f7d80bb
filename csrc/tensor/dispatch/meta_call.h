// Computes what an operator does to metadata: its meta kernel runs on data-free shadows ("twins") of its arguments on
// the meta device, below autograd and with nothing of the trace in force.
//
// Slow (microseconds in C++, up to a millisecond for meta kernels written in Python): memo.h remembers the outcome.
#pragma once
#include "tensor/dispatch/memo.h"
#include "tensor/fake/cannot_fake.h"
#include "tensor/fake/fake.h"

namespace minidynamo {

// While one lives, fake_kernel_running(): Python frames of this thread are torch's own work on an operator.
class WorkOnOperator {
 public:
  WorkOnOperator() noexcept;
  ~WorkOnOperator();
  WorkOnOperator(const WorkOnOperator&) = delete;
  WorkOnOperator& operator=(const WorkOnOperator&) = delete;
};

struct MetaOutcome {
  MetadataResult result;
  bool changed_arguments = false;  // a fake argument has other metadata now: not for the memo
};

// `tensors` are the arguments' tensors in order; fakes among them are changed as the operator changes its arguments.
MetaOutcome run_meta_kernel(const c10::OperatorHandle& op, const OperatorInfo& info,
                            c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors);

}  // namespace minidynamo
