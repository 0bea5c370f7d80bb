// A call first tries the guards straight on its arguments: no frame, no hook, no dict on a hit. Where the arguments do
// not lie in the order of the parameters, or no entry fits, the wrapped function is called with the hook installed, so
// that CPython binds them. A callable object is called as its class says at that time.
#include "hook/run/optimized_function.h"

#include <structmember.h>

#include "hook/intercept/hook_chain.h"
#include "hook/intercept/hook_installed.h"
#include "hook/intercept/module_call.h"
#include "hook/intercept/stance.h"
#include "hook/run/precompilation.h"
#include "hook/run/run_entry.h"
#include "hook/run/timed_call.h"
#include "library/rules/rules.h"
#include "model/objects/function.h"
#include "python/cached.h"
#include "python/process/native_stack.h"
#include "python/process/out_of_memory.h"
#include "python/version/eval_frame.h"
#include "python/version/type_version.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

struct OptimizedFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* wrapped;
  PyObject* config;
  PyObject* dict;
  PyObject* weakrefs;
  ProfitabilityTrial* trial;  // owned; null: never doubted
};

OptimizedFunction* as_optimized(PyObject* object) noexcept { return reinterpret_cast<OptimizedFunction*>(object); }

// Parameters are given by position, each exactly once.
bool is_bound_as_given(const PyCodeObject* code, size_t count, PyObject* keyword_names) noexcept {
  return !keyword_names && count == static_cast<size_t>(code->co_argcount) && code->co_kwonlyargcount == 0 &&
         !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
}

PyObject* call_of_class(PyTypeObject* type) noexcept { return class_attribute(type, "__call__"_name); }

PyObject* call_through_hook(PyObject* config, PyObject* function, PyObject* const* arguments, size_t flags,
                            PyObject* keyword_names) {
  PyCodeObject* target = PyFunction_Check(function) ? as_code(as_function(function)->func_code) : nullptr;
  HookInstalled hook;
  ModeScope mode({config, target});
  return PyObject_Vectorcall(function, arguments, flags, keyword_names);
}

// A call of the Python function that is captured; `cache` null: it has never been.
PyObject* call_captured(CodeCache* cache, PyObject* config, PyObject* function, PyObject* const* arguments,
                        size_t flags, PyObject* keyword_names) {
  const auto count = static_cast<size_t>(PyVectorcall_NARGS(flags));
  auto* code = as_code(as_function(function)->func_code);
  if (cache && is_bound_as_given(code, count, keyword_names)) {
    constexpr size_t kMostLocals = 64;
    const auto locals_count = static_cast<size_t>(code->co_nlocalsplus);
    if (locals_count <= kMostLocals) {
      PyObject* locals[kMostLocals];
      std::copy_n(arguments, count, locals);
      std::fill_n(locals + count, locals_count - count, nullptr);
      bool captured = false;
      Ref result = run_cached(cache, FrameView{function, locals}, config, captured);
      if (captured) return result.release();
    }
  }
  return call_through_hook(config, function, arguments, flags, keyword_names);
}

// `plain` is the same call as the program made it.
template <class Plain>
PyObject* call_function(OptimizedFunction* self, PyObject* config, PyObject* function, PyObject* const* arguments,
                        size_t flags, PyObject* keyword_names, const Plain& plain) {
  auto* code = as_code(as_function(function)->func_code);
  CodeCache* cache = CodeCache::find(code);
  if (cache && cache->doubt) [[unlikely]] {
    if (!self->trial) self->trial = new ProfitabilityTrial;
    const auto captured = [&] { return call_captured(cache, config, function, arguments, flags, keyword_names); };
    return call_on_trial(*self->trial, *cache, config, captured, plain);
  }
  return call_captured(cache, config, function, arguments, flags, keyword_names);
}

// The Python function that a call of the wrapped object comes to, with the arguments that it is given then. Its
// function is null if there is none: the object is to be called as it is.
class TargetCall {
 public:
  TargetCall(PyObject* wrapped, PyObject* const* arguments, size_t flags, PyObject* keyword_names)
      : function_(PyFunction_Check(wrapped) ? wrapped : nullptr), arguments_(arguments), flags_(flags) {
    if (function_) return;
    const bool is_method = Py_IS_TYPE(wrapped, &PyMethod_Type);
    PyObject* call = is_method ? PyMethod_GET_FUNCTION(wrapped) : call_of_class(Py_TYPE(wrapped));
    if (!call || !(is_method || PyFunction_Check(call))) return;
    bound_self_ = Ref::borrow(is_method ? PyMethod_GET_SELF(wrapped) : wrapped);
    bound_function_ = module_forward(bound_self_.get(), call);  // for nn.Module.__call__, where no hook has to run
    if (!bound_function_) bound_function_ = Ref::borrow(call);
    if (!PyFunction_Check(bound_function_.get())) return;
    function_ = bound_function_.get();
    const size_t given = PyVectorcall_NARGS(flags) + (keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0);
    with_self_.resize(given + 1);
    with_self_[0] = bound_self_.get();
    std::copy_n(arguments, given, with_self_.begin() + 1);
    arguments_ = with_self_.data();
    flags_ = PyVectorcall_NARGS(flags) + 1;
  }
  TargetCall(const TargetCall&) = delete;

  PyObject* function() const noexcept { return function_; }
  PyObject* const* arguments() const noexcept { return arguments_; }
  size_t flags() const noexcept { return flags_; }

 private:
  Ref bound_self_, bound_function_;
  PyObject* function_;
  std::vector<PyObject*> with_self_;
  PyObject* const* arguments_;
  size_t flags_;
};

PyObject* call_optimized(OptimizedFunction* self, PyObject* config, PyObject* const* arguments, size_t flags,
                         PyObject* keyword_names) {
  const auto plain = [&] { return PyObject_Vectorcall(self->wrapped, arguments, flags, keyword_names); };
  const TargetCall call(self->wrapped, arguments, flags, keyword_names);
  if (!call.function()) return call_through_hook(config, self->wrapped, arguments, flags, keyword_names);
  return call_function(self, config, call.function(), call.arguments(), call.flags(), keyword_names, plain);
}

PyObject* call_with_config(OptimizedFunction* self, PyObject* config, PyObject* const* arguments, size_t flags,
                           PyObject* keyword_names) {
  if (native_stack_left() >= kStackForCapture) [[likely]]
    return call_optimized(self, config, arguments, flags, keyword_names);
  PyObject* result = nullptr;
  auto work = [&]() noexcept { result = entry<call_optimized>(self, config, arguments, flags, keyword_names); };
  if (run_on_another_stack(work)) return result;
  return PyObject_Vectorcall(self->wrapped, arguments, flags, keyword_names);
}

// Under another stance than the default one. What no entry fits is dealt with where it is found out (find_entry).
PyObject* call_under_stance(OptimizedFunction* self, Stance stance, PyObject* const* arguments, size_t flags,
                            PyObject* keyword_names) {
  if (stance == Stance::Unknown) return raise_unknown_stance(), nullptr;
  if (stance == Stance::ForceEager) return PyObject_Vectorcall(self->wrapped, arguments, flags, keyword_names);
  Ref config = stance == Stance::ForcedBackend ? config_with_forced_backend(self->config) : Ref::borrow(self->config);
  return config ? call_with_config(self, config.get(), arguments, flags, keyword_names) : nullptr;
}

PyObject* optimized_vectorcall(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* keyword_names) {
  OptimizedFunction* self = as_optimized(object);
  PyThreadState* thread = PyThreadState_Get();
  if (Tracer::current() || thread_mode().disabled || must_run_plainly(thread) || torch_compiles_here(thread))
    return PyObject_Vectorcall(self->wrapped, arguments, flags, keyword_names);
  if (const Stance stance = current_stance(); stance != Stance::Default) [[unlikely]]
    return call_under_stance(self, stance, arguments, flags, keyword_names);
  return call_with_config(self, self->config, arguments, flags, keyword_names);
}

// False: it is not compiled from its beginning to its end. Null with a Python error set.
PyObject* precompile_call(OptimizedFunction* self, PyObject* config, PyObject* const* arguments, size_t flags,
                          PyObject* keyword_names) {
  const TargetCall call(self->wrapped, arguments, flags, keyword_names);
  if (!call.function()) Py_RETURN_FALSE;
  const Precompilation precompilation(as_code(as_function(call.function())->func_code));
  const Ref none =
      Ref::steal(call_through_hook(config, call.function(), call.arguments(), call.flags(), keyword_names));
  return none ? PyBool_FromLong(precompilation.is_whole()) : nullptr;
}

PyObject* optimized_precompile(PyObject* object, PyObject* const* arguments, Py_ssize_t count,
                               PyObject* keyword_names) {
  OptimizedFunction* self = as_optimized(object);
  PyThreadState* thread = PyThreadState_Get();
  const Stance stance = current_stance();
  if (stance == Stance::Unknown) return raise_unknown_stance(), nullptr;
  if (Tracer::current() || thread_mode().disabled || must_run_plainly(thread) || torch_compiles_here(thread) ||
      stance == Stance::ForceEager)
    Py_RETURN_FALSE;
  PyObject* result = nullptr;
  auto work = [&]() noexcept {
    result = entry<precompile_call>(self, self->config, arguments, static_cast<size_t>(count), keyword_names);
  };
  if (native_stack_left() >= kStackForCapture)
    work();
  else if (!run_on_another_stack(work))
    return PyErr_NoMemory();
  return result;
}

PyObject* optimized_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject *wrapped, *config;
  static const char* names[] = {"function", "config", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO", const_cast<char**>(names), &wrapped, &config)) return nullptr;
  if (!PyCallable_Check(wrapped)) {
    PyErr_Format(PyExc_TypeError, "OptimizedFunction wraps a callable, not %.200s", Py_TYPE(wrapped)->tp_name);
    return nullptr;
  }
  Ref object = Ref::steal(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  OptimizedFunction* self = as_optimized(object.get());
  self->vectorcall = entry<optimized_vectorcall>;
  self->wrapped = Ref::borrow(wrapped).release();
  self->config = Ref::borrow(config).release();
  return object.release();
}

PyObject* optimized_get(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Ref::borrow(self).release();
}

PyObject* optimized_repr(PyObject* self) {
  return PyUnicode_FromFormat("<minidynamo-optimized %R>", as_optimized(self)->wrapped);
}

int optimized_traverse(PyObject* object, visitproc visit, void* arg) {
  OptimizedFunction* self = as_optimized(object);
  Py_VISIT(self->wrapped);
  Py_VISIT(self->config);
  Py_VISIT(self->dict);
  return 0;
}

int optimized_clear(PyObject* object) {
  OptimizedFunction* self = as_optimized(object);
  Py_CLEAR(self->wrapped);
  Py_CLEAR(self->config);
  Py_CLEAR(self->dict);
  return 0;
}

void optimized_dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  if (as_optimized(object)->weakrefs) PyObject_ClearWeakRefs(object);
  delete as_optimized(object)->trial;
  optimized_clear(object);
  Py_TYPE(object)->tp_free(object);
}

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(OptimizedFunction, wrapped), READONLY, "The function that is captured."},
    {"config", T_OBJECT, offsetof(OptimizedFunction, config), READONLY, "The CaptureConfig."},
    {nullptr, 0, 0, 0, nullptr},
};

// Code that tells functions by their class, as inspect, torch.jit and torch.fx do, takes it for what it wraps. Only
// C code sees the type of the object itself.
PyObject* optimized_class(PyObject* self, void*) {
  PyObject* wrapped = as_optimized(self)->wrapped;
  const bool is_function = PyFunction_Check(wrapped) || PyMethod_Check(wrapped);
  return Ref::borrow(as_object(Py_TYPE(is_function ? wrapped : self))).release();
}

// An attribute of functions that lies outside of their dict, as the wrapped function has it. `name`: a C string.
PyObject* attribute_beneath(PyObject* self, void* name) {
  return PyObject_GetAttrString(as_optimized(self)->wrapped, static_cast<const char*>(name));
}

int set_attribute_beneath(PyObject* self, PyObject* value, void* name) {
  PyObject* wrapped = as_optimized(self)->wrapped;
  PyObject* function = PyMethod_Check(wrapped) ? PyMethod_GET_FUNCTION(wrapped) : wrapped;
  return PyObject_SetAttrString(function, static_cast<const char*>(name), value);
}

PyObject* reduced(PyObject* self, PyObject*) {
  static constinit Imported reduce{"minidynamo._api.captured_function.reduce"};
  return reduce ? PyObject_CallOneArg(reduce, self) : nullptr;
}

PyObject* copied(PyObject* self, PyObject*) {
  static constinit Imported copy{"minidynamo._api.captured_function.copied"};
  return copy ? PyObject_CallOneArg(copy, self) : nullptr;
}

PyObject* deeply_copied(PyObject* self, PyObject* memo) {
  static constinit Imported copy{"minidynamo._api.captured_function.deeply_copied"};
  return copy ? PyObject_CallFunctionObjArgs(copy, self, memo, nullptr) : nullptr;
}

PyMethodDef methods[] = {
    {"__copy__", entry<copied>, METH_NOARGS, "As copy.copy has it for the callable that is wrapped."},
    {"__deepcopy__", entry<deeply_copied>, METH_O, "As copy.deepcopy has it for the callable that is wrapped."},
    {"__reduce__", entry<reduced>, METH_NOARGS,
     "By name, where the name leads to this object, as functions are pickled."},
    {"__reduce_ex__", entry<reduced>, METH_O, "As __reduce__."},
    {"precompile", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry<optimized_precompile>)),
     METH_FASTCALL | METH_KEYWORDS,
     "precompile(*args, **kwargs)\n--\n\n"
     "Captures and compiles a call with these arguments, as the call would, without making it.\n\n"
     "True: such a call runs compiled from its beginning to its end. False: the graph breaks, and what follows the\n"
     "break is captured when the call is made; or such a call runs uncaptured."},
    {nullptr, nullptr, 0, nullptr},
};

// By these torch.compile finds the function beneath, to compile that: one capture instead of two.
PyObject* optimized_original(PyObject* self, void*) {
  PyObject* wrapped = as_optimized(self)->wrapped;
  PyObject* call = PyFunction_Check(wrapped) || PyMethod_Check(wrapped) ? nullptr : call_of_class(Py_TYPE(wrapped));
  return call && PyFunction_Check(call) ? PyMethod_New(call, wrapped) : Ref::borrow(wrapped).release();
}
PyObject* optimized_id(PyObject* self, void*) { return PyLong_FromVoidPtr(self); }

constexpr PyGetSetDef beneath(const char* name) {
  return {name, entry<attribute_beneath>, entry<set_attribute_beneath>, nullptr, const_cast<char*>(name)};
}

PyGetSetDef properties[] = {
    {"__class__", entry<optimized_class>, nullptr, nullptr, nullptr},
    beneath("__code__"),
    beneath("__defaults__"),
    beneath("__kwdefaults__"),
    beneath("__globals__"),
    beneath("__closure__"),
    beneath("__builtins__"),
    beneath("__self__"),
    beneath("__func__"),
    {"_torchdynamo_orig_callable", entry<optimized_original>, nullptr, nullptr, nullptr},
    {"_torchdynamo_wrapper_id", entry<optimized_id>, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

constexpr PyTypeObject make_type() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "minidynamo._C.OptimizedFunction";
  type.tp_doc = "OptimizedFunction(function, config)\n--\n\nA callable that captures and compiles calls of a function.";
  type.tp_basicsize = sizeof(OptimizedFunction);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  type.tp_new = entry<optimized_new>;
  type.tp_dealloc = optimized_dealloc;
  type.tp_traverse = optimized_traverse;
  type.tp_clear = optimized_clear;
  type.tp_call = PyVectorcall_Call;
  type.tp_vectorcall_offset = offsetof(OptimizedFunction, vectorcall);
  type.tp_dictoffset = offsetof(OptimizedFunction, dict);
  type.tp_weaklistoffset = offsetof(OptimizedFunction, weakrefs);
  type.tp_descr_get = entry<optimized_get>;
  type.tp_repr = entry<optimized_repr>;
  type.tp_members = members;
  type.tp_methods = methods;
  type.tp_getset = properties;
  return type;
}

}  // namespace

PyTypeObject* optimized_function_type() {
  static constinit PyTypeObject type = make_type();
  if (!(type.tp_flags & Py_TPFLAGS_READY)) {
    make_ready(type);
    trace_through_wrapped(&type);
  }
  return &type;
}

}  // namespace minidynamo
