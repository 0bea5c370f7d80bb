#include "world/proxies/drawn_number.h"

#include <algorithm>

#include "python/process/out_of_memory.h"
#include "tensor/fake/number_tensor.h"
#include "world/proxies/symbolic_float.h"

namespace minidynamo {
namespace {

// The input of the graph for what will look like `example`, a real tensor. Null without a break: there can be none.
Ref add_draw(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments, PyObject* example) {
  Source* source = tracer.world.source_of(generator);
  // In a body it would be drawn as often as that runs; what a call of the log draws would have to come before.
  if (!example || !source || tracer.symbols.bodies || tracer.transforms.inside() || tracer.effects.has_calls() ||
      !tracer.may_assume())
    return nullptr;
  const Ref name = Ref::made(PyObject_GetAttr(method, "__name__"_name));
  Ref fake = make_fake(example);
  if (!fake) return clear_error(), nullptr;
  const auto number = static_cast<int32_t>(tracer.drawn.size());
  Source* draw = tracer.guards.child(source, Access::Draw, name.get(), number, example);
  tracer.graph.add_drawn_input(draw->to_text(), fake);
  tracer.drawn.push_back({fake, Ref::borrow(method), std::move(arguments), draw});
  tracer.assume(Assumption::Kind::GraphComputes);
  tracer.effects.note_change();
  return fake;
}

}  // namespace

Ref draw_number(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments) {
  const Ref some_number = Ref::made(PyFloat_FromDouble(0.5)), example = tensor_of_float(some_number.get());
  Ref fake = add_draw(tracer, generator, method, std::move(arguments), example.get());
  return fake ? make_symbolic_float(tracer, std::move(fake)) : Ref();
}

Ref draw_int(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments) {
  const Ref some_number = Ref::made(PyLong_FromLong(1)), example = tensor_of_int(some_number.get());
  const Ref fake = add_draw(tracer, generator, method, std::move(arguments), example.get());
  return fake ? tracer.unbacked_numbers.read(fake.get()) : Ref();
}

Ref draw_tensor(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments, PyObject* example) {
  return add_draw(tracer, generator, method, std::move(arguments), example);
}

const DrawnNumber* drawn_number(const Tracer& tracer, PyObject* fake) noexcept {
  const auto found = std::ranges::find_if(tracer.drawn, [&](const DrawnNumber& one) { return one.fake.is(fake); });
  return found == tracer.drawn.end() ? nullptr : &*found;
}

}  // namespace minidynamo
