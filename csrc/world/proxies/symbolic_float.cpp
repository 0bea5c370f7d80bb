#include "world/proxies/symbolic_float.h"

#include <cmath>

#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

struct NumberObject {
  PyObject_HEAD;
  PyObject* tensor;
  NumberFacts* facts;
};

NumberObject* as_number(PyObject* object) noexcept { return reinterpret_cast<NumberObject*>(object); }

long numbers_alive = 0;

void number_dealloc(PyObject* self) {
  --numbers_alive;
  delete as_number(self)->facts;
  Ref::drop(as_number(self)->tensor);
  PyObject_Free(self);
}

// C code wants the value.
std::nullptr_t ask() {
  if (Tracer* tracer = Tracer::current())
    return tracer->abort(BreakReason::ScalarRead, "native code uses a number that the trace does not know");
  PyErr_SetString(PyExc_RuntimeError, "minidynamo: a number of a trace is used after it");
  return nullptr;
}
PyObject* ask_binary(PyObject*, PyObject*) { return ask(); }
PyObject* ask_ternary(PyObject*, PyObject*, PyObject*) { return ask(); }
PyObject* ask_unary(PyObject*) { return ask(); }
PyObject* ask_compare(PyObject*, PyObject*, int) { return ask(); }
int ask_truth(PyObject*) { return ask(), -1; }
Py_hash_t ask_hash(PyObject*) { return ask(), -1; }

PyNumberMethods make_number_methods() {
  PyNumberMethods methods{};
  methods.nb_add = methods.nb_subtract = methods.nb_multiply = methods.nb_remainder = methods.nb_divmod =
      methods.nb_floor_divide = methods.nb_true_divide = entry<ask_binary>;
  methods.nb_power = entry<ask_ternary>;
  methods.nb_negative = methods.nb_positive = methods.nb_absolute = methods.nb_int = methods.nb_float =
      entry<ask_unary>;
  methods.nb_bool = entry<ask_truth>;
  return methods;
}
PyNumberMethods number_methods = make_number_methods();

}  // namespace

ProxyType type_of_unknown(ProxyKind kind, const char* name, Py_ssize_t size, destructor dealloc) noexcept {
  ProxyType made = make_proxy_type(kind, name, size, dealloc);
  made.type.tp_as_number = &number_methods;
  made.type.tp_repr = entry<ask_unary>;
  made.type.tp_str = entry<ask_unary>;
  made.type.tp_hash = entry<ask_hash>;
  made.type.tp_richcompare = entry<ask_compare>;
  return made;
}
namespace {
ProxyType float_type = type_of_unknown(ProxyKind::Float, "float", sizeof(NumberObject), number_dealloc);
}  // namespace

bool is_symbolic_float(PyObject* object) noexcept { return Py_IS_TYPE(object, &float_type.type); }
bool any_symbolic_floats() noexcept { return numbers_alive > 0; }

Ref make_symbolic_float(Tracer& tracer, Ref tensor, NumberFacts facts) {
  make_ready(float_type.type);
  auto own_facts = std::make_unique<NumberFacts>(std::move(facts));
  Ref object = Ref::made(as_object(PyObject_New(NumberObject, &float_type.type)));
  ++numbers_alive;
  as_number(object.get())->tensor = tensor.release();
  as_number(object.get())->facts = own_facts.release();
  tracer.world.make_opaque(object.get());
  tracer.identities.kept.push_back(object);  // opaque by its address
  return object;
}

PyObject* tensor_of_number(PyObject* number) noexcept { return as_number(number)->tensor; }
const NumberFacts& facts_of_number(PyObject* number) noexcept { return *as_number(number)->facts; }

Ref value_of_number(Tracer& tracer, PyObject* number) {
  const NumberFacts& facts = facts_of_number(number);
  if (!facts.value) return refuse_number(tracer, number, "the program");
  for (Source* source : facts.sources) tracer.guards.add(source, GuardKind::Constant, tracer.origin());
  for (const Expression size : facts.sizes) tracer.symbols.trace().specialize(size);
  return facts.value;
}

namespace {

bool is_as_given(const NumberFacts& facts) {
  return facts.value && facts.sources.size() == 1 && facts.value.is(facts.sources[0]->value.get());
}

bool guard_comparison(Tracer& tracer, Source* source, int comparison, const Ref& other, const Ref& answer) {
  Source* compared = tracer.guards.child(source, Access::Compared, other.get(), comparison, answer.get());
  tracer.guards.add(compared, GuardKind::Constant, tracer.origin());
  return answer.is(Py_True);
}

}  // namespace

std::optional<bool> compare_number(Tracer& tracer, PyObject* number, int comparison, double other) {
  const NumberFacts& facts = facts_of_number(number);
  if (!is_as_given(facts)) return std::nullopt;
  const Ref key = Ref::made(PyFloat_FromDouble(other)),
            answer = Ref::made(PyObject_RichCompare(facts.value.get(), key.get(), comparison));
  return guard_comparison(tracer, facts.sources[0], comparison, key, answer);
}

Source* source_of_magnitude(const NumberFacts& facts) noexcept {
  return is_as_given(facts) ? facts.sources[0] : facts.magnitude;
}

std::optional<bool> number_outgrows(Tracer& tracer, PyObject* number, double limit) {
  Source* source = source_of_magnitude(facts_of_number(number));
  if (!source) return std::nullopt;
  const double value = PyFloat_AS_DOUBLE(source->value.get());
  const Ref answer = Ref::boolean(std::isfinite(value) && std::abs(value) > limit);
  return guard_comparison(tracer, source, kOutgrows, Ref::made(PyFloat_FromDouble(limit)), answer);
}

std::nullptr_t refuse_number(Tracer& tracer, PyObject* number, const std::string& what) {
  // Which also knows whether the trace would better have ended where it was read.
  if (const auto& asked = facts_of_number(number).asked; asked && !tracer.is_over())
    tracer.symbols.trace().ask(is_equal(*asked, constant(0)));
  return tracer.abort(BreakReason::ScalarRead, what + " needs the value of a number that the trace does not know");
}

}  // namespace minidynamo
