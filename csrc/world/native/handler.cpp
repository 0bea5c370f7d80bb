#include "world/native/handler.h"

#include <algorithm>
#include <string_view>

#include "python/cached.h"
#include "python/process/out_of_memory.h"

namespace minidynamo {
namespace {

bool is_torch_context(const Frame& frame, const ExceptionRegion& region) {
  PyObject* exit = frame.slots[frame.prepared->locals_count + region.depth - 1].get();
  if (!exit || !PyMethod_Check(exit)) return false;
  const Ref module = Ref::steal(PyObject_GetAttr(as_object(Py_TYPE(PyMethod_GET_SELF(exit))), "__module__"_name));
  clear_error();
  const char* name = module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
  return name && (std::string_view(name) == "torch" || std::string_view(name).starts_with("torch."));
}

Handler handler_of_region(const Frame& frame, const ExceptionRegion& region) {
  const std::vector<Instruction>& code = frame.prepared->bytecode.instructions;
  const bool is_with =
      code[region.target].op == Op::PUSH_EXC_INFO && code[region.target + 1].op == Op::WITH_EXCEPT_START;
  if (!is_with) return Handler::Clause;
  return is_torch_context(frame, region) ? Handler::TorchContext : Handler::With;
}

}  // namespace

Handler handler_around(const Frame& innermost, int32_t instruction) {
  Handler likeliest = Handler::None;
  for (const Frame* frame = &innermost; frame; frame = frame->caller) {
    const int32_t at = frame == &innermost ? instruction : frame->instruction;
    if (const ExceptionRegion* region = frame->prepared->bytecode.block_at(at))
      likeliest = std::max(likeliest, handler_of_region(*frame, *region));
    if (frame->caller && !frame->called_directly) likeliest = std::max(likeliest, Handler::NativeCode);
  }
  return likeliest;
}

}  // namespace minidynamo
