#include "python/code/code_object.h"

#define Py_BUILD_CORE 1
#undef HAVE_STD_ATOMIC  // its header is C's <stdatomic.h>, which C++20 does not have
#include <internal/pycore_code.h>
#include <opcode.h>

#include <array>
#include <vector>

#include "python/objects/sequence.h"

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
#include "python/version/specialized_311.def"
#elif PY_VERSION_HEX < 0x030D0000
#include "python/version/specialized_312.def"
#elif PY_VERSION_HEX < 0x030E0000
#include "python/version/specialized_313.def"
#else
#include "python/version/specialized_314.def"
#endif
#undef MINIDYNAMO_SPECIALIZED
  return table;
}();

}  // namespace

namespace {

std::span<const uint8_t> instructions_of(PyCodeObject* code) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  // A tool of sys.monitoring or a trace function has put instructions of its own into the code. The code object keeps
  // the bytes without them, and co_code returns those.
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

namespace {

struct Tables {
  Ref instructions, locations, exceptions, kinds;
};

#if PY_VERSION_HEX < 0x030D0000
Ref new_code(const CodeView& parts, Tables& tables, PyObject* consts) {
  _PyCodeConstructor constructor{};
  constructor.filename = parts.filename;
  constructor.name = parts.name;
  constructor.qualname = parts.qualname;
  constructor.flags = parts.flags;
  constructor.code = tables.instructions.get();
  constructor.firstlineno = parts.first_line;
  constructor.linetable = tables.locations.get();
  constructor.consts = consts;
  constructor.names = parts.names;
  constructor.localsplusnames = parts.localsplus_names;
  constructor.localspluskinds = tables.kinds.get();
  constructor.argcount = parts.argcount;
  constructor.posonlyargcount = parts.posonlyargcount;
  constructor.kwonlyargcount = parts.kwonlyargcount;
  constructor.stacksize = parts.stack_size;
  constructor.exceptiontable = tables.exceptions.get();
  if (_PyCode_Validate(&constructor) < 0) return nullptr;
  return Ref::steal(as_object(_PyCode_New(&constructor)));
}
#else
// The constructor that CPython offers makes the kinds of variables itself, of three lists of names, and knows fewer of
// them. It is given those by which the counts are right, and the kinds and their names are put in afterwards.
Ref new_code(const CodeView& parts, Tables& tables, PyObject* consts) {
  std::vector<Ref> locals, cells, free;
  int cells_of_locals = 0;
  for (size_t i = 0; i < parts.localsplus_kinds.size(); ++i) {
    const uint8_t kind = parts.localsplus_kinds[i];
    auto& list = kind & CO_FAST_LOCAL ? locals : kind & CO_FAST_CELL ? cells : free;
    list.push_back(Ref::borrow(PyTuple_GET_ITEM(parts.localsplus_names, static_cast<Py_ssize_t>(i))));
    cells_of_locals += (kind & CO_FAST_LOCAL) && (kind & CO_FAST_CELL);
  }
  Ref code = Ref::steal(as_object(PyUnstable_Code_NewWithPosOnlyArgs(
      parts.argcount, parts.posonlyargcount, parts.kwonlyargcount, static_cast<int>(locals.size()), parts.stack_size,
      parts.flags, tables.instructions.get(), consts, parts.names, tuple_of(locals).get(), tuple_of(free).get(),
      tuple_of(cells).get(), parts.filename, parts.name, parts.qualname, parts.first_line, tables.locations.get(),
      tables.exceptions.get())));
  if (!code) return nullptr;
  auto* object = as_code(code.get());
  if (static_cast<size_t>(object->co_nlocalsplus) != parts.localsplus_kinds.size()) {
    PyErr_SetString(PyExc_SystemError, "minidynamo: two variables of one name in a code object");
    return nullptr;
  }
  object->co_ncellvars += cells_of_locals;
  Ref made_kinds = Ref::steal(std::exchange(object->co_localspluskinds, tables.kinds.release()));
  Ref names = Ref::borrow(parts.localsplus_names);
  Ref made_names = Ref::steal(std::exchange(object->co_localsplusnames, names.release()));
  return code;
}
#endif

}  // namespace

Ref make_code(const CodeView& parts) {
  // CPython interns the string constants of a new code object inside the tuple it is given, and of every tuple within.
  // A constant may be the user's own object, so the real tuple is put in afterwards.
  Ref no_consts = Ref::made(PyTuple_New(0));
  Tables tables{bytes_from(parts.instructions), bytes_from(parts.location_table), bytes_from(parts.exception_table),
                bytes_from(parts.localsplus_kinds)};
  if (!tables.instructions || !tables.locations || !tables.exceptions || !tables.kinds) return nullptr;
  Ref code = new_code(parts, tables, no_consts.get());
  if (!code) return nullptr;
  Ref replaced = Ref::steal(std::exchange(as_code(code.get())->co_consts, Ref::borrow(parts.consts).release()));
  return code;
}

}  // namespace minidynamo
