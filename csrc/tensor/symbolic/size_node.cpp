#include "tensor/symbolic/size_node.h"

#include <torch/csrc/utils/python_symnode.h>

#include <cmath>

#include "python/cached.h"
#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"
#include "tensor/python_errors.h"
#include "tensor/symbolic/dense_order.h"
#include "tensor/symbolic/symbolic_size.h"
#include "tensor/torch_pybind.h"

namespace minidynamo {
namespace {

SizeNode* node_of(const c10::SymNode& node) { return dynamic_cast<SizeNode*>(node.get()); }

// The expression of an operand: a number of the same trace, or a plain one. nullopt: a float.
std::optional<Expression> operand(const c10::SymNode& node) {
  if (SizeNode* own = node_of(node)) {
    if (own->is_float()) return std::nullopt;
    return own->is_int() ? own->expression() : constant(own->guard_bool("", 0));
  }
  const std::optional<int64_t> value = node->is_int() ? node->maybe_as_int() : std::nullopt;
  TORCH_CHECK(value, "a symbolic size of another tracer");
  return constant(*value);
}

// The same as a float.
FloatExpression as_float(const c10::SymNode& node) {
  SizeNode* own = node_of(node);
  if (own && own->is_float()) return own->float_expression();
  if (own && own->is_int()) return float_of(own->expression());
  return float_constant(node->is_int() ? static_cast<double>(node->guard_int("", 0)) : node->guard_float("", 0));
}

Expression expect(const c10::SymNode& node) {
  const std::optional<Expression> expression = operand(node);
  TORCH_CHECK(expression, "a float where a size is expected");
  return *expression;
}

// True if an expression that is to be 0 is a symbol less 1.
bool is_equal_to_one(Expression e) {
  const std::vector<int32_t> symbols = symbols_of(e);
  if (symbols.size() != 1) return false;
  const Expression size = symbol(symbols.front());
  return e == size - constant(1) || e == constant(1) - size;
}

SymbolicLayout layout_of(c10::ArrayRef<c10::SymNode> sizes, c10::ArrayRef<c10::SymNode> strides) {
  SymbolicLayout layout;
  for (const c10::SymNode& size : sizes) layout.sizes.push_back(expect(size));
  for (const c10::SymNode& stride : strides) layout.strides.push_back(expect(stride));
  return layout;
}

}  // namespace

SizeNode* SizeNode::of(const c10::SymInt& value) {
  return value.is_heap_allocated() ? dynamic_cast<SizeNode*>(value.toSymNodeImplUnowned()) : nullptr;
}
SizeNode* SizeNode::of(const c10::SymFloat& value) {
  if (!value.is_symbolic()) return nullptr;
  c10::SymNodeImpl* node = value.toSymNodeImplUnowned();
  if (auto* own = dynamic_cast<SizeNode*>(node)) return own;
  // torch's conversion from Python takes the node for one of Python's, and puts another around it.
  const auto* outer = dynamic_cast<torch::impl::PythonSymNodeImpl*>(node);
  if (!outer) return nullptr;
  const HeldGil gil;
  if (!pybind11::isinstance<c10::SymNodeImpl>(outer->getPyObj())) return nullptr;
  return dynamic_cast<SizeNode*>(pybind11::cast<c10::SymNode>(outer->getPyObj()).get());
}

template <typename Operation>
c10::SymNode SizeNode::with(const c10::SymNode& other, Operation operation) {
  return made(operation(expect(clone()), expect(other)));
}

c10::SymNode SizeNode::add(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(as_float(clone()) + as_float(other));
  return with(other, [](Expression a, Expression b) { return a + b; });
}
c10::SymNode SizeNode::sub(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(as_float(clone()) - as_float(other));
  return with(other, [](Expression a, Expression b) { return a - b; });
}
c10::SymNode SizeNode::mul(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(as_float(clone()) * as_float(other));
  return with(other, [](Expression a, Expression b) { return a * b; });
}
c10::SymNode SizeNode::truediv(const c10::SymNode& other) {
  const bool are_ints = is_int() && other->is_int();
  const auto quotient =
      are_ints ? trace_->divide(expect(clone()), expect(other)) : trace_->divide(as_float(clone()), as_float(other));
  if (quotient) return made(*quotient);
  return wrap_float(as_double() / trace_->specialize(as_float(other)));
}
c10::SymNode SizeNode::pow(const c10::SymNode& other) {
  const int64_t exponent = is_float() || other->is_float() ? -1 : other->guard_int("", 0);
  if (exponent < 0) {
    if (const auto power = trace_->raise(as_float(clone()), as_float(other))) return made(*power);
    return wrap_float(std::pow(as_double(), trace_->specialize(as_float(other))));
  }
  Expression result = constant(1);
  for (int64_t i = 0; i < exponent; ++i) result = result * expression_;
  return made(result);
}
c10::SymNode SizeNode::floordiv(const c10::SymNode& other) {
  const Expression divisor = expect(other);
  TORCH_CHECK(!trace_->ask(is_equal(divisor, constant(0))), "ZeroDivisionError");
  return with(other, [](Expression a, Expression b) { return floor_divide(a, b); });
}
c10::SymNode SizeNode::mod(const c10::SymNode& other) {
  const Expression divisor = expect(other);
  TORCH_CHECK(!trace_->ask(is_equal(divisor, constant(0))), "ZeroDivisionError");
  return with(other, [](Expression a, Expression b) { return modulo(a, b); });
}
c10::SymNode SizeNode::sym_min(const c10::SymNode& other) {
  return with(other, [](Expression a, Expression b) { return minimum(a, b); });
}
c10::SymNode SizeNode::sym_max(const c10::SymNode& other) {
  return with(other, [](Expression a, Expression b) { return maximum(a, b); });
}
c10::SymNode SizeNode::neg() { return is_float() ? made(-float_expression()) : made(-expression_); }
c10::SymNode SizeNode::ceil() { return rounded(Rounding::Ceiling); }
c10::SymNode SizeNode::floor() { return rounded(Rounding::Floor); }
c10::SymNode SizeNode::rounded(Rounding how) {
  if (!is_float()) return clone();
  const auto integer = trace_->round(how, float_expression());
  TORCH_CHECK(integer, "a float that is no integer of 64 bits: ", trace_->text(float_expression()));
  return made(*integer);
}
c10::SymNode SizeNode::is_integer() {
  if (!is_float()) return wrap_bool(true);
  const auto integer = trace_->round(Rounding::Floor, float_expression());
  if (integer) return made(is_equal(float_of(*integer), float_expression()));
  return wrap_bool(std::isfinite(as_double()));  // one that large has no fraction
}
c10::SymNode SizeNode::square_root() {
  const auto root = trace_->root(as_float(clone()));
  TORCH_CHECK(root, "the root of a negative number");
  return made(*root);
}

c10::SymNode SizeNode::eq(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(is_equal(as_float(clone()), as_float(other)));
  return made(is_equal(expect(clone()), expect(other)));
}
c10::SymNode SizeNode::ne(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(is_equal(as_float(clone()), as_float(other)).negated());
  return made(is_equal(expect(clone()), expect(other)).negated());
}
c10::SymNode SizeNode::lt(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(is_less(as_float(clone()), as_float(other)));
  return made(is_less(expect(clone()), expect(other)));
}
c10::SymNode SizeNode::le(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(is_less_equal(as_float(clone()), as_float(other)));
  return made(is_less_equal(expect(clone()), expect(other)));
}
c10::SymNode SizeNode::gt(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(is_less(as_float(other), as_float(clone())));
  return made(is_less(expect(other), expect(clone())));
}
c10::SymNode SizeNode::ge(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return made(is_less_equal(as_float(other), as_float(clone())));
  return made(is_less_equal(expect(other), expect(clone())));
}
c10::SymNode SizeNode::sym_or(const c10::SymNode& other) {
  return wrap_bool(guard_bool("", 0) || other->guard_bool("", 0));
}
c10::SymNode SizeNode::sym_and(const c10::SymNode& other) {
  return wrap_bool(guard_bool("", 0) && other->guard_bool("", 0));
}
c10::SymNode SizeNode::sym_not() { return kind_ == Kind::Bool ? made(condition_.negated()) : wrap_bool(!known_); }
c10::SymNode SizeNode::sym_ite(const c10::SymNode& then_value, const c10::SymNode& else_value) {
  return guard_bool("", 0) ? then_value : else_value;
}
c10::SymNode SizeNode::sym_float() { return is_bool() ? wrap_float(guard_bool("", 0)) : made(as_float(clone())); }

c10::SymNode SizeNode::is_contiguous(Nodes sizes, Nodes strides) {
  return wrap_bool(minidynamo::is_contiguous(*trace_, layout_of(sizes, strides)));
}
c10::SymNode SizeNode::is_non_overlapping_and_dense(Nodes sizes, Nodes strides) {
  return wrap_bool(minidynamo::is_dense(*trace_, layout_of(sizes, strides)));
}
c10::SymNode SizeNode::is_channels_last_contiguous_2d(Nodes sizes, Nodes strides) {
  return wrap_bool(is_contiguous_in_order(*trace_, layout_of(sizes, strides), {1, 3, 2, 0}));
}
c10::SymNode SizeNode::is_channels_last_contiguous_3d(Nodes sizes, Nodes strides) {
  return wrap_bool(is_contiguous_in_order(*trace_, layout_of(sizes, strides), {1, 4, 3, 2, 0}));
}
c10::SymNode SizeNode::is_channels_last_strides_2d(Nodes sizes, Nodes strides) {
  return wrap_bool(has_stride_order(*trace_, layout_of(sizes, strides), {1, 3, 2, 0}));
}
c10::SymNode SizeNode::is_channels_last_strides_3d(Nodes sizes, Nodes strides) {
  return wrap_bool(has_stride_order(*trace_, layout_of(sizes, strides), {1, 4, 3, 2, 0}));
}

c10::SymNode SizeNode::wrap_int(int64_t value) { return made(constant(value)); }
c10::SymNode SizeNode::wrap_bool(bool value) { return c10::make_intrusive<SizeNode>(trace_, value); }
c10::SymNode SizeNode::wrap_float(double value) { return made(float_constant(value)); }

int64_t SizeNode::guard_int(const char*, int64_t) {
  if (kind_ != Kind::Int) return static_cast<int64_t>(is_bool() ? guard_bool("", 0) : as_double());
  return trace_->specialize(expression_);
}
bool SizeNode::guard_bool(const char*, int64_t) {
  switch (kind_) {
    case Kind::Int:
      return !trace_->ask(is_equal(expression_, constant(0)));
    case Kind::Bool:
      return trace_->ask(condition_);
    case Kind::Float:
      return !trace_->ask(is_equal(float_expression(), float_constant(0)));
    default:
      return known_;
  }
}
bool SizeNode::guard_or_false(const char* file, int64_t line) {
  // True if a size is to be spread over another: what it is not spread over it has to be equal to, which is checked.
  const bool is_about_one = kind_ == Kind::Bool && condition_.relation == SizeRelation::Equal &&
                            trace_->is_unknown(condition_.expression) && !trace_->known(condition_) &&
                            is_equal_to_one(condition_.expression);
  if (is_about_one) return false;
  return kind_ == Kind::Bool ? !trace_->suppose(condition_.negated()) : guard_bool(file, line);
}
bool SizeNode::expect_true(const char* file, int64_t line) {
  return kind_ == Kind::Bool ? trace_->suppose(condition_) : guard_bool(file, line);
}
double SizeNode::guard_float(const char*, int64_t) { return as_double(); }
double SizeNode::as_double() {
  return is_float() ? trace_->specialize(float_expression()) : static_cast<double>(guard_int("", 0));
}

bool SizeNode::statically_known_true(const char*, int64_t) {
  if (kind_ == Kind::Bool) return trace_->known(condition_).value_or(false);
  if (kind_ == Kind::Int) return !trace_->known(is_equal(expression_, constant(0))).value_or(true);
  if (kind_ == Kind::Float) return !trace_->known(is_equal(float_expression(), float_constant(0))).value_or(true);
  return known_;
}

std::string SizeNode::str() {
  switch (kind_) {
    case Kind::Int:
      return trace_->text(expression_);
    case Kind::Bool:
      return trace_->text(condition_);
    case Kind::Float:
      return trace_->text(float_expression());
    default:
      return known_ ? "True" : "False";
  }
}

std::optional<int64_t> SizeNode::maybe_as_int() {
  return kind_ == Kind::Int ? constant_value(expression_) : std::nullopt;
}
std::optional<bool> SizeNode::constant_bool() {
  if (kind_ == Kind::KnownBool) return known_;
  return std::nullopt;
}

c10::SymInt to_symint(const std::shared_ptr<TraceSizes>& trace, Expression expression) {
  if (const std::optional<int64_t> value = constant_value(expression)) return *value;
  return c10::SymInt(c10::SymNode(c10::make_intrusive<SizeNode>(trace, expression)));
}

Expression expression_of(const c10::SymInt& value) {
  if (const std::optional<int64_t> number = value.maybe_as_int()) return constant(*number);
  const SizeNode* node = SizeNode::of(value);
  TORCH_CHECK(node, "a symbolic size of another tracer");
  return node->expression();
}

Ref symbolic_int(const std::shared_ptr<TraceSizes>& trace, Expression expression) {
  try {
    return Ref::steal(pybind11::cast(to_symint(trace, expression)).release().ptr());
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
}

FloatExpression expression_of(const c10::SymFloat& value) {
  if (!value.is_symbolic()) return float_constant(value.as_float_unchecked());
  const SizeNode* node = SizeNode::of(value);
  TORCH_CHECK(node, "a symbolic number of another tracer");
  return node->float_expression();
}

namespace {

Ref of_torch(const char* name) {
  const Ref module = Ref::steal(PyImport_ImportModule("torch"));
  return module ? Ref::steal(PyObject_GetAttrString(module.get(), name)) : Ref();
}

// The node of a torch.SymBool or torch.SymFloat. Null: it is none of ours.
SizeNode* inner_node(PyObject* symbolic) {
  // torch's own conversion takes the node for one of Python's.
  const pybind11::object inner = pybind11::handle(symbolic).attr("node");
  if (!pybind11::isinstance<c10::SymNodeImpl>(inner)) return nullptr;
  return dynamic_cast<SizeNode*>(pybind11::cast<c10::SymNode>(inner).get());
}

SizeNode* condition_node(PyObject* symbolic_bool) {
  SizeNode* node = inner_node(symbolic_bool);
  return node && node->has_condition() ? node : nullptr;
}

// An object of this class of torch's over a node.
Ref over_node(PyObject* type, const c10::SymNode& node) {
  try {
    const pybind11::object inner = pybind11::cast(node);
    return type ? Ref::steal(PyObject_CallOneArg(type, inner.ptr())) : Ref();
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
}

constinit CachedObject float_type{of_torch, "SymFloat"};

}  // namespace

Ref symbolic_bool(const std::shared_ptr<TraceSizes>& trace, SizeCondition condition) {
  static constinit CachedObject type{of_torch, "SymBool"};
  return over_node(type, c10::make_intrusive<SizeNode>(trace, condition));
}

Ref float_of_sizes(const std::shared_ptr<TraceSizes>& trace, FloatExpression expression) {
  if (const auto value = constant_value(expression)) return Ref::made(PyFloat_FromDouble(*value));
  return over_node(float_type, c10::make_intrusive<SizeNode>(trace, expression));
}

// False too for one whose `__init__` has not run yet: it has no node.
template <typename Work>
bool is_over_own_node(const Work& node_of) noexcept {
  bool is_own = false;
  try_to([&] {
    try {
      is_own = node_of() != nullptr;
    } catch (const pybind11::error_already_set&) {
    }
  });
  return is_own;
}

bool is_symbolic_bool(PyObject* object) noexcept {
  static constinit CachedObject type{of_torch, "SymBool"};
  if (as_object(Py_TYPE(object)) != type.get()) return false;
  return is_over_own_node([&] { return condition_node(object); });
}

SizeCondition condition_of(PyObject* symbolic_bool) { return condition_node(symbolic_bool)->condition(); }

bool is_symbolic_int(PyObject* object) noexcept {
  static constinit CachedObject type{of_torch, "SymInt"};
  if (as_object(Py_TYPE(object)) != type.get()) return false;
  return is_over_own_node([&] { return SizeNode::of(pybind11::cast<c10::SymInt>(pybind11::handle(object))); });
}

bool is_float_of_sizes(PyObject* object) noexcept {
  if (as_object(Py_TYPE(object)) != float_type.get()) return false;
  return is_over_own_node([&] { return inner_node(object); });
}

FloatExpression float_expression_of(PyObject* object) { return inner_node(object)->float_expression(); }

Expression expression_of(PyObject* object) {
  return expression_of(pybind11::cast<c10::SymInt>(pybind11::handle(object)));
}

}  // namespace minidynamo
