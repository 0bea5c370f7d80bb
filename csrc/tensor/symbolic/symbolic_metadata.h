// Computes what an operator makes of symbolic sizes: expressions for the sizes, strides and offsets of its results.
//
// A rule (symbolic_rules.h) computes them directly. For an operator without one the meta kernel is run at this call's
// sizes, and at others (probes): a number that is at all of them the same expression of the arguments' numbers is taken
// for this expression. Where none fits, or the kernel runs only if some sizes are equal, as few sizes as possible are
// required to be equal; in the last resort all sizes of the arguments are specialized. These conditions are part of the
// result.
#pragma once
#include "tensor/dispatch/memo.h"
#include "tensor/dispatch/meta_call.h"

namespace minidynamo {

// torch puts a tensor with any number in the place of a symbolic number beside a tensor, and has an object for it that
// says so.
bool stands_for_symbolic_number(const at::Tensor& tensor);

// True if an argument has symbolic sizes or is a symbolic number.
bool has_symbols(c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors);

// The arguments with this call's numbers in place of symbolic ones.
std::vector<c10::IValue> with_hints(c10::ArrayRef<c10::IValue> arguments);

// Asks of the thread's trace what it has to. Throws as run_meta_kernel() does. nullopt: the operator changes the sizes
// of an argument (`out=`), which stays as it is here.
std::optional<MetadataResult> symbolic_metadata(const c10::OperatorHandle& op, const OperatorInfo& info,
                                                c10::ArrayRef<c10::IValue> arguments,
                                                c10::ArrayRef<const at::Tensor*> tensors);

// Everything that the arguments say of sizes is what it is.
void specialize_all(c10::ArrayRef<c10::IValue> arguments, c10::ArrayRef<const at::Tensor*> tensors);

}  // namespace minidynamo
