// Sizes that may differ at the next call, as the other rooms see them: torch.SymInt objects over expressions
// (size/expression.h), torch.SymFloat objects over what is computed of them, and fakes that have such sizes.
//
// A fake with symbolic sizes has two faces. To kernels it shows the sizes of this call, the hints; to Python, to
// autograd's formulas and to torch's composite operators it shows the symbols. Whoever looks at a hint from outside of
// a kernel has asked what it is: from there on the trace is good for that size alone. So nothing escapes unguarded.
//
// Needs no LibTorch.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "python/ref.h"
#include "size/trace_sizes.h"

namespace minidynamo {

// A torch.SymInt with this value, or an int for a constant. Null with a Python error set.
Ref symbolic_int(const std::shared_ptr<TraceSizes>& trace, Expression expression);
// True if an object is a torch.SymInt over an expression, of whatever trace.
bool is_symbolic_int(PyObject* object) noexcept;
// Its expression. Only of such an object.
Expression expression_of(PyObject* symbolic_int);
// A torch.SymBool with this value. Null with a Python error set.
Ref symbolic_bool(const std::shared_ptr<TraceSizes>& trace, SizeCondition condition);
// True if an object is a torch.SymBool over a condition, of whatever trace.
bool is_symbolic_bool(PyObject* object) noexcept;
SizeCondition condition_of(PyObject* symbolic_bool);
// A torch.SymFloat with this value, or a float for a constant. Null with a Python error set.
Ref float_of_sizes(const std::shared_ptr<TraceSizes>& trace, FloatExpression expression);
// True if an object is a torch.SymFloat over an expression, of whatever trace.
bool is_float_of_sizes(PyObject* object) noexcept;
FloatExpression float_expression_of(PyObject* float_of_sizes);
inline bool is_symbolic_int_or_float(PyObject* object) noexcept {
  return is_symbolic_int(object) || is_float_of_sizes(object);
}
inline bool is_symbolic_number(PyObject* object) noexcept {
  return is_symbolic_int_or_float(object) || is_symbolic_bool(object);
}

// Which sizes of a real tensor are to be symbols, by bit: dimensions above 63 never are.
using OpenDimensions = uint64_t;
// Those of the wanted ones that can be: 0 and 1 are sizes like no others (broadcasting, contiguity).
OpenDimensions dimensions_to_open(PyObject* real, OpenDimensions wanted);
// As make_fake(), with these sizes. `symbols` has an expression for each bit of `open`, in ascending order. Needs a
// TraceSizesScope.
Ref make_symbolic_fake(PyObject* real, OpenDimensions open, const std::vector<Expression>& symbols);
// True if a fake has symbolic sizes.
bool has_symbolic_sizes(PyObject* fake) noexcept;
// The sizes and strides of such a fake, constants among them, also after its trace; nullopt for any other object.
struct SizesAndStrides {
  std::vector<Expression> sizes, strides;
};
std::optional<SizesAndStrides> symbolic_layout(PyObject* fake);
// Which dimension of a fake has this size; -1: none.
int dimension_of_size(PyObject* fake, Expression size) noexcept;
// The size of a real tensor in one dimension. No Python error, no check.
int64_t size_of_tensor(PyObject* real, int dimension) noexcept;

// While one lives on a thread, the thread's trace may have symbolic sizes; the first makes `begin` tell whose they are.
class TraceSizesScope {
 public:
  TraceSizesScope() noexcept;
  ~TraceSizesScope();
  TraceSizesScope(const TraceSizesScope&) = delete;
  TraceSizesScope& operator=(const TraceSizesScope&) = delete;

  // From here on operators may come upon symbolic sizes of this trace.
  static void begin(std::shared_ptr<TraceSizes> trace) noexcept;

 private:
  std::shared_ptr<TraceSizes> previous_;
};

// The user's marks on the sizes of a real tensor, by torch._dynamo.mark_dynamic and its like.
// mark_unbacked(strict=True) is both open and unbacked.
struct SizeMarks {
  OpenDimensions open = 0;      // dynamic, or it is an error
  OpenDimensions may_be = 0;    // dynamic unless something prevents it
  OpenDimensions fixed = 0;     // specialized
  OpenDimensions unbacked = 0;  // dynamic, and the program may not branch on them
  struct Bounds {
    int dimension;
    SizeRange range;
  };
  std::vector<Bounds> bounds;
};
SizeMarks size_marks(PyObject* real);

}  // namespace minidynamo
