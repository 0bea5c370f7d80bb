#include "world/random_stream.h"

#include <unordered_map>

#include "python/out_of_memory.h"
#include "tensor/tensor_facts.h"
#include "world/known_types.h"
#include "world/tracer.h"

namespace minidynamo {
namespace {

// A tensor like one that an operator gave, which nothing shares its memory with.
Ref another_like(PyObject* fake) {
  static constinit Imported empty_like{"torch.empty_like"};
  const NativeScope unrecorded;
  return Ref::steal(PyObject_CallOneArg(empty_like, fake));
}

// Whether two draws take the same from the generator: the numbers among the arguments, and what tensors look like.
bool are_alike(PyObject* one, PyObject* other) {
  if (is_fake(one) || is_fake(other)) {
    if (!is_fake(one) || !is_fake(other)) return false;
    const NativeScope native;
    for (const char* name : {"dtype", "shape", "device"}) {
      const Ref a = Ref::steal(PyObject_GetAttrString(one, name)), b = Ref::steal(PyObject_GetAttrString(other, name));
      if (!a || !b || PyObject_RichCompareBool(a.get(), b.get(), Py_EQ) != 1) return false;
    }
    const Ref a = Ref::steal(PyObject_CallMethod(one, "stride", nullptr)),
              b = Ref::steal(PyObject_CallMethod(other, "stride", nullptr));
    return a && b && PyObject_RichCompareBool(a.get(), b.get(), Py_EQ) == 1;
  }
  if (PyTuple_Check(one) && PyTuple_Check(other)) {
    bool alike = PyTuple_GET_SIZE(one) == PyTuple_GET_SIZE(other);
    for (Py_ssize_t i = 0; alike && i < PyTuple_GET_SIZE(one); ++i)
      alike = are_alike(PyTuple_GET_ITEM(one, i), PyTuple_GET_ITEM(other, i));
    return alike;
  }
  return PyObject_RichCompareBool(one, other, Py_EQ) == 1;
}

}  // namespace

bool RandomStream::draws(PyObject* target) {
  static constinit Imported seeded{"torch.Tag.nondeterministic_seeded"};
  static auto* const known = new std::unordered_map<PyObject*, bool>;  // operators live as long as the process
  if (const auto found = known->find(target); found != known->end()) return found->second;
  const NativeScope native;
  const Ref tags = Ref::steal(PyObject_GetAttrString(target, "tags"));
  const bool does = tags && PySequence_Contains(tags.get(), seeded) == 1;
  clear_error();
  known->emplace(Ref::borrow(target).release(), does);
  return does;
}

void RandomStream::note(Tracer& tracer, PyObject* target, PyObject* args, PyObject* result) {
  if (!tracer.limits.below_autograd || !draws(target)) return;
  static constinit Imported clone{"torch.ops.aten.clone.default"};
  Draw draw{Ref::borrow(target), Ref::borrow(args), nullptr};
  if (is_kept_ && is_fake(result)) {
    draw.kept = another_like(result);
    const Ref operands = Ref::made(PyTuple_Pack(1, result));
    if (!draw.kept || tracer.graph.add_call(NodeKind::CallFunction, Ref::borrow(clone), operands.get(), nullptr,
                                            draw.kept.get(), false, nullptr) == kNoNode) {
      clear_error();
      draw.kept.reset();
    }
  }
  draws_.push_back(std::move(draw));
  position_ = draws_.size();
}

NodeId RandomStream::repeat(Tracer& tracer, PyObject* target, PyObject* args, PyObject* result) {
  static constinit Imported clone{"torch.ops.aten.clone.default"};
  static constinit Imported copy{"torch.ops.aten.copy_.default"};
  const Draw& draw = draws_[position_];
  const bool is_same = draw.kept && draw.target.is(target) && is_fake(result) && are_alike(draw.args.get(), args) &&
                       are_alike(draw.kept.get(), result);
  if (!is_same) {
    clear_error();
    return tracer.give_up(BreakReason::RandomSeed, "other random numbers are drawn when something is computed again"),
           kNoNode;
  }
  ++position_;
  const bool writes = PyTuple_GET_SIZE(args) > 0 && PyTuple_GET_ITEM(args, 0) == result;
  const Ref operands =
      writes ? Ref::made(PyTuple_Pack(2, result, draw.kept.get())) : Ref::made(PyTuple_Pack(1, draw.kept.get()));
  return tracer.graph.add_call(NodeKind::CallFunction, Ref::borrow(writes ? copy : clone), operands.get(), nullptr,
                               result, writes, tracer.frame ? tracer.frame->call_site() : nullptr);
}

}  // namespace minidynamo
