// The messages of a program to the world (warnings, log records), which return nothing: the residual code makes them,
// in the program's order, as from the line where the program makes them.
//
// Only messages that are known by then: texts, numbers and the like. Handlers and filters of the standard library and
// of packages do not see a trace's writes. Where the program's own code listens (a handler, a filter, a `showwarning`),
// the trace ends before the call: that code may read and write the program's objects. A warning that is an error, or
// that the frame's own handlers might have to catch, is made in Python; so is one that the program itself has arranged
// to collect.
#include "library/rules/handlers.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "model/objects/function.h"
#include "model/protocols/abstract.h"
#include "model/proxies/deferred_call.h"
#include "python/native_function.h"
#include "python/process/out_of_memory.h"
#include "python/version/type_version.h"
#include "world/external/known_types.h"
#include "world/external/pin.h"
#include "world/external/types.h"
#include "world/native/code_origin.h"
#include "world/native/handler.h"
#include "world/native/native_objects.h"
#include "world/state/frame.h"

namespace minidynamo {

namespace {

std::nullptr_t refuse_warning(Tracer& tracer) { return tracer.abort(BreakReason::Warning, "a warning is given"); }

// Arguments by the names of the parameters; null: not given. False: others are.
template <size_t n>
bool by_name(const Arguments& arguments, const std::string_view (&names)[n], PyObject* (&values)[n]) {
  if (arguments.positional_count() > n) return false;
  for (size_t i = 0; i < arguments.positional_count(); ++i) values[i] = arguments.values[i].get();
  for (size_t k = 0; k < arguments.keyword_count(); ++k) {
    const char* keyword = PyUnicode_AsUTF8(PyTuple_GET_ITEM(arguments.keyword_names, k));
    size_t i = 0;
    while (i < n && names[i] != keyword) ++i;
    if (i == n || values[i]) return false;
    values[i] = arguments.values[arguments.positional_count() + k].get();
  }
  return true;
}

// The traced frame so many calls up; null: it is beyond the trace, that many calls above its outermost frame.
const Frame* frame_above(const Tracer& tracer, long& levels) {
  const Frame* frame = tracer.frame;
  for (; levels > 0; --levels) {
    if (!frame->caller) return nullptr;
    frame = frame->caller;
  }
  return frame;
}

PyObject* warnings_module() { return "warnings"_imported; }

PyObject* warnings_namespace() { return PyModule_GetDict(warnings_module()); }

// True if the trace has put something else in place of what a module has under a name.
bool is_replaced(const Tracer& tracer, PyObject* names, const char* name) {
  Ref key = Ref::made(PyUnicode_InternFromString(name));
  const AttributeWrite* write = tracer.effects.pending(names, key.get());
  PyObject* now = write ? PyDict_GetItemWithError(names, key.get()) : nullptr;
  return write && write->value.get() != now;
}

// warn_at(message, category, filename, line, names of the module)
PyObject* warn_at(PyObject*, PyObject* arguments) {
  PyObject *message, *category, *filename, *names;
  int line;
  if (!PyArg_ParseTuple(arguments, "OOOiO!", &message, &category, &filename, &line, &PyDict_Type, &names))
    return nullptr;
  Ref registry = Ref::borrow(PyDict_GetItemWithError(names, "__warningregistry__"_name));
  if (!registry) {
    registry = Ref::made(PyDict_New());
    if (PyDict_SetItem(names, "__warningregistry__"_name, registry.get()) < 0) return nullptr;
  }
  const Ref module = Ref::borrow(PyDict_GetItemWithError(names, "__name__"_name));
  if (PyErr_WarnExplicitObject(category, message, filename, line, module ? module.get() : Py_None, registry.get()) < 0)
    return nullptr;
  Py_RETURN_NONE;
}

// log_at(logger, level, filename, line, function, message, arguments)
PyObject* log_at(PyObject*, PyObject* arguments) {
  PyObject *logger, *level, *filename, *line, *function, *message, *values;
  if (!PyArg_ParseTuple(arguments, "OOOOOOO", &logger, &level, &filename, &line, &function, &message, &values))
    return nullptr;
  const Ref name = Ref::steal(PyObject_GetAttrString(logger, "name"));
  Ref record = name ? Ref::steal(PyObject_CallMethod(logger, "makeRecord", "OOOOOOOO", name.get(), level, filename,
                                                     line, message, values, Py_None, function))
                    : Ref();
  return record ? PyObject_CallMethod(logger, "handle", "O", record.get()) : nullptr;
}

PyObject* warn_at_callable() { return native_function<METH_VARARGS, warn_at>("warn_at"); }

PyObject* log_at_callable() { return native_function<METH_VARARGS, log_at>("log_at"); }

// The action of a filter for a warning; nullopt: it is about another one. `item` is a tuple of the trace's own.
std::optional<std::string_view> action_of(PyObject* item, PyObject* text, PyObject* category, bool& is_known) {
  PyObject *action, *message, *about, *module, *line;
  is_known = PyTuple_CheckExact(item) && PyArg_ParseTuple(item, "OOOOO", &action, &message, &about, &module, &line) &&
             PyUnicode_CheckExact(action) && PyType_Check(about) && module == Py_None && PyLong_CheckExact(line) &&
             PyLong_AsLong(line) == 0;
  if (!is_known) return clear_error(), std::nullopt;
  const NativeScope native;
  const Ref match = message == Py_None ? Ref::none() : Ref::steal(PyObject_CallMethod(message, "match", "O", text));
  is_known = static_cast<bool>(match);
  clear_error();
  const bool is_about =
      PyType_IsSubtype(as_type(category), as_type(about)) && (message == Py_None || !match.is(Py_None));
  return is_known && is_about ? std::optional<std::string_view>(PyUnicode_AsUTF8(action)) : std::nullopt;
}

// True if filters that the trace has put before all others, as `with warnings.catch_warnings()` does, ignore a warning:
// then nothing happens at all.
bool is_ignored_within(const Tracer& tracer, PyObject* text, PyObject* category) {
  const AttributeWrite* write = tracer.effects.pending(warnings_namespace(), "filters"_name);
  if (!write || !write->value || !PyList_CheckExact(write->value.get())) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(write->value.get()); ++i) {
    PyObject* const item = PyList_GET_ITEM(write->value.get(), i);
    bool is_known = false;
    if (tracer.world.source_of(item)) return false;
    if (const auto action = action_of(item, text, category, is_known)) return *action == "ignore";
    if (!is_known) return false;
  }
  return false;
}

// True if code of the program's runs where a record or a warning comes to an object: a handler, a filter, a formatter,
// a stream, a function, or a method.
bool is_listener_of_program(PyObject* object) {
  if (PyMethod_Check(object)) object = PyMethod_GET_FUNCTION(object);
  const auto is_of_program = [](PyObject* found) {
    return found && PyFunction_Check(found) && is_program_code(as_code(as_function(found)->func_code));
  };
  if (is_of_program(object)) return true;
  if (PyType_Check(object)) {  // the code that makes its instances
    static PyObject* const makers[] = {"__new__"_name, "__init__"_name};
    if (std::ranges::any_of(makers,
                            [&](PyObject* name) { return is_of_program(class_attribute(as_type(object), name)); }))
      return true;
  }
  for (const char* name : {"emit", "handle", "filter", "format", "formatTime", "formatMessage", "formatException",
                           "makeRecord", "write", "flush", "__call__"}) {
    const Ref key = Ref::made(PyUnicode_InternFromString(name));
    if (is_of_program(class_attribute(Py_TYPE(object), key.get()))) return true;
  }
  return false;
}

// A list of all objects that hear of a logger's records, which is guarded. Null: the trace is over.
Ref listeners_of(Tracer& tracer, PyObject* logger) {
  const Ref found = call(tracer, "minidynamo._runtime.announcements.listeners"_imported, {Ref::borrow(logger)});
  if (tracer.is_over()) return nullptr;
  if (found && PyList_CheckExact(found.get())) return found;
  clear_error();
  return tracer.abort(BreakReason::Listener, "a logger is asked in a way of its own");
}

bool is_source_file(PyObject* filename) { return PyUnicode_Compare(filename, "logging._srcfile"_imported) == 0; }

}  // namespace

namespace handlers {

// warnings.warn
Ref give_warning(Tracer& tracer, PyObject*, const Arguments& arguments) {
  static constexpr std::string_view kNames[] = {"message", "category", "stacklevel", "source"};
  PyObject* values[4] = {};
  if (!by_name(arguments, kNames, values) || !values[0] || !PyUnicode_CheckExact(values[0]) || values[3])
    return refuse_warning(tracer);
  PyObject* category = values[1] && values[1] != Py_None ? values[1] : PyExc_UserWarning;
  const long level = values[2] && PyLong_CheckExact(values[2]) ? PyLong_AsLong(values[2]) : values[2] ? -1 : 1;
  const bool is_class = PyType_Check(category) && !tracer.classes.has(category) &&
                        PyType_IsSubtype(as_type(category), as_type(PyExc_Warning));
  if (level <= 0 || !is_class) return clear_error(), refuse_warning(tracer);
  if (is_ignored_within(tracer, values[0], category)) return Ref::none();
  if (handler_around(*tracer.frame, tracer.frame->instruction) >= Handler::With) return refuse_warning(tracer);
  PyObject* const own = warnings_namespace();
  for (const char* name : {"filters", "showwarning", "_showwarnmsg", "_showwarnmsg_impl"})
    if (is_replaced(tracer, own, name)) return refuse_warning(tracer);
  const Ref show = load_attribute(tracer, warnings_module(), "showwarning"_name);
  if (!show || is_listener_of_program(show.get())) return clear_error(), refuse_warning(tracer);
  source_or_pin(tracer, category);
  long above = level - 1;
  const Frame* frame = frame_above(tracer, above);
  if (!frame) {  // as from a caller of the residual function
    const Ref rest = Ref::made(PyLong_FromLong(above + 1));
    tracer.effects.defer_call(
        {Ref::borrow("warnings.warn"_imported), Ref::made(PyTuple_Pack(3, values[0], category, rest.get())), nullptr},
        tracer.effects.end());
    return Ref::none();
  }
  PyObject* names = frame->globals.get();
  if (!namespace_source(tracer, names)) return nullptr;
  const Ref line = Ref::made(PyLong_FromLong(frame->line()));
  tracer.effects.defer_call(
      {Ref::borrow(warn_at_callable()),
       Ref::made(PyTuple_Pack(5, values[0], category, frame->code()->co_filename, line.get(), names)), nullptr},
      tracer.effects.end());
  return Ref::none();
}

// after each change
Ref warning_filters_changed(Tracer& tracer, PyObject* callable, const Arguments&) {
  tracer.effects.append_unordered_call({Ref::borrow(callable), Ref::made(PyTuple_New(0)), nullptr});
  return Ref::none();
}

// _warnings._release_lock. It raises an error if the lock is not held, so the graph breaks unless the trace holds it.
Ref release_lock_of_warnings(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  int held = 0;
  for (const Effect& effect : tracer.effects.effects())
    if (const auto* call = std::get_if<DeferredCall>(&effect))
      held += int{call->callable.is("_warnings._acquire_lock"_imported)} - int{call->callable.is(callable)};
  if (held <= 0)
    return tracer.abort(BreakReason::Warning, "the lock of warnings is released, which the trace has not taken");
  return warning_filters_changed(tracer, callable, arguments);
}

// logging.Logger._log
Ref log_record(Tracer& tracer, PyObject* callable, const Arguments& arguments) {
  static constexpr std::string_view kNames[] = {"self",     "level", "msg",        "args",
                                                "exc_info", "extra", "stack_info", "stacklevel"};
  PyObject* values[8] = {};
  const bool is_known = by_name(arguments, kNames, values) && values[0] && values[1] && values[2] && values[3];
  auto is_off = [](PyObject* value) { return !value || value == Py_None || value == Py_False; };
  const bool is_plain = is_known && is_off(values[4]) && is_off(values[5]) && is_off(values[6]) &&
                        tracer.world.source_of(values[0]) && is_constant(values[1]) && is_constant_or_late(values[2]) &&
                        is_constant_or_late(values[3]);
  long level = !is_plain ? 0 : values[7] && PyLong_CheckExact(values[7]) ? PyLong_AsLong(values[7]) : values[7] ? 0 : 1;
  const Frame* frame = tracer.frame;
  for (; frame && level > 0; frame = frame->caller)
    if (!is_source_file(frame->code()->co_filename) && --level == 0) break;
  if (!is_plain || level < 0 || !frame || is_source_file(frame->code()->co_filename))
    return clear_error(), call_function(tracer, callable, arguments);
  const Ref listeners = listeners_of(tracer, values[0]);
  if (!listeners) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(listeners.get()); ++i)
    if (PyObject* const one = PyList_GET_ITEM(listeners.get(), i);
        is_listener_of_program(one) || (!tracer.world.source_of(one) && is_own_native(one)))
      return tracer.abort(BreakReason::Listener, std::string("a ") + Py_TYPE(one)->tp_name + " listens to a logger");
  const Ref line = Ref::made(PyLong_FromLong(frame->line()));
  tracer.effects.defer_call({Ref::borrow(log_at_callable()),
                             Ref::made(PyTuple_Pack(7, values[0], values[1], frame->code()->co_filename, line.get(),
                                                    frame->code()->co_name, values[2], values[3])),
                             nullptr},
                            tracer.effects.end());
  return Ref::none();
}

}  // namespace handlers

}  // namespace minidynamo
