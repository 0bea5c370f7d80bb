#define Py_BUILD_CORE 1
#include "python/process/native_stack.h"

#include <Python.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#if PY_VERSION_HEX >= 0x030E0000
#undef HAVE_STD_ATOMIC
#include <internal/pycore_pythonrun.h>
#include <internal/pycore_tstate.h>
#endif

// Calls function(argument) with the stack pointer at `top`. The frame is found by the frame pointer, so debuggers and
// the unwinder see the callers through it.
extern "C" void minidynamo_call_on_stack(void* argument, void* top, void (*function)(void*)) noexcept;

#if defined(__x86_64__)
asm(R"(
    .text
    .p2align 4
    .hidden minidynamo_call_on_stack
    .globl minidynamo_call_on_stack
    .type minidynamo_call_on_stack, @function
minidynamo_call_on_stack:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rsi, %rsp
    callq *%rdx
    movq %rbp, %rsp
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size minidynamo_call_on_stack, .-minidynamo_call_on_stack
)");
#define HAS_CALL_ON_STACK 1
#elif defined(__aarch64__)
asm(R"(
    .text
    .p2align 4
    .hidden minidynamo_call_on_stack
    .globl minidynamo_call_on_stack
    .type minidynamo_call_on_stack, %function
minidynamo_call_on_stack:
    .cfi_startproc
    hint #34
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset 29, -16
    .cfi_offset 30, -8
    mov x29, sp
    .cfi_def_cfa_register 29
    mov sp, x1
    blr x2
    mov sp, x29
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size minidynamo_call_on_stack, .-minidynamo_call_on_stack
)");
#define HAS_CALL_ON_STACK 1
#else
#define HAS_CALL_ON_STACK 0
#endif

namespace minidynamo {
namespace {

constexpr size_t kStackSize = 8 * 1024 * 1024;  // address space; memory is taken as it is used

thread_local uintptr_t stack_end = 0;  // the lowest address of the stack that the thread is on; 0: not looked up yet

// The end of the thread's own stack; 1 if it is unknown.
uintptr_t find_end() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 1;
  void* lowest = nullptr;
  size_t size = 0;
  const bool ok = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  return ok && lowest ? reinterpret_cast<uintptr_t>(lowest) : 1;
}

// A call to and fro at the end of a stack would map one each time.
struct SpareStack {
  void* lowest = nullptr;
  ~SpareStack() {
    if (lowest) munmap(lowest, kStackSize);
  }
};
thread_local SpareStack spare;

// Null: no memory. An overflow meets a page that cannot be written to.
void* take_stack() noexcept {
  if (spare.lowest) return std::exchange(spare.lowest, nullptr);
  void* lowest =
      mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (lowest == MAP_FAILED) return nullptr;
  if (mprotect(lowest, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE) == 0) return lowest;
  munmap(lowest, kStackSize);
  return nullptr;
}

void give_back(void* lowest) noexcept {
  if (spare.lowest)
    munmap(lowest, kStackSize);
  else
    spare.lowest = lowest;
}

#if PY_VERSION_HEX < 0x030E0000
struct InterpretersBounds {
  explicit InterpretersBounds(uintptr_t) noexcept {}
};
#else
// From 3.14 on CPython asks where the stack pointer is before it calls itself, and raises RecursionError.
class InterpretersBounds {
 public:
  explicit InterpretersBounds(uintptr_t lowest) noexcept
      : thread_(*reinterpret_cast<_PyThreadStateImpl*>(PyThreadState_Get())),
        top_(std::exchange(thread_.c_stack_top, lowest + kStackSize)),
        soft_(std::exchange(thread_.c_stack_soft_limit, lowest + 2 * _PyOS_STACK_MARGIN_BYTES)),
        hard_(std::exchange(thread_.c_stack_hard_limit, lowest + _PyOS_STACK_MARGIN_BYTES)) {}
  ~InterpretersBounds() {
    thread_.c_stack_top = top_;
    thread_.c_stack_soft_limit = soft_;
    thread_.c_stack_hard_limit = hard_;
  }
  InterpretersBounds(const InterpretersBounds&) = delete;

 private:
  _PyThreadStateImpl& thread_;
  uintptr_t top_, soft_, hard_;
};
#endif

}  // namespace

size_t native_stack_left() noexcept {
  if (!stack_end) [[unlikely]]
    stack_end = find_end();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > stack_end ? here - stack_end : 0;
}

bool run_on_another_stack(void (*work)(void*), void* argument) noexcept {
#if HAS_CALL_ON_STACK
  void* lowest = take_stack();
  if (!lowest) return false;
  const uintptr_t end = std::exchange(stack_end, reinterpret_cast<uintptr_t>(lowest));
  const InterpretersBounds bounds(reinterpret_cast<uintptr_t>(lowest));
  minidynamo_call_on_stack(argument, static_cast<char*>(lowest) + kStackSize, work);
  stack_end = end;
  give_back(lowest);
  return true;
#else
  (void)work, (void)argument;
  return false;
#endif
}

}  // namespace minidynamo
