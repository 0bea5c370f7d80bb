// torch.utils.checkpoint.checkpoint: what it runs becomes a graph of its own, and the call of
// torch.ops.higher_order.tag_activation_checkpoint says that it is to be computed again in the backward pass.
//
// Where no gradient is asked for, a checkpoint is nothing but the call of its function.
#include "library/rules/handlers.h"

#include <algorithm>
#include <string_view>

#include "library/training/recomputation.h"
#include "model/native/body.h"
#include "model/protocols/abstract.h"
#include "model/protocols/upward.h"
#include "model/tensors/tensor_call.h"
#include "python/process/out_of_memory.h"
#include "tensor/autograd/transforms.h"
#include "tensor/fake/tensor_facts.h"
#include "world/external/known_types.h"

namespace minidynamo::handlers {
namespace {

struct Settings {
  PyObject* use_reentrant = nullptr;
  PyObject* preserve_random_state = Py_True;
  PyObject* context_function = nullptr;
  PyObject* determinism_check = nullptr;
  PyObject* debug = Py_False;
};

// checkpoint()'s own keywords; the others are the function's. Null: it is none of them.
PyObject** own_keyword(Settings& settings, std::string_view name, PyObject*& ignored) {
  if (name == "use_reentrant") return &settings.use_reentrant;
  if (name == "preserve_rng_state") return &settings.preserve_random_state;
  if (name == "context_fn") return &settings.context_function;
  if (name == "determinism_check") return &settings.determinism_check;
  if (name == "debug") return &settings.debug;
  if (name == "early_stop") return &ignored;
  return nullptr;
}

// True for a function that may be called at run time to make the contexts of a selective checkpoint: it has to be the
// same object at each call, and to see the same.
bool is_fixed_function(Tracer& tracer, PyObject* function) {
  if (Py_IS_TYPE(function, known_types()->partial)) {
    for (const char* name : {"func", "args", "keywords"}) {
      const Ref part = Ref::steal(PyObject_GetAttrString(function, name));
      if (!part) return clear_error(), false;
      for (PyObject* fake : fakes_held_by(tracer, part.get()))
        if (fake) return false;
    }
    return true;
  }
  return PyFunction_Check(function) && fakes_held_by(tracer, function).empty();
}

std::nullptr_t refuse(Tracer& tracer, const std::string& why) {
  return tracer.abort(BreakReason::Checkpoint, std::string("torch.utils.checkpoint.checkpoint: ") + why);
}

// True if the reentrant kind, which makes every result require a gradient, has the same results as the other one.
bool is_as_reentrant(const std::vector<Ref>& made) {
  return std::ranges::all_of(made, [](const Ref& fake) {
    const NativeScope native;
    return requires_gradient(fake.get()) ||
           !(Ref::steal(PyObject_CallOneArg("torch.is_floating_point"_imported, fake.get())).is(Py_True) ||
             Ref::steal(PyObject_CallOneArg("torch.is_complex"_imported, fake.get())).is(Py_True));
  });
}

}  // namespace

// torch.utils.checkpoint.checkpoint
Ref checkpoint(Tracer& tracer, PyObject*, const Arguments& arguments) {
  if (arguments.positional_count() == 0) return refuse(tracer, "the function is given by name");
  const bool is_in_region =
      tracer.limits.below_autograd ? tracer.transforms.inside() : tracer.transforms.records_operators();
  if (is_in_region) return refuse(tracer, std::string("it is called ") + tracer.transforms.place());
  Settings settings;
  PyObject* ignored = nullptr;
  std::vector<Ref> values(arguments.values.begin() + 1,
                          arguments.values.begin() + static_cast<ptrdiff_t>(arguments.positional_count()));
  const size_t positional = values.size();
  std::vector<PyObject*> names;
  for (size_t i = 0; i < arguments.keyword_count(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(arguments.keyword_names, static_cast<Py_ssize_t>(i));
    const Ref& value = arguments.values[arguments.positional_count() + i];
    if (PyObject** own = own_keyword(settings, PyUnicode_AsUTF8(name), ignored)) {
      *own = value.get();
    } else {
      names.push_back(name);
      values.push_back(value);
    }
  }
  if (!settings.use_reentrant || settings.use_reentrant == Py_None)
    return refuse(tracer, "it warns that use_reentrant is not given");
  if (!PyBool_Check(settings.use_reentrant) || !PyBool_Check(settings.preserve_random_state) ||
      settings.debug != Py_False)
    return refuse(tracer, "its settings are unusual");
  if (settings.context_function == "torch.utils.checkpoint.noop_context_fn"_imported)
    settings.context_function = nullptr;
  const bool is_reentrant = settings.use_reentrant == Py_True;
  if (is_reentrant && (!names.empty() || settings.context_function)) return refuse(tracer, "it raises");

  PyObject* function = arguments.values[0].get();
  Ref keyword_names;
  if (!names.empty()) {
    keyword_names = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
    for (size_t i = 0; i < names.size(); ++i)
      PyTuple_SET_ITEM(keyword_names.get(), static_cast<Py_ssize_t>(i), Ref::borrow(names[i]).release());
  }
  const Arguments given{values, keyword_names.get()};
  const bool with_gradient = grad_mode_enabled();
  const bool is_below = tracer.limits.below_autograd && with_gradient;
  if (is_below && (settings.context_function || ignored))
    return refuse(tracer, "its settings are unusual in a call with a backward pass");
  if (is_reentrant) {
    const bool any =
        std::any_of(values.begin(), values.begin() + static_cast<ptrdiff_t>(positional),
                    [](const Ref& value) { return is_fake(value.get()) && requires_gradient(value.get()); });
    if (!any) return refuse(tracer, "it warns that no input requires a gradient");
  }
  if (!with_gradient && !settings.context_function) return call(tracer, function, given);
  if (is_below)
    return checkpoint_below_autograd(tracer,
                                     {function, given, is_reentrant, settings.preserve_random_state == Py_True});
  if (settings.context_function && !is_fixed_function(tracer, settings.context_function))
    return refuse(tracer, "its context_fn is made of tensors");

  std::vector<PyObject*> reaches = {function};
  for (const Ref& value : values) reaches.push_back(value.get());
  Body body(tracer, "torch.utils.checkpoint.checkpoint", reaches);
  Ref result = call(tracer, function, given);
  if (!result || !body.only_computes()) return nullptr;
  const std::vector<Ref> made = body.made_in(result.get());
  if (is_reentrant && !is_as_reentrant(made))
    return refuse(tracer, "a result requires a gradient only because use_reentrant is True");
  Ref output = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(made.size())));
  for (size_t i = 0; i < made.size(); ++i)
    PyTuple_SET_ITEM(output.get(), static_cast<Py_ssize_t>(i), Ref(made[i]).release());
  std::unique_ptr<Subgraph> taken = body.take(output.get(), "wrap_body");
  if (!taken) return nullptr;
  const bool impure = taken->impure;
  taken->meta = Ref::made(PyDict_New());
  if (settings.context_function) {
    if (PyDict_SetItemString(taken->meta.get(), "_checkpoint_context_fn", settings.context_function) < 0)
      return nullptr;
    if (Source* source = tracer.world.source_of(settings.context_function))
      tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  }
  const std::vector<long> written = body.written_operands(*taken);
  Ref positions = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(written.size())));
  for (size_t i = 0; i < written.size(); ++i)
    PyTuple_SET_ITEM(positions.get(), static_cast<Py_ssize_t>(i), Ref::made(PyLong_FromLong(written[i])).release());
  if (!written.empty() && PyDict_SetItemString(taken->meta.get(), "written_operands", positions.get()) < 0)
    return nullptr;
  // The operator itself leaves it to the compiler behind it to repeat random numbers and writes when the body is
  // computed again.
  const std::vector<Ref> operands = taken->operands;
  std::vector<Ref> node_values = {object_for(std::move(taken))};
  node_values.insert(node_values.end(), operands.begin(), operands.end());
  std::vector<std::string> node_keywords;
  if (settings.determinism_check) {
    node_keywords.push_back("determinism_check");
    node_values.push_back(Ref::borrow(settings.determinism_check));
  }
  if (settings.preserve_random_state == Py_False) {
    node_keywords.push_back("preserve_rng_state");
    node_values.push_back(Ref::borrow(Py_False));
  }
  Ref node_names = Ref::made(PyTuple_New(static_cast<Py_ssize_t>(node_keywords.size())));
  for (size_t i = 0; i < node_keywords.size(); ++i)
    PyTuple_SET_ITEM(node_names.get(), static_cast<Py_ssize_t>(i),
                     Ref::made(PyUnicode_FromString(node_keywords[i].c_str())).release());
  PyObject* target = impure ? "minidynamo._runtime.checkpoint.checkpoint_impure"_imported.get()
                            : "torch._higher_order_ops.wrap.tag_activation_checkpoint"_imported.get();
  return record_body_call(tracer, target, node_values, node_names.get(), output.get(), impure) ? result : Ref();
}

}  // namespace minidynamo::handlers
