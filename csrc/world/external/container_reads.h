// Reads of an external container, and additions to its end, that leave its shadow unfilled.
#pragma once
#include <optional>

#include "world/state/tracer.h"

namespace minidynamo {

// `found` false: absent (guarded). Null Ref with found true: break.
Ref item_of_shadow(Tracer& tracer, ShadowContainer& shadow, PyObject* key, bool& found);  // a dict's
Ref element_of_shadow(Tracer& tracer, ShadowContainer& shadow, Py_ssize_t index);         // a list's; index in range
// True if a shadow is unfilled and no pending write changes its length: then length_of_shadow() may be called.
bool tells_length(const Tracer& tracer, const ShadowContainer& shadow);
Py_ssize_t length_of_shadow(Tracer& tracer, ShadowContainer& shadow);
// True if the original has attributes of its own, which the shadow has not; guarded.
bool has_attributes(Tracer& tracer, const ShadowContainer& shadow);

// list.append and list.extend. For an external list they add no guard, neither on its length nor on its items. False:
// the trace ends, or a Python error is set. nullopt: `items` is no plain list or tuple, or the list itself.
bool append_to(Tracer& tracer, PyObject* list, PyObject* item);
std::optional<bool> extend_by(Tracer& tracer, PyObject* list, PyObject* items);

}  // namespace minidynamo
