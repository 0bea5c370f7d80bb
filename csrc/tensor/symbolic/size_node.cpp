#include "tensor/symbolic/size_node.h"

#include <cmath>

#include "python/cached.h"
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

template <typename Operation>
c10::SymNode SizeNode::with(const c10::SymNode& other, Operation operation) {
  return made(operation(expect(clone()), expect(other)));
}

c10::SymNode SizeNode::add(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_float(as_double() + other->guard_float("", 0));
  return with(other, [](Expression a, Expression b) { return a + b; });
}
c10::SymNode SizeNode::sub(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_float(as_double() - other->guard_float("", 0));
  return with(other, [](Expression a, Expression b) { return a - b; });
}
c10::SymNode SizeNode::mul(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_float(as_double() * other->guard_float("", 0));
  return with(other, [](Expression a, Expression b) { return a * b; });
}
// A result that is no integer is a number of this call alone.
c10::SymNode SizeNode::truediv(const c10::SymNode& other) {
  const double divisor = other->is_float() ? other->guard_float("", 0) : static_cast<double>(other->guard_int("", 0));
  return wrap_float(as_double() / divisor);
}
c10::SymNode SizeNode::pow(const c10::SymNode& other) {
  if (is_float() || other->is_float()) {
    const double exponent =
        other->is_float() ? other->guard_float("", 0) : static_cast<double>(other->guard_int("", 0));
    return wrap_float(std::pow(as_double(), exponent));
  }
  const int64_t exponent = other->guard_int("", 0);
  if (exponent < 0) return wrap_float(std::pow(as_double(), static_cast<double>(exponent)));
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
c10::SymNode SizeNode::neg() { return is_float() ? wrap_float(-number_) : made(-expression_); }
c10::SymNode SizeNode::ceil() { return is_float() ? wrap_int(static_cast<int64_t>(std::ceil(number_))) : clone(); }
c10::SymNode SizeNode::floor() { return is_float() ? wrap_int(static_cast<int64_t>(std::floor(number_))) : clone(); }

c10::SymNode SizeNode::eq(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_bool(as_double() == other->guard_float("", 0));
  return made(is_equal(expect(clone()), expect(other)));
}
c10::SymNode SizeNode::ne(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_bool(as_double() != other->guard_float("", 0));
  return made(is_equal(expect(clone()), expect(other)).negated());
}
c10::SymNode SizeNode::lt(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_bool(as_double() < other->guard_float("", 0));
  return made(is_less(expect(clone()), expect(other)));
}
c10::SymNode SizeNode::le(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_bool(as_double() <= other->guard_float("", 0));
  return made(is_less_equal(expect(clone()), expect(other)));
}
c10::SymNode SizeNode::gt(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_bool(as_double() > other->guard_float("", 0));
  return made(is_less(expect(other), expect(clone())));
}
c10::SymNode SizeNode::ge(const c10::SymNode& other) {
  if (is_float() || other->is_float()) return wrap_bool(as_double() >= other->guard_float("", 0));
  return made(is_less_equal(expect(other), expect(clone())));
}
c10::SymNode SizeNode::sym_or(const c10::SymNode& other) {
  return wrap_bool(guard_bool("", 0) || other->guard_bool("", 0));
}
c10::SymNode SizeNode::sym_and(const c10::SymNode& other) {
  return wrap_bool(guard_bool("", 0) && other->guard_bool("", 0));
}
c10::SymNode SizeNode::sym_not() { return kind_ == Kind::Bool ? made(condition_.negated()) : wrap_bool(!number_); }
c10::SymNode SizeNode::sym_ite(const c10::SymNode& then_value, const c10::SymNode& else_value) {
  return guard_bool("", 0) ? then_value : else_value;
}
c10::SymNode SizeNode::sym_float() { return wrap_float(as_double()); }

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
c10::SymNode SizeNode::wrap_float(double value) { return c10::make_intrusive<SizeNode>(trace_, value); }

int64_t SizeNode::guard_int(const char*, int64_t) {
  if (kind_ != Kind::Int) return static_cast<int64_t>(is_bool() ? guard_bool("", 0) : number_);
  return trace_->specialize(expression_);
}
bool SizeNode::guard_bool(const char*, int64_t) {
  switch (kind_) {
    case Kind::Int:
      return !trace_->ask(is_equal(expression_, constant(0)));
    case Kind::Bool:
      return trace_->ask(condition_);
    default:
      return number_ != 0;
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
double SizeNode::as_double() { return is_float() ? number_ : static_cast<double>(guard_int("", 0)); }

bool SizeNode::statically_known_true(const char*, int64_t) {
  if (kind_ == Kind::Bool) return trace_->known(condition_).value_or(false);
  if (kind_ == Kind::Int) return !trace_->known(is_equal(expression_, constant(0))).value_or(true);
  return number_ != 0;
}

std::string SizeNode::str() {
  switch (kind_) {
    case Kind::Int:
      return trace_->text(expression_);
    case Kind::Bool:
      return trace_->text(condition_);
    case Kind::KnownBool:
      return number_ ? "True" : "False";
    default:
      return std::to_string(number_);
  }
}

std::optional<int64_t> SizeNode::maybe_as_int() {
  return kind_ == Kind::Int ? constant_value(expression_) : std::nullopt;
}
std::optional<bool> SizeNode::constant_bool() {
  if (kind_ == Kind::KnownBool) return number_ != 0;
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

namespace {

Ref of_torch(const char* name) {
  const Ref module = Ref::steal(PyImport_ImportModule("torch"));
  return module ? Ref::steal(PyObject_GetAttrString(module.get(), name)) : Ref();
}

// Null: it is none of ours.
SizeNode* condition_node(PyObject* symbolic_bool) {
  // torch's own conversion takes the node for one of Python's.
  const pybind11::object inner = pybind11::handle(symbolic_bool).attr("node");
  if (!pybind11::isinstance<c10::SymNodeImpl>(inner)) return nullptr;
  auto* node = dynamic_cast<SizeNode*>(pybind11::cast<c10::SymNode>(inner).get());
  return node && node->has_condition() ? node : nullptr;
}

}  // namespace

Ref symbolic_bool(const std::shared_ptr<TraceSizes>& trace, SizeCondition condition) {
  static constinit CachedObject type{of_torch, "SymBool"};
  try {
    const c10::SymNode node(c10::make_intrusive<SizeNode>(trace, condition));
    const pybind11::object inner = pybind11::cast(node);
    PyObject* const made_of = type;
    return made_of ? Ref::steal(PyObject_CallOneArg(made_of, inner.ptr())) : Ref();
  } catch (...) {
    set_python_error_from_exception();
    return nullptr;
  }
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

Expression expression_of(PyObject* object) {
  return expression_of(pybind11::cast<c10::SymInt>(pybind11::handle(object)));
}

}  // namespace minidynamo
