// The node of a torch.SymInt, torch.SymFloat or torch.SymBool of a trace: an expression or a condition, and the trace
// that owns it.
//
// A query of its value returns a plain number, so the trace is good for that number alone (TraceSizes::ask). A node
// that outlives its trace still answers, and has no effect on the trace.
#pragma once
#include <c10/core/SymNodeImpl.h>

#include "size/trace_sizes.h"
#include "tensor/torch_headers.h"

namespace minidynamo {

class SizeNode final : public c10::SymNodeImpl {
 public:
  SizeNode(std::shared_ptr<TraceSizes> trace, Expression expression)
      : trace_(std::move(trace)), kind_(Kind::Int), expression_(expression) {}
  SizeNode(std::shared_ptr<TraceSizes> trace, FloatExpression expression)
      : trace_(std::move(trace)), kind_(Kind::Float), expression_(expression.bits) {}
  SizeNode(std::shared_ptr<TraceSizes> trace, SizeCondition condition)
      : trace_(std::move(trace)), kind_(Kind::Bool), condition_(condition) {}
  SizeNode(std::shared_ptr<TraceSizes> trace, bool value)
      : trace_(std::move(trace)), kind_(Kind::KnownBool), known_(value) {}

  // The node behind a number of a trace of ours, or null.
  static SizeNode* of(const c10::SymInt& value);
  static SizeNode* of(const c10::SymFloat& value);
  Expression expression() const noexcept { return expression_; }
  FloatExpression float_expression() const noexcept { return {expression_}; }
  // True for a bool whose value is a condition.
  bool has_condition() const noexcept { return kind_ == Kind::Bool; }
  SizeCondition condition() const noexcept { return condition_; }
  const std::shared_ptr<TraceSizes>& trace() const noexcept { return trace_; }

  bool is_int() override { return kind_ == Kind::Int; }
  bool is_bool() override { return kind_ == Kind::Bool || kind_ == Kind::KnownBool; }
  bool is_float() override { return kind_ == Kind::Float; }

  c10::SymNode add(const c10::SymNode& other) override;
  c10::SymNode sub(const c10::SymNode& other) override;
  c10::SymNode mul(const c10::SymNode& other) override;
  c10::SymNode truediv(const c10::SymNode& other) override;
  c10::SymNode float_truediv(const c10::SymNode& other) override { return truediv(other); }
  c10::SymNode int_truediv(const c10::SymNode& other) override { return truediv(other); }
  c10::SymNode pow(const c10::SymNode& other) override;
  c10::SymNode float_pow(const c10::SymNode& other) override { return pow(other); }
  c10::SymNode pow_by_natural(const c10::SymNode& other) override { return pow(other); }
  c10::SymNode floordiv(const c10::SymNode& other) override;
  c10::SymNode int_floordiv(const c10::SymNode& other) override { return floordiv(other); }
  c10::SymNode mod(const c10::SymNode& other) override;
  c10::SymNode sym_min(const c10::SymNode& other) override;
  c10::SymNode sym_max(const c10::SymNode& other) override;
  c10::SymNode neg() override;
  c10::SymNode ceil() override;
  c10::SymNode floor() override;
  c10::SymNode eq(const c10::SymNode& other) override;
  c10::SymNode ne(const c10::SymNode& other) override;
  c10::SymNode lt(const c10::SymNode& other) override;
  c10::SymNode le(const c10::SymNode& other) override;
  c10::SymNode gt(const c10::SymNode& other) override;
  c10::SymNode ge(const c10::SymNode& other) override;
  c10::SymNode sym_or(const c10::SymNode& other) override;
  c10::SymNode sym_and(const c10::SymNode& other) override;
  c10::SymNode sym_not() override;
  c10::SymNode sym_ite(const c10::SymNode& then_value, const c10::SymNode& else_value) override;
  c10::SymNode sym_float() override;

  // The operations that torch's interface does not have (size_node_methods.h).
  c10::SymNode rounded(Rounding how);
  c10::SymNode is_integer();
  c10::SymNode square_root();

  using Nodes = c10::ArrayRef<c10::SymNode>;
  c10::SymNode is_contiguous(Nodes sizes, Nodes strides) override;
  c10::SymNode is_channels_last_contiguous_2d(Nodes sizes, Nodes strides) override;
  c10::SymNode is_channels_last_contiguous_3d(Nodes sizes, Nodes strides) override;
  c10::SymNode is_channels_last_strides_2d(Nodes sizes, Nodes strides) override;
  c10::SymNode is_channels_last_strides_3d(Nodes sizes, Nodes strides) override;
  c10::SymNode is_non_overlapping_and_dense(Nodes sizes, Nodes strides) override;

  c10::SymNode clone() override { return c10::SymNode::reclaim_copy(this); }
  c10::SymNode wrap_int(int64_t value) override;
  c10::SymNode wrap_bool(bool value) override;
  c10::SymNode wrap_float(double value) override;

  int64_t guard_int(const char*, int64_t) override;
  bool guard_bool(const char*, int64_t) override;
  double guard_float(const char*, int64_t) override;
  bool guard_size_oblivious(const char* file, int64_t line) override { return guard_bool(file, line); }
  // For unknown numbers the graph checks the answer.
  bool guard_or_false(const char* file, int64_t line) override;
  bool guard_or_true(const char* file, int64_t line) override { return expect_true(file, line); }
  bool expect_true(const char* file, int64_t line) override;  // it is an error if not
  bool statically_known_true(const char*, int64_t) override;
  int64_t int_() override { return guard_int("", 0); }
  bool bool_() override { return guard_bool("", 0); }
  bool has_hint() override { return true; }
  std::string str() override;
  std::optional<int64_t> maybe_as_int() override;
  std::optional<int64_t> constant_int() override { return maybe_as_int(); }
  std::optional<bool> constant_bool() override;
  bool is_constant() override { return maybe_as_int().has_value() || constant_bool().has_value(); }

 private:
  enum class Kind : uint8_t { Int, Float, Bool, KnownBool };

  std::shared_ptr<TraceSizes> trace_;
  Kind kind_;
  Expression expression_;
  SizeCondition condition_;
  bool known_ = false;

  c10::SymNode made(Expression expression) const { return c10::make_intrusive<SizeNode>(trace_, expression); }
  c10::SymNode made(FloatExpression expression) const { return c10::make_intrusive<SizeNode>(trace_, expression); }
  c10::SymNode made(SizeCondition condition) const { return c10::make_intrusive<SizeNode>(trace_, condition); }
  template <typename Operation>
  c10::SymNode with(const c10::SymNode& other, Operation operation);
  double as_double();
};

// A number of the trace, a plain one for a constant.
c10::SymInt to_symint(const std::shared_ptr<TraceSizes>& trace, Expression expression);
// The expression of one, where `as_int` is no symbol of ours; throws c10::Error for one of another tracer.
Expression expression_of(const c10::SymInt& value);
FloatExpression expression_of(const c10::SymFloat& value);

}  // namespace minidynamo
