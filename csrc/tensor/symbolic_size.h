// Sizes that may differ at the next call, as the other rooms see them: torch.SymInt objects over expressions
// (size/expression.h), and fakes that have such sizes.
//
// A fake with symbolic sizes has two faces. To kernels it shows the sizes of this call, the hints; to Python, to
// autograd's formulas and to torch's composite operators it shows the symbols. Whoever looks at a hint from outside of
// a kernel has asked what it is: from there on the trace is good for that size alone. So nothing escapes unguarded.
//
// Needs no LibTorch.
#pragma once
#include <memory>
#include <vector>

#include "python/ref.h"
#include "size/trace_sizes.h"

namespace minidynamo {

// A torch.SymInt with this value, or an int for a constant. Null with a Python error set.
Ref symbolic_int(const std::shared_ptr<TraceSizes>& trace, Expression expression);
// Whether an object is a torch.SymInt over an expression, of whatever trace.
bool is_symbolic_int(PyObject* object) noexcept;
// Its expression. Only of such an object.
Expression expression_of(PyObject* symbolic_int);

// Which sizes of a real tensor are to be symbols, by bit: dimensions above 63 never are.
using OpenDimensions = uint64_t;
// Those of the wanted ones that can be: 0 and 1 are sizes like no others (broadcasting, contiguity).
OpenDimensions dimensions_to_open(PyObject* real, OpenDimensions wanted);
// As make_fake(), with these sizes. `symbols` has an expression for each bit of `open`, in ascending order. Needs a
// TraceSizesScope.
Ref make_symbolic_fake(PyObject* real, OpenDimensions open, const std::vector<Expression>& symbols);
// Whether a fake has symbolic sizes.
bool has_symbolic_sizes(PyObject* fake) noexcept;
// The size of a real tensor in one dimension. No Python error, no check.
int64_t size_of_tensor(PyObject* real, int dimension) noexcept;

// While one lives, symbolic sizes that operators come upon on this thread are those of this trace.
class TraceSizesScope {
 public:
  explicit TraceSizesScope(std::shared_ptr<TraceSizes> trace) noexcept;
  ~TraceSizesScope();
  TraceSizesScope(const TraceSizesScope&) = delete;
  TraceSizesScope& operator=(const TraceSizesScope&) = delete;

 private:
  std::shared_ptr<TraceSizes> previous_;
};

}  // namespace minidynamo
