// Handlers of rules of kind Handler: builtins that look at structure, attributes or state, which only the tracer sees
// whole.
#pragma once

#include "model/arguments.h"
#include "world/tracer.h"

namespace minidynamo::handlers {

#define SPECIAL(name) Ref name(Tracer& tracer, PyObject* callable, const Arguments& arguments)
SPECIAL(is_compiling);
SPECIAL(builtin_isinstance);
SPECIAL(builtin_issubclass);
SPECIAL(builtin_len);
SPECIAL(builtin_getattr);
SPECIAL(builtin_hasattr);
SPECIAL(builtin_setattr);
SPECIAL(builtin_delattr);
SPECIAL(builtin_iter);
SPECIAL(builtin_next);
SPECIAL(builtin_sum);
SPECIAL(builtin_hash);
SPECIAL(builtin_id);
SPECIAL(operator_is);
SPECIAL(operator_is_not);
SPECIAL(builtin_text);
SPECIAL(method_caller_call);
SPECIAL(dict_get);
SPECIAL(mapping_proxy_get);
SPECIAL(logger_is_enabled_for);
SPECIAL(type_call);
SPECIAL(type_mro);
SPECIAL(call_itself);
SPECIAL(cached_property_get);
SPECIAL(attribute_getter_call);
SPECIAL(inference_mode_enter);
SPECIAL(inference_mode_exit);
SPECIAL(object_setattr);
SPECIAL(object_delattr);
SPECIAL(object_getattribute);
SPECIAL(module_getattribute);
SPECIAL(exception_group_split);
SPECIAL(handled_exception);
SPECIAL(generic_alias_call);
SPECIAL(descriptor_get);
SPECIAL(descriptor_set);
#undef SPECIAL

}  // namespace minidynamo::handlers
