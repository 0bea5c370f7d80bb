// CPython's own frames, looked at before each instruction: the oracle for what the bytecode analyses say.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "bytecode/stack_layout.h"
#include "python/ref.h"

namespace minidynamo::code_test {

// A frame that waits: before an instruction, in a call, or at a yield. Nothing is owned.
struct ObservedFrame {
  PyCodeObject* code;
  PyObject* function;
  int32_t offset;  // in bytes, of the instruction; in a call perhaps of one of its caches
  bool called_from_c;
  std::vector<PyObject*> locals, stack;  // nulls included; cells are cell objects
};

// Makes compiled code, and all code in it, fit to be observed: CPython 3.12 does not say where the value stack ends
// while a trace function runs for an instruction, but does for a line. There each instruction gets a line of its own.
void make_observable(PyObject* compiled);

// Runs callable(*arguments), and `before` before each instruction of frames whose code comes from `file`: with the
// frames that the interpreter runs, innermost first, down to the first that is of another file. Null with the Python
// error that the call raised. `before` itself may run Python code, which is not observed.
Ref call_observed(PyObject* callable, PyObject* arguments, const char* file,
                  const std::function<void(const std::vector<ObservedFrame>&)>& before);

// True if a frame stands where no instruction of the neutral set begins: where FOR_ITER and SEND lead (from CPython
// 3.12 on), at the attributes of a function that is made (from 3.13 on).
bool stands_between(const ObservedFrame& frame);

// A frame's stack in the order of StackLayout, which has the null of a call below the callable. From CPython 3.13 on it
// lies above.
std::vector<PyObject*> with_nulls_below(std::vector<PyObject*> stack, const std::vector<SlotKind>& layout);

// The frame of a generator that is suspended, or has not started.
ObservedFrame frame_of(PyObject* generator);

}  // namespace minidynamo::code_test
