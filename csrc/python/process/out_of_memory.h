// Memory that cannot be had. It ends a capture, never a process, and never changes what a program does: a frame whose
// capture met it runs uncaptured, and is captured at a later call.
//
// Within C++ it is std::bad_alloc, whoever was refused: `new`, or CPython for an object that is made here (Ref::made in
// python/ref.h). Towards CPython it is MemoryError: each function that CPython calls is an `entry<...>`, which turns
// the one into the other. Where an error is dropped because something else can be done (clear_error), a lack of memory
// is taken down first: what was learnt by an error that says nothing about the program must not become a guard or a
// graph. So a capture asks at its end whether there was one (MemoryWatch), and if so, nothing of it is kept.
//
// scripts/check_memory.py refuses code that goes another way.
#pragma once
#include <exception>

#include "python/process/trace_aborted.h"
#include "python/ref.h"

namespace minidynamo {

// Takes down that memory was refused, on this thread.
void note_out_of_memory() noexcept;
// True if the current Python error, if any, comes from a lack of memory.
bool is_out_of_memory() noexcept;
// PyErr_Clear, with a look at what is cleared. Also for errors that are replaced or put into words: `look_at_error`.
void clear_error() noexcept;
void look_at_error() noexcept;
// An exception that the program raised itself, whatever it says; null: none. It is not looked at on this thread.
void is_raised_by_program(PyObject* exception) noexcept;
// A further class of errors that says so: torch's, which is no MemoryError.
void is_also_out_of_memory(PyObject* error_class) noexcept;

// True if memory was refused on this thread since the watch began.
class MemoryWatch {
 public:
  MemoryWatch() noexcept;
  bool failed() const noexcept;

 private:
  unsigned long before_;
};

// Within a handler of a C++ exception: the Python error for it, MemoryError for std::bad_alloc.
void set_error_from_exception() noexcept;

// A C++ function as one that CPython may call: no exception leaves it. With one, the result is null or -1, and a Python
// error is set.
template <auto function, class Type = decltype(function)>
struct Entry;

template <auto function, class Result, class... Arguments>
struct Entry<function, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (...) {
      set_error_from_exception();
    }
    if constexpr (std::is_pointer_v<Result>)
      return nullptr;
    else if constexpr (!std::is_void_v<Result>)
      return -1;
  }
};

template <auto function>
inline constexpr auto entry = Entry<function>::call;

// Does optional work: without memory it is left undone. False: it was.
template <class Work>
bool try_to(Work work) noexcept {
  try {
    work();
    return true;
  } catch (const TraceAborted&) {
    return false;
  } catch (...) {
    note_out_of_memory();
    return false;
  }
}

}  // namespace minidynamo
