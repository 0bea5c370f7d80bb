// torch.compile beside us in one process: its frame hook, and whether it is at work on a thread.
//
// What it compiles is its own: a frame that runs while its callback is set is never captured, and neither is what a
// function that it made calls. The other way round it never sees a frame of a trace, since none runs meanwhile.
#pragma once
#include "python/ref.h"
#include "python/version/eval_frame.h"

namespace minidynamo {

// Looks up torch's functions; runs Python code.
void find_torch_compile();

// True if this thread is running what torch.compile compiles, or has compiled.
bool torch_is_at_work() noexcept;

// Makes torch's hook, if that is the installed one, call `ours` for the frames that it lets pass, and stay before it.
// `next` is what ours has to call then. False: another one's hook is installed.
bool install_behind_torch(EvalFrame ours, EvalFrame& next) noexcept;

}  // namespace minidynamo
