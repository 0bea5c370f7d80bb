// Symbolic ints on the evaluator's stack, and floats computed of them. To the program they are ints and floats:
// arithmetic on them makes others, a comparison or a test is answered and becomes a condition of the trace. Any other
// use takes the number that it is, and the trace is good for that number alone (it is specialized).
#pragma once
#include <optional>

#include "bytecode/instruction.h"
#include "world/state/tracer.h"

namespace minidynamo {

// True if an object is one. False at once in traces without.
inline bool is_size(const Tracer& tracer, PyObject* object) noexcept {
  return tracer.symbols.active() && is_symbolic_int(object);
}
// True if it is a float computed of such ints.
inline bool is_size_float(const Tracer& tracer, PyObject* object) noexcept {
  return tracer.symbols.active() && is_float_of_sizes(object);
}
inline bool is_size_or_float(const Tracer& tracer, PyObject* object) noexcept {
  return tracer.symbols.active() && is_symbolic_int_or_float(object);
}
// True if it is a truth value that only the run of the graph knows (world/proxies/unbacked_numbers.h).
inline bool is_unknown_truth(const Tracer& tracer, PyObject* object) noexcept {
  return tracer.symbols.active() && is_symbolic_bool(object);
}
// True for a symbolic int, float or bool and a traced number (world/proxies/symbolic_float.h): the trace does not
// know the value.
bool stands_for_number(const Tracer& tracer, PyObject* object) noexcept;
// The same, or whether it is a list, tuple, dict or slice that holds one.
bool holds_size(const Tracer& tracer, PyObject* object);
// The same, or something from before the trace whose elements have not been looked at.
bool may_hold_size(Tracer& tracer, PyObject* object);

// An int, a bool or a symbolic int as an expression; nullopt for anything else, and for what does not fit into 64 bits.
std::optional<Expression> size_expression(const Tracer& tracer, PyObject* object);
// The same, or a float or float of sizes, as a float; nullopt also for what only the run of the graph knows.
std::optional<FloatExpression> float_expression(const Tracer& tracer, PyObject* object);

// The object with numbers in place of symbolic ints, and of traced numbers that follow from what the call was given, at
// any depth of lists, tuples, dicts and slices: containers are changed in place, since an int is as good as another of
// its value. Null with a Python error set.
Ref specialized(Tracer& tracer, PyObject* object);
// The answer of a method of torch's symbolic numbers that native code calls on one of the trace's (`SymInt.__index__`):
// that of the number that it stands for. nullopt: it is another function.
std::optional<Ref> number_asked_by_native_code(Tracer& tracer, PyObject* function, FastLocals slots);
// The inputs of an instruction that takes none, and what it will read. False with a Python error set.
bool specialize_operands(Tracer& tracer, Frame& frame, const Instruction& now);

// nullopt: none of the operands is a symbolic int, or they have been specialized (`left` and `right` are their numbers
// then).
std::optional<Ref> size_unary(Tracer& tracer, Op op, Ref& operand);
std::optional<Ref> size_binary(Tracer& tracer, int number, Ref& left, Ref& right);
std::optional<Ref> size_compare(Tracer& tracer, int comparison, Ref& left, Ref& right);
int size_truth(Tracer& tracer, PyObject* size);  // 1, 0
int float_truth(Tracer& tracer, PyObject* float_of_sizes);
// An integer made of a float of sizes, or a symbolic int as it is. nullopt: it is neither, or has no such integer.
std::optional<Ref> size_rounded(Tracer& tracer, Rounding how, PyObject* object);
// A float as it stands on the evaluator's stack; nullopt: it has no value.
std::optional<Ref> size_float(Tracer& tracer, std::optional<FloatExpression> e);
// `not` of a truth value that only the run of the graph knows.
Ref opposite_truth(Tracer& tracer, PyObject* truth);

}  // namespace minidynamo
