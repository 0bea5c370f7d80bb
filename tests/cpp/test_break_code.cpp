// The end of residual code at a graph break: the instruction runs as in the frames that the user wrote, and the right
// resume function is called with the right arguments. The oracle is the same Python code, run by CPython.
#include <map>

#include "emit/plan.h"
#include "emit/rebuild.h"
#include "python/code/code_object.h"
#include "test_code_support.h"

namespace {

using namespace minidynamo;
using namespace minidynamo::code_test;
using Kind = PlanStep::Kind;
using Argument = PlanBreak::Argument;

// Stands for the module of the frames. `next`, `jump` and `raised` are the resume functions.
constexpr const char* kWorld = R"(
import sys
log = []
def outer():
    pass
def inner():
    pass
def innermost():
    pass
def show(x):
    if isinstance(x, BaseException):
        entries, entry = [], x.__traceback__
        while entry:
            entries.append((entry.tb_frame.f_code.co_name, entry.tb_lineno))
            entry = entry.tb_next
        return type(x).__name__, str(x), entries, show(x.__context__)
    return x
def next(*args):
    log.append(('next', *map(show, args), show(sys.exc_info()[1])))
    return 'next returned'
def jump(*args):
    log.append(('jump', *map(show, args), show(sys.exc_info()[1])))
    return 'jump returned'
def raised(*args):
    log.append(('raised', *map(show, args), show(sys.exc_info()[1])))
    return 'raised returned'
def stack():
    frame, names = sys._getframe(2), []
    while frame.f_code.co_name != 'call':
        names.append((frame.f_code.co_name, frame.f_lineno, frame.f_globals['__name__']))
        frame = frame.f_back
    return names
def callee(*args, **kwargs):
    log.append(('callee', args, kwargs, stack(), show(sys.exc_info()[1])))
    return len(args) + len(kwargs)
def fails(*args):
    log.append(('fails', args, stack()))
    raise ValueError('from fails')
class Thing:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)
    def __len__(self):
        raise TypeError('no length')
    def method(self, x):
        return ('method', x)
def call(f):
    try:
        return f((), live)
    except Exception as error:
        return show(error)
)";
constexpr const char* kFile = "world.py";

Position line(int32_t number) { return {number, number, -1, -1}; }

// A plan over the world's objects: values first, then the break.
class Broken {
 public:
  explicit Broken(std::vector<const char*> frames = {"outer"}) : world_(compile_program(kWorld, kFile)) {
    world_.run("live = []");
    plan_.calls_graph = false;
    end_ = &plan_.end.emplace();
    int32_t number = 101;
    for (const char* name : frames) {
      end_->frames.push_back(
          {Ref::borrow(reinterpret_cast<PyObject*>(world_.code(name))), Ref::borrow(world_.names()), line(number)});
      number += 100;
    }
  }

  Program& world() { return world_; }
  Plan& plan() { return plan_; }
  PlanBreak& end() { return *end_; }

  ValueId live(const std::string& expression) {
    world_.run("live.append(" + expression + ")");
    plan_.steps.push_back({Kind::Live, nullptr, lives_++, {}});
    return static_cast<ValueId>(plan_.steps.size() - 1);
  }
  Broken& instruction(Op op, int32_t arg = 0) {
    end().instruction = {op, false, arg, -1, -1, end().frames.back().position};
    return *this;
  }
  Broken& named(Op op, const char* name) {
    end().argument = str(name);
    return instruction(op, 7);
  }
  Broken& operands(std::vector<ValueId> values) {
    end().operands = std::move(values);
    return *this;
  }
  // A call of `callable` with positional arguments that are expressions.
  Broken& calls(const char* callable, const std::vector<std::string>& arguments) {
    std::vector<ValueId> values = {kNoValue, live(callable)};
    for (const std::string& argument : arguments) values.push_back(live(argument));
    return instruction(Op::CALL, static_cast<int32_t>(arguments.size())).operands(values);
  }
  Broken& goes_on(std::optional<PlanBreak::Continuation> PlanBreak::*way, const char* name,
                  std::vector<Argument> arguments, uint32_t results = 0, uint32_t kept = 0) {
    end().*way = PlanBreak::Continuation{
        {str(name), Ref::borrow(reinterpret_cast<PyObject*>(world_.code(name))), Ref::borrow(world_.names())},
        std::move(arguments),
        results,
        kept};
    return *this;
  }
  Broken& next(uint32_t results = 0, uint32_t kept = 0) {
    return goes_on(&PlanBreak::next, "next", results_of(results), results, kept);
  }
  Broken& jump(uint32_t results = 0, uint32_t kept = 0) {
    return goes_on(&PlanBreak::jump, "jump", results_of(results), results, kept);
  }
  Broken& raised(uint32_t traceback_entries = 0) {
    goes_on(&PlanBreak::raised, "raised", {{Argument::Kind::Exception}});
    end().raised->traceback_entries = traceback_entries;
    return *this;
  }

  static std::vector<Argument> results_of(uint32_t count) {
    std::vector<Argument> arguments;
    for (uint32_t i = 0; i < count; ++i) arguments.push_back({Argument::Kind::Result, i});
    return arguments;
  }

  PyObject* compiled() const {
    PyObject* found = PyDict_GetItemString(world_.names(), "__minidynamo_compiled_fn_0");
    return found ? found : Py_None;
  }

  // The result or exception of running it, and what was logged.
  std::string outcome() {
    const Ref function =
        residual_function(plan_, world_.code("outer"), world_.names(), compiled()).to_function(world_.names());
    if (!function) PyErr_Print();
    REQUIRE(function);
    world_.set("residual", function.get());
    const std::string result = world_.text("call(residual)");
    const std::string after = world_.text("sys.exc_info()[1]");
    return result + " " + world_.text("log") + (after == "None" ? "" : " still handling " + after);
  }

 private:
  Program world_;
  Plan plan_;
  PlanBreak* end_;
  uint32_t lives_ = 0;
};

Argument constant(const Ref& object) { return {Argument::Kind::Constant, 0, object}; }

}  // namespace

TEST_CASE("a call runs, and its result goes to the resume function", "[break_code]") {
  Broken broken;
  broken.calls("callee", {"1", "'two'"}).next(1);
  CHECK(broken.outcome() ==
        "'next returned' [('callee', (1, 'two'), {}, [('outer', 101, 'program')], None), ('next', 2, None)]");
}

TEST_CASE("keyword arguments of a call", "[break_code]") {
  Broken broken;
  broken.calls("callee", {"1", "2", "3"}).next(1);
  broken.end().keyword_names = checked(Py_BuildValue("(ss)", "b", "c"));
  CHECK(broken.outcome() ==
        "'next returned' [('callee', (1,), {'b': 2, 'c': 3}, [('outer', 101, 'program')], None), ('next', 3, None)]");
}

TEST_CASE("the kinds of a resume function's arguments", "[break_code]") {
  Broken broken;
  const ValueId value = broken.live("'value'");
  broken.calls("callee", {})
      .goes_on(&PlanBreak::next, "next",
               {{Argument::Kind::Value, value},
                {Argument::Kind::Result, 0},
                constant(str("constant")),
                {Argument::Kind::List,
                 0,
                 nullptr,
                 {{Argument::Kind::Value, value}, constant(integer(5)), {Argument::Kind::List, 0, nullptr, {}}}}},
               1);
  CHECK(broken.outcome() ==
        "'next returned' [('callee', (), {}, [('outer', 101, 'program')], None), "
        "('next', 'value', 0, 'constant', ['value', 5, []], None)]");
}

TEST_CASE("without an instruction only the resume function is called", "[break_code]") {
  Broken broken;
  broken.goes_on(&PlanBreak::next, "next", {constant(integer(3))});
  CHECK(broken.outcome() == "'next returned' [('next', 3, None)]");
}

TEST_CASE("effects come before the instruction, values are made in the plan's order", "[break_code]") {
  Broken broken;
  const ValueId thing = broken.live("Thing()");
  broken.world().run("def make(*args):\n    log.append(('make', args))\n    return args");
  auto& steps = broken.plan().steps;
  steps.push_back({Kind::Call, Ref::borrow(broken.world()["make"]), 0, {}});
  const auto made = static_cast<ValueId>(steps.size() - 1);
  steps.push_back({Kind::SetAttribute, str("attribute"), 0, {thing, made}});
  steps.push_back({Kind::CallEffect, Ref::borrow(broken.world()["make"]), 0, {made}});
  broken.named(Op::LOAD_ATTR, "attribute").operands({thing}).next(1);
  CHECK(broken.outcome() == "'next returned' [('make', ()), ('make', ((),)), ('next', (), None)]");
}

TEST_CASE("a signal that comes between effects raises at the instruction", "[break_code]") {
  Broken broken;
  broken.world().run(
      "import signal\nfrom _thread import interrupt_main\nappend = log.append\n"
      "signal.signal(signal.SIGINT, signal.default_int_handler)");
  auto& steps = broken.plan().steps;
  steps.push_back({Kind::CallEffect, Ref::borrow(broken.world()["interrupt_main"]), 0, {}});
  const ValueId text = broken.live("'effect'");
  steps.push_back({Kind::CallEffect, Ref::borrow(broken.world()["append"]), 0, {text}});
  broken.calls("callee", {}).next(1).raised();
  CHECK(broken.outcome().starts_with(
      "'raised returned' ['effect', ('raised', ('KeyboardInterrupt', '', [('outer', 101)"));
  broken.world().run("signal.signal(signal.SIGINT, signal.SIG_DFL)");
}

TEST_CASE("outputs of the graph reach the instruction and what comes behind it", "[break_code]") {
  Broken broken;
  broken.world().run("def __minidynamo_compiled_fn_0():\n    log.append('graph')\n    return 'out0', 'out1'");
  broken.plan().calls_graph = true;
  broken.plan().compiled_name = "__minidynamo_compiled_fn_0";
  broken.plan().output_count = 2;
  broken.calls("callee", {});
  broken.plan().steps.push_back({Kind::Output, nullptr, 0, {}});
  const auto first = static_cast<ValueId>(broken.plan().steps.size() - 1);
  broken.plan().steps.push_back({Kind::Output, nullptr, 1, {}});
  broken.end().instruction.arg = 1;
  broken.end().operands.push_back(first);
  broken.goes_on(&PlanBreak::next, "next",
                 {{Argument::Kind::Value, first}, {Argument::Kind::Value, first + 1}, {Argument::Kind::Result, 0}}, 1);
  CHECK(broken.outcome() ==
        "'next returned' ['graph', ('callee', ('out0',), {}, [('outer', 101, 'program')], None), "
        "('next', 'out0', 'out1', 1, None)]");
}

TEST_CASE("instructions with results, without, and with operands that stay", "[break_code]") {
  SECTION("an attribute") {
    Broken broken;
    broken.named(Op::LOAD_ATTR, "x").operands({broken.live("Thing(x=3)")}).next(1);
    CHECK(broken.outcome() == "'next returned' [('next', 3, None)]");
  }
  SECTION("a method: one callable, whatever it is") {
    Broken broken;
    broken.world().run("thing = Thing(); bound = thing.method");
    broken.named(Op::LOAD_METHOD, "method").operands({broken.live("thing")}).next(1);
    CHECK(broken.outcome().starts_with("'next returned' [('next', <bound method Thing.method of"));
  }
  SECTION("a global of the frame's module") {
    Broken broken;
    broken.world().run("some_global = 11");
    broken.named(Op::LOAD_GLOBAL, "some_global").next(1);
    CHECK(broken.outcome() == "'next returned' [('next', 11, None)]");
  }
  SECTION("an attribute is set") {
    Broken broken;
    broken.world().run("thing = Thing()");
    broken.named(Op::STORE_ATTR, "x").operands({broken.live("4"), broken.live("thing")}).next();
    CHECK(broken.outcome() == "'next returned' [('next', None)]");
    CHECK(broken.world().text("thing.x") == "4");
  }
  SECTION("an item is set") {
    Broken broken;
    broken.world().run("items = [1, 2]");
    broken.instruction(Op::STORE_SUBSCR).operands({broken.live("5"), broken.live("items"), broken.live("1")}).next();
    CHECK(broken.outcome() == "'next returned' [('next', None)]");
    CHECK(broken.world().text("items") == "[1, 5]");
  }
  SECTION("unpacking: the first item ends on top") {
    Broken broken;
    broken.instruction(Op::UNPACK_SEQUENCE, 3).operands({broken.live("(7, 8, 9)")}).next(3);
    CHECK(broken.outcome() == "'next returned' [('next', 9, 8, 7, None)]");
  }
  SECTION("a list that a comprehension fills") {
    Broken broken;
    broken.world().run("items = []");
    // The list stays, two slots below the item.
    broken.instruction(Op::LIST_APPEND, 2)
        .operands({broken.live("items"), broken.live("'iterator'"), broken.live("6")});
    broken.next(0, 2);
    CHECK(broken.outcome() == "'next returned' [('next', None)]");
    CHECK(broken.world().text("items") == "[6]");
  }
  SECTION("a length: its object stays below it") {
    Broken broken;
    broken.instruction(Op::GET_LEN).operands({broken.live("'four'")}).next(1, 1);
    CHECK(broken.outcome() == "'next returned' [('next', 4, None)]");
  }
}

TEST_CASE("conditional jumps go on one of two ways", "[break_code]") {
  for (const char* frame : {"", "inner"}) {
    const std::vector<const char*> frames = *frame ? std::vector<const char*>{"outer", frame} : std::vector{"outer"};
    INFO("frames: " << frames.size());
    for (const bool value : {false, true}) {
      Broken broken(frames);
      broken.instruction(Op::POP_JUMP_IF_FALSE).operands({broken.live(value ? "[0]" : "[]")}).next().jump();
      CHECK(broken.outcome() == (value ? "'next returned' [('next', None)]" : "'jump returned' [('jump', None)]"));
    }
    for (const bool value : {false, true}) {
      if (PY_VERSION_HEX >= 0x030C0000) break;  // no such instruction
      Broken broken(frames);
      broken.instruction(Op::JUMP_IF_FALSE_OR_POP).operands({broken.live(value ? "[0]" : "[]")}).next().jump(1);
      CHECK(broken.outcome() == (value ? "'next returned' [('next', None)]" : "'jump returned' [('jump', [], None)]"));
    }
    for (const bool ends : {false, true}) {
      Broken broken(frames);
      broken.world().run(ends ? "it = iter([])" : "it = iter([5, 6])");
      // Where it goes on, the iterator stays below the item.
      broken.instruction(Op::FOR_ITER).operands({broken.live("it")}).next(1, 1).jump();
      CHECK(broken.outcome() == (ends ? "'jump returned' [('jump', None)]" : "'next returned' [('next', 5, None)]"));
      CHECK(broken.world().text("list(it)") == (ends ? "[]" : "[6]"));
    }
    // The condition itself may raise: the truth of a Thing asks for its length.
    Broken broken(frames);
    broken.instruction(Op::POP_JUMP_IF_TRUE).operands({broken.live("Thing()")}).next().jump().raised();
    const std::string entries = *frame ? "('outer', 101), ('inner', 201), " : "('outer', 101), ";
    CHECK(broken.outcome().starts_with("'raised returned' [('raised', ('TypeError', 'no length', [" + entries +
                                       "('__len__'"));
  }
}

TEST_CASE("an exception without a handler leaves the frames, as they look", "[break_code]") {
  Broken one;
  one.calls("fails", {"1"}).next(1);
  const int fails_line = std::stoi(one.world().text("fails.__code__.co_firstlineno + 2"));
  const std::string end = "('fails', " + std::to_string(fails_line) + ")], None)";
  CHECK(one.outcome() == "('ValueError', 'from fails', [('call', " +
                             one.world().text("call.__code__.co_firstlineno + 2") + "), ('outer', 101), " + end +
                             " [('fails', (1,), [('outer', 101, 'program')])]");
  Broken three({"outer", "inner", "innermost"});
  three.calls("fails", {}).next(1);
  CHECK(three.outcome() == "('ValueError', 'from fails', [('call', " +
                               three.world().text("call.__code__.co_firstlineno + 2") +
                               "), ('outer', 101), ('inner', 201), ('innermost', 301), " + end +
                               " [('fails', (), [('innermost', 301, 'program'), ('inner', 201, 'program'), "
                               "('outer', 101, 'program')])]");
}

TEST_CASE("an exception with a handler goes to its resume function", "[break_code]") {
  Broken broken;
  broken.calls("fails", {}).next(1).raised();
  const std::string fails = "('fails', " + broken.world().text("fails.__code__.co_firstlineno + 2") + ")], None)";
  CHECK(broken.outcome() ==
        "'raised returned' [('fails', (), [('outer', 101, 'program')]), "
        "('raised', ('ValueError', 'from fails', [('outer', 101), " +
            fails + ", None)]");
  // The traceback of the frame whose handler it is begins with that frame.
  const std::map<uint32_t, std::string> begins = {{0, "('outer', 101), ('inner', 201), ('innermost', 301), "},
                                                  {1, "('inner', 201), ('innermost', 301), "},
                                                  {2, "('innermost', 301), "}};
  for (const auto& [handler, entries] : begins) {
    Broken chain({"outer", "inner", "innermost"});
    chain.calls("fails", {}).next(1).raised(handler);
    CHECK(chain.outcome() ==
          "'raised returned' [('fails', (), [('innermost', 301, 'program'), ('inner', 201, 'program'), "
          "('outer', 101, 'program')]), ('raised', ('ValueError', 'from fails', [" +
              entries + fails + ", None)]");
  }
}

TEST_CASE("instructions that always raise have no way on", "[break_code]") {
  for (const bool is_chain : {false, true}) {
    const std::vector<const char*> frames = is_chain ? std::vector{"outer", "inner"} : std::vector{"outer"};
    const std::string entries = is_chain ? "('outer', 101), ('inner', 201)" : "('outer', 101)";
    Broken broken(frames);
    broken.instruction(Op::RAISE_VARARGS, 1).operands({broken.live("KeyError('k')")});
    CHECK(broken.outcome() == "('KeyError', \"'k'\", [('call', " +
                                  broken.world().text("call.__code__.co_firstlineno + 2") + "), " + entries +
                                  "], None) []");
    Broken handled(frames);
    handled.instruction(Op::RAISE_VARARGS, 1).operands({handled.live("KeyError('k')")}).raised();
    CHECK(handled.outcome() == "'raised returned' [('raised', ('KeyError', \"'k'\", [" + entries + "], None), None)]");
  }
}

TEST_CASE("the instruction runs while an exception is being handled", "[break_code]") {
  for (const bool is_chain : {false, true}) {
    const std::vector<const char*> frames = is_chain ? std::vector{"outer", "inner"} : std::vector{"outer"};
    INFO("frames: " << frames.size());
    const std::string stack =
        is_chain ? "[('inner', 201, 'program'), ('outer', 101, 'program')]" : "[('outer', 101, 'program')]";
    const std::string entries = is_chain ? "('outer', 101), ('inner', 201), " : "('outer', 101), ";
    const auto handling = [](Broken& broken) { broken.end().handled = broken.live("KeyError('handled')"); };
    const std::string handled = "('KeyError', \"'handled'\", [], None)";
    {
      // Seen by what is called, and no more by the resume function, which handles it again itself.
      Broken broken(frames);
      broken.calls("callee", {}).next(1);
      handling(broken);
      CHECK(broken.outcome() ==
            "'next returned' [('callee', (), {}, " + stack + ", " + handled + "), ('next', 0, None)]");
    }
    {
      Broken broken(frames);
      broken.calls("fails", {}).next(1).raised();
      handling(broken);
      const std::string fails = "('fails', " + broken.world().text("fails.__code__.co_firstlineno + 2") + ")]";
      CHECK(broken.outcome() == "'raised returned' [('fails', (), " + stack +
                                    "), ('raised', ('ValueError', 'from fails', [" + entries + fails + ", " + handled +
                                    "), None)]");
    }
    {
      Broken broken(frames);
      broken.calls("fails", {}).next(1);
      handling(broken);
      const std::string fails = "('fails', " + broken.world().text("fails.__code__.co_firstlineno + 2") + ")]";
      CHECK(broken.outcome() == "('ValueError', 'from fails', [('call', " +
                                    broken.world().text("call.__code__.co_firstlineno + 2") + "), " + entries + fails +
                                    ", " + handled + ") [('fails', (), " + stack + ")]");
    }
    for (const bool value : {false, true}) {
      Broken broken(frames);
      broken.instruction(Op::POP_JUMP_IF_TRUE).operands({broken.live(value ? "1" : "0")}).next().jump();
      handling(broken);
      CHECK(broken.outcome() == (value ? "'jump returned' [('jump', None)]" : "'next returned' [('next', None)]"));
    }
    {
      // `raise` alone: what is handled is raised again, and CPython notes no line for that.
      Broken broken(frames);
      broken.instruction(Op::RAISE_VARARGS, 0).raised();
      handling(broken);
      const std::string entry = is_chain ? "('outer', 101)" : "";
      CHECK(broken.outcome() ==
            "'raised returned' [('raised', ('KeyError', \"'handled'\", [" + entry + "], None), None)]");
    }
  }
}

TEST_CASE("inlined calls hand their results on", "[break_code]") {
  SECTION("one, as it is") {
    Broken broken({"outer", "inner", "innermost"});
    broken.calls("callee", {"1"}).next(1);
    broken.end().keyword_names = checked(Py_BuildValue("(s)", "key"));
    CHECK(broken.outcome() ==
          "'next returned' [('callee', (), {'key': 1}, [('innermost', 301, 'program'), ('inner', 201, 'program'), "
          "('outer', 101, 'program')], None), ('next', 1, None)]");
  }
  SECTION("none") {
    Broken broken({"outer", "inner"});
    broken.world().run("thing = Thing()");
    broken.named(Op::STORE_ATTR, "x").operands({broken.live("4"), broken.live("thing")}).next();
    CHECK(broken.outcome() == "'next returned' [('next', None)]");
    CHECK(broken.world().text("thing.x") == "4");
  }
  SECTION("several") {
    Broken broken({"outer", "inner"});
    broken.instruction(Op::UNPACK_SEQUENCE, 2).operands({broken.live("(7, 8)")}).next(2);
    CHECK(broken.outcome() == "'next returned' [('next', 8, 7, None)]");
  }
  SECTION("a tuple that is one result is not taken apart") {
    Broken broken({"outer", "inner"});
    broken.instruction(Op::BUILD_TUPLE, 2).operands({broken.live("1"), broken.live("2")}).next(1);
    CHECK(broken.outcome() == "'next returned' [('next', (1, 2), None)]");
  }
  SECTION("globals are those of the innermost frame's module") {
    Broken broken({"outer", "inner"});
    Program other("where = 'other module'");
    broken.world().run("where = 'this module'");
    broken.end().frames[1].globals = Ref::borrow(other.names());
    broken.named(Op::LOAD_GLOBAL, "where").next(1);
    CHECK(broken.outcome() == "'next returned' [('next', 'other module', None)]");
  }
}

TEST_CASE("a break that cannot be written is an error", "[break_code]") {
  const auto check_refused = [](Broken& broken) {
    CHECK_FALSE(residual_function(broken.plan(), broken.world().code("outer"), broken.world().names(), Py_None));
    CHECK(PyErr_ExceptionMatches(PyExc_ValueError));
    PyErr_Clear();
  };
  for (const bool is_chain : {false, true}) {
    const std::vector<const char*> frames = is_chain ? std::vector{"outer", "inner"} : std::vector{"outer"};
    Broken nameless(frames);
    nameless.instruction(Op::LOAD_GLOBAL, 7).next(1);
    check_refused(nameless);
    Broken too_few(frames);
    too_few.instruction(Op::BINARY_SUBSCR).operands({too_few.live("1")}).next(1);
    check_refused(too_few);
  }
}

TEST_CASE("frames are dropped from the outer end of a traceback", "[break_code]") {
  Program program(
      "def a(): b()\n"
      "def b(): c()\n"
      "def c(): raise ValueError\n"
      "def error():\n"
      "    try:\n"
      "        a()\n"
      "    except ValueError as e:\n"
      "        return e\n"
      "def names(e):\n"
      "    found, entry = [], e.__traceback__\n"
      "    while entry:\n"
      "        found.append(entry.tb_frame.f_code.co_name)\n"
      "        entry = entry.tb_next\n"
      "    return found\n");
  program.set("drop", drop_traceback_callable());
  const char* const left[] = {"['error', 'a', 'b', 'c']", "['a', 'b', 'c']", "['b', 'c']", "['c']", "[]", "[]"};
  for (int count = 0; count < 6; ++count) {
    program.run("e = error()");
    CHECK(program.text("drop(e, " + std::to_string(count) + ")") == "None");
    CHECK(program.text("names(e)") == left[count]);
  }
  program.run("e = error().with_traceback(None); drop(e, 1)");
  CHECK(program.text("names(e)") == "[]");
  const std::string wrong =
      "def refuses(*args):\n    try:\n        drop(*args)\n    except TypeError:\n        return True\n";
  program.run(wrong);
  CHECK(program.text("refuses(e), refuses(1, 1), refuses(e, 'x')") == "(True, True, True)");
}
