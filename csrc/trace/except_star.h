// `except*`: exception groups taken apart and put together again, as CPython's interpreter loop does it.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// [exception, type] on the stack become [rest, match], or [exception, None] if nothing of it is of the type.
bool check_group_match(Tracer& tracer, Frame& frame);
// [exception, what the clauses raised] become the exception to raise, or None.
bool prepare_reraise_star(Tracer& tracer, Frame& frame);

}  // namespace minidynamo
