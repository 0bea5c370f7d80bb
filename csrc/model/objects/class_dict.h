// The __dict__ and the __annotations__ of classes.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// The __dict__ of a class: a new proxy, as for CPython. Null on a break.
Ref load_class_dict(Tracer& tracer, PyTypeObject* type);
// The __annotations__ of a class that has none of its own yet: CPython puts an empty dict into the class when that is
// first read. Here it is a pending write; from 3.14 on, where more is put there, a break. Null Ref without error if the
// class has them.
Ref make_class_annotations(Tracer& tracer, PyTypeObject* type);
// True if the trace has met the class's __dict__, which has to show what is written to the class.
bool is_class_dict_in_use(Tracer& tracer, PyTypeObject* type);

}  // namespace minidynamo
