#include "python/code_object.h"

#define Py_BUILD_CORE 1
#undef HAVE_STD_ATOMIC  // its header is C's <stdatomic.h>, which C++20 does not have
#include <internal/pycore_code.h>
#include <opcode.h>

#include <array>

namespace minidynamo {
namespace {

static_assert(kFastLocal == CO_FAST_LOCAL && kFastCell == CO_FAST_CELL && kFastFree == CO_FAST_FREE);

std::span<const uint8_t> bytes_view(PyObject* bytes) noexcept {
  return {reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes)), static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

Ref bytes_from(std::span<const uint8_t> view) noexcept {
  return Ref::steal(
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(view.data()), static_cast<Py_ssize_t>(view.size())));
}

// CPython's own table cannot be had: its symbol is hidden and its definition is C with array designators.
constexpr std::array<uint8_t, 256> kBaseOpcodes = [] {
  std::array<uint8_t, 256> table{};
  for (int opcode = 0; opcode < 256; ++opcode) table[opcode] = static_cast<uint8_t>(opcode);
#define MINIDYNAMO_SPECIALIZED(specialized, base) table[specialized] = base;
#if PY_VERSION_HEX < 0x030C0000
#include "python/specialized_311.def"
#elif PY_VERSION_HEX < 0x030D0000
#include "python/specialized_312.def"
#else
#include "python/specialized_313.def"
#endif
#undef MINIDYNAMO_SPECIALIZED
  return table;
}();

}  // namespace

namespace {

std::span<const uint8_t> instructions_of(PyCodeObject* code) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  // A tool of sys.monitoring or a trace function has put instructions of its own into the code. The code object keeps
  // what it gives out without them.
  if (code->_co_monitoring)
    if (const Ref plain = Ref::steal(PyCode_GetCode(code))) return bytes_view(plain.get());
#endif
  return {reinterpret_cast<const uint8_t*>(code->co_code_adaptive), static_cast<size_t>(_PyCode_NBYTES(code))};
}

}  // namespace

CodeView view_code(PyCodeObject* code) noexcept {
  CodeView view;
  view.instructions = instructions_of(code);
  view.location_table = bytes_view(code->co_linetable);
  view.exception_table = bytes_view(code->co_exceptiontable);
  view.localsplus_kinds = bytes_view(code->co_localspluskinds);
  view.consts = code->co_consts;
  view.names = code->co_names;
  view.localsplus_names = code->co_localsplusnames;
  view.filename = code->co_filename;
  view.name = code->co_name;
  view.qualname = code->co_qualname;
  view.argcount = code->co_argcount;
  view.posonlyargcount = code->co_posonlyargcount;
  view.kwonlyargcount = code->co_kwonlyargcount;
  view.flags = code->co_flags;
  view.first_line = code->co_firstlineno;
  view.stack_size = code->co_stacksize;
  return view;
}

uint8_t base_opcode(uint8_t opcode) noexcept { return kBaseOpcodes[opcode]; }

Ref make_code(const CodeView& parts) {
  Ref instructions = bytes_from(parts.instructions);
  Ref location_table = bytes_from(parts.location_table);
  Ref exception_table = bytes_from(parts.exception_table);
  Ref kinds = bytes_from(parts.localsplus_kinds);
  // CPython interns the string constants of a new code object inside the tuple it is given, and of every tuple within.
  // A constant may be the user's own object, so the real tuple is put in afterwards.
  Ref no_consts = Ref::made(PyTuple_New(0));
  if (!instructions || !location_table || !exception_table || !kinds) return nullptr;

  _PyCodeConstructor constructor{};
  constructor.filename = parts.filename;
  constructor.name = parts.name;
  constructor.qualname = parts.qualname;
  constructor.flags = parts.flags;
  constructor.code = instructions.get();
  constructor.firstlineno = parts.first_line;
  constructor.linetable = location_table.get();
  constructor.consts = no_consts.get();
  constructor.names = parts.names;
  constructor.localsplusnames = parts.localsplus_names;
  constructor.localspluskinds = kinds.get();
  constructor.argcount = parts.argcount;
  constructor.posonlyargcount = parts.posonlyargcount;
  constructor.kwonlyargcount = parts.kwonlyargcount;
  constructor.stacksize = parts.stack_size;
  constructor.exceptiontable = exception_table.get();
  if (_PyCode_Validate(&constructor) < 0) return nullptr;
  Ref code = Ref::steal(as_object(_PyCode_New(&constructor)));
  if (!code) return nullptr;
  auto* object = as_code(code.get());
  Ref replaced = Ref::steal(std::exchange(object->co_consts, Ref::borrow(parts.consts).release()));
  return code;
}

}  // namespace minidynamo
