// Generators inside a trace: an iterator object whose frame the evaluator runs.
#pragma once
#include "world/state/tracer.h"

namespace minidynamo {

// Takes a frame that stands at RETURN_GENERATOR.
Ref make_generator(Tracer& tracer, std::unique_ptr<Frame> frame);
bool is_traced_generator(PyObject* object) noexcept;
// The suspended frame of one; null if it is finished or running.
Frame* frame_of_generator(PyObject* object) noexcept;
// True if its end runs code: it is suspended inside of try or with.
bool runs_when_dropped(PyObject* generator) noexcept;
PyTypeObject* traced_generator_type() noexcept;
// send(value) / throw: null Ref without error: finished, with `returned` set.
Ref send(Tracer& tracer, PyObject* generator, PyObject* value, Ref& returned);
Ref throw_into(Tracer& tracer, PyObject* generator, Ref& returned);  // the current Python error

}  // namespace minidynamo
