// Who looks at the frames that call it: locals(), eval(), sys._getframe() and whatever uses them.
//
// Where a trace ends at a break, the breaking instruction runs in a residual function. That shows the original's file,
// line, name, globals and builtins, but neither its local variables nor its code object, and the resume function behind
// it has only those locals that are still needed. So a frame whose locals or code may be looked at is not split: it
// runs as it is. Readers are known by identity, whatever name the program has for them.
#pragma once
#include "model/protocols/rule.h"
#include "world/state/tracer.h"

namespace minidynamo {

// The frames that a call of this callable with so many positional arguments looks at; -1: any number. By rules of kind
// OwnFrame, through functools.partial and bound methods.
FrameUse frame_use(PyObject* callable, Py_ssize_t arguments);

// The same for the callable of the CALL or CALL_FUNCTION_EX that the frame has come to; super() without arguments
// included.
FrameUse frame_use_of_call(const Frame& frame);

// A reader is called in tracer.frame: none of the frames that it sees may be split any more.
void forbid_split(Tracer& tracer, FrameUse use);

}  // namespace minidynamo
