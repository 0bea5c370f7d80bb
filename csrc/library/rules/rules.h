// The table of what is known about callables: rules.def.
#pragma once

namespace minidynamo {

// Reads the table, which may import modules: to be called before a trace starts.
void load_rules();

// Calls of objects of this type are calls of their __wrapped__.
void trace_through_wrapped(PyTypeObject* type);

}  // namespace minidynamo
