// The parts of UnbackedNumbers that change its trace: a tracer has them, so this is apart from their header.
#include <algorithm>

#include "python/error_text.h"
#include "python/process/held_gil.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/state/tracer.h"

namespace minidynamo {
namespace {

// Small, so that they agree with most bounds, and such as sizes seldom are.
constexpr int64_t kExamples[] = {5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};

}  // namespace

// Numbers outlive their trace in the metadata of its graph.
UnbackedNumbers::~UnbackedNumbers() {
  if (made_.empty()) return;
  TraceSizes& sizes = tracer_.symbols.trace();
  sizes.refuse = nullptr;
  sizes.check = nullptr;
}

std::optional<Expression> UnbackedNumbers::make(Kind kind, SizeRange range) {
  const size_t ordinal = count_++;
  if (!(kind == Kind::Size ? limits.sizes : limits.scalars) || limits.refused.contains(ordinal) ||
      tracer_.symbols.bodies > 0 || tracer_.transforms.inside())
    return std::nullopt;
  // Operators that are recorded one by one have numbers in the place of symbols; a float is a tensor.
  const bool is_whole_step = tracer_.limits.below_autograd && kind == Kind::Float;
  if (!is_whole_step && (tracer_.limits.below_autograd || tracer_.transforms.records_operators())) return std::nullopt;
  const auto known = limits.examples.find(ordinal);
  const int64_t example = known != limits.examples.end() ? known->second : kExamples[ordinal % std::size(kExamples)];
  const Expression symbol = tracer_.symbols.unbacked_symbol(std::clamp(example, range.lower, range.upper), range);
  TraceSizes& sizes = tracer_.symbols.trace();
  sizes.refuse = [this](SizeCondition condition) { refuse(condition); };
  sizes.check = [this](SizeCondition condition) { return check(condition); };
  made_.push_back({kind, symbol, tracer_.graph.call_count(), ordinal});
  return symbol;
}

std::optional<Expression> UnbackedNumbers::make_size(SizeRange range, PyObject* elements_of, uint32_t version) {
  // The graph owns what it knows, so an address is a tensor.
  const bool is_kept =
      elements_of && tracer_.graph.producer(elements_of) != kNoNode && !tracer_.storages.is_written(elements_of);
  if (!is_kept) return make(Kind::Size, range);
  const std::pair<PyObject*, long> place{elements_of, version};
  if (const auto known = elements_.find(place); known != elements_.end()) return known->second;
  const std::optional<Expression> made = make(Kind::Size, range);
  if (made) elements_.emplace(place, *made);
  return made;
}

Ref UnbackedNumbers::read(PyObject* fake) {
  const Ref version = tensor_fact(fake, TensorFact::Version);
  const bool is_unwritten = !tracer_.storages.is_written(fake);
  const std::pair<PyObject*, long> place{fake, version ? PyLong_AsLong(version.get()) : -1};
  clear_error();
  if (const auto known = read_.find(place); known != read_.end() && version && is_unwritten) return known->second;
  const std::optional<Expression> symbol = make(Kind::Scalar, SizeRange{});
  if (!symbol) return nullptr;
  Ref number = tracer_.symbols.object(*symbol);
  const Ref arguments = Ref::made(PyTuple_Pack(1, fake));
  const NodeId node =
      number ? tracer_.graph.add_call(NodeKind::CallMethod, Ref::borrow("item"_name), arguments.get(), nullptr,
                                      number.get(), false, tracer_.frame ? tracer_.frame->call_site() : nullptr)
             : kNoNode;
  if (node == kNoNode) return tracer_.abort(BreakReason::GraphArgument, "item(): " + take_error_text()), nullptr;
  tracer_.symbols.read_from_node(*symbol, node);
  made_.back().calls_before = tracer_.graph.call_count();
  read_[place] = number;
  tracer_.identities.kept.push_back(Ref::borrow(fake));
  return number;
}

void UnbackedNumbers::refuse(SizeCondition condition) {
  if (Tracer::current() != &tracer_) throw TraceAborted();  // a backend asks
  const HeldGil gil;
  const std::vector<int32_t> symbols = symbols_of(condition.expression);
  bool is_float = false;
  // A number that was read for this question alone: the trace may as well end where it is read.
  for (const One& one : made_) {
    if (one.kind == Kind::Size || std::ranges::find(symbols, symbols_of(one.symbol).front()) == symbols.end()) continue;
    is_float |= one.kind == Kind::Float;
    if (one.calls_before == tracer_.graph.call_count() && !tracer_.is_over()) better_refused = one.ordinal;
  }
  const std::string text = tracer_.symbols.sizes()->text(condition);
  tracer_.abort(BreakReason::ScalarRead, is_float ? "the program needs a float that only the run of the graph knows"
                                                  : "the program needs a number that only the run of the graph knows "
                                                    "(whether " +
                                                        text + ")");
  throw TraceAborted();
}

// Examples are to be of the case that the trace is about.
bool UnbackedNumbers::agree_on_example(SizeCondition condition) {
  TraceSizes& sizes = *tracer_.symbols.sizes();
  std::vector<int64_t> values(sizes.values().begin(), sizes.values().end());
  const auto agrees = [&](SizeCondition one) {
    const std::optional<int64_t> value = evaluate(one.expression, values);
    return value && holds(one.relation, *value);
  };
  if (agrees(condition)) return true;
  const std::vector<int32_t> symbols = symbols_of(condition.expression);
  for (auto one = made_.rbegin(); one != made_.rend(); ++one) {
    const int32_t number = symbols_of(one->symbol).front();
    if (std::ranges::find(symbols, number) == symbols.end()) continue;
    const int64_t before = values[number];
    for (int64_t i = 0; i < 600; ++i) {
      values[number] = i < 512 ? (i + 3) % 512 : int64_t{1} << (i - 512) % 40;
      if (!agrees(condition) || !std::ranges::all_of(sizes.facts(), agrees)) continue;
      wanted_example = {one->ordinal, values[number]};
      break;
    }
    values[number] = before;
    if (wanted_example) break;
  }
  if (!wanted_example) return false;
  tracer_.abort(BreakReason::ScalarRead, "an example of a number does not agree with what the program does");
  throw TraceAborted();
}

bool UnbackedNumbers::check(SizeCondition condition) {
  if (Tracer::current() != &tracer_) return false;
  const HeldGil gil;
  if (!limits.checks || !tracer_.may_assume() || tracer_.is_over()) return false;
  return agree_on_example(condition) && check_in_graph(condition, nullptr, true);
}

bool UnbackedNumbers::check_in_graph(SizeCondition condition, PyObject* message, bool must_be_pure) {
  if (!agree_on_example(condition)) return false;
  const Ref object = tracer_.symbols.condition_object(condition);
  const std::string text = kSupposition + tracer_.symbols.sizes()->text(condition);
  const Ref words = message ? Ref::borrow(message) : Ref::made(PyUnicode_FromString(text.c_str()));
  const Ref arguments = object ? Ref::made(PyTuple_Pack(2, object.get(), words.get())) : Ref();
  const size_t calls = tracer_.graph.call_count();
  const NodeId node =
      arguments ? tracer_.graph.add_call(NodeKind::CallFunction,
                                         Ref::borrow("torch.ops.aten._assert_scalar.default"_imported), arguments.get(),
                                         nullptr, Py_None, true, tracer_.frame ? tracer_.frame->call_site() : nullptr)
                : kNoNode;
  if (node == kNoNode) {
    tracer_.abort(BreakReason::GraphArgument, "a check of a number: " + take_error_text());
    return false;
  }
  tracer_.graph.mark_last_as_check();
  for (One& one : made_)
    if (one.calls_before == calls) one.calls_before = tracer_.graph.call_count();  // it is no use of the number
  if (must_be_pure) {
    tracer_.assume(Assumption::Kind::PureGraph);
    checks_suppositions_ = true;
  }
  return true;
}

}  // namespace minidynamo
