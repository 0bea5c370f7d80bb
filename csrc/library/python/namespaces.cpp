// Builtin functions that look at variables, or run code from text: locals, globals, vars, dir, eval, exec.
//
// The text is a constant of the trace, so the code is too: it is compiled, and traced as a frame of its own. Its names
// are those of a module, or a dict of the trace's own, and its variables are in a dict, as those of a class body.
#include "library/rules/handlers.h"

#include <string>

#include "model/native/native_call.h"
#include "model/objects/frame_object.h"
#include "model/protocols/abstract.h"
#include "model/protocols/upward.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "python/unstable.h"
#include "python/version/type_version.h"
#include "world/external/enter.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/scope.h"
#include "world/external/types.h"
#include "world/native/native_code.h"

namespace minidynamo {
namespace {

std::nullptr_t refuse(Tracer& tracer, std::string what) {
  return tracer.abort(BreakReason::FrameIntrospection, std::move(what));
}

// eval() and exec() alike.
class CodeFromText {
 public:
  CodeFromText(Tracer& tracer, const Arguments& arguments, bool is_expression)
      : tracer_(tracer), arguments_(arguments), is_expression_(is_expression) {}

  Ref run() {
    const size_t count = arguments_.positional_count();
    if (count < 1 || count > 3 || !tracer_.frame || !all_keywords_are_known()) return as_cpython_says();
    if (!find_code() || !find_names()) return nullptr;
    Ref function = Ref::steal(PyFunction_New(code_.get(), globals_.get()));
    const CodeInfo* prepared = function ? prepare(tracer_, as_code(code_.get())) : nullptr;
    if (!prepared) return nullptr;
    auto frame = std::make_unique<Frame>(prepared, function.get(), tracer_.frame);
    frame->locals_mapping = locals_;
    frame->is_looked_at = true;  // it cannot go on in a function
    Ref result = evaluate(tracer_, std::move(frame));
    return !result || is_expression_ ? result : Ref::none();
  }

 private:
  // Refuses arguments that CPython would refuse, so that CPython says what is wrong with them.
  Ref as_cpython_says() { return refuse(tracer_, is_expression_ ? "eval() is called" : "exec() is called"); }

  bool find_code() {
    PyObject* source = arguments_.values[0].get();
    auto* caller = tracer_.frame->code();
    if (PyCode_Check(source)) {
      code_ = Ref::borrow(source);
    } else if (PyUnicode_CheckExact(source)) {
      const char* text = PyUnicode_AsUTF8(source);
      if (!text) return false;
      if (is_expression_)
        while (*text == ' ' || *text == '\t') ++text;
      PyCompilerFlags flags{caller->co_flags & PyCF_MASK, PY_MINOR_VERSION};
      flags.cf_flags |= PyCF_SOURCE_IS_UTF8;
      const WarningTrap trap;
      code_ = Ref::steal(
          Py_CompileStringExFlags(text, "<string>", is_expression_ ? Py_eval_input : Py_file_input, &flags, -1));
      if (!gave_no_warning(tracer_, trap, "code from text") || !code_) return false;
    } else {
      return refuse(tracer_, "code is run that is no constant text") != nullptr;
    }
    auto* code = as_code(code_.get());
    if (PyCode_GetNumFree(code) || (code->co_flags & CO_OPTIMIZED))
      return refuse(tracer_, "the code of a function is run by eval() or exec()") != nullptr;
    return true;
  }

  bool find_names() {
    PyObject* globals = given(1);
    PyObject* locals = given(2);
    Frame& caller = *tracer_.frame;
    globals_ = globals ? Ref::borrow(globals) : caller.globals;
    if (!is_namespace(tracer_, globals_.get())) {
      if (!PyDict_CheckExact(globals_.get()) || tracer_.world.source_of(globals_.get()))
        return refuse(tracer_, "code is run with names that are no dict of the call's own") != nullptr;
      PyObject* builtins = PyDict_GetItemWithError(globals_.get(), "__builtins__"_name);
      if (!builtins && PyDict_SetItem(globals_.get(), "__builtins__"_name, caller.builtins.get()) < 0) return false;
      if (builtins && builtins != caller.builtins.get()) {
        if (!PyDict_CheckExact(builtins) || tracer_.world.source_of(builtins))
          return refuse(tracer_, "code is run with builtins of its own") != nullptr;
        tracer_.made.namespaces.insert(Ref::borrow(builtins));
      }
      if (!namespace_source(tracer_, caller.builtins.get(), "builtins")) return false;
      tracer_.made.namespaces.insert(globals_);
    }
    if (!locals)
      locals_ = globals ? globals_ : locals_of(tracer_, caller);
    else
      locals_ = Ref::borrow(locals);
    return static_cast<bool>(locals_);
  }

  // Both namespaces may be named from CPython 3.13 on.
  bool all_keywords_are_known() const {
    for (size_t i = 0; i < arguments_.keyword_count(); ++i) {
      const size_t index = place_of_keyword(i);
      if (!kNamespacesAreKeywords || index == 0 || index < arguments_.positional_count()) return false;
    }
    return true;
  }

  size_t place_of_keyword(size_t number) const {
    PyObject* name = PyTuple_GET_ITEM(arguments_.keyword_names, static_cast<Py_ssize_t>(number));
    if (PyUnicode_CompareWithASCIIString(name, "globals") == 0) return 1;
    return PyUnicode_CompareWithASCIIString(name, "locals") == 0 ? 2 : 0;
  }

  PyObject* given(size_t index) const {
    const size_t positional = arguments_.positional_count();
    PyObject* value = index < positional ? arguments_.values[index].get() : Py_None;
    for (size_t i = 0; i < arguments_.keyword_count(); ++i)
      if (place_of_keyword(i) == index) value = arguments_.values[positional + i].get();
    return value == Py_None ? nullptr : value;
  }

  Tracer& tracer_;
  const Arguments& arguments_;
  const bool is_expression_;
  Ref code_, globals_, locals_;
};

// dir() of a class or a module, as a tuple.
PyObject* names_in(PyObject*, PyObject* object) {
  Ref names = Ref::steal(PyObject_Dir(object));
  return names ? PyList_AsTuple(names.get()) : nullptr;
}

PyObject* names_in_callable() { return native_function<METH_O, names_in>("names_in"); }

// The result of a C function about an object; a guard asks for it again.
Ref ask_and_guard(Tracer& tracer, PyObject* function, PyObject* object, const char* text) {
  Ref told = Ref::steal(PyObject_CallOneArg(function, object));
  Ref asked =
      told ? Ref::steal(PyObject_CallFunctionObjArgs(as_object(known_types()->partial), function, object, nullptr))
           : Ref();
  if (!asked) return nullptr;
  guard_state(tracer, asked.get(), text, told.get());
  return told;
}

bool has_own_dir(PyTypeObject* type) {
  PyObject* method = class_attribute(type, "__dir__"_name);
  return method && !Py_IS_TYPE(method, &PyMethodDescr_Type);
}

Ref sorted_list(PyObject* iterable) {
  Ref list = Ref::steal(PySequence_List(iterable));
  return list && PyList_Sort(list.get()) == 0 ? list : Ref();
}

}  // namespace

namespace handlers {

Ref builtin_locals(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty()) return call_natively(tracer, callable, arguments);
  return locals_of(tracer, *tracer.frame);
}

Ref builtin_globals(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (!arguments.values.empty()) return call_natively(tracer, callable, arguments);
  PyObject* globals = tracer.frame->globals.get();
  if (!tracer.made.namespaces.count(Ref::borrow(globals)) && !namespace_source(tracer, globals)) return nullptr;
  return Ref::borrow(globals);
}

Ref builtin_vars(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.empty()) return locals_of(tracer, *tracer.frame);
  if (arguments.values.size() != 1 || arguments.keyword_names) return call_natively(tracer, callable, arguments);
  Ref name = Ref::made(PyUnicode_InternFromString("__dict__"));
  Ref dict = load_attribute(tracer, arguments.values[0].get(), name.get());
  if (!dict && !tracer.is_over() && PyErr_ExceptionMatches(PyExc_AttributeError))
    PyErr_SetString(PyExc_TypeError, "vars() argument must have __dict__ attribute");
  return dict;
}

Ref builtin_dir(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  if (arguments.values.empty()) {
    Ref names = locals_of(tracer, *tracer.frame);
    if (names && !PyDict_CheckExact(names.get())) return refuse(tracer, "dir() is called");
    return names ? sorted_list(names.get()) : Ref();
  }
  if (arguments.values.size() != 1 || arguments.keyword_names) return call_natively(tracer, callable, arguments);
  PyObject* object = arguments.values[0].get();
  const bool is_class = PyType_Check(object);
  auto* type = is_class ? as_type(object) : Py_TYPE(object);
  const bool is_plain_class = is_class && Py_TYPE(type) == &PyType_Type && !tracer.classes.has(object);
  const bool is_plain_module =
      PyModule_CheckExact(object) && !PyDict_GetItemWithError(PyModule_GetDict(object), "__dir__"_name) &&
      !tracer.effects.has_writes(PyModule_GetDict(object)) && !tracer.effects.has_writes(object);
  if ((is_plain_class && !tracer.effects.writes_classes()) || is_plain_module) {
    source_or_pin(tracer, object);
    Ref names = ask_and_guard(tracer, names_in_callable(), object, is_class ? "dir(class)" : "dir(module)");
    return names ? Ref::steal(PySequence_List(names.get())) : Ref();
  }
  // An instance lists its own names, and those of its class.
  const bool is_instance = !is_class && is_python_class(type) && Py_TYPE(type) == &PyType_Type &&
                           type->tp_getattro == PyObject_GenericGetAttr && !has_own_dir(type) &&
                           !tracer.classes.has(as_object(type)) && !tracer.effects.writes_classes();
  if (!is_instance) return refuse(tracer, "dir() is called");
  source_or_pin(tracer, as_object(type));
  Ref of_class = ask_and_guard(tracer, names_in_callable(), as_object(type), "dir(class)");
  Ref names = of_class ? Ref::steal(PySet_New(of_class.get())) : Ref();
  Ref own = names && type->tp_dictoffset ? load_attribute(tracer, object, "__dict__"_name) : Ref();
  if (!names || tracer.is_over()) return nullptr;
  clear_error();
  if (own) {
    const Ref list_type = Ref::borrow(as_object(&PyList_Type));
    Ref list = call(tracer, list_type.get(), {own});
    if (!list || !PyList_Check(list.get())) return nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
      if (PySet_Add(names.get(), PyList_GET_ITEM(list.get(), i)) < 0) return nullptr;
  }
  return sorted_list(names.get());
}

Ref builtin_eval(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return CodeFromText(tracer, arguments, true).run();
}

Ref builtin_exec(Tracer& tracer, PyObject*, const Arguments& arguments) {
  return CodeFromText(tracer, arguments, false).run();
}

// compile() takes over the __future__ statements of the code that calls it, which is not what runs here.
Ref builtin_compile(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  for (const Ref& value : arguments.values)
    if (!is_constant(value.get())) return refuse(tracer, "compile() is given what is no constant");
  if (!tracer.frame || (tracer.frame->code()->co_flags & PyCF_MASK))
    return refuse(tracer, "compile() is called by code with __future__ statements");
  const WarningTrap trap;
  Ref code = call_natively(tracer, callable, arguments);
  if (!gave_no_warning(tracer, trap, "code from text")) return nullptr;
  return !code || PyCode_Check(code.get()) ? code : refuse(tracer, "compile() makes a syntax tree");
}

Ref class_subclasses(Tracer& tracer, PyObject*, const Arguments& arguments) {
  PyObject* type = arguments.values.size() == 1 ? arguments.values[0].get() : nullptr;
  if (!type || !PyType_Check(type) || arguments.keyword_names || tracer.classes.any() || is_static_class(as_type(type)))
    return tracer.abort(BreakReason::UnknownFunction, "the subclasses of a class are asked for");
  source_or_pin(tracer, type);
  Ref list = Ref::steal(PyObject_CallMethod(type, "__subclasses__", nullptr));
  Ref method = list ? Ref::steal(PyObject_GetAttrString(type, "__subclasses__")) : Ref();
  if (!method) return nullptr;
  Source* source = tracer.guards.kept(method.get(), "subclasses");
  return load_part(tracer, source, Access::CallResult, nullptr, list.get());
}

}  // namespace handlers

}  // namespace minidynamo
