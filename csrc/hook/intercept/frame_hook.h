// The PEP 523 hook: what happens to a frame that CPython is about to evaluate.
#pragma once
#include "python/version/eval_frame.h"

namespace minidynamo {

EvalFrame our_frame_hook() noexcept;

}  // namespace minidynamo
