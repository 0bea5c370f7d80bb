// torch.manual_seed(3): the graph draws its numbers when it runs, so the generator is seeded right before, as numbers
// of Python's are drawn there (world/proxies/drawn_number.h). Where the graph has drawn some already, the trace ends.
#include "library/rules/handlers.h"

#include <algorithm>

#include "library/rules/dropped_result.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "world/proxies/drawn_number.h"

namespace minidynamo::handlers {
namespace {

// seed(torch.manual_seed, number) -> 0.0, as a method that draws
PyObject* seed(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "seed(function, number)");
  const Ref generator = Ref::steal(PyObject_CallOneArg(arguments[0], arguments[1]));
  return generator ? PyFloat_FromDouble(0) : nullptr;
}

PyObject* seed_callable() { return native_function<METH_FASTCALL, seed>("seed"); }

// One that torch takes for sure.
bool is_plain_seed(const Arguments& arguments) {
  if (arguments.values.size() != 1 || arguments.keyword_names || !PyLong_CheckExact(arguments.values[0].get()))
    return false;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(arguments.values[0].get(), &overflow);
  return overflow == 0 && number >= 0;
}

}  // namespace

Ref seed_torch(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const bool has_drawn = std::ranges::any_of(
      tracer.graph.nodes(), [](const Node& node) { return node.impure && node.kind != NodeKind::Placeholder; });
  if (is_plain_seed(arguments) && !has_drawn && arguments.is_direct && is_result_dropped(*tracer.frame)) {
    const Ref drawn =
        draw_number(tracer, callable, seed_callable(), Ref::made(PyTuple_Pack(1, arguments.values[0].get())));
    if (drawn) return Ref::none();
  }
  return tracer.is_over() ? Ref() : tracer.abort(BreakReason::RandomSeed, "the random number generator is seeded");
}

}  // namespace minidynamo::handlers
