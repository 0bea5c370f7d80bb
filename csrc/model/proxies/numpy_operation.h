// One operation on traced arrays: its operands as NumPy gets them (twins) and as its layer in torch does, and the
// result that both have in common.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "world/state/tracer.h"

namespace minidynamo {

// Ends the trace; null. The second form takes the current Python error for NumPy's, or that of its layer.
std::nullptr_t refuse_numpy(Tracer& tracer, const std::string& what);
std::nullptr_t refuse_numpy_with_error(Tracer& tracer, const std::string& what);

// NumPy's own result for twins, about whose values it says nothing. Null: a Python error is set.
Ref compute_quietly(const std::function<Ref()>& with_numpy);

class NumpyOperation {
 public:
  // `what` names it in reports. `numbers_are_indices`: integers of NumPy's stand for Python's.
  NumpyOperation(Tracer& tracer, std::string what, bool numbers_are_indices = false)
      : tracer_(tracer), what_(std::move(what)), numbers_are_indices_(numbers_are_indices) {}

  bool add(PyObject* operand);  // false: the trace has ended
  bool has_complex() const;     // among the arrays
  // The operation copies or converts elements, and computes nothing: torch's kernels for that know every dtype.
  void keep_values() noexcept { keeps_values_ = true; }

  std::vector<Ref> twins, layers;  // the operands'

  // `with_numpy` computes with `twins`, `with_layer` with `layers`. Null: the trace has ended.
  Ref run(const std::function<Ref()>& with_numpy, const std::function<Ref()>& with_layer);

 private:
  struct Array {
    PyObject* object;  // a traced one
    Ref layer;
  };
  Tracer& tracer_;
  const std::string what_;
  const bool numbers_are_indices_;
  bool keeps_values_ = false;
  std::vector<Array> arrays_;
  std::vector<Ref> constants_;  // arrays, as NumPy gets them

  bool twin_of(PyObject* operand, Ref& twin, Ref& layer);
  bool look_at_array(PyObject* operand, Ref& twin, Ref& layer);
  bool look_at_constant(PyObject* operand, Ref& twin, Ref& layer);
  bool look_at_number(PyObject* operand, Ref& twin, Ref& layer);
  bool look_at_sequence(PyObject* operand, Ref& twin, Ref& layer);
  bool look_at_slice(PyObject* operand, Ref& twin, Ref& layer);
  Ref merge(PyObject* twin, PyObject* given);
  Ref merge_sequence(PyObject* twin, PyObject* given);
  bool has_few_kernels() const;
  bool is_view_of_operand(PyObject* given) const;
  std::nullptr_t refuse_few_kernels() const;
  Ref laid_out(PyObject* twin, Ref elements, bool can_move);
  Ref rounded(PyObject* twin, Ref elements);
  bool fits(PyObject* twin, PyObject* elements) const;
  Ref merge_array(PyObject* twin, PyObject* given);
};

}  // namespace minidynamo
