// Read-only views of outside dicts: types.MappingProxyType, and the __dict__ of a class.
//
// In the trace, such a view is a mappingproxy over the stand-in of the dict, and counts as another name of that
// stand-in: reading one key guards that key, anything else fills it.
#pragma once
#include "model/call.h"

namespace minidynamo {

// The __dict__ of a class: a new proxy, as for CPython. Null on a break.
Ref load_class_dict(Tracer& tracer, PyTypeObject* type);
// The in-trace proxy for an outside one over a dict; null Ref without error if it shows something else.
Ref enter_mapping_proxy(Tracer& tracer, Source* source);
// The __annotations__ of a class that has none of its own yet: CPython puts an empty dict into the class when that is
// first read. Here it is a pending write. Null Ref without error if the class has them.
Ref make_class_annotations(Tracer& tracer, PyTypeObject* type);
// Whether the trace has met the class's __dict__, which has to show what is written to the class.
bool is_class_dict_in_use(Tracer& tracer, PyTypeObject* type);

namespace special {
// The __get__ of descriptors of C code, called by hand.
Ref descriptor_get(Tracer& tracer, PyObject* callable, const Arguments& arguments);
}  // namespace special

}  // namespace minidynamo
