// torch's functions for tensors of the program's classes: how they are made, and what a __torch_function__ does that
// leaves the call to torch.
#include "library/rules/handlers.h"

#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "model/tensors/new_leaf.h"
#include "model/tensors/tensor_call.h"
#include "model/tensors/tensor_subclass.h"
#include "model/tensors/wrapper_call.h"
#include "python/process/out_of_memory.h"
#include "tensor/process/override_probe.h"
#include "world/external/known_types.h"
#include "world/native/native_code.h"
#include "world/torch/tensor_classes.h"

namespace minidynamo::handlers {
namespace {

PyTypeObject* class_argument(PyObject* object) {
  return PyType_Check(object) && is_tensor_class(as_type(object)) ? as_type(object) : nullptr;
}

Ref in_an_unknown_form(Tracer& tracer, const char* what) {
  return tracer.abort(BreakReason::UnsupportedTensor, std::string(what) + " in a form that is not known");
}

// Functions whose result torch returns as it is, whatever the class.
PyObject* unwrapped_functions() {
  static constinit CachedObject functions{[](const char* path) {
                                            const Ref all = import_object(path);
                                            return all ? Ref::steal(PyObject_CallNoArgs(all.get())) : Ref();
                                          },
                                          "torch.overrides.get_default_nowrap_functions"};
  return functions;
}

}  // namespace

Ref tensor_as_subclass(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const bool is_plain = arguments.values.size() == 2 && !arguments.keyword_names && is_fake(arguments.values[0].get());
  PyTypeObject* type = is_plain ? class_argument(arguments.values[1].get()) : nullptr;
  return type ? as_class(tracer, arguments.values[0].get(), type) : in_an_unknown_form(tracer, "as_subclass()");
}

// A tensor without history over the same memory.
Ref tensor_make_subclass(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  PyTypeObject* type = count >= 2 ? class_argument(arguments.values[0].get()) : nullptr;
  const bool is_named =
      arguments.keyword_count() == 1 && PyTuple_GET_ITEM(arguments.keyword_names, 0) == "require_grad"_name;
  const bool wants_gradient = count == 3 && arguments.values[2].is(Py_True);
  const bool has_no_gradient = count == 2 || arguments.values[2].is(Py_False);
  const bool is_parameter = type && is_parameter_class(type) && is_class_of_graphs(type);
  if (!type || count > 3 || (arguments.keyword_count() && !is_named) || (!has_no_gradient && !wants_gradient) ||
      (wants_gradient && !is_parameter) || !is_fake(arguments.values[1].get()))
    return in_an_unknown_form(tracer, "_make_subclass()");
  if (is_parameter) return make_parameter(tracer, type, arguments.values[1], wants_gradient);
  const Ref detached =
      record_call(tracer, NodeKind::CallMethod, "detach"_name, Arguments{arguments.values.subspan(1, 1)});
  return detached ? as_class(tracer, detached.get(), type) : Ref();
}

Ref tensor_make_wrapper(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const bool is_known = arguments.positional_count() >= 2;
  PyTypeObject* type = is_known ? class_argument(arguments.values[0].get()) : nullptr;
  if (!type) return in_an_unknown_form(tracer, "_make_wrapper_subclass()");
  return make_wrapper(tracer, type, Arguments{arguments.values.subspan(1), arguments.keyword_names});
}

// Tensor.__new__
Ref tensor_new_of_class(Tracer& tracer, PyObject*, const Arguments& arguments) {
  // The class that the method was found in, and the one that is to be made.
  PyTypeObject* type = arguments.positional_count() >= 2 ? class_argument(arguments.values[1].get()) : nullptr;
  if (!type) return in_an_unknown_form(tracer, "Tensor.__new__()");
  return new_of_class(tracer, type, Arguments{arguments.values.subspan(2), arguments.keyword_names});
}

// (cls, function, types, args=(), kwargs=None): calls the function with the __torch_function__ of classes muted, and
// converts its result to the class.
Ref default_torch_function(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  PyTypeObject* type = count ? class_argument(arguments.values[0].get()) : nullptr;
  if (arguments.keyword_names || !type || count < 4 || count > 5 || !PyTuple_CheckExact(arguments.values[2].get()) ||
      !PyTuple_CheckExact(arguments.values[3].get()))
    return call_function(tracer, callable, arguments);
  PyObject* keywords = count == 5 && !arguments.values[4].is(Py_None) ? arguments.values[4].get() : nullptr;
  if (keywords && !PyDict_CheckExact(keywords)) return call_function(tracer, callable, arguments);
  if (!expose_all(tracer, arguments.values)) return nullptr;
  PyObject* types = arguments.values[2].get();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); ++i) {
    PyObject* other = PyTuple_GET_ITEM(types, i);
    if (!PyType_Check(other) || !PyType_IsSubtype(type, as_type(other))) return Ref::borrow(Py_NotImplemented);
  }
  PyObject* function = arguments.values[1].get();
  Ref result;
  {
    const SubclassesDisabled plain;
    result = call_with(tracer, function, arguments.values[3].get(), keywords);
  }
  if (!result || tracer.is_over()) return nullptr;
  PyObject* unwrapped = unwrapped_functions();
  if (!unwrapped) return nullptr;
  const int is_left = PySet_Contains(unwrapped, function);
  if (is_left < 0) clear_error();  // it has no hash
  return is_left == 1 ? result : call(tracer, "torch._tensor._convert"_imported, {result, arguments.values[0]});
}

}  // namespace minidynamo::handlers
