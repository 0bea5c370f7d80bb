#include "library/python/standard_library.h"

#include "library/rules/handlers.h"

#include <algorithm>
#include <string_view>

#include "library/rules/dropped_result.h"
#include "model/native/native_call.h"
#include "model/objects/function.h"
#include "model/objects/let_go.h"
#include "model/objects/object_end.h"
#include "model/protocols/abstract.h"
#include "model/protocols/arguments.h"
#include "python/named_item.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "tensor/fake/fake.h"
#include "world/external/class_lookup.h"
#include "world/external/enter.h"
#include "world/external/pin.h"
#include "world/native/code_origin.h"
#include "world/native/native_code.h"

namespace minidynamo {

bool identity_is_only_a_key(const Tracer& tracer) {
  // torch._tensor: Tensor.__hash__, for sets and dicts. To go by the identity of each parameter would make every entry
  // one model's own.
  static constexpr std::string_view kModules[] = {"copy", "dataclasses", "json.encoder", "reprlib", "torch._tensor"};
  PyObject* globals = tracer.frame ? tracer.frame->globals.get() : nullptr;
  PyObject* name = globals && PyDict_Check(globals) ? named_item(globals, "__name__") : nullptr;
  const char* text = name && PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8(name) : nullptr;
  return text && std::find(std::begin(kModules), std::end(kModules), std::string_view(text)) != std::end(kModules);
}

namespace handlers {

Ref thread_identity(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty()) return call_natively(tracer, callable, arguments);
  Ref number = Ref::steal(PyObject_CallNoArgs(callable));
  if (!number) return nullptr;
  if (identity_is_only_a_key(tracer))
    tracer.identities.given_out.insert(number);  // it may not leave the trace
  else
    guard_state(tracer, callable, "threading.get_ident", number.get());  // an entry for each thread
  return number;
}

// Once something was compiled by torch.compile, each module that is made is entered in a table of TorchDynamo's own.
Ref leave_untagged(Tracer&, PyObject*, const Arguments&) { return Ref::none(); }

// The signature of a function of torch's, which does not change: asked for each time by its layer for NumPy.
Ref signature_of(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  PyObject* function = arguments.values.size() == 1 && !arguments.keyword_names ? arguments.values[0].get() : nullptr;
  auto* code = function && PyFunction_Check(function) ? as_code(as_function(function)->func_code) : nullptr;
  if (!code || code_origin(code->co_filename) != CodeOrigin::Torch) return call_function(tracer, callable, arguments);
  if (Source* source = tracer.world.source_of(function))
    tracer.guards.add(source, GuardKind::Identity, tracer.origin());
  NativeScope native;
  return Ref::steal(PyObject_CallOneArg(callable, function));
}

// typing looks at the module of its caller's caller...: the frames are the trace's own.
Ref typing_caller(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const bool has_depth = arguments.values.size() == 1 && !arguments.keyword_names;
  long depth = has_depth && PyLong_CheckExact(arguments.values[0].get()) ? PyLong_AsLong(arguments.values[0].get()) : 1;
  clear_error();
  const Frame* frame = arguments.values.size() == has_depth ? tracer.frame : nullptr;
  for (; frame && depth > 0; --depth) frame = frame->caller;
  if (!frame) return tracer.abort(BreakReason::FrameIntrospection, "the frame stack is read");
  Source* globals = namespace_source(tracer, frame->globals.get());
  if (!globals) return nullptr;
  PyObject* raw = PyDict_GetItemWithError(frame->globals.get(), "__name__"_name);
  Ref module = load_part(tracer, globals, Access::DictItem, "__name__"_name, raw);
  return module || PyErr_Occurred() ? module : Ref::made(PyUnicode_FromString("__main__"));
}

Ref file_system_path(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.size() != 1 || arguments.keyword_names) return call_natively(tracer, callable, arguments);
  PyObject* path = arguments.values[0].get();
  if (PyUnicode_Check(path) || PyBytes_Check(path)) return arguments.values[0];
  Ref method = lookup_in_class(tracer, Py_TYPE(path), "__fspath__"_name);
  if (PyErr_Occurred()) return nullptr;
  if (!method || !PyFunction_Check(method.get())) return call_natively(tracer, callable, arguments);
  Ref text = call(tracer, method.get(), {Ref::borrow(path)});
  if (text && !PyUnicode_Check(text.get()) && !PyBytes_Check(text.get())) {
    PyErr_Format(PyExc_TypeError, "expected %.200s.__fspath__() to return str or bytes, not %.200s",
                 Py_TYPE(path)->tp_name, text.type()->tp_name);
    return nullptr;
  }
  return text;
}

// os.environ[name] = value comes to putenv(name, value) of bytes: done by the residual code, at its place. What
// os.environ itself has to say is in a dict.
Ref change_environment(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const auto has_none_of = [](const Ref& value, std::string_view marks) {
    if (!PyBytes_CheckExact(value.get())) return false;
    const std::string_view text(PyBytes_AS_STRING(value.get()), static_cast<size_t>(PyBytes_GET_SIZE(value.get())));
    return text.find_first_of(marks) == std::string_view::npos;
  };
  const std::span<const Ref> values = arguments.values;
  const bool is_plain = !values.empty() && values.size() <= 2 && !arguments.keyword_names &&
                        has_none_of(values[0], std::string_view("=\0", 2)) && PyBytes_GET_SIZE(values[0].get()) > 0 &&
                        has_none_of(values.back(), std::string_view("\0", 1));
  if (!is_plain) return tracer.abort(BreakReason::UnknownFunction, "the environment is changed by what it may refuse");
  tracer.effects.append_unordered_call({Ref::borrow(callable), arguments.positional(), nullptr});
  return Ref::none();
}

// re.compile and what goes by it: a pattern of constants is what the module's cache keeps, or comes to keep.
Ref compile_pattern(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  constexpr long kDebug = 128;  // prints the pattern
  const bool are_two = arguments.values.size() == 2 && !arguments.keyword_names;
  PyObject* flags = are_two ? arguments.values[1].get() : nullptr;
  const bool is_plain =
      are_two && (PyUnicode_CheckExact(arguments.values[0].get()) || PyBytes_CheckExact(arguments.values[0].get())) &&
      PyLong_Check(flags) && !(PyLong_AsLong(flags) & kDebug);
  if (!is_plain) return clear_error(), call_function(tracer, callable, arguments);
  NativeScope native;
  Ref positional = arguments.positional();
  const WarningTrap trap;
  Ref pattern = Ref::steal(PyObject_CallObject(callable, positional.get()));
  if (!gave_no_warning(tracer, trap, "a pattern")) return nullptr;
  if (pattern && !tracer.world.source_of(pattern.get()))
    tracer.effects.cached_by(pattern.get(), {Ref::borrow(callable), positional, nullptr});
  if (pattern) tracer.identities.kept.push_back(pattern);
  return pattern;
}

// weakref.ref(object): of what was there before the trace, which the trace cannot see the end of, and of instances of
// the trace's own, which end in the trace as they do in Python.
Ref make_reference(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  const size_t count = arguments.values.size();
  PyObject* object = count ? arguments.values[0].get() : nullptr;
  const bool has_callback = count == 2 && !arguments.values[1].is(Py_None);
  const bool is_known = object && (tracer.world.source_of(object) || PyType_Check(object) ||
                                   (is_python_class(Py_TYPE(object)) && !is_fake(object) && !has_callback));
  if (count < 1 || count > 2 || arguments.keyword_names || !is_known || tracer.world.is_opaque(object))
    return tracer.abort(BreakReason::UnknownClass, "an instance of weakref.ReferenceType is made");
  Ref made = Ref::steal(PyObject_Call(callable, arguments.positional().get(), nullptr));
  if (made) tracer.identities.kept.push_back(made);  // so that no callback is called
  return made;
}

// A weak reference from before the trace: what it leads to, or that this is gone, is guarded.
Ref reference_call(Tracer& tracer, PyObject* reference, const Arguments& arguments) {
  if (!arguments.values.empty()) return call_natively(tracer, reference, arguments);
  if (!tracer.world.source_of(reference)) drop_unused_objects(tracer);
  if (may_be_gone(tracer, PyWeakref_GET_OBJECT(reference)))
    return tracer.abort(BreakReason::Finalizer, "a weak reference is asked for an object that may be gone");
  return referent_of(tracer, reference);
}

// How many objects it finds depends on where captured code holds them. Where the result is dropped, the program only
// wants them to end.
Ref collect_garbage(Tracer& tracer, PyObject*, const Arguments& arguments) {
  const bool is_counted = !arguments.is_direct || !is_result_dropped(*tracer.frame);
  return tracer.abort(is_counted ? BreakReason::ObjectLifetime : BreakReason::Finalizer,
                      "the garbage collector is asked to run");
}

}  // namespace handlers

}  // namespace minidynamo
