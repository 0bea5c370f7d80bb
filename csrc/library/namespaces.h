// Builtin functions that look at variables, or run code from text: locals, globals, vars, dir, eval, exec.
#pragma once
#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

Ref builtin_locals(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref builtin_globals(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref builtin_vars(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref builtin_dir(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref builtin_eval(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref builtin_exec(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref builtin_compile(Tracer& tracer, PyObject* callable, const Arguments& arguments);
Ref class_subclasses(Tracer& tracer, PyObject* callable, const Arguments& arguments);

}  // namespace minidynamo::handlers
