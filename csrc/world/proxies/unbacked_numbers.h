// Numbers of a trace that only the run of the graph knows: what item() reads, how many elements a mask takes. The trace
// goes on with symbols for them (size/trace_sizes.h).
//
// What the program asks of one that is not known ends the trace there, with the number computed by the graph. Where one
// answer is an error, or rare, the graph checks that it is not so (aten._assert_scalar), and fails otherwise: then the
// frame runs uncaptured, so such a graph may change nothing (Assumption::Kind::PureGraph).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "python/ref.h"
#include "size/trace_sizes.h"

namespace minidynamo {

class Tracer;

// The beginning of a graph's message where a supposition does not hold.
inline constexpr const char* kSupposition = "a captured graph is for numbers with ";

// Limits on what a trace may take for such numbers. They are numbered in the order in which the trace comes to them,
// which is the same in all traces of the same frame.
struct UnbackedNumberLimits {
  bool scalars = true, sizes = true, checks = true;
  std::set<size_t> refused;            // these are read where the trace ends
  std::map<size_t, int64_t> examples;  // that agree with what the program does with them
};

class UnbackedNumbers {
 public:
  explicit UnbackedNumbers(Tracer& tracer) : tracer_(tracer) {}
  ~UnbackedNumbers();
  UnbackedNumbers(const UnbackedNumbers&) = delete;

  UnbackedNumberLimits limits;

  // A float is a traced number (symbolic_float.h), whose symbol only stands for it in questions.
  enum class Kind : uint8_t { Scalar, Size, Float };
  // A symbol for one; nullopt: the trace may take none here.
  std::optional<Expression> make(Kind kind, SizeRange range);
  // The same for a size; of the elements of one tensor that are not 0 there are as many as before (OperatorObserver).
  std::optional<Expression> make_size(SizeRange range, PyObject* elements_of, uint32_t version);
  // The same for what a tensor's method reads, recorded as a call of item(). Null without a break: it may not.
  Ref read(PyObject* fake);
  bool any() const noexcept { return !made_.empty(); }

  // The graph checks it, and says this if it does not hold. `must_be_pure`: it is no error of the program's. False: the
  // trace is given up.
  bool check_in_graph(SizeCondition condition, PyObject* message, bool must_be_pure);
  bool checks_suppositions() const noexcept { return checks_suppositions_; }

  // Why the trace would better have been made otherwise, after it has been given up.
  std::optional<std::pair<size_t, int64_t>> wanted_example;
  std::optional<size_t> better_refused;

 private:
  struct One {
    Kind kind;
    Expression symbol;
    size_t calls_before;  // the graph's
    size_t ordinal;
  };
  Tracer& tracer_;
  std::vector<One> made_;
  std::map<std::pair<PyObject*, long>, Ref> read_;             // by fake and version
  std::map<std::pair<PyObject*, long>, Expression> elements_;  // the same
  size_t count_ = 0;
  bool checks_suppositions_ = false;

  void refuse(SizeCondition condition);
  bool check(SizeCondition condition);
  bool agree_on_example(SizeCondition condition);
};

}  // namespace minidynamo
