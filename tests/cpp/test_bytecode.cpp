// Bytecode made and changed by hand, and the parts of the interface that Python does not see. Whole-library round trips
// are in tests/python/language/test_bytecode.py.
#if __has_include(<catch2/catch_test_macros.hpp>)  // version 3
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
#include <string>
#include <vector>

#include "bytecode/instruction.h"
#include "bytecode/op_facts.h"
#include "bytecode/opcodes.h"
#include "python/code/code_object.h"
#include "python/ref.h"

namespace {

using namespace minidynamo;

void ensure_python() {
  if (!Py_IsInitialized()) Py_InitializeEx(0);
}

// The names that a source text defines.
Ref run_source(const std::string& source) {
  ensure_python();
  Ref names = Ref::steal(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  const Ref done = Ref::steal(PyRun_String(source.c_str(), Py_file_input, names.get(), names.get()));
  if (!done) PyErr_Print();
  REQUIRE(done);
  return names;
}

PyCodeObject* code_of(const Ref& names, const char* function) {
  return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(PyDict_GetItemString(names.get(), function)));
}

Ref tuple_of(std::initializer_list<Ref> items) {
  Ref tuple = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  Py_ssize_t next = 0;
  for (const Ref& item : items) PyTuple_SET_ITEM(tuple.get(), next++, Ref(item).release());
  return tuple;
}

Ref str(const char* text) { return Ref::steal(PyUnicode_InternFromString(text)); }
Ref integer(long value) { return Ref::steal(PyLong_FromLong(value)); }

// A function of one parameter `x` without instructions yet.
Bytecode empty_function(std::initializer_list<Ref> consts) {
  ensure_python();
  Bytecode bytecode;
  bytecode.consts = tuple_of(consts);
  bytecode.names = tuple_of({});
  bytecode.localsplus_names = tuple_of({str("x")});
  bytecode.localsplus_kinds = {kFastLocal};
  bytecode.filename = str("made.py");
  bytecode.name = bytecode.qualname = str("made");
  bytecode.argcount = 1;
  bytecode.flags = CO_OPTIMIZED | CO_NEWLOCALS;
  bytecode.first_line = 10;
  return bytecode;
}

Instruction plain(Op op, int32_t arg = 0, int32_t line = 10) { return {op, false, arg, -1, -1, {line, line, -1, -1}}; }
Instruction jump(Op op, int32_t target) { return {op, false, 0, target, -1, {10, 10, -1, -1}}; }

Ref call(const Bytecode& bytecode, const Ref& argument) {
  const Ref code = assemble(bytecode);
  if (!code) PyErr_Print();
  REQUIRE(code);
  const Ref globals = Ref::steal(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  const Ref function = Ref::steal(PyFunction_New(code.get(), globals.get()));
  return Ref::steal(PyObject_CallOneArg(function.get(), argument.get()));
}

void check_refused(const Bytecode& bytecode, const char* reason) {
  CHECK_FALSE(assemble(bytecode));
  REQUIRE(PyErr_ExceptionMatches(PyExc_ValueError));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref owned[] = {Ref::steal(type), Ref::steal(value), Ref::steal(traceback)};
  const Ref text = Ref::steal(PyObject_Str(value));
  CHECK(std::string(PyUnicode_AsUTF8(text.get())).find(reason) != std::string::npos);
}

constexpr const char* kProgram = R"(
def guarded(x):
    try:
        with open(x) as f:
            return f.read()
    except OSError as e:
        return [y for y in (e,)]
    finally:
        print(x)
)";

}  // namespace

TEST_CASE("region_at agrees with a search of all regions", "[bytecode]") {
  const Ref names = run_source(kProgram);
  const Bytecode bytecode = decode(code_of(names, "guarded"));
  REQUIRE(bytecode.regions.size() > 3);
  int covered = 0;
  for (int32_t index = 0; index < static_cast<int32_t>(bytecode.instructions.size()); ++index) {
    const ExceptionRegion* expected = nullptr;
    for (const ExceptionRegion& region : bytecode.regions) {
      if (region.start <= index && index < region.end) expected = &region;
    }
    CHECK(bytecode.region_at(index) == expected);
    covered += expected != nullptr;
  }
  CHECK(covered > 10);
  CHECK(bytecode.region_at(-1) == nullptr);
  CHECK(bytecode.region_at(1'000'000) == nullptr);
}

TEST_CASE("index_of_offset finds instructions, prefixes, and no caches", "[bytecode]") {
  std::string source = "def many(x):\n    x = (x";
  for (int i = 0; i < 300; ++i) source += " + " + std::to_string(1000 + i);  // consts past 255: EXTENDED_ARG
  source += ")\n    return str(x)\n";
  const Ref names = run_source(source);
  PyCodeObject* code = code_of(names, "many");
  const Bytecode bytecode = decode(code);
  const Ref bytes = Ref::steal(PyCode_GetCode(code));  // with empty caches
  const std::span<const uint8_t> units{reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.get())),
                                       static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
  constexpr uint8_t kCache = 0, kExtendedArg = raw::kNumberOf_EXTENDED_ARG, kPrecall = raw::kNumberOf_PRECALL;
  int prefixes = 0, caches = 0;
  for (int32_t offset = 0; offset < static_cast<int32_t>(units.size()); offset += 2) {
    const int32_t index = bytecode.index_of_offset(offset);
    if (units[offset] == kCache) {
      ++caches;
      // The cache of PRECALL lies inside CALL; those of others belong to nothing.
      if (index >= 0) CHECK(bytecode.instructions[index].op == Op::CALL);
      continue;
    }
    REQUIRE(index >= 0);
    if (units[offset] == kExtendedArg || units[offset] == kPrecall) {
      ++prefixes;
      CHECK(bytecode.instructions[index].offset > offset);
    } else {
      CHECK(bytecode.instructions[index].offset == offset);
    }
  }
  CHECK(prefixes > 40);
  CHECK(caches > 300);
  CHECK(bytecode.index_of_offset(1) == -1);
  CHECK(bytecode.index_of_offset(-2) == -1);
  CHECK(bytecode.index_of_offset(static_cast<int32_t>(units.size())) == -1);
}

TEST_CASE("jumps in both directions, made by hand", "[bytecode]") {
  // while x > 0: x = x - 1 (with the condition at the end); return x
  Bytecode bytecode = empty_function({integer(0), integer(1)});
  bytecode.instructions = {plain(Op::RESUME),        jump(Op::JUMP, 6),
                           plain(Op::LOAD_FAST, 0),  plain(Op::LOAD_CONST, 1),
                           plain(Op::BINARY_OP, 10), plain(Op::STORE_FAST, 0),
                           plain(Op::LOAD_FAST, 0),  plain(Op::LOAD_CONST, 0),
                           plain(Op::COMPARE_OP, 4), jump(Op::POP_JUMP_IF_TRUE, 2),
                           plain(Op::LOAD_FAST, 0),  plain(Op::RETURN_VALUE)};
  const Ref result = call(bytecode, integer(70000));
  REQUIRE(result);
  CHECK(PyLong_AsLong(result.get()) == 0);
}

TEST_CASE("jumps over bodies of any size", "[bytecode]") {
  for (const int size : {0, 1, 120, 125, 126, 127, 128, 129, 254, 255, 256, 257, 32760, 32770, 65530, 65540}) {
    INFO("body of " << size);
    Bytecode bytecode = empty_function({Ref::none(), integer(7)});
    auto& body = bytecode.instructions;
    // x, a list of booleans, is popped until a true one: two jumps back and one forward over the whole body.
    body = {plain(Op::RESUME), plain(Op::LOAD_FAST, 0), plain(Op::GET_ITER), jump(Op::FOR_ITER, 5 + size)};
    for (int i = 0; i < size; ++i) body.push_back(plain(Op::NOP));
    body.push_back(jump(Op::POP_JUMP_IF_FALSE, 3));
    body.push_back(plain(Op::LOAD_CONST, 1));
    body.push_back(plain(Op::RETURN_VALUE));
    // FOR_ITER leaves at an empty stack: `return 7` for both, told apart by the iterator left below.
    const Ref list = Ref::steal(Py_BuildValue("[OOO]", Py_False, Py_False, Py_True));
    const Bytecode again = [&] {
      // Two ways to the return with different depths: give the true one its own.
      Bytecode copy = bytecode;
      copy.instructions[4 + size] = jump(Op::POP_JUMP_IF_FALSE, 3);
      copy.instructions.insert(copy.instructions.begin() + 5 + size,
                               {plain(Op::POP_TOP), plain(Op::LOAD_CONST, 0), plain(Op::RETURN_VALUE)});
      copy.instructions[3].target = 8 + size;
      return copy;
    }();
    const Ref found = call(again, list);
    REQUIRE(found);
    CHECK(found.is(Py_None));
    const Ref exhausted = call(again, Ref::steal(PyList_New(0)));
    REQUIRE(exhausted);
    CHECK(PyLong_AsLong(exhausted.get()) == 7);
    check_refused(bytecode, "different stack depths");
  }
}

TEST_CASE("exception regions, made by hand", "[bytecode]") {
  // try: return 1 / x   except: return "handled" (whatever it was)
  Bytecode bytecode = empty_function({integer(1), str("handled")});
  bytecode.instructions = {plain(Op::RESUME),        plain(Op::LOAD_CONST, 0), plain(Op::LOAD_FAST, 0),
                           plain(Op::BINARY_OP, 11), plain(Op::RETURN_VALUE),  plain(Op::PUSH_EXC_INFO),
                           plain(Op::POP_TOP),       plain(Op::POP_EXCEPT),    plain(Op::LOAD_CONST, 1),
                           plain(Op::RETURN_VALUE)};
  bytecode.regions = {{1, 4, 5, 0, false}};
  const Ref half = call(bytecode, integer(2));
  REQUIRE(half);
  CHECK(PyFloat_AsDouble(half.get()) == 0.5);
  const Ref handled = call(bytecode, integer(0));
  REQUIRE(handled);
  CHECK(handled == str("handled"));

  bytecode.regions[0].depth = 3;
  check_refused(bytecode, "expects a deeper stack");
}

TEST_CASE("lines of instructions reach the traceback", "[bytecode]") {
  Bytecode bytecode = empty_function({integer(1)});
  bytecode.instructions = {plain(Op::RESUME), plain(Op::LOAD_CONST, 0, 4000), plain(Op::LOAD_FAST, 0, 3),
                           plain(Op::BINARY_OP, 11, 777), plain(Op::RETURN_VALUE, 0, -1)};
  CHECK_FALSE(call(bytecode, integer(0)));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref owned[] = {Ref::steal(type), Ref::steal(value), Ref::steal(traceback)};
  REQUIRE(type == PyExc_ZeroDivisionError);
  const Ref line = Ref::steal(PyObject_GetAttrString(traceback, "tb_lineno"));
  CHECK(PyLong_AsLong(line.get()) == 777);
}

TEST_CASE("what cannot be assembled is refused", "[bytecode]") {
  const auto with = [](std::vector<Instruction> instructions) {
    Bytecode bytecode = empty_function({Ref::none()});
    bytecode.instructions = std::move(instructions);
    return bytecode;
  };
  check_refused(with({}), "no instructions");
  check_refused(with({plain(Op::RESUME), plain(Op::LOAD_CONST, 0)}), "control leaves the code");
  check_refused(with({plain(Op::POP_TOP), plain(Op::LOAD_CONST, 0), plain(Op::RETURN_VALUE)}), "below its bottom");
  check_refused(with({plain(Op::LOAD_ATTR), plain(Op::RETURN_VALUE)}), "below its bottom");
  check_refused(with({plain(Op::LOAD_CONST), plain(Op::SWAP, 2), plain(Op::RETURN_VALUE)}), "below its bottom");
  check_refused(with({plain(Op::LOAD_CONST), plain(Op::LOAD_CONST), plain(Op::CALL, 1), plain(Op::RETURN_VALUE)}),
                "below its bottom");
  check_refused(with({plain(Op::LOAD_CONST, 1), plain(Op::RETURN_VALUE)}), "out of range");
  check_refused(with({plain(Op::LOAD_GLOBAL, 0), plain(Op::RETURN_VALUE)}), "out of range");
  check_refused(with({plain(Op::LOAD_FAST, 1), plain(Op::RETURN_VALUE)}), "out of range");
  check_refused(with({jump(Op::JUMP, 9)}), "control leaves the code");
  // FOR_ITER has no backward form.
  check_refused(with({plain(Op::LOAD_FAST), plain(Op::RETURN_VALUE), jump(Op::FOR_ITER, 0)}), "no such form");
}

namespace {

int raw_number(Op op) { return raw::encoding_of(op).plain; }
// From 3.13 on some are parts of others, or what others say too.
constexpr bool kHasCallKw = raw::kNumberOf_CALL_KW != 0;
constexpr bool kIs314 = PY_VERSION_HEX >= 0x030E0000;
// Some instructions are those of one CPython alone.
bool is_there(Op op) { return raw_number(op) != 0 || op == Op::NOP; }

int raw_argument(const Instruction& instruction) {
  switch (raw::encoding_of(instruction.op).form) {
    case raw::Form::Name:
      return instruction.arg << 1 | instruction.push_null;
    case raw::Form::Attribute:
      return instruction.arg << 1 | (instruction.op == Op::LOAD_METHOD);
    case raw::Form::Super:
      return instruction.arg << 2 | (instruction.op == Op::LOAD_SUPER_METHOD);
    default: {
      const uint8_t own = raw::encoding_of(instruction.op).intrinsic;
      return own ? own : instruction.arg;
    }
  }
}

// The number of CPython's form of an instruction, and its argument there.
int cpython_stack_effect(const Instruction& instruction, bool jump) {
  const int arg = raw_argument(instruction);
  const bool is_simple_format = kHasCallKw && instruction.op == Op::FORMAT_VALUE && arg == 0;
  int effect = PyCompile_OpcodeStackEffectWithJump(
      is_simple_format ? raw::kNumberOf_FORMAT_SIMPLE : raw_number(instruction.op), arg, jump);
  // With what always stands before it, or where it leads.
  auto add = [&](uint8_t number, int its_argument) {
    if (number) effect += PyCompile_OpcodeStackEffectWithJump(number, its_argument, 0);
  };
  if (instruction.op == Op::CALL) add(raw::kNumberOf_PRECALL, arg);
  if (instruction.op == Op::FOR_ITER && jump) add(raw::kNumberOf_END_FOR, 0);
  if (instruction.op == Op::FOR_ITER && jump && kHasCallKw) add(raw_number(Op::POP_TOP), 0);
  if (instruction.op == Op::KW_NAMES && kHasCallKw) --effect;  // CALL_KW takes them
  if (instruction.op == Op::MAKE_FUNCTION)
    for (int bits = arg; bits; bits &= bits - 1) add(raw::kNumberOf_SET_FUNCTION_ATTRIBUTE, bits & -bits);
  if (raw::encoding_of(instruction.op).form == raw::Form::Spread && !(arg & 1)) add(raw_number(Op::PUSH_NULL_BELOW), 0);
  if ((instruction.op == Op::SEND && jump) || instruction.op == Op::CLEANUP_THROW) add(raw::kNumberOf_END_SEND, 0);
  return effect;
}

}  // namespace

TEST_CASE("every row's stack effect is CPython's, with every argument", "[bytecode]") {
  ensure_python();
  for (size_t row = 0; row < raw::kOpCount; ++row) {
    if (static_cast<Op>(row) == Op::RETURN_GENERATOR) continue;  // CPython does not count the value that it starts with
    if (kIs314 && static_cast<Op>(row) == Op::RETURN_VALUE) continue;  // it counts the value that the caller gets
    if (!is_there(static_cast<Op>(row))) continue;
    for (const int32_t arg : {0, 1, 2, 3, 4, 5, 7, 8, 15, 255, 256, 513}) {
      for (const bool push_null : {false, true}) {
        for (const bool jumps : {false, true}) {
          Instruction instruction{static_cast<Op>(row), push_null, arg};
          const bool is_global = instruction.op == Op::LOAD_GLOBAL;
          const bool has_slice_form = instruction.op != Op::BUILD_SLICE || arg == 2 || arg == 3;
          const bool has_function_form = instruction.op != Op::MAKE_FUNCTION || arg < 16;
          const bool has_format = instruction.op != Op::FORMAT_VALUE || !kHasCallKw || arg == 0 || arg == 4;
          if (!has_format || push_null != is_global || (jumps && !is_jump(instruction.op)) || !has_slice_form ||
              !has_function_form)
            continue;
          INFO(op_name(instruction.op) << " " << arg << (jumps ? ", jumping" : ""));
          CHECK(stack_effect(instruction, jumps) == cpython_stack_effect(instruction, jumps));
          CHECK(stack_inputs(instruction) >= kept_operands(instruction, jumps));
          CHECK(stack_inputs(instruction) + stack_effect(instruction, jumps) >= kept_operands(instruction, jumps));
        }
      }
    }
  }
}

namespace {

// The name of CPython's form of an instruction.
std::string cpython_name(Op op) {
  if (op == Op::LOAD_METHOD && raw::encoding_of(op).form == raw::Form::Attribute) return "LOAD_ATTR";
  if (op == Op::LOAD_SUPER_METHOD) return "LOAD_SUPER_ATTR";
  if (kHasCallKw && op == Op::PUSH_NULL_BELOW) return "PUSH_NULL";
  if (kHasCallKw && op == Op::KW_NAMES) return "LOAD_CONST";
  if (kHasCallKw && op == Op::LOAD_CLOSURE) return "LOAD_FAST";
  if (kHasCallKw && op == Op::FORMAT_VALUE) return "FORMAT_WITH_SPEC";
  if (kIs314 && op == Op::LOAD_ASSERTION_ERROR) return "LOAD_COMMON_CONSTANT";
  return op_name(op);
}

}  // namespace

TEST_CASE("every row's argument is what the opcode module says", "[bytecode]") {
  const Ref names = run_source(
      "import opcode\n"
      "neutral = {raw: name.replace('JUMP_FORWARD', 'JUMP') for raw, name in enumerate(opcode.opname)}\n"
      "def kind(raw):\n"
      "    of = [('Const', opcode.hasconst), ('Name', opcode.hasname), ('Local', opcode.haslocal + opcode.hasfree),\n"
      "          ('Target', opcode.hasjrel + opcode.hasjabs), ('Comparison', opcode.hascompare)]\n"
      "    found = [kind for kind, members in of if raw in members]\n"
      "    has_argument = raw in opcode.hasarg if hasattr(opcode, 'hasarg') else raw >= opcode.HAVE_ARGUMENT\n"
      "    return found[0] if found else 'Number' if has_argument else 'None'\n");
  const auto asked = [&](const char* name, int number) {
    PyObject* object = PyDict_GetItemString(names.get(), name);
    const Ref key = integer(number);
    const Ref answer = Ref::steal(PyDict_Check(object) ? PyObject_GetItem(object, key.get())
                                                       : PyObject_CallFunctionObjArgs(object, key.get(), nullptr));
    REQUIRE(answer);
    return std::string(PyUnicode_AsUTF8(answer.get()));
  };
  const auto kind_of = [](Operand operand) -> std::string {
    switch (operand) {
      case Operand::None:
        return "None";
      case Operand::Const:
        return "Const";
      case Operand::Name:
        return "Name";
      case Operand::Local:
        return "Local";
      case Operand::Target:
        return "Target";
      case Operand::Comparison:
        return "Comparison";
      case Operand::Number:
      case Operand::BinaryOperator:
      case Operand::Identity:
      case Operand::Membership:
        return "Number";
    }
    return "";
  };
  for (size_t row = 0; row < raw::kOpCount; ++row) {
    const Op op = static_cast<Op>(row);
    if (!is_there(op) || raw::encoding_of(op).intrinsic) continue;
    INFO(op_name(op));
    CHECK(asked("neutral", raw_number(op)) == cpython_name(op));
    if (op == Op::YIELD_VALUE) continue;  // has a number from 3.12 on, of which nothing depends
    if (kHasCallKw && (op == Op::MAKE_FUNCTION || op == Op::FORMAT_VALUE)) continue;  // other instructions say it
    if (kIs314 && (op == Op::CALL_FUNCTION_EX || op == Op::LOAD_ASSERTION_ERROR || op == Op::END_ASYNC_FOR)) continue;
    CHECK(asked("kind", raw_number(op)) == kind_of(operand(op)));
  }
}
