// The effects of a region of transforms on the graph, where it begins and ends, and what reports call it.
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"
#include "world/native/code_origin.h"
#include "world/state/tracer.h"
#include "world/torch/transforms.h"

namespace minidynamo {

bool Transforms::record(Tracer& tracer, PyObject* function, Ref arguments) {
  if (!arguments || tracer.graph.add_call(NodeKind::CallFunction, Ref::borrow(function), arguments.get(), nullptr,
                                          Py_None, true, nullptr) == kNoNode)
    return tracer.abort(BreakReason::GraphArgument, "a mode of torch cannot be set in the graph") != nullptr;
  tracer.graph.mark_last_as_mode();
  return true;
}

bool Transforms::use_grad_mode(Tracer& tracer, bool on) {
  if (below_autograd_ || on == graph_grad_mode_) return true;
  graph_grad_mode_ = on;
  return record(tracer, "torch._C._set_grad_enabled"_imported, Ref::made(PyTuple_Pack(1, on ? Py_True : Py_False)));
}

bool Transforms::begin(Tracer& tracer) {
  any_ = true;
  since_ = tracer.executed;
  graph_grad_mode_ = grad_mode_enabled();
  autocast_.clear();
  if (below_autograd_) return true;
  for (const char* name : {"cpu", "cuda"}) {
    const Ref device = Ref::made(PyUnicode_InternFromString(name));
    const Ref on = Ref::steal(PyObject_CallOneArg("torch.is_autocast_enabled"_imported, device.get()));
    if (!on) clear_error();
    if (!on.is(Py_True)) continue;
    if (!record(tracer, "torch.set_autocast_enabled"_imported, Ref::made(PyTuple_Pack(2, device.get(), Py_False))))
      return false;
    autocast_.push_back(device);
  }
  return true;
}

bool Transforms::end(Tracer& tracer) {
  if (tracer.executed > since_) over_.push_back({since_, tracer.executed});
  if (!use_grad_mode(tracer, grad_mode_enabled())) return false;
  for (const Ref& device : autocast_) {
    const Ref on = Ref::steal(PyObject_CallOneArg("torch.is_autocast_enabled"_imported, device.get()));
    if (!on ||
        !record(tracer, "torch.set_autocast_enabled"_imported, Ref::made(PyTuple_Pack(2, device.get(), on.get()))))
      return false;
  }
  return true;
}

bool Transforms::enter(Tracer& tracer) {
  if (depth_++ > 0) return true;
  if (begin(tracer)) return true;
  --depth_;
  return false;
}

bool Transforms::leave(Tracer& tracer) {
  if (depth_ > 1) return --depth_, true;
  const bool ended = end(tracer);
  --depth_;
  return ended;
}

bool Transforms::look(Tracer& tracer) {
  const bool is_inside = TransformState::now() != TransformState{};
  if (is_inside == is_looked_at_) return true;
  is_looked_at_ = is_inside;
  return is_inside ? enter(tracer) : leave(tracer);
}

Ref Transforms::with_constants(Tracer& tracer, PyObject* arguments) {
  Ref changed;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    PyObject* real = PyTuple_GET_ITEM(arguments, i);
    if (!is_tensor(real) || is_fake(real)) continue;
    const TensorTraceSuspended suspended;
    const Ref dtype = Ref::steal(PyObject_GetAttrString(real, "dtype"));
    const Ref value = Ref::steal(PyObject_CallMethod(real, "item", nullptr));
    Ref fake = value && dtype ? make_fake(real) : Ref();
    const Ref operands = fake ? Ref::made(PyTuple_Pack(1, value.get())) : Ref();
    const Ref keywords = fake ? Ref::steal(Py_BuildValue("{s:O}", "dtype", dtype.get())) : Ref();
    if (!keywords || tracer.graph.add_call(NodeKind::CallFunction, Ref::borrow("torch.tensor"_imported), operands.get(),
                                           keywords.get(), fake.get(), false, nullptr) == kNoNode)
      return nullptr;
    tracer.identities.kept.push_back(Ref::borrow(real));  // C++ may go on with it
    tracer.world.replace(real, fake);
    if (!changed) changed = Ref::made(PySequence_List(arguments));
    PyList_SetItem(changed.get(), i, fake.release());
  }
  return changed ? Ref::made(PyList_AsTuple(changed.get())) : Ref::borrow(arguments);
}

std::string Transforms::text(const Frame* innermost) const {
  const Frame* caller = nullptr;   // the program's frame that called the transform
  const Frame* library = nullptr;  // and the function of torch that it called
  for (const Frame* frame = innermost; frame; frame = frame->caller) {
    if (frame->started_at > since_) continue;
    if (!is_library_code(frame->code())) {
      caller = frame;
      break;
    }
    library = frame;
  }
  std::string name = TransformState::now().dual_levels ? "a level of forward-mode AD" : "a transform";
  if (library) {
    const char* qualified = PyUnicode_AsUTF8(library->code()->co_qualname);
    if (!qualified) clear_error();
    const std::string whole = qualified ? qualified : "";
    name = whole.substr(0, whole.find('.'));
    static constexpr std::string_view kOfAutograd[] = {"dual_level", "enter_dual_level"};
    const char* file = PyUnicode_AsUTF8(library->code()->co_filename);
    const std::string_view path = file ? file : "";
    if (name == "dual_level" || name == "enter_dual_level")
      name = "torch.autograd.forward_ad." + std::string(kOfAutograd[name != "dual_level"]);
    else if (path.find("autograd/functional") != std::string_view::npos)
      name = "torch.autograd.functional." + name;
    else if (path.find("torch/autograd/") != std::string_view::npos)
      name = "torch.autograd." + name;
    else
      name = "torch.func." + name;
  }
  return name + (caller ? ", called in line " + std::to_string(caller->line()) : "");
}

}  // namespace minidynamo
