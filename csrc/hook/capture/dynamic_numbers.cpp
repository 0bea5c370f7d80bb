#include "hook/capture/dynamic_numbers.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "hook/settings.h"
#include "python/named_item.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "world/proxies/dynamic_float.h"

namespace minidynamo {
namespace {

constexpr const char* kOpenSizes = "open_sizes";
constexpr const char* kConditions = "size_conditions";

bool is_unknown(const OpenNumber& number) { return !number.source; }

std::optional<int32_t> symbol_of(const Symbols& symbols, const Source* source, int32_t dimension) {
  const std::vector<OpenNumber>& numbers = symbols.numbers();
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i].source == source && numbers[i].dimension == dimension) return static_cast<int32_t>(i);
  return std::nullopt;
}

// The steps that conditions of backends may have, by their names in these (_capture/conditions.py).
constexpr std::pair<SizeStep::Kind, const char*> kStepNames[] = {{SizeStep::Kind::Add, "+"},
                                                                 {SizeStep::Kind::Subtract, "-"},
                                                                 {SizeStep::Kind::Multiply, "*"},
                                                                 {SizeStep::Kind::FloorDivide, "//"},
                                                                 {SizeStep::Kind::Modulo, "%"},
                                                                 {SizeStep::Kind::Minimum, "min"},
                                                                 {SizeStep::Kind::Maximum, "max"},
                                                                 {SizeStep::Kind::FloatOf, "float"},
                                                                 {SizeStep::Kind::FloatAdd, "+."},
                                                                 {SizeStep::Kind::FloatSubtract, "-."},
                                                                 {SizeStep::Kind::FloatMultiply, "*."},
                                                                 {SizeStep::Kind::FloatDivide, "/."},
                                                                 {SizeStep::Kind::Power, "**."},
                                                                 {SizeStep::Kind::SquareRoot, "sqrt"},
                                                                 {SizeStep::Kind::Floor, "floor"},
                                                                 {SizeStep::Kind::Ceiling, "ceil"},
                                                                 {SizeStep::Kind::Truncate, "trunc"},
                                                                 {SizeStep::Kind::Nearest, "round"}};

// From the tuples of Python.
class Reader {
 public:
  Reader(const Exit& exit, const Symbols& symbols) : exit_(exit), symbols_(symbols) {}

  std::optional<SizeCondition> condition(PyObject* object) const {
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 3) return std::nullopt;
    const std::string_view relation = text(PyTuple_GET_ITEM(object, 0));
    const auto left = number(PyTuple_GET_ITEM(object, 1)), right = number(PyTuple_GET_ITEM(object, 2));
    if (!left || !right || left->is_float != right->is_float) return std::nullopt;
    if (left->is_float) return related(relation, FloatExpression{left->value}, FloatExpression{right->value});
    return related(relation, left->value, right->value);
  }

 private:
  struct Number {
    Expression value;  // the bits of a float
    bool is_float;
  };
  const Exit& exit_;
  const Symbols& symbols_;

  template <typename Expression>
  static std::optional<SizeCondition> related(std::string_view relation, Expression left, Expression right) {
    if (relation == "==") return is_equal(left, right);
    if (relation == "!=") return is_equal(left, right).negated();
    if (relation == "<") return is_less(left, right);
    if (relation == "<=") return is_less_equal(left, right);
    return std::nullopt;
  }

  static std::string_view text(PyObject* object) {
    const char* characters = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
    return characters ? characters : "";
  }

  std::optional<Number> number(PyObject* object) const {
    if (PyLong_Check(object)) {
      int overflow = 0;
      const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
      return overflow ? std::nullopt : std::optional(Number{constant(value), false});
    }
    if (PyFloat_Check(object)) return Number{float_constant(PyFloat_AS_DOUBLE(object)).bits, true};
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) < 2) return std::nullopt;
    const std::string_view name = text(PyTuple_GET_ITEM(object, 0));
    PyObject* first = PyTuple_GET_ITEM(object, 1);
    PyObject* second = PyTuple_GET_SIZE(object) == 3 ? PyTuple_GET_ITEM(object, 2) : nullptr;
    if (name == "int" || (name == "size" && second)) {
      const std::optional<Expression> found = input(first, name == "size" ? second : nullptr);
      return found ? std::optional(Number{*found, false}) : std::nullopt;
    }
    const auto row =
        std::ranges::find(kStepNames, name, [](const auto& step) { return std::string_view(step.second); });
    if (row == std::end(kStepNames)) return std::nullopt;
    const SizeStep::Kind kind = row->first;
    if (operands_of(kind) != PyTuple_GET_SIZE(object) - 1) return std::nullopt;
    const bool takes_floats = kind > SizeStep::Kind::FloatOf;
    const std::optional<Number> left = second ? number(first) : Number{{}, takes_floats};
    const std::optional<Number> right = number(second ? second : first);
    if (!left || !right || left->is_float != takes_floats || right->is_float != takes_floats) return std::nullopt;
    return Number{result_of({kind}, left->value, right->value), is_float_step(kind)};
  }

  std::optional<Expression> input(PyObject* position, PyObject* dimension) const {
    if (!PyLong_Check(position) || (dimension && !PyLong_Check(dimension))) return std::nullopt;
    const auto at = static_cast<size_t>(PyLong_AsLong(position));
    if (at >= exit_.inputs.size()) return std::nullopt;
    const auto symbol_number =
        symbol_of(symbols_, exit_.inputs[at], dimension ? static_cast<int32_t>(PyLong_AsLong(dimension)) : -1);
    return symbol_number ? std::optional(symbol(*symbol_number)) : std::nullopt;
  }
};

// The last results become the operands of a tuple.
void push_tuple(std::vector<Ref>& results, const char* name, int operands) {
  Ref tuple = Ref::made(PyTuple_New(operands + 1));
  PyTuple_SET_ITEM(tuple.get(), 0, Ref::made(PyUnicode_InternFromString(name)).release());
  for (int i = operands; i > 0; --i) {
    PyTuple_SET_ITEM(tuple.get(), i, results.back().release());
    results.pop_back();
  }
  results.push_back(std::move(tuple));
}

// The other way round: a step of an expression as a tuple over the last results. False: it has no such form.
bool push_step(const SizeStep& step, const Exit& exit, const Symbols& symbols, std::vector<Ref>& results) {
  using Kind = SizeStep::Kind;
  if (step.kind == Kind::Constant) {
    results.push_back(Ref::made(PyLong_FromLongLong(step.operand)));
    return true;
  }
  if (step.kind == Kind::FloatConstant) {
    results.push_back(Ref::made(PyFloat_FromDouble(std::bit_cast<double>(step.operand))));
    return true;
  }
  if (step.kind == Kind::Symbol) {
    const OpenNumber& number = symbols.numbers()[static_cast<size_t>(step.operand)];
    const auto input = std::ranges::find(exit.inputs, number.source);
    if (!number.source || input == exit.inputs.end()) return false;
    results.push_back(Ref::made(PyLong_FromSsize_t(input - exit.inputs.begin())));
    const bool is_size = number.dimension >= 0;
    if (is_size) results.push_back(Ref::made(PyLong_FromLong(number.dimension)));
    push_tuple(results, is_size ? "size" : "int", is_size ? 2 : 1);
    return true;
  }
  const auto row = std::ranges::find(kStepNames, step.kind, &std::pair<Kind, const char*>::first);
  if (row == std::end(kStepNames)) return false;
  push_tuple(results, row->second, operands_of(step.kind));
  return true;
}

// Which numbers of optimizers keep entries from fitting.
std::vector<std::string> rates_that_change(const CodeCache& cache, ConfigId id, const FrameView& view) {
  std::vector<std::string> found;
  for (const std::shared_ptr<CacheEntry>& entry : cache.entries()) {
    if (entry->config != id) continue;
    const GuardTree::Refusal refusal = entry->guards.refusal(view);
    if (std::string name = dynamic_float(refusal.changed_number); !name.empty()) found.push_back(std::move(name));
  }
  return found;
}

}  // namespace

DynamicSizes numbers_to_open(CodeCache& cache, ConfigId id, PyObject* config, const FrameView& frame) {
  const Ref dynamic = setting(config, "dynamic");
  DynamicSizes& known = cache.open_numbers[id];
  known.optimizer_hyperparameters = rates_that_change(cache, id, frame);
  if (dynamic.is(Py_False)) known.never = true;
  if (known.never) return known;
  known.all_sizes = dynamic.is(Py_True);
  if (is_set(config, "automatic_dynamic_shapes"))
    for (const std::shared_ptr<CacheEntry>& entry : cache.entries())
      if (entry->config == id)
        for (const auto& [source, dimensions] : entry->guards.changed_numbers(frame))
          if (dynamic_float(source).empty()) known.open(source, dimensions);
  return known;
}

// Tensors and ints are among the sources too: no float has the same.
std::vector<std::string> open_floats(const DynamicSizes& open) {
  std::vector<std::string> floats = open.optimizer_hyperparameters;
  for (const auto& [source, dimensions] : open.sources) floats.push_back(source);
  return floats;
}

void close_specialized(CodeCache& cache, ConfigId id, const Tracer& tracer) {
  DynamicSizes& known = cache.open_numbers[id];
  if (tracer.symbols.active())
    for (const OpenNumber& number : tracer.symbols.specialized())
      known.doubt(number.source->to_text(), number.dimension < 0 ? ~uint64_t{0} : uint64_t{1} << number.dimension);
  for (const Source* number : numbers_taken(tracer))
    if (const std::string path = number->to_text(); dynamic_float(path).empty()) known.doubt(path, ~uint64_t{0});
}

bool open_at_last(CodeCache& cache, ConfigId id, PyObject* config, const FrameView& frame) {
  DynamicSizes& known = cache.open_numbers[id];
  if (known.never || known.last_resort || !is_set(config, "automatic_dynamic_shapes")) return false;
  for (const std::shared_ptr<CacheEntry>& entry : cache.entries()) {
    if (entry->config != id) continue;
    for (const auto& [source, dimensions] : entry->guards.changed_numbers(frame)) {
      const auto open = known.sources.find(source);
      const bool is_open = open != known.sources.end() && (dimensions & ~open->second) == 0;
      known.last_resort |= !is_open && dynamic_float(source).empty();
    }
  }
  return known.last_resort;
}

void open_arguments(ConfigId id, const Exit& exit) {
  for (const Exit::OpenArgument& argument : exit.open_arguments)
    if (CodeCache* cache = CodeCache::get(as_code(argument.code.get())))
      cache->open_numbers[id].open(argument.source, argument.dimensions);
}

UnbackedNumberLimits unbacked_number_limits(PyCodeObject* code, ConfigId id, PyObject* config) {
  const DynamicSizes& known = CodeCache::get(code)->open_numbers[id];
  UnbackedNumberLimits limits;
  limits.scalars = !known.no_unknown && is_set(config, "capture_scalar_outputs");
  limits.sizes = !known.no_unknown && is_set(config, "capture_dynamic_output_shape_ops");
  limits.checks = !known.no_suppositions;
  return limits;
}

bool has_unknown_numbers(const Symbols& symbols) { return std::ranges::any_of(symbols.numbers(), is_unknown); }

Ref dimensions_tuple(OpenDimensions open) {
  std::vector<Ref> dimensions;
  for (int d = 0; d < 64; ++d)
    if (open >> d & 1) dimensions.push_back(Ref::made(PyLong_FromLong(d)));
  return tuple_of(dimensions);
}

bool announce_open_sizes(PyObject* graph_module, const Exit& exit, const Symbols& symbols) {
  if (!symbols.active()) return true;
  const Ref meta = Ref::steal(PyObject_GetAttrString(graph_module, "meta"));
  if (meta && has_unknown_numbers(symbols) && PyDict_SetItemString(meta.get(), "unbacked_numbers", Py_True) < 0)
    return false;
  if (std::ranges::all_of(symbols.numbers(), is_unknown)) return true;
  const Ref all = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(exit.inputs.size())));
  for (size_t i = 0; i < exit.inputs.size(); ++i) {
    const Source* source = exit.inputs[i];
    Ref dimensions = Ref::none();
    if (is_tensor(source->value.get())) dimensions = dimensions_tuple(source->open_sizes);
    PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), dimensions.release());
  }
  return meta && PyDict_SetItemString(meta.get(), kOpenSizes, all.get()) == 0;
}

Ref number_of_inputs(Expression expression, const Exit& exit, const Symbols& symbols) {
  std::vector<Ref> results;
  for (const SizeStep& step : steps_of(expression))
    if (!push_step(step, exit, symbols, results)) return nullptr;
  return std::move(results.back());
}

std::optional<std::vector<SizeCondition>> size_conditions(PyObject* graph_module, const Exit& exit,
                                                          const Symbols& symbols) {
  std::vector<SizeCondition> conditions;
  const Ref meta = Ref::steal(PyObject_GetAttrString(graph_module, "meta"));
  const Ref told = Ref::borrow(meta && PyDict_Check(meta.get()) ? named_item(meta.get(), kConditions) : nullptr);
  clear_error();
  if (!told) return conditions;
  const Ref list = Ref::steal(PySequence_List(told.get()));
  if (!list) return clear_error(), std::nullopt;
  const Reader reader(exit, symbols);
  try {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
      const std::optional<SizeCondition> condition = reader.condition(PyList_GET_ITEM(list.get(), i));
      if (!condition) return std::nullopt;
      if (!is_constant_expression(condition->expression)) conditions.push_back(*condition);
    }
  } catch (const std::runtime_error&) {  // too large
    return std::nullopt;
  } catch (const std::logic_error&) {
    return std::nullopt;
  }
  return conditions;
}

}  // namespace minidynamo
