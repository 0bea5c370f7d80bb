#include "world/drawn_number.h"

#include <algorithm>

#include "python/out_of_memory.h"
#include "tensor/number_tensor.h"
#include "world/traced_number.h"

namespace minidynamo {

Ref draw_number(Tracer& tracer, PyObject* generator, PyObject* method, Ref arguments) {
  static PyObject* const name_name = interned("__name__");
  Source* source = tracer.world.source_of(generator);
  // In a body it would be drawn as often as that runs; what a call of the log draws would have to come before.
  if (!source || tracer.symbols.bodies || tracer.transforms.inside() || tracer.effects.has_calls() ||
      !tracer.may_assume())
    return nullptr;
  const Ref some_number = Ref::made(PyFloat_FromDouble(0.5)), name = Ref::made(PyObject_GetAttr(method, name_name));
  const Ref real = tensor_of_float(some_number.get());
  Ref fake = real ? make_fake(real.get()) : Ref();
  if (!fake) return clear_error(), nullptr;
  const auto number = static_cast<int32_t>(tracer.drawn.size());
  Source* draw = tracer.guards.child(source, Access::Draw, name.get(), number, real.get());
  tracer.graph.add_drawn_input(draw->to_text(), fake);
  tracer.drawn.push_back({fake, Ref::borrow(method), std::move(arguments), draw});
  tracer.assume(Assumption::Kind::GraphComputes);
  tracer.effects.note_change();
  return make_traced_number(tracer, std::move(fake));
}

const DrawnNumber* drawn_number(const Tracer& tracer, PyObject* fake) noexcept {
  const auto found = std::ranges::find_if(tracer.drawn, [&](const DrawnNumber& one) { return one.fake.is(fake); });
  return found == tracer.drawn.end() ? nullptr : &*found;
}

}  // namespace minidynamo
