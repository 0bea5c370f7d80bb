// torch.nn.attention.flex_attention: its Python function is traced up to the operator itself, which is given a function
// of a score and of the score's place, and one of the place alone in its block mask. Both become bodies; the tensors
// that they use are operands.
#include "library/rules/handlers.h"

#include "model/native/body.h"
#include "model/protocols/abstract.h"
#include "model/tensors/tensor_call.h"
#include "python/error_text.h"
#include "python/native_method.h"
#include "python/objects/sequence.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"
#include "world/state/entered_context.h"

namespace minidynamo::handlers {
namespace {

std::nullptr_t refuse(Tracer& tracer, const std::string& why) {
  if (tracer.is_over()) return nullptr;
  clear_error();
  return tracer.abort(BreakReason::HigherOrder, "flex_attention: " + why);
}

// A tensor of one number, of a dtype, where another lies.
Ref number_beside(PyObject* fake, PyObject* dtype) {
  const NativeScope native;
  const Ref shape = Ref::made(PyTuple_New(0)), names = Ref::made(PyTuple_Pack(1, "dtype"_name));
  return dtype ? call_native_method(fake, "new_empty"_name, {shape.get(), dtype}, names.get())
               : call_native_method(fake, "new_empty"_name, {shape.get()});
}

std::unique_ptr<Subgraph> body_of(Tracer& tracer, PyObject* function, std::vector<Ref> numbers, const char* name) {
  for (const Ref& number : numbers)
    if (!number) return refuse(tracer, take_error_text()), nullptr;
  Body body(tracer, "flex_attention", {function});
  for (const Ref& number : numbers) body.add_parameter("number", number);
  Ref result;
  {
    // An index that is a tensor selects as a tensor does, as where the operator runs.
    const EnteredContext mode("torch._dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex"_imported);
    if (!mode) return refuse(tracer, take_error_text()), nullptr;
    result = call(tracer, function, Arguments{numbers});
  }
  if (!result) return refuse(tracer, "a function raises " + take_error_text()), nullptr;
  if (!body.only_computes()) return nullptr;
  if (!is_fake(result.get())) return refuse(tracer, "a function returns something else than a tensor"), nullptr;
  std::unique_ptr<Subgraph> taken = body.take(result.get(), name);
  if (!taken || !body.leaves_operands(*taken)) return nullptr;
  if (taken->impure) return refuse(tracer, "a function draws random numbers or writes to tensors"), nullptr;
  return taken;
}

// The operator's results, with a history if one of its inputs has one.
Ref results_like(Tracer& tracer, const std::vector<Ref>& values, const std::vector<Ref>& buffers) {
  Ref made;
  {
    const NativeScope native;
    const EnteredContext mode("torch.no_grad"_imported);
    if (mode)
      made = Ref::steal(PyObject_Call("torch._higher_order_ops.flex_attention.flex_attention_fake_impl"_imported,
                                      tuple_of(values).get(), nullptr));
  }
  std::vector<Ref> inputs(values.begin(), values.begin() + 3);
  inputs.insert(inputs.end(), buffers.begin(), buffers.end());
  if (made) made = with_history(made.get(), {2}, inputs);
  return made ? made : refuse(tracer, take_error_text());
}

}  // namespace

// flex_attention(query, key, value, score_mod, block_mask, scale, kernel_options)
Ref flex_attention_operator(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() != 7 || arguments.keyword_names || !PyTuple_Check(arguments.values[4].get()))
    return refuse(tracer, "it is called in an unusual way");
  if (tracer.transforms.records_operators())
    return refuse(tracer, std::string("it is called ") + tracer.transforms.place());
  for (size_t i = 0; i < 3; ++i)
    if (!is_fake(arguments.values[i].get())) return refuse(tracer, "an operand is no tensor");
  std::vector<Ref> values(arguments.values.begin(), arguments.values.end());
  PyObject* const query = values[0].get();
  PyObject* const mask = values[4].get();
  const Py_ssize_t last = PyTuple_GET_SIZE(mask) - 1;
  auto index = [&] { return number_beside(query, "torch.int32"_imported); };
  auto score = body_of(tracer, values[3].get(), {number_beside(query, nullptr), index(), index(), index(), index()},
                       "sdpa_score");
  auto place = score ? body_of(tracer, PyTuple_GET_ITEM(mask, last), {index(), index(), index(), index()}, "sdpa_mask")
                     : nullptr;
  if (!place) return nullptr;
  const std::vector<Ref> buffers = score->operands, mask_buffers = place->operands;
  const Ref results = results_like(tracer, values, buffers);
  if (!results) return nullptr;
  std::vector<Ref> parts;
  for (Py_ssize_t i = 0; i < last; ++i) parts.push_back(Ref::borrow(PyTuple_GET_ITEM(mask, i)));
  parts.push_back(object_for(std::move(place)));
  values[3] = object_for(std::move(score));
  values[4] = tuple_of(parts);
  values.push_back(tuple_of(buffers));
  values.push_back(tuple_of(mask_buffers));
  return record_body_call(tracer, callable, values, nullptr, results.get(), false) ? results : Ref();
}

}  // namespace minidynamo::handlers
