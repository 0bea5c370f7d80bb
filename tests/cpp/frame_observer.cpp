#define Py_BUILD_CORE 1
#include "frame_observer.h"

#include <frameobject.h>

#undef HAVE_STD_ATOMIC
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_genobject.h>
#include <internal/pycore_interpframe.h>
#endif

#include <algorithm>
#include <map>

#include "bytecode/location_table.h"
#include "bytecode/opcodes.h"
#include "python/version/fast_locals.h"

namespace minidynamo::code_test {
namespace {

struct Observer {
  const char* file;
  const std::function<void(const std::vector<ObservedFrame>&)>& before;
};
Observer* observer = nullptr;

#if PY_VERSION_HEX < 0x030D0000
PyCodeObject* code_of(const _PyInterpreterFrame* frame) { return frame->f_code; }
constexpr int32_t kSuspendedBehind = 0;
#else
#if PY_VERSION_HEX < 0x030E0000
PyCodeObject* code_of(const _PyInterpreterFrame* frame) { return reinterpret_cast<PyCodeObject*>(frame->f_executable); }
#else
PyCodeObject* code_of(const _PyInterpreterFrame* frame) {
  return reinterpret_cast<PyCodeObject*>(PyStackRef_AsPyObjectBorrow(frame->f_executable));
}
#endif
constexpr int32_t kSuspendedBehind =
    2;  // bytes from the instruction that yielded the last item to where the frame stands
#endif

bool is_watched(PyCodeObject* code) { return PyUnicode_CompareWithASCIIString(code->co_filename, observer->file) == 0; }

#if PY_VERSION_HEX < 0x030C0000
PyObject* function_of(const _PyInterpreterFrame* frame) { return reinterpret_cast<PyObject*>(frame->f_func); }
bool is_called_from_c(const _PyInterpreterFrame* frame) { return frame->is_entry; }
_PyInterpreterFrame* caller_of(const _PyInterpreterFrame* frame) { return frame->previous; }
#else
#if PY_VERSION_HEX < 0x030E0000
PyObject* function_of(const _PyInterpreterFrame* frame) { return frame->f_funcobj; }
constexpr auto kOwnerOfNoCode = FRAME_OWNED_BY_CSTACK;
#else
PyObject* function_of(const _PyInterpreterFrame* frame) { return PyStackRef_AsPyObjectBorrow(frame->f_funcobj); }
constexpr auto kOwnerOfNoCode = FRAME_OWNED_BY_INTERPRETER;
#endif
// A frame of no code stands between.
bool is_called_from_c(const _PyInterpreterFrame* frame) {
  return !frame->previous || frame->previous->owner == kOwnerOfNoCode;
}
_PyInterpreterFrame* caller_of(const _PyInterpreterFrame* frame) {
  return frame->previous && is_called_from_c(frame) ? frame->previous->previous : frame->previous;
}
#endif

// The locals and the stack together; negative: CPython does not say where the stack ends.
int slots_in_use(const _PyInterpreterFrame* frame) {
#if PY_VERSION_HEX < 0x030E0000
  return frame->stacktop;
#else
  return frame->stackpointer ? static_cast<int>(frame->stackpointer - frame->localsplus) : -1;
#endif
}

// A number that is no object becomes one.
PyObject* on_stack(const _PyInterpreterFrame* frame, int index) {
#if PY_VERSION_HEX >= 0x030E0000
  const uintptr_t bits = frame->localsplus[index].bits;
  static auto& numbers = *new std::map<uintptr_t, Ref>;  // the interpreter ends before
  if ((bits & Py_INT_TAG) == Py_INT_TAG)
    return numbers.try_emplace(bits, Ref::steal(PyLong_FromSize_t(bits >> 2))).first->second.get();
#endif
  return FastLocals(reinterpret_cast<PyObject* const*>(frame->localsplus))[index];
}

ObservedFrame look_at(_PyInterpreterFrame* frame) {
  ObservedFrame seen{
      code_of(frame), function_of(frame), _PyInterpreterFrame_LASTI(frame) * 2, is_called_from_c(frame), {}, {}};
  const int locals = code_of(frame)->co_nlocalsplus;
  const FastLocals slots(reinterpret_cast<PyObject* const*>(frame->localsplus));
  for (int i = 0; i < locals; ++i) seen.locals.push_back(slots[i]);
  for (int i = locals; i < slots_in_use(frame); ++i) seen.stack.push_back(on_stack(frame, i));
  return seen;
}

// The event that CPython sends before each instruction.
constexpr int kBefore = PY_VERSION_HEX < 0x030C0000 ? PyTrace_OPCODE : PyTrace_LINE;

int trace(PyObject*, PyFrameObject* frame, int what, PyObject*) {
  if (!is_watched(code_of(frame->f_frame))) return 0;
  if (what == PyTrace_CALL && kBefore == PyTrace_OPCODE)
    return PyObject_SetAttrString(reinterpret_cast<PyObject*>(frame), "f_trace_opcodes", Py_True);
  if (what != kBefore) return 0;
  std::vector<ObservedFrame> frames;
  for (_PyInterpreterFrame* now = frame->f_frame; now && is_watched(code_of(now)); now = caller_of(now))
    frames.push_back(look_at(now));
  observer->before(frames);
  return 0;
}

}  // namespace

void make_observable(PyObject* compiled) {
  if (kBefore == PyTrace_OPCODE) return;
  auto* code = reinterpret_cast<PyCodeObject*>(compiled);
  const Ref bytes = Ref::steal(PyCode_GetCode(code));
  const char* units = PyBytes_AS_STRING(bytes.get());
  LocationWriter locations(code->co_firstlineno);
  constexpr int32_t kFirst = 10'000;
  for (int32_t at = 0, count = static_cast<int32_t>(PyBytes_GET_SIZE(bytes.get()) / 2); at < count;) {
    const int32_t line = kFirst + at, size = 1 + raw::opcodes()[static_cast<uint8_t>(units[2 * at])].caches;
    locations.add({line, line, -1, -1}, size);
    at += size;
  }
  PyObject* table = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(locations.bytes().data()),
                                              static_cast<Py_ssize_t>(locations.bytes().size()));
  Py_SETREF(code->co_linetable, table);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i)
    if (PyCode_Check(PyTuple_GET_ITEM(code->co_consts, i))) make_observable(PyTuple_GET_ITEM(code->co_consts, i));
}

Ref call_observed(PyObject* callable, PyObject* arguments, const char* file,
                  const std::function<void(const std::vector<ObservedFrame>&)>& before) {
  Observer now{file, before};
  observer = &now;
  PyEval_SetTrace(trace, nullptr);
  Ref result = Ref::steal(PyObject_CallObject(callable, arguments));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyEval_SetTrace(nullptr, nullptr);
  PyErr_Restore(type, value, traceback);
  observer = nullptr;
  return result;
}

bool stands_between(const ObservedFrame& frame) {
  const Ref bytes = Ref::steal(PyCode_GetCode(frame.code));
  const auto number = static_cast<uint8_t>(PyBytes_AS_STRING(bytes.get())[frame.offset]);
  constexpr uint8_t between[] = {raw::kNumberOf_END_FOR, raw::kNumberOf_END_SEND,
                                 raw::kNumberOf_SET_FUNCTION_ATTRIBUTE};
  return number != 0 && std::ranges::find(between, number) != std::end(between);
}

std::vector<PyObject*> with_nulls_below(std::vector<PyObject*> stack, const std::vector<SlotKind>& layout) {
  for (size_t i = 0; kNullFollowsCallable && i + 1 < stack.size() && i < layout.size(); ++i)
    if ((layout[i] == SlotKind::Null || layout[i] == SlotKind::Method) && !stack[i + 1])
      std::swap(stack[i], stack[i + 1]);
    else if (layout[i] == SlotKind::MethodSelf &&
             method_of(layout, static_cast<int32_t>(i)) > static_cast<int32_t>(i) && !stack[i])
      std::swap(stack[i], stack[i + 1]);
  return stack;
}

ObservedFrame frame_of(PyObject* generator) {
  auto* made = reinterpret_cast<PyGenObject*>(generator);
#if PY_VERSION_HEX < 0x030E0000
  ObservedFrame seen = look_at(reinterpret_cast<_PyInterpreterFrame*>(made->gi_iframe));
#else
  ObservedFrame seen = look_at(&made->gi_iframe);
#endif
  seen.offset -= kSuspendedBehind;
  return seen;
}

}  // namespace minidynamo::code_test
