// The layout of the value stack: against the stacks of frames that CPython runs, and against the depths that the
// assembler computes.
#include <map>

#include "bytecode/op_facts.h"
#include "bytecode/opcodes.h"
#include "bytecode/stack_depth.h"
#include "bytecode/stack_layout.h"
#include "frame_observer.h"
#include "test_code_support.h"

namespace {

using namespace minidynamo;
using namespace minidynamo::code_test;

// Each function is run by `run`, which is what the frames are observed in.
constexpr const char* kPrograms[] = {
    R"(
def f(items):
    total = 0
    for k, item in enumerate(items):
        for part in item:
            if part < 0:
                continue
            total += part * k if part % 2 else -part
            if total > 100:
                break
        else:
            total += 1
    while total > 3:
        total -= 3
    return total
def run():
    return f([[1, 2, -1], [3, 4], [200, 7], []])
)",
    R"(
class Manager:
    def __init__(self, hides):
        self.hides = hides
    def __enter__(self):
        return [self]
    def __exit__(self, *error):
        return self.hides
def f(hides):
    out = []
    with Manager(hides) as m, Manager(True):
        out.append(m)
        with Manager(False):
            out.append(1)
        if hides:
            raise ValueError(out)
    for i in range(2):
        with Manager(True):
            if i:
                continue
            return out
def run():
    return len(f(False)), f(True)
)",
    R"(
def f(n):
    out = []
    for k in range(n):
        try:
            try:
                out.append(10 // (k - 2))
                [][k]
            except ZeroDivisionError as error:
                out.append(str(error))
                try:
                    raise KeyError(k) from error
                except (TypeError, KeyError) as inner:
                    out.append(inner.args)
            except (LookupError, TypeError):
                if k == 1:
                    continue
                raise
            else:
                out.append('else')
            finally:
                out.append(('finally', k))
        except IndexError:
            out.append('outer')
        finally:
            out.append([k + x for x in (1, 2)])
    return out
def run():
    return f(4)
)",
    R"(
class Thing:
    def __init__(self):
        self.calls = []
        self.bare = lambda x: x
    def method(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return self
    @staticmethod
    def plain(x):
        return x
def f(thing):
    out = [1, 2, thing.method(3, thing.method(4).calls, k=5).bare(6), *thing.calls]
    pairs = {'a': thing.plain(1) + thing.plain(2), **{'b': len(out)}}
    text = f'{thing.plain(3)!r:>5} {out.count(2)}'
    a, (b, *c), d = 1, [2, 3, 4], thing.plain(thing.plain(5))
    out[0] += thing.plain(7)
    thing.calls[-1:] = [print.__name__]
    x = 1 < thing.plain(2) < 3 and (thing.plain(0) or len(text))
    return out, pairs, text, a, b, c, d, x, max(1, key=None, *[2])
def run():
    return f(Thing())
)",
    R"(
def f(items, limit):
    squares = [k * k for k in items if k < limit]
    pairs = {k: [j for j in range(k)] for k in items}
    unique = {str(k) for k in items}
    total = sum(k + limit for k in items)
    def inner(a, b=limit, *, c=total):
        nonlocal limit
        limit += 1
        return a + b + c + limit
    class Local:
        attribute = limit
        def method(self):
            return super().__repr__, inner
    return squares, pairs, unique, total, inner(1), Local.attribute, (lambda x: x + limit)(2)
def run():
    return f([1, 2, 3], 3)
)",
    R"(
def g(n):
    got = []
    try:
        for k in range(n):
            got.append((yield k))
    except ValueError:
        yield 'thrown'
    finally:
        got.append('closed')
    return got
def f():
    first = g(3)
    out = [next(first), first.send('x'), first.throw(ValueError), list(first)]
    def delegates():
        result = yield from g(2)
        yield result
    return out, list(delegates()), [*g(1)]
def run():
    return f()
)",
    R"(
class Point:
    __match_args__ = ('x', 'y')
    def __init__(self, x, y):
        self.x, self.y = x, y
def f(value):
    match value:
        case {'key': [first, *rest], **others}:
            return first, rest, others
        case [1, 2, last] | (last, 0):
            return last
        case Point(x=0, y=second) if second:
            return second
        case Point(x, y):
            return x, y
        case str() | None as both:
            return both
def run():
    return [f(v) for v in ({'key': [1, 2], 'more': 3}, [1, 2, 3], (4, 0), Point(0, 1), Point(0, 0), 'text', None, 5)]
)",
    R"(
def f(n):
    del n
    import os.path as path
    from math import pi, tau as twice
    global kept
    kept = pi
    x = y = twice
    try:
        assert kept is None, 'message'
    except AssertionError as error:
        x = error
    try:
        raise
    except RuntimeError:
        pass
    del kept
    return x, y, path is not None, 3 not in (1, 2), not x, -y, [1, 2, 3][1:], (1, 2, 3, 4)[::2]
def run():
    return f(1)
)"};

// True for what an exception handler may find below it: nothing, or the exception that was being handled.
bool is_exception_state(PyObject* object) { return object && (object == Py_None || PyExceptionInstance_Check(object)); }

bool agrees(SlotKind kind, PyObject* object) {
  switch (kind) {
    case SlotKind::Null:
      return !object;
    case SlotKind::Method:
    case SlotKind::Saved:
      return true;
    case SlotKind::PreviousException:
      return is_exception_state(object);
    case SlotKind::RaisingInstruction:
      return object && PyLong_CheckExact(object);
    default:
      return object;
  }
}

// The byte at which an instruction begins: of its EXTENDED_ARG or PRECALL, if it has one.
bool begins_instruction(const Bytecode& bytecode, int32_t offset, int32_t index) {
  return index >= 0 && bytecode.index_of_offset(offset - 2) != index;
}

std::vector<SlotKind> layout_of(const char* source, Op op, int n = 0) {
  Program program(source);
  const Bytecode bytecode = decode(program.code("f"));
  INFO(to_text(bytecode));
  const int32_t at = find_op(bytecode, op, n);
  REQUIRE(at >= 0);
  return StackLayout(bytecode).before(at);
}

}  // namespace

TEST_CASE("the layout is what CPython has on the stack", "[stack_layout]") {
  std::map<SlotKind, long> seen;
  for (const char* source : kPrograms) {
    const Ref compiled = compile_program(source);
    make_observable(compiled.get());
    Program program(compiled);
    std::map<PyCodeObject*, std::pair<Bytecode, std::unique_ptr<StackLayout>>> known;
    long compared = 0;
    const Ref result =
        call_observed(program["run"], nullptr, kProgramFile, [&](const std::vector<ObservedFrame>& frames) {
          const ObservedFrame& frame = frames.front();
          auto& [bytecode, layout] = known[frame.code];
          if (!layout) {
            bytecode = decode(frame.code);
            layout = std::make_unique<StackLayout>(bytecode);
          }
          if (stands_between(frame)) return;
          const int32_t index = bytecode.index_of_offset(frame.offset);
          if (!begins_instruction(bytecode, frame.offset, index)) return;
          const std::vector<SlotKind>& expected = layout->before(index);
          std::vector<PyObject*> stack = with_nulls_below(frame.stack, expected);
          const bool has_names = index > 0 && bytecode.instructions[index - 1].op == Op::KW_NAMES;
          if (has_names && raw::kNumberOf_CALL_KW != 0) stack.pop_back();  // which the neutral set has beside the stack
          bool equal = expected.size() == stack.size();
          for (size_t slot = 0; equal && slot < expected.size(); ++slot) {
            equal = agrees(expected[slot], stack[slot]);
            ++seen[expected[slot]];
          }
          ++compared;
          if (equal) return;
          INFO("before " << index << " in " << text_of(frame.code->co_qualname) << "\n" << to_text(bytecode));
          FAIL_CHECK("layout of " << expected.size() << " slots, stack of " << frame.stack.size());
        });
    if (!result) PyErr_Print();
    CHECK(result);
    CHECK(compared > 40);
  }
  for (const SlotKind kind : {SlotKind::Value, SlotKind::Null, SlotKind::Method, SlotKind::MethodSelf,
                              SlotKind::PreviousException, SlotKind::RaisingInstruction}) {
    INFO("kind " << static_cast<int>(kind));
    CHECK(seen[kind] > 0);
  }
}

TEST_CASE("layouts of small functions", "[stack_layout]") {
  using enum SlotKind;
  using Layout = std::vector<SlotKind>;
  // x, then what a global function's call begins with.
  CHECK(layout_of("def f(x):\n    return x + g(x)\n", Op::CALL) == Layout{Value, Null, Value, Value});
  CHECK(layout_of("def f(x):\n    return x + x.m(1)\n", Op::CALL) == Layout{Value, Method, MethodSelf, Value});
  // A finished call leaves a value only.
  CHECK(layout_of("def f(x):\n    return x + x.m(1)\n", Op::BINARY_OP) == Layout{Value, Value});
  CHECK(layout_of("def f(x):\n    for k in x:\n        k\n", Op::POP_TOP) == Layout{Value, Value});
  // The other way out of the loop.
  CHECK(layout_of("def f(x):\n    for k in x:\n        k\n", Op::RETURN_VALUE) == Layout{Value});
  const Layout exit = kExitSlots == 2 ? Layout{Method, MethodSelf} : Layout{Value};
  const auto above_exit = [&](Layout above) {
    above.insert(above.begin(), exit.begin(), exit.end());
    return above;
  };
  CHECK(layout_of("def f(x):\n    with x:\n        g\n", Op::LOAD_GLOBAL) == exit);
  // The handler of a with statement: __exit__, where it was raised, what was handled before, the exception.
  CHECK(layout_of("def f(x):\n    with x:\n        g\n", Op::WITH_EXCEPT_START) ==
        above_exit({RaisingInstruction, PreviousException, Value}));
  CHECK(layout_of("def f(x):\n    with x:\n        g\n", Op::POP_JUMP_IF_TRUE) ==
        above_exit({RaisingInstruction, PreviousException, Value, Value}));
  const char* const handlers = "def f(x):\n    try:\n        x()\n    except E:\n        g()\n";
  CHECK(layout_of(handlers, Op::PUSH_EXC_INFO) == Layout{Value});
  CHECK(layout_of(handlers, Op::CHECK_EXC_MATCH) == Layout{PreviousException, Value, Value});
  CHECK(layout_of(handlers, Op::POP_EXCEPT) == Layout{PreviousException});
  // A return from the handler: its value goes below.
  CHECK(layout_of("def f(x):\n    try:\n        x()\n    except E:\n        return g\n", Op::POP_EXCEPT) ==
        Layout{Value, PreviousException});
  CHECK(layout_of("def f(x):\n    return [*x, *x]\n", Op::LIST_EXTEND) == Layout{Value, Value});
  CHECK(layout_of("def f(a, b, c):\n    return a < b < c\n", Op::COMPARE_OP) == Layout{Value, Value, Value});
}

// CPython's handler of handlers covers PUSH_EXC_INFO too, which never raises: below it there lies no exception yet that
// was handled before.
TEST_CASE("a handler of handlers finds what was handled before", "[stack_layout]") {
  using enum SlotKind;
  CHECK(layout_of("def f(x):\n    try:\n        x()\n    except E:\n        g()\n", Op::RERAISE, 1) ==
        std::vector<SlotKind>{PreviousException, RaisingInstruction, Value});
}

TEST_CASE("a layout after an instruction is that before the next", "[stack_layout]") {
  Program program("def f(x):\n    for k in x:\n        x.m(k or x)\n    return x\n");
  const Bytecode bytecode = decode(program.code("f"));
  const StackLayout layout(bytecode);
  int ways = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(bytecode.instructions.size()); ++i) {
    const Instruction& now = bytecode.instructions[i];
    INFO(i << "\n" << to_text(bytecode));
    if (!ends_flow(now.op)) CHECK(layout.after(i, false) == layout.before(i + 1));
    if (is_jump(now.op)) CHECK(layout.after(i, true) == layout.before(now.target));
    ways += is_jump(now.op) && !ends_flow(now.op);
  }
  CHECK(ways == 2);
}

TEST_CASE("the layout is as deep as the stack, in the standard library", "[stack_layout]") {
  long compared = 0, codes = 0;
  each_library_code(
      {"ast", "asyncio.base_events", "bisect", "collections", "contextlib", "dataclasses", "difflib", "enum",
       "functools", "inspect", "subprocess", "typing", "unittest.mock"},
      [&](PyCodeObject* code) {
        const Bytecode bytecode = decode(code);
        StackDepths depths;
        REQUIRE(compute_stack_depths(bytecode, depths));
        const StackLayout layout(bytecode);
        ++codes;
        for (int32_t i = 0; i < static_cast<int32_t>(bytecode.instructions.size()); ++i) {
          const int32_t depth = depths.before[i];
          ++compared;
          if (depth == static_cast<int32_t>(layout.before(i).size()) || (depth < 0 && layout.before(i).empty()))
            continue;
          INFO(text_of(code->co_qualname) << ", instruction " << i);
          FAIL_CHECK("depth " << depth << ", layout of " << layout.before(i).size() << " slots");
        }
      });
  CHECK(codes > 1'000);
  CHECK(compared > 50'000);
}
