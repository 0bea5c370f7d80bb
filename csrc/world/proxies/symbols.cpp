#include "world/proxies/symbols.h"

#include <algorithm>

#include "python/native_scope.h"
#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "world/external/known_types.h"
#include "world/proxies/held_number.h"

namespace minidynamo {
namespace {

// True for an attribute, parameter or buffer of a module, whose sizes seldom change.
bool is_of_module(const Source& source) {
  static constinit ImportedType module_class{"torch.nn.Module"};
  for (const Source* at = source.parent; at; at = at->parent)
    if (at->value && PyType_IsSubtype(at->value.type(), module_class)) return true;
  return false;
}

bool is_parameter(const Source& source) {
  static constinit ImportedType parameter_class{"torch.nn.Parameter"};
  return PyType_IsSubtype(source.value.type(), parameter_class);
}

}  // namespace

void Symbols::begin() {
  sizes_ = std::make_shared<TraceSizes>();
  TraceSizesScope::begin(sizes_);
  sizes_->note_cause = [this] {
    const HeldGil gil;
    const GuardOrigin now = where_();
    causes_.push_back({Ref::borrow(as_object(now.code)), now.line});
    return static_cast<uint32_t>(causes_.size() - 1);
  };
  graph_.number_argument = [this](PyObject* number, Argument& out) { return argument(number, out); };
}

namespace {

// True if a tensor holds it: a tensor that wraps it has the same sizes.
bool is_part_of_tensor(const Source& source) {
  const Source* owner = source.parent;
  if (owner && owner->access == Access::InstanceDict) owner = owner->parent;
  return owner && owner->value && is_tensor(owner->value.get());
}

}  // namespace

OpenDimensions Symbols::dimensions_of(const Source& source) {
  if (!open_ || is_part_of_tensor(source)) return 0;
  PyObject* raw = source.value.get();
  const SizeMarks marks = size_marks(raw);
  OpenDimensions wanted = marks.open | marks.may_be;
  has_unbacked_marks_ |= marks.unbacked != 0;
  if (!open_->sources.empty())
    if (const auto found = open_->sources.find(source.to_text()); found != open_->sources.end())
      wanted |= found->second;
  if (open_->all_sizes && !is_parameter(source) && !is_of_module(source)) wanted = ~OpenDimensions{0};
  const OpenDimensions open = dimensions_to_open(raw, wanted & ~marks.fixed);
  const OpenDimensions marked = marks.open | marks.unbacked;
  for (int d = 0; d < 64 && marked >> d; ++d) {
    if (!(marked >> d & 1)) continue;
    Mark mark{{const_cast<Source*>(&source), d}, (marks.open >> d & 1) != 0, (marks.unbacked >> d & 1) != 0, {}};
    for (const SizeMarks::Bounds& bounds : marks.bounds)
      if (bounds.dimension == d) mark.range = bounds.range;
    marked_.push_back(mark);
  }
  return open;
}

bool Symbols::makes_int_dynamic(const Source& source) const {
  if (!open_ || open_->none() || !PyLong_CheckExact(source.value.get()) || !is_held_by_program(source)) return false;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(source.value.get(), &overflow);
  if (overflow) return false;
  if (open_->sources.contains(source.to_text())) return true;
  return open_->all_sizes && source.access == Access::Local;
}

bool Symbols::has_dynamic_items(const Source& tuple) const {
  if (!open_ || open_->never || open_->sources.empty()) return false;
  const std::string items = tuple.to_text() + "[";
  return std::ranges::any_of(open_->sources, [&](const auto& entry) { return entry.first.starts_with(items); });
}

const Symbols::Mark* Symbols::mark_of(const OpenNumber& number) const noexcept {
  const auto found = std::ranges::find_if(marked_, [&](const Mark& mark) {
    return mark.number.source == number.source && mark.number.dimension == number.dimension;
  });
  return found == marked_.end() ? nullptr : &*found;
}

bool Symbols::is_marked_unbacked(Expression e) const {
  if (!has_unbacked_marks_) return false;
  return std::ranges::any_of(symbols_of(e), [&](int32_t symbol) {
    const Mark* mark = mark_of(numbers_[symbol]);
    return mark && mark->is_unbacked;
  });
}

std::string Symbols::place_of(const SizeGuard& guard) const {
  const char* file = PyUnicode_AsUTF8(guard.origin.code->co_filename);
  return std::string(file ? file : "?") + ":" + std::to_string(guard.origin.line) + " (" +
         sizes_->text(guard.condition) + ").";
}

namespace {

// True if a condition holds for all values that a symbol may have, as far as can be seen by looking at some.
bool follows(SizeCondition condition, int32_t symbol, SizeRange range, std::span<const int64_t> values) {
  constexpr int64_t kLookedAt = 4096, kLarge = int64_t{1} << 40;
  std::vector<int64_t> tried(values.begin(), values.end());
  const int64_t last = std::min(range.upper, kLarge);
  const auto holds_at = [&](int64_t value) {
    tried[symbol] = value;
    const std::optional<int64_t> result = evaluate(condition.expression, tried);
    return !result || holds(condition.relation, *result);
  };
  for (int64_t value = range.lower; value <= std::min(last, range.lower + kLookedAt); ++value)
    if (!holds_at(value)) return false;
  return last < range.lower || holds_at(last);
}

}  // namespace

std::string Symbols::breach_of(const Mark& mark) const {
  const std::string is_marked = mark.number.to_text() + " is marked " + (mark.is_unbacked ? "unbacked" : "dynamic");
  const int64_t now = size_of_tensor(mark.number.source->value.get(), mark.number.dimension);
  const auto same = [&](const OpenNumber& known) {
    return known.source == mark.number.source && known.dimension == mark.number.dimension;
  };
  const auto known = std::ranges::find_if(numbers_, same);
  if (mark.range && (now < mark.range->lower || now > mark.range->upper)) {
    const std::string last = mark.range->upper == INT64_MAX ? "" : " to " + std::to_string(mark.range->upper);
    return is_marked + " from " + std::to_string(mark.range->lower) + last + ", and is " + std::to_string(now) +
           ".\n  It is so in this call.";
  }
  if (known == numbers_.end())  // sizes of 0 and 1 are cases of their own
    return mark.must_be_open && now > 1 ? is_marked + ", and is " + std::to_string(now) + " in what is captured." : "";
  const auto own = static_cast<int32_t>(known - numbers_.begin());
  const bool is_fixed = is_constant_expression(sizes_->simplify(symbol(own)));
  if (!is_fixed && !mark.range) return "";
  for (const SizeGuard& guard : guards()) {
    const std::vector<int32_t> symbols = symbols_of(guard.condition.expression);
    if (!guard.origin.code || std::ranges::find(symbols, own) == symbols.end()) continue;
    if (is_fixed && mark.must_be_open && guard.condition.relation == SizeRelation::Equal)
      return is_marked + ", and has to be " + std::to_string(now) + ".\n  It is fixed at " + place_of(guard);
    if (mark.range && symbols.size() == 1 && !follows(guard.condition, own, *mark.range, sizes_->values()))
      return is_marked + " for more sizes than those that it is captured for.\n  Others are left out at " +
             place_of(guard);
  }
  return is_fixed && mark.must_be_open ? is_marked + ", and has to be " + std::to_string(now) + "." : "";
}

std::string Symbols::broken_mark() const {
  for (const Mark& mark : marked_)
    if (std::string text = breach_of(mark); !text.empty()) return text;
  return "";
}

Expression Symbols::symbol_for(Source* source, int32_t dimension, int64_t value) {
  for (size_t i = 0; i < numbers_.size(); ++i)
    if (numbers_[i].source == source && numbers_[i].dimension == dimension) return symbol(static_cast<int32_t>(i));
  if (!sizes_) begin();
  const OpenNumber number{source, dimension};
  const SizeRange range = dimension >= 0 ? SizeRange{2, INT64_MAX} : SizeRange{};
  numbers_.push_back(number);
  owners_.emplace_back();
  const Expression made = sizes_->add_symbol(value, range, number.to_text());
  if (const Mark* mark = mark_of(number); mark && mark->range) {
    const SizeRange& bounds = *mark->range;
    if (value >= bounds.lower) sizes_->ask(is_less_equal(constant(bounds.lower), made));
    if (value <= bounds.upper && bounds.upper != INT64_MAX) sizes_->ask(is_less_equal(made, constant(bounds.upper)));
  }
  return made;
}

Expression Symbols::unbacked_symbol(int64_t example, SizeRange range) {
  if (!sizes_) begin();
  size_t number = 0;
  for (const OpenNumber& one : numbers_) number += one.source == nullptr;
  numbers_.push_back({});
  owners_.emplace_back();
  return sizes_->add_unknown(example, range, "u" + std::to_string(number));
}

// The first node that makes a tensor with this size. The size has no node of its own, since few are ever needed.
NodeId Symbols::node_of_unknown(Expression symbol) {
  const std::vector<Node>& nodes = graph_.nodes();
  for (const Node& node : nodes) {
    if (!is_fake(node.example.get()) || graph_.producer(node.example.get()) == kNoNode) continue;
    const int dimension = dimension_of_size(node.example.get(), symbol);
    if (dimension < 0) continue;
    const Ref owner = node.example;  // the list of nodes grows
    return call("torch.ops.aten.sym_size.int"_imported, {owner, Ref::made(PyLong_FromLong(dimension))}, symbol);
  }
  PyErr_SetString(PyExc_TypeError, "a size that no tensor of the graph tells");
  return kNoNode;
}

Ref Symbols::condition_object(SizeCondition condition) {
  static constinit Imported functions[] = {Imported{"operator.eq"}, Imported{"operator.ne"}, Imported{"operator.lt"},
                                           Imported{"operator.le"}};
  Ref made;
  {
    const NativeScope native;
    made = symbolic_bool(sizes_, condition);
  }
  const Ref number = made ? object(condition.expression) : Ref();
  if (!number) return nullptr;
  PyObject* function = functions[static_cast<size_t>(condition.relation)];
  const Ref arguments = Ref::made(PyTuple_Pack(2, number.get(), Ref::made(PyLong_FromLong(0)).get()));
  const NodeId node = function ? graph_.add_number(Ref::borrow(function), arguments.get(), made, site_()) : kNoNode;
  if (node == kNoNode) return nullptr;
  graph_.stand_for(made.get(), node);
  return made;
}

void Symbols::read_from(Expression symbol, Ref owner) { owners_[symbols_of(symbol).front()] = std::move(owner); }

bool Symbols::argument(PyObject* number, Argument& out) {
  const Expression e = is_float_of_sizes(number) ? float_expression_of(number).bits : expression_of(number);
  if (bodies > 0) {
    out.kind = Argument::Kind::Constant;
    out.constant = specialized(number);
    return static_cast<bool>(out.constant);
  }
  out.kind = Argument::Kind::Node;
  out.node = node_of(e);
  return out.node != kNoNode;
}

Ref Symbols::object(Expression e) {
  Ref& known = objects_[e.id];
  if (!known) {
    const NativeScope native;  // SymInt is a class of Python's
    known = is_float_expression(e) ? float_of_sizes(sizes_, FloatExpression{e}) : symbolic_int(sizes_, e);
  }
  return known;
}

Ref Symbols::specialized(PyObject* number) {
  if (is_float_of_sizes(number)) return Ref::made(PyFloat_FromDouble(sizes_->specialize(float_expression_of(number))));
  return Ref::made(PyLong_FromLongLong(sizes_->specialize(expression_of(number))));
}

bool Symbols::fits(Expression e) const { return evaluate(e, sizes_->values()).has_value(); }

NodeId Symbols::node_of(Expression e) {
  if (const auto known = nodes_.find(e.id); known != nodes_.end()) return known->second;
  const NodeId node = make_node(e);
  if (node != kNoNode) nodes_.emplace(e.id, node);
  return node;
}

void Symbols::forget_nodes_from(NodeId first) {
  std::erase_if(nodes_, [&](const auto& entry) { return entry.second >= first; });
}

NodeId Symbols::call(PyObject* function, std::vector<Ref> arguments, Expression e) {
  Ref all = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  for (size_t i = 0; i < arguments.size(); ++i)
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), arguments[i].release());
  const Ref result = object(e);
  if (!function || !result) return kNoNode;
  return graph_.add_number(Ref::borrow(function), all.get(), result, site_());
}

PyObject* function_of_step(SizeStep::Kind kind) {
  using Kind = SizeStep::Kind;
  static constinit Imported functions[] = {
      Imported{"operator.add"},      Imported{"operator.sub"},    Imported{"operator.mul"},
      Imported{"operator.floordiv"}, Imported{"operator.mod"},    Imported{"torch.sym_min"},
      Imported{"torch.sym_max"},     Imported{"torch.sym_float"}, Imported{"operator.truediv"},
      Imported{"operator.pow"},      Imported{"torch.sym_sqrt"},  Imported{"math.floor"},
      Imported{"math.ceil"},         Imported{"torch.sym_int"},   Imported{"builtins.round"}};
  switch (kind) {
    case Kind::Add:
    case Kind::FloatAdd:
      return functions[0];
    case Kind::Subtract:
    case Kind::FloatSubtract:
      return functions[1];
    case Kind::Multiply:
    case Kind::FloatMultiply:
      return functions[2];
    case Kind::FloorDivide:
      return functions[3];
    case Kind::Modulo:
      return functions[4];
    case Kind::Minimum:
      return functions[5];
    case Kind::Maximum:
      return functions[6];
    case Kind::FloatOf:
      return functions[7];
    case Kind::FloatDivide:
      return functions[8];
    case Kind::Power:
      return functions[9];
    case Kind::SquareRoot:
      return functions[10];
    case Kind::Floor:
      return functions[11];
    case Kind::Ceiling:
      return functions[12];
    case Kind::Truncate:
      return functions[13];
    case Kind::Nearest:
      return functions[14];
    case Kind::Constant:
    case Kind::Symbol:
    case Kind::FloatConstant:
    case Kind::Order:  // only conditions have it
      break;
  }
  PyErr_SetString(PyExc_TypeError, "a step of a size that no function computes");
  return nullptr;
}

NodeId Symbols::node_of_symbol(int32_t number) {
  const Expression bare = symbol(number);
  const OpenNumber& from = numbers_[static_cast<size_t>(number)];
  const Ref& owner = owners_[static_cast<size_t>(number)];
  if (!from.source) return node_of_unknown(bare);
  if (from.dimension < 0) return graph_.producer(owner.get());
  return call("torch.ops.aten.sym_size.int"_imported, {owner, Ref::made(PyLong_FromLong(from.dimension))}, bare);
}

// By its steps, each of which has a node of its own that others may share.
NodeId Symbols::make_node(Expression e) {
  std::vector<Expression> stack;
  NodeId node = kNoNode;
  for (const SizeStep& step : steps_of(e)) {
    const int operands = operands_of(step.kind);
    const Expression right = operands > 0 ? stack.back() : Expression();
    const Expression left = operands > 1 ? stack[stack.size() - 2] : Expression();
    stack.resize(stack.size() - static_cast<size_t>(operands));
    const Expression made = result_of(step, left, right);
    stack.push_back(made);
    if (is_constant_expression(made) || step.kind == SizeStep::Kind::FloatConstant) continue;
    if (const auto known = nodes_.find(made.id); known != nodes_.end()) {
      node = known->second;
      continue;
    }
    if (step.kind == SizeStep::Kind::Symbol) {
      node = node_of_symbol(static_cast<int32_t>(step.operand));
    } else {
      std::vector<Ref> arguments;
      if (operands > 1) arguments.push_back(object(left));
      arguments.push_back(object(right));
      node = call(function_of_step(step.kind), std::move(arguments), made);
    }
    if (node == kNoNode) return kNoNode;
    nodes_.emplace(made.id, node);
  }
  return node;
}

std::vector<OpenNumber> Symbols::specialized() const {
  std::vector<OpenNumber> specialized;
  for (size_t i = 0; i < numbers_.size(); ++i)
    if (numbers_[i].source && is_constant_expression(sizes_->simplify(symbol(static_cast<int32_t>(i)))))
      specialized.push_back(numbers_[i]);
  return specialized;
}

std::vector<SizeGuard> Symbols::guards() const {
  std::vector<SizeGuard> guards;
  if (!active()) return guards;
  for (const TraceSizes::Asked& asked : sizes_->asked()) {
    const Cause* cause = asked.cause < causes_.size() ? &causes_[asked.cause] : nullptr;
    guards.push_back({asked.condition, cause ? GuardOrigin{as_code(cause->code.get()), cause->line} : GuardOrigin{}});
  }
  return guards;
}

}  // namespace minidynamo
