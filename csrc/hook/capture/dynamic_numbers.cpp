#include "hook/capture/dynamic_numbers.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "hook/settings.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/fake.h"
#include "world/proxies/dynamic_float.h"

namespace minidynamo {
namespace {

constexpr const char* kOpenSizes = "open_sizes";
constexpr const char* kConditions = "size_conditions";

std::optional<int32_t> symbol_of(const Symbols& symbols, const Source* source, int32_t dimension) {
  const std::vector<OpenNumber>& numbers = symbols.numbers();
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i].source == source && numbers[i].dimension == dimension) return static_cast<int32_t>(i);
  return std::nullopt;
}

// From the tuples of Python.
class Reader {
 public:
  Reader(const Exit& exit, const Symbols& symbols) : exit_(exit), symbols_(symbols) {}

  std::optional<SizeCondition> condition(PyObject* object) const {
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 3) return std::nullopt;
    const std::string_view relation = text(PyTuple_GET_ITEM(object, 0));
    PyObject *left = PyTuple_GET_ITEM(object, 1), *right = PyTuple_GET_ITEM(object, 2);
    if (const auto a = number(left), b = number(right); a && b) return related(relation, *a, *b);
    const auto a = real(left), b = real(right);
    return a && b ? related(relation, *a, *b) : std::nullopt;
  }

 private:
  const Exit& exit_;
  const Symbols& symbols_;

  template <typename Number>
  static std::optional<SizeCondition> related(std::string_view relation, Number left, Number right) {
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

  std::optional<Expression> number(PyObject* object) const {
    if (PyLong_Check(object)) {
      int overflow = 0;
      const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
      return overflow ? std::nullopt : std::optional(constant(value));
    }
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) < 2) return std::nullopt;
    const std::string_view name = text(PyTuple_GET_ITEM(object, 0));
    PyObject* first = PyTuple_GET_ITEM(object, 1);
    if (name == "int") return input(first, nullptr);
    if (PyTuple_GET_SIZE(object) == 2) {
      const std::optional<FloatExpression> made_of = real(first);
      if (!made_of) return std::nullopt;
      if (name == "floor") return rounded(Rounding::Floor, *made_of);
      if (name == "ceil") return rounded(Rounding::Ceiling, *made_of);
      if (name == "trunc") return rounded(Rounding::Truncate, *made_of);
      if (name == "round") return rounded(Rounding::Nearest, *made_of);
    }
    if (PyTuple_GET_SIZE(object) != 3) return std::nullopt;
    PyObject* second = PyTuple_GET_ITEM(object, 2);
    if (name == "size") return input(first, second);
    const std::optional<Expression> left = number(first), right = number(second);
    if (!left || !right) return std::nullopt;
    if (name == "+") return *left + *right;
    if (name == "*") return *left * *right;
    if (name == "//") return floor_divide(*left, *right);
    if (name == "%") return modulo(*left, *right);
    if (name == "min") return minimum(*left, *right);
    if (name == "max") return maximum(*left, *right);
    return std::nullopt;
  }

  std::optional<FloatExpression> real(PyObject* object) const {
    if (PyFloat_Check(object)) return float_constant(PyFloat_AS_DOUBLE(object));
    if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) < 2) return std::nullopt;
    const std::string_view name = text(PyTuple_GET_ITEM(object, 0));
    PyObject* first = PyTuple_GET_ITEM(object, 1);
    if (name == "float") {
      const std::optional<Expression> integer = number(first);
      return integer ? std::optional(float_of(*integer)) : std::nullopt;
    }
    const std::optional<FloatExpression> left = real(first);
    if (left && name == "sqrt") return square_root(*left);
    const auto right = PyTuple_GET_SIZE(object) == 3 ? real(PyTuple_GET_ITEM(object, 2)) : std::nullopt;
    if (!left || !right) return std::nullopt;
    if (name == "+.") return *left + *right;
    if (name == "*.") return *left * *right;
    if (name == "/.") return *left / *right;
    if (name == "**.") return power(*left, *right);
    return std::nullopt;
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

// The tuple (name, operands...), whose operands are the last results.
bool push_tuple(std::vector<Ref>& results, const char* name, size_t operands) {
  Ref tuple = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(operands) + 1));
  PyTuple_SET_ITEM(tuple.get(), 0, Ref::made(PyUnicode_InternFromString(name)).release());
  for (size_t i = operands; i > 0; --i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), results.back().release());
    results.pop_back();
  }
  results.push_back(std::move(tuple));
  return true;
}

// The other way round: a step of an expression as a tuple over the last results. False: it has no such form.
bool push_step(const SizeStep& step, const Exit& exit, const Symbols& symbols, std::vector<Ref>& results) {
  using Kind = SizeStep::Kind;
  auto negated = [&](Ref minus_one, const char* times) {
    results.push_back(std::move(minus_one));
    return push_tuple(results, times, 2);
  };
  switch (step.kind) {
    case Kind::Constant:
      results.push_back(Ref::made(PyLong_FromLongLong(step.operand)));
      return true;
    case Kind::Symbol: {
      const OpenNumber& number = symbols.numbers()[static_cast<size_t>(step.operand)];
      const auto input = std::ranges::find(exit.inputs, number.source);
      if (!number.source || input == exit.inputs.end()) return false;
      results.push_back(Ref::made(PyLong_FromSsize_t(input - exit.inputs.begin())));
      if (number.dimension < 0) return push_tuple(results, "int", 1);
      results.push_back(Ref::made(PyLong_FromLong(number.dimension)));
      return push_tuple(results, "size", 2);
    }
    case Kind::Add:
      return push_tuple(results, "+", 2);
    case Kind::Subtract:
      return negated(Ref::made(PyLong_FromLong(-1)), "*") && push_tuple(results, "+", 2);
    case Kind::Multiply:
      return push_tuple(results, "*", 2);
    case Kind::FloorDivide:
      return push_tuple(results, "//", 2);
    case Kind::Modulo:
      return push_tuple(results, "%", 2);
    case Kind::Minimum:
      return push_tuple(results, "min", 2);
    case Kind::Maximum:
      return push_tuple(results, "max", 2);
    case Kind::FloatConstant:
      results.push_back(Ref::made(PyFloat_FromDouble(std::bit_cast<double>(step.operand))));
      return true;
    case Kind::FloatOf:
      return push_tuple(results, "float", 1);
    case Kind::FloatAdd:
      return push_tuple(results, "+.", 2);
    case Kind::FloatSubtract:
      return negated(Ref::made(PyFloat_FromDouble(-1)), "*.") && push_tuple(results, "+.", 2);
    case Kind::FloatMultiply:
      return push_tuple(results, "*.", 2);
    case Kind::FloatDivide:
      return push_tuple(results, "/.", 2);
    case Kind::Power:
      return push_tuple(results, "**.", 2);
    case Kind::SquareRoot:
      return push_tuple(results, "sqrt", 1);
    case Kind::Order:
      return false;
    case Kind::Floor:
      return push_tuple(results, "floor", 1);
    case Kind::Ceiling:
      return push_tuple(results, "ceil", 1);
    case Kind::Truncate:
      return push_tuple(results, "trunc", 1);
    case Kind::Nearest:
      return push_tuple(results, "round", 1);
  }
  return false;
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

bool announce_open_sizes(PyObject* graph_module, const Exit& exit, const Symbols& symbols) {
  if (!symbols.active()) return true;
  const Ref meta = Ref::steal(PyObject_GetAttrString(graph_module, "meta"));
  const auto is_unknown = [](const OpenNumber& number) { return !number.source; };
  if (meta && std::ranges::any_of(symbols.numbers(), is_unknown) &&
      PyDict_SetItemString(meta.get(), "unbacked_numbers", Py_True) < 0)
    return false;
  if (std::ranges::all_of(symbols.numbers(), is_unknown)) return true;
  const Ref all = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(exit.inputs.size())));
  for (size_t i = 0; i < exit.inputs.size(); ++i) {
    const Source* source = exit.inputs[i];
    Ref dimensions = Ref::none();
    if (is_tensor(source->value.get())) {
      const Ref list = Ref::made(PyList_New(0));
      for (int d = 0; d < 64; ++d) {
        if (!(source->open_sizes >> d & 1)) continue;
        const Ref number = Ref::made(PyLong_FromLong(d));
        if (PyList_Append(list.get(), number.get()) < 0) return false;
      }
      dimensions = Ref::made(PyList_AsTuple(list.get()));
    }
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
