#include "world/symbols.h"

#include "python/out_of_memory.h"
#include "world/known_types.h"
#include "world/native_scope.h"
#include "world/tracer.h"

namespace minidynamo {
namespace {

// Of the module that owns it: an attribute, parameter or buffer, whose sizes seldom change.
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

Symbols::Symbols(const OpenNumbers* open) : open_(open) {
  if (open && !open->none()) sizes_ = std::make_shared<TraceSizes>();
}

OpenDimensions Symbols::dimensions_of(const Source& source) const {
  if (!active()) return 0;
  if (!open_->sources.empty()) {
    const auto found = open_->sources.find(source.to_text());
    if (found != open_->sources.end()) return dimensions_to_open(source.value.get(), found->second);
  }
  if (!open_->all_sizes || is_parameter(source) || is_of_module(source)) return 0;
  return dimensions_to_open(source.value.get(), ~OpenDimensions{0});
}

bool Symbols::opens_int(const Source& source) const {
  if (!active() || !PyLong_CheckExact(source.value.get())) return false;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(source.value.get(), &overflow);
  if (overflow) return false;
  if (open_->sources.contains(source.to_text())) return true;
  return open_->all_sizes && source.access == Access::Local;
}

Expression Symbols::symbol_for(Tracer& tracer, Source* source, int32_t dimension, int64_t value) {
  for (size_t i = 0; i < numbers_.size(); ++i)
    if (numbers_[i].source == source && numbers_[i].dimension == dimension) return symbol(static_cast<int32_t>(i));
  if (!sizes_->note_cause)
    sizes_->note_cause = [this, &tracer] {
      const GuardOrigin now = tracer.origin();
      causes_.push_back({Ref::borrow(reinterpret_cast<PyObject*>(now.code)), now.line});
      return static_cast<uint32_t>(causes_.size() - 1);
    };
  const OpenNumber number{source, dimension};
  const SizeRange range = dimension >= 0 ? SizeRange{2, INT64_MAX} : SizeRange{};
  numbers_.push_back(number);
  owners_.emplace_back();
  return sizes_->add_symbol(value, range, number.to_text());
}

void Symbols::read_from(Expression symbol, Ref owner) { owners_[symbols_of(symbol).front()] = std::move(owner); }

bool Symbols::argument(Tracer& tracer, PyObject* number, Argument& out) {
  const Expression e = expression_of(number);
  if (bodies > 0) {
    out.kind = Argument::Kind::Constant;
    out.constant = specialized(number);
    return static_cast<bool>(out.constant);
  }
  out.kind = Argument::Kind::Node;
  out.node = node_of(tracer, e);
  return out.node != kNoNode;
}

Ref Symbols::object(Expression e) {
  Ref& known = objects_[e.id];
  if (!known) {
    const NativeScope native;  // SymInt is a class of Python's
    known = symbolic_int(sizes_, e);
  }
  return known;
}

Ref Symbols::specialized(PyObject* symbolic_int) {
  return Ref::made(PyLong_FromLongLong(sizes_->specialize(expression_of(symbolic_int))));
}

bool Symbols::fits(Expression e) const {
  return evaluate(e, sizes_->values()).has_value();
}

NodeId Symbols::node_of(Tracer& tracer, Expression e) {
  if (const auto known = nodes_.find(e.id); known != nodes_.end()) return known->second;
  const NodeId node = make_node(tracer, e);
  if (node != kNoNode) nodes_.emplace(e.id, node);
  return node;
}

void Symbols::forget_nodes_from(NodeId first) {
  std::erase_if(nodes_, [&](const auto& entry) { return entry.second >= first; });
}

NodeId Symbols::call(Tracer& tracer, PyObject* function, std::vector<Ref> arguments, Expression e) {
  Ref all = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  for (size_t i = 0; i < arguments.size(); ++i)
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), arguments[i].release());
  const Ref result = object(e);
  if (!function || !result) return kNoNode;
  return tracer.graph.add_number(Ref::borrow(function), all.get(), result,
                                 tracer.frame ? tracer.frame->call_site() : nullptr);
}

// By its steps, each of which has a node of its own that others may share.
NodeId Symbols::make_node(Tracer& tracer, Expression e) {
  static constinit Imported size_operator{"torch.ops.aten.sym_size.int"};
  static constinit Imported add{"operator.add"}, subtract{"operator.sub"}, multiply{"operator.mul"};
  static constinit Imported floor_division{"operator.floordiv"}, remainder{"operator.mod"};
  static constinit Imported least{"torch.sym_min"}, most{"torch.sym_max"};
  std::vector<Expression> stack;
  NodeId node = kNoNode;
  for (const SizeStep& step : steps_of(e)) {
    if (step.kind == SizeStep::Kind::Constant) {
      stack.push_back(constant(step.operand));
      continue;
    }
    if (step.kind == SizeStep::Kind::Symbol) {
      const Expression bare = symbol(static_cast<int32_t>(step.operand));
      const OpenNumber& number = numbers_[step.operand];
      const Ref& owner = owners_[step.operand];
      if (const auto known = nodes_.find(bare.id); known != nodes_.end())
        node = known->second;
      else if (number.dimension < 0)
        node = tracer.graph.producer(owner.get());
      else
        node = call(tracer, size_operator, {owner, Ref::made(PyLong_FromLong(number.dimension))}, bare);
      if (node == kNoNode) return kNoNode;
      nodes_.emplace(bare.id, node);
      stack.push_back(bare);
      continue;
    }
    const Expression right = stack.back();
    stack.pop_back();
    const Expression left = stack.back();
    stack.pop_back();
    PyObject* function = nullptr;
    Expression made;
    switch (step.kind) {
      case SizeStep::Kind::Add:
        function = add, made = left + right;
        break;
      case SizeStep::Kind::Subtract:
        function = subtract, made = left - right;
        break;
      case SizeStep::Kind::Multiply:
        function = multiply, made = left * right;
        break;
      case SizeStep::Kind::FloorDivide:
        function = floor_division, made = floor_divide(left, right);
        break;
      case SizeStep::Kind::Modulo:
        function = remainder, made = modulo(left, right);
        break;
      case SizeStep::Kind::Minimum:
        function = least, made = minimum(left, right);
        break;
      default:
        function = most, made = maximum(left, right);
    }
    stack.push_back(made);
    if (is_constant_expression(made)) continue;
    if (const auto known = nodes_.find(made.id); known != nodes_.end()) {
      node = known->second;
      continue;
    }
    node = call(tracer, function, {object(left), object(right)}, made);
    if (node == kNoNode) return kNoNode;
    nodes_.emplace(made.id, node);
  }
  return node;
}

std::vector<SizeGuard> Symbols::guards() const {
  std::vector<SizeGuard> guards;
  if (!active()) return guards;
  for (const TraceSizes::Asked& asked : sizes_->asked()) {
    const Cause* cause = asked.cause < causes_.size() ? &causes_[asked.cause] : nullptr;
    guards.push_back(
        {asked.condition,
         cause ? GuardOrigin{reinterpret_cast<PyCodeObject*>(cause->code.get()), cause->line} : GuardOrigin{}});
  }
  return guards;
}

}  // namespace minidynamo
