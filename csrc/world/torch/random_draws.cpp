// The draws of operators, and what stands in the graph for a draw that is made again.
#include "world/torch/random_stream.h"

#include <unordered_map>

#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"
#include "world/state/tracer.h"

namespace minidynamo {
namespace {

// A tensor like an operator's result, which nothing shares its memory with.
Ref another_like(PyObject* fake) {
  const NativeScope unrecorded;
  return Ref::steal(PyObject_CallOneArg("torch.empty_like"_imported, fake));
}

// True if two draws take the same from the generator: the numbers among the arguments, and what tensors look like.
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

constexpr const char* kDropout = "dropout_p";

struct Drawing {
  bool draws;
  Py_ssize_t dropout;  // the position of an argument without which it draws nothing, -1: there is none
};

Drawing drawing_of(PyObject* target) {
  const NativeScope native;
  const Ref tags = Ref::steal(PyObject_GetAttrString(target, "tags"));
  Drawing drawing{tags && PySequence_Contains(tags.get(), "torch.Tag.nondeterministic_seeded"_imported) == 1, -1};
  const Ref schema = Ref::steal(PyObject_GetAttrString(target, "_schema"));
  const Ref arguments = schema ? Ref::steal(PyObject_GetAttrString(schema.get(), "arguments")) : Ref();
  for (Py_ssize_t i = 0; arguments && PyList_Check(arguments.get()) && i < PyList_GET_SIZE(arguments.get()); ++i) {
    const Ref name = Ref::steal(PyObject_GetAttrString(PyList_GET_ITEM(arguments.get(), i), "name"));
    if (name && PyUnicode_CompareWithASCIIString(name.get(), kDropout) == 0) drawing.dropout = i;
  }
  clear_error();
  return drawing;
}

}  // namespace

bool RandomStream::draws(PyObject* target, PyObject* args, PyObject* kwargs) {
  static auto* const known = new std::unordered_map<PyObject*, Drawing>;  // operators live as long as the process
  auto found = known->find(target);
  if (found == known->end()) found = known->emplace(Ref::borrow(target).release(), drawing_of(target)).first;
  if (!found->second.draws || found->second.dropout < 0) return found->second.draws;
  PyObject* given = found->second.dropout < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, found->second.dropout)
                    : kwargs                                       ? named_item(kwargs, kDropout)
                                                                   : nullptr;
  return given && !(PyFloat_Check(given) && PyFloat_AS_DOUBLE(given) == 0);
}

void RandomStream::note(Tracer& tracer, PyObject* target, PyObject* args, PyObject* kwargs, PyObject* result) {
  if (!tracer.limits.below_autograd || !draws(target, args, kwargs)) return;
  Draw draw{Ref::borrow(target), Ref::borrow(args), nullptr};
  if (is_kept_ && is_fake(result)) {
    draw.kept = another_like(result);
    const Ref operands = Ref::made(PyTuple_Pack(1, result));
    if (!draw.kept ||
        tracer.graph.add_call(NodeKind::CallFunction, Ref::borrow("torch.ops.aten.clone.default"_imported),
                              operands.get(), nullptr, draw.kept.get(), false, nullptr) == kNoNode) {
      clear_error();
      draw.kept.reset();
    }
  }
  draws_.push_back(std::move(draw));
  position_ = draws_.size();
}

NodeId RandomStream::repeat(Tracer& tracer, PyObject* target, PyObject* args, PyObject* result) {
  const Draw& draw = draws_[position_];
  const bool is_same = draw.kept && draw.target.is(target) && is_fake(result) && are_alike(draw.args.get(), args) &&
                       are_alike(draw.kept.get(), result);
  if (!is_same) {
    clear_error();
    return tracer.abort(BreakReason::RandomSeed, "other random numbers are drawn when something is computed again"),
           kNoNode;
  }
  ++position_;
  const bool writes = PyTuple_GET_SIZE(args) > 0 && PyTuple_GET_ITEM(args, 0) == result;
  const Ref operands =
      writes ? Ref::made(PyTuple_Pack(2, result, draw.kept.get())) : Ref::made(PyTuple_Pack(1, draw.kept.get()));
  return tracer.graph.add_call(
      NodeKind::CallFunction,
      Ref::borrow(writes ? "torch.ops.aten.copy_.default"_imported : "torch.ops.aten.clone.default"_imported),
      operands.get(), nullptr, result, writes, tracer.frame ? tracer.frame->call_site() : nullptr);
}

}  // namespace minidynamo
