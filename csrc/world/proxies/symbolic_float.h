// Python floats whose values a trace does not know: what the counters of an optimizer's steps are read as, random
// numbers (drawn_number.h), floats that change between calls (dynamic_float.h), and what the program reads out of
// tensors (model/proxies/unknown_reads.h).
//
// The value is a fake tensor without dimensions, of float64 on the CPU. What the program computes of it is computed of
// the tensor, with the same rounding as CPython's (model/proxies/number_call.h), so that no value becomes a constant of
// the trace. Where it leaves the trace, residual code reads it. Whatever would have to know it ends the trace, but of
// one that follows from what the call was given: then the trace is good for that value alone.
#pragma once
#include <vector>

#include "world/proxies/proxy.h"
#include "world/state/tracer.h"

namespace minidynamo {

// The facts that are known of such a number.
struct NumberFacts {
  Ref value;                        // a float, if it follows from what is below; or null
  std::vector<Source*> sources;     // floats that it is computed of
  std::vector<Expression> sizes;    // and ints
  std::optional<Expression> asked;  // for a number that only the run of the graph knows: it stands for it in questions
  Source* magnitude = nullptr;  // a float that the call was given and whose absolute value it has, with another sign
  bool is_any = false;          // made by the program: it may be zero, where CPython divides by none
};

bool is_symbolic_float(PyObject* object) noexcept;
// True if any trace has one: false for nearly all programs.
bool any_symbolic_floats() noexcept;
// Makes one of a fake without dimensions, of float64 on the CPU, that nothing else writes to.
Ref make_symbolic_float(Tracer& tracer, Ref tensor, NumberFacts facts = {});
PyObject* tensor_of_number(PyObject* number) noexcept;  // borrowed
// The float that the call was given and whose absolute value one has; null if there is none.
Source* source_of_magnitude(const NumberFacts& facts) noexcept;
const NumberFacts& facts_of_number(PyObject* number) noexcept;
// The float that it is, from here on at every call that the trace is good for. Null: it is not known, and the trace is
// given up.
Ref value_of_number(Tracer& tracer, PyObject* number);
// The comparison of a number with a float, where it can be asked without taking the number's value: for a number that
// the call was given, as it is. nullopt for any other.
std::optional<bool> compare_number(Tracer& tracer, PyObject* number, int comparison, double other);
// True if one is finite, and of a larger magnitude than `limit`; asked, or not, in the same way, and also of a
// negative.
std::optional<bool> number_outgrows(Tracer& tracer, PyObject* number, double limit);
// The trace is given up, for `what` needs a value that it does not know.
std::nullptr_t refuse_number(Tracer& tracer, PyObject* number, const std::string& what);

// A type of objects that stand for values which the trace does not know, named as the type of these: C code that asks
// for one ends the trace.
ProxyType type_of_unknown(ProxyKind kind, const char* name, Py_ssize_t size, destructor dealloc) noexcept;

}  // namespace minidynamo
