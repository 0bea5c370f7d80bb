// Ctrl-C and its like in a captured part that begins behind a graph break: what comes before the part has had an effect
// comes at its start. The resume function runs as it is then, with the error raised at its first instruction, so that
// the handlers around the place see it.
#pragma once
#include "cache/code_cache.h"
#include "python/version/eval_frame.h"

namespace minidynamo {

namespace interrupted_part_details {
inline constinit thread_local bool is_awaited = false;
}

// The offset, in bytes, of the call of the compiled function in residual code: the only call of its kind. -1: none.
int32_t graph_call_offset(PyCodeObject* residual);

// True if the current Python error came from outside before the entry, which ran in place of `function`'s frame, had an
// effect. The error belongs to the start of that frame then, and its traceback loses the residual code.
bool is_interruption_at_start(const CacheEntry& entry, PyObject* function);
// The same for an error that came while the frame was captured. In a backend, where nothing holds interruptions, errors
// other than Ctrl-C may be the backend's own.
bool is_interruption_of_capture(PyCodeObject* code);

// Raises the error at the start of the function, which is called next. `end_await` afterwards: false with the error
// set, if its frame never came to the hook.
void await_error(PyObject* function, Ref error) noexcept;
bool end_await() noexcept;

// For the frame hook. Whether an error waits for a frame to start; if it is this one's, sets it.
inline bool is_error_awaited() noexcept { return interrupted_part_details::is_awaited; }
bool raise_if_awaited(const InterpreterFrame& frame);
// If the frame is a resume function's that stands in a call, the current Python error waits for what it calls.
bool hand_error_down(const InterpreterFrame& frame);

}  // namespace minidynamo
