// Resume functions against the functions that they go on with.
//
// CPython runs a program; before every instruction of its frames, the resume functions of these frames are made and
// called with what lies in them, and must come to the same end as the program itself: results, exceptions with their
// tracebacks, and what it wrote down on its way.
#include <optional>

#include "emit/rebuild.h"
#include "emit/resume.h"
#include "frame_observer.h"
#include "model/protocols/arguments.h"
#include "test_code_support.h"
#include "world/external/scope.h"

namespace {

// A resume function that is given what can still be read.
const minidynamo::ResumeFunction* resume_at(const minidynamo::CodeInfo& original, minidynamo::ResumePlace place,
                                            std::vector<bool> bound) {
  for (int32_t local = 0; local < original.locals_count; ++local)
    if (!minidynamo::is_read_after(original, place, local)) bound[local] = false;
  return minidynamo::resume_function(original, place, bound);
}

// As residual code makes it, of the code.
minidynamo::Ref function_of(const minidynamo::ResumeFunction& resume, PyObject* globals) {
  return minidynamo::Ref::steal(PyFunction_New(reinterpret_cast<PyObject*>(resume.code), globals));
}

using namespace minidynamo;
using namespace minidynamo::code_test;

constexpr const char* kHarness = R"(
import sys, traceback
def lines(error):
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.name, f.lineno) for f in frames if f.filename == 'program.py']
def describe(error, seen=()):
    if error is None or error in seen:
        return None
    seen = (*seen, error)
    links = describe(error.__cause__, seen), describe(error.__context__, seen), error.__suppress_context__
    return type(error).__name__, str(error), lines(error), links
def outcome(log, function, arguments=()):
    try:
        end = 'returned', repr(function(*arguments))
    except BaseException as error:
        end = 'raised', describe(error)
    return repr((end, log, repr(sys.exc_info()[1])))
)";

// `run` is the program, `log` what it writes down.
constexpr const char* kPrograms[] = {
    R"(
log = []
def g(x, *rest, k=0):
    log.append(x)
    return x + len(rest) + k
def f(items):
    total = 0
    for n, item in enumerate(items):
        for part in item:
            if part < 0:
                continue
            total += part * n if part % 2 else -part
            if total > 100:
                log.append(total)
                break
        else:
            total += g(1, 2, 3, k=g(4))
    while total > 3:
        total -= g(20)
    return total
def run():
    return f([[1, 2, -1], [3, 4], [200, 7], []])
)",
    R"(
import sys
log = []
class Manager:
    def __init__(self, hides):
        self.hides = hides
    def __enter__(self):
        log.append('enter')
        return self
    def __exit__(self, *error):
        log.append([str(e) for e in error[:2]] + [str(sys.exc_info()[1])])
        return self.hides
def f(hides):
    with Manager(hides) as m, Manager(False):
        log.append(m.hides)
        if hides:
            raise ValueError('inside')
    for i in range(3):
        with Manager(True):
            if i == 0:
                continue
            if i == 1:
                [][i]
            return 'from with'
def run():
    try:
        f(False)
    finally:
        log.append('between')
    return f(True)
)",
    R"(
import sys
log = []
def note(x):
    log.append((x, str(sys.exc_info()[1])))
    return x
def risky(n, k):
    try:
        note(10 // (k - 2))
        [][k]
    except ZeroDivisionError as error:
        note(str(error))
        try:
            raise KeyError(k) from error
        except (TypeError, KeyError) as inner:
            note(inner.args)
        note('behind')
    except (LookupError, TypeError):
        note('lookup')
        if k == 1:
            return note(1)
        raise
    else:
        note('else')
    finally:
        note(('finally', k))
    return k
def f(n):
    for k in range(n):
        try:
            note(risky(n, k))
        except IndexError:
            note('outer')
            risky(n, 2)
            try:
                risky(n, 0)
            except LookupError as error:
                note(error.__context__)
        note('next')
def run():
    note('start')
    f(4)
    note('end')
)",
    R"(
log = []
def third(x):
    if x > 1:
        raise ValueError(x)
    return x
def second(x):
    try:
        return third(x) + 1
    except KeyError:
        return 0
    finally:
        log.append(x)
def first(x):
    y = second(x) + second(x + 1)
    return y
def run():
    try:
        first(0)
        first(1)
    except ValueError as error:
        log.append(error.args)
        raise RuntimeError('again')
)",
    R"(
log = []
class Thing:
    def __init__(self):
        self.calls = []
        self.bare = lambda x: x
    def method(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return self
    @staticmethod
    def plain(x):
        log.append(x)
        return x
    def __repr__(self):
        return 'Thing'
def f(thing):
    out = [1, 2, thing.method(3, thing.method(4).calls, k=5).bare(6), *thing.calls]
    pairs = {'a': thing.plain(1) + thing.plain(2), **{'b': len(out)}}
    text = f'{thing.plain(3)!r:>5} {out.count(2)}'
    a, (b, *c), d = 1, [2, 3, 4], thing.plain(thing.plain(5))
    out[0] += thing.plain(7)
    thing.calls[-1:] = [print.__name__]
    x = 1 < thing.plain(2) < 3 and (thing.plain(0) or len(text))
    out.append(out[thing.plain(1):][0] if a is not None else log)
    return out, pairs, text, a, b, c, d, x, max(1, key=None, *[2]), thing
def run():
    return f(Thing())
)",
    R"(
log = []
kept = None
def f(items, limit):
    global kept
    squares = [k * k for k in items if k < limit]
    pairs = {k: [j + limit for j in range(k)] for k in items}
    total = sum(k + limit for k in items)
    def inner(a, b=limit, *, c=total):
        nonlocal limit
        limit += 1
        log.append((items, limit))
        def innermost():
            nonlocal total
            total += limit
            return total
        return a + b + c + innermost()
    class Local(dict):
        attribute = limit
        def method(self, key):
            return super().get(key, inner(1))
    kept = inner(2)
    items = None
    unbound = 1
    del unbound
    return squares, pairs, inner(1), Local.attribute, (lambda x: x + limit)(2), Local(a=3).method('a'), total
def run():
    return f([1, 2, 3], 3), kept
)",
    R"(
log = []
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
    for v in {'key': [1, 2], 'more': 3}, [1, 2, 3], (4, 0), Point(0, 1), Point(0, 0), 'text', None, 5:
        log.append(f(v))
)",
    R"(
log = []
def missing(flag):
    if flag:
        value = 1
    log.append(flag)
    return value
def clears():
    try:
        raise ValueError
    except ValueError as error:
        log.append('caught')
    return error
def asserts(x):
    assert x, f'x is {x}'
    return x
def returns_in_finally():
    for k in range(2):
        try:
            raise KeyError(k)
        finally:
            if k:
                return k
            continue
def run():
    from math import pi as circle, tau
    for call in (lambda: missing(True)), (lambda: missing(False)), clears, (lambda: asserts(0)), returns_in_finally:
        try:
            log.append(call())
        except Exception as error:
            log.append((type(error).__name__, str(error)))
    return circle < tau
)",
    R"(
log = []
def gathers(k):
    try:
        raise ExceptionGroup('some', [ValueError(k), KeyError(k), TypeError(k)])
    except* ValueError as group:
        log.append(group.exceptions)
    except* KeyError:
        raise OSError(k)
def run():
    try:
        gathers(1)
    except ExceptionGroup as group:
        log.append([type(e).__name__ for e in group.exceptions])
)"};

// A frame in terms of the code that it runs.
struct Place {
  const ObservedFrame* frame;
  const CodeInfo* prepared;
  int32_t instruction;
};

Place place_of(const ObservedFrame& frame) {
  Place place{&frame, prepare(frame.code), -1};
  for (int32_t offset = frame.offset; place.instruction < 0 && offset >= 0; offset -= 2)  // perhaps a cache of a call
    place.instruction = place.prepared->bytecode.index_of_offset(offset);
  return place;
}

const std::vector<SlotKind>& layout_at(const Place& place) {
  return place.prepared->stack_layout().before(place.instruction);
}

// True for each local that has a value, and where one is saved on the stack, for each of its slots.
std::vector<bool> bound_in(const Place& place) {
  std::vector<bool> bound;
  for (PyObject* local : place.frame->locals) bound.push_back(local);
  const std::vector<SlotKind>& layout = layout_at(place);
  if (std::ranges::find(layout, SlotKind::Saved) != layout.end())
    for (size_t slot = 0; slot < layout.size(); ++slot)
      bound.push_back(layout[slot] != SlotKind::Saved || place.frame->stack[slot]);
  return bound;
}

// The argument for a parameter that is not about an inner frame.
Ref argument_for(const Place& place, const ResumeFunction& resume, ResumeParameter parameter, const Ref& handled) {
  const ObservedFrame& frame = *place.frame;
  const auto index = static_cast<size_t>(parameter.index);
  switch (parameter.kind) {
    case ResumeParameter::Kind::Local:
      return Ref::borrow(frame.locals[index]);
    case ResumeParameter::Kind::Stack: {
      const SlotKind kind = layout_at(place)[index];
      const std::vector<PyObject*> stack = with_nulls_below(frame.stack, layout_at(place));
      PyObject* method = nullptr;
      if (kind == SlotKind::MethodSelf) method = stack[method_of(layout_at(place), parameter.index)];
      if (method) return Ref::steal(PyMethod_New(method, stack[index]));
      if (kind != SlotKind::RaisingInstruction) return Ref::borrow(stack[index]);
      const int32_t raising =
          place.prepared->bytecode.index_of_offset(static_cast<int32_t>(PyLong_AsLong(stack[index])) * 2);
      const auto* own = prepare(resume.code);
      return integer(own->bytecode.instructions[raising + resume.prologue].offset / 2);
    }
    default:
      return handled;
  }
}

// The exception that was being handled when the frame was entered, if it handles something itself.
Ref handled_outside(const Place& place, Ref handled) {
  const std::vector<SlotKind>& layout = layout_at(place);
  for (size_t slot = 0; slot < place.frame->stack.size() && slot < layout.size(); ++slot)
    if (layout[slot] == SlotKind::PreviousException) return Ref::borrow(place.frame->stack[slot]);
  return handled;
}

// A call that goes on with the frames: the outermost's resume function, and its arguments.
struct Continuation {
  Ref function, arguments;
  Ref handled;  // by who calls it
};

// Nothing if a resume function cannot be there: the residual code runs such instructions itself, or cuts elsewhere.
std::optional<Continuation> continue_from(const std::vector<ObservedFrame>& frames) {
  Ref handled = Ref::steal(PyErr_GetHandledException());
  if (!handled) handled = Ref::none();
  Continuation made;
  for (size_t i = 0; i < frames.size(); ++i) {
    const Place place = place_of(frames[i]);
    const Bytecode& bytecode = place.prepared->bytecode;
    if (place.instruction < 0 || stands_between(frames[i]) || frames[i].code->co_flags & CO_GENERATOR) return {};
    if (!(frames[i].code->co_flags & CO_OPTIMIZED)) return {};  // a class body
    if (i + 1 < frames.size() && frames[i].called_from_c) return {};
    const bool in_call = i > 0;
    if (in_call != (frames[i].stack.size() < layout_at(place).size())) return {};  // in a PRECALL
    if (!in_call && place.instruction > 0 && bytecode.instructions[place.instruction - 1].op == Op::KW_NAMES) return {};
    const bool is_callee = i + 1 < frames.size();
    const ResumePlace::Kind kind = in_call ? ResumePlace::Kind::InCall : ResumePlace::Kind::Before;
    const ResumeFunction* resume = resume_at(*place.prepared, {kind, place.instruction, is_callee}, bound_in(place));
    if (!resume) PyErr_Print();
    REQUIRE(resume);
    Ref arguments = Ref::steal(PyList_New(0));
    for (const ResumeParameter& parameter : resume->parameters) {
      Ref argument = parameter.kind == ResumeParameter::Kind::Callee ? made.function
                     : parameter.kind == ResumeParameter::Kind::Arguments
                         ? made.arguments
                         : argument_for(place, *resume, parameter, handled);
      REQUIRE(argument);
      PyList_Append(arguments.get(), argument.get());
    }
    made.function = function_of(*resume, PyFunction_GET_GLOBALS(frames[i].function));
    made.arguments = is_callee ? arguments : Ref::steal(PyList_AsTuple(arguments.get()));
    handled = handled_outside(place, handled);
  }
  made.handled = handled;
  return made;
}

Ref outcome(const Program& harness, PyObject* log, PyObject* function, PyObject* arguments) {
  return checked(PyObject_CallFunctionObjArgs(harness["outcome"], log, function, arguments, nullptr));
}

// The n-th time that CPython is about to run an instruction: what going on from there comes to. Null Ref: it does not
// get that far, or there is nothing to compare. `last` tells.
Ref outcome_of_cut(const Ref& compiled, const Program& harness, long n, bool& last, std::string& where) {
  Program program(compiled);
  long count = 0;
  Ref found;
  const Ref arguments = Ref::steal(PyTuple_New(0));
  const Ref result =
      call_observed(program["run"], nullptr, kProgramFile, [&](const std::vector<ObservedFrame>& frames) {
        if (count++ != n) return;
        const Ref now = Ref::steal(PyErr_GetHandledException());
        const std::optional<Continuation> rest = continue_from(frames);
        if (!rest) return;
        where = text_of(frames[0].code->co_name) + ", instruction " + std::to_string(place_of(frames[0]).instruction) +
                ", " + std::to_string(frames.size()) + " frames\n" + to_text(place_of(frames[0]).prepared->bytecode);
        PyErr_SetHandledException(rest->handled.get());
        found = outcome(harness, program["log"], rest->function.get(), rest->arguments.get());
        PyErr_SetHandledException(now.get());
      });
  PyErr_Clear();
  last = count <= n;
  return found;
}

void forget() {
  forget_resume_functions();
  forget_prepared_codes();
}

Ref call(const ResumeFunction& resume, PyObject* globals, std::initializer_list<PyObject*> arguments) {
  Ref tuple = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  Py_ssize_t next = 0;
  for (PyObject* argument : arguments) PyTuple_SET_ITEM(tuple.get(), next++, Ref::borrow(argument).release());
  return Ref::steal(PyObject_CallObject(function_of(resume, globals).get(), tuple.get()));
}

// A generator as the residual code makes it again: suspended where another one is.
Ref copy_of_generator(PyObject* generator) {
  const ObservedFrame frame = frame_of(generator);
  const Place place = place_of(frame);
  const Op op = place.prepared->bytecode.instructions[place.instruction].op;
  const bool started = op == Op::YIELD_VALUE;
  REQUIRE((started || op == Op::RETURN_GENERATOR));
  const ResumeFunction* resume = resume_at(
      *place.prepared, {started ? ResumePlace::Kind::Suspended : ResumePlace::Kind::NotStarted, place.instruction},
      bound_in(place_of(frame)));
  if (!resume) PyErr_Print();
  REQUIRE(resume);
  Ref arguments = Ref::steal(PyList_New(0));
  for (const ResumeParameter& parameter : resume->parameters)
    PyList_Append(arguments.get(), argument_for(place, *resume, parameter, Ref::none()).get());
  const Ref tuple = Ref::steal(PyList_AsTuple(arguments.get()));
  if (!started)
    return checked(
        PyObject_CallObject(function_of(*resume, PyFunction_GET_GLOBALS(frame.function)).get(), tuple.get()));
  return checked(PyObject_CallFunctionObjArgs(
      rebuild_generator_callable(), function_of(*resume, PyFunction_GET_GLOBALS(frame.function)).get(), tuple.get(),
      Py_True, place.prepared->bytecode.name.get(), place.prepared->bytecode.qualname.get(), nullptr));
}

// A generator in `yield from`, after so many lines.
void check_delegation(int lines_before) {
  std::string source =
      "def inner(n):\n"
      "    try:\n"
      "        for k in range(n):\n"
      "            yield k\n"
      "    except ValueError:\n"
      "        yield 'thrown'\n"
      "    except KeyError:\n"
      "        return 'ended'\n"
      "    return 'inner'\n"
      "def outer(n, x=0):\n";
  for (int i = 0; i < lines_before; ++i) source += "    x += 1\n";
  source +=
      "    result = yield from inner(n)\n"
      "    yield result, x\n"
      "def throw(generator):\n"
      "    try:\n"
      "        return generator.throw(KeyError())\n"
      "    except Exception as error:\n"
      "        return error\n"
      "generators = [outer(4), outer(4), outer(4)]\n"
      "firsts = [(next(g), next(g)) for g in generators]\n";
  Program program(source);
  PyObject* generators = program["generators"];
  program.set("copy", copy_of_generator(PyList_GET_ITEM(generators, 0)).get());
  program.set("ended", copy_of_generator(PyList_GET_ITEM(generators, 1)).get());
  const std::string x = std::to_string(lines_before);
  CHECK(program.text("copy.gi_yieldfrom is generators[0].gi_yieldfrom") == "True");
  CHECK(program.text("copy.throw(ValueError()), list(copy)") == "('thrown', [('inner', " + x + ")])");
  CHECK(program.text("throw(ended), list(ended)") == "(('ended', " + x + "), [])");
  CHECK(program.text("list(generators[2])") == "[2, 3, ('inner', " + x + ")]");
  forget();
}

}  // namespace

TEST_CASE("going on from any instruction ends as the program does", "[resume]") {
  const Program harness(kHarness);
  long compared = 0;
  for (const char* source : kPrograms) {
    const Ref compiled = compile_program(source);
    make_observable(compiled.get());
    Program original(compiled);
    const Ref expected = outcome(harness, original["log"], original["run"], Ref::steal(PyTuple_New(0)).get());
    bool last = false;
    int wrong = 0;
    for (long n = 0; !last && wrong < 3; ++n) {
      std::string where;
      const Ref found = outcome_of_cut(compiled, harness, n, last, where);
      if (!found) continue;
      ++compared;
      INFO("step " << n << ", in " << where);
      if (text_of(found.get()) != text_of(expected.get())) ++wrong;
      CHECK(text_of(found.get()) == text_of(expected.get()));
    }
    CHECK(last);
    forget();
  }
  CHECK(compared > 2'000);
}

TEST_CASE("generators go on where they were suspended", "[resume]") {
  Program program(R"(
def plain(n, factor):
    k = 0
    while k < n:
        got = yield k * factor
        k += got or 1
    return factor
def handles(n):
    seen = []
    try:
        for k in range(n):
            try:
                seen.append((yield k, 'text', [(yield len(seen))]))
            except ValueError as error:
                seen.append(str(error))
    finally:
        seen.append('closed')
    return seen
def delegates(n):
    first = yield from plain(n, 2)
    second = yield from handles(n)
    return first, second
def closes_over(n):
    def step():
        nonlocal n
        n -= 1
        return n
    while n:
        yield step(), [k + n for k in range(2)]

def steps(generator, plan):
    out = []
    for kind, value in plan:
        try:
            out.append(generator.send(value) if kind == 'send' else generator.throw(value))
        except StopIteration as stop:
            out.append(('ended', stop.value))
            break
        except BaseException as error:
            out.append((type(error).__name__, str(error), error.__traceback__.tb_next.tb_lineno))
            break
    return repr(out)
makers = [lambda: plain(5, 3), lambda: handles(3), lambda: delegates(2), lambda: closes_over(3)]
plans = [
    [('send', None)] * 12,
    [('send', None), ('send', 2), ('send', None), ('throw', ValueError('in')), ('send', None), ('send', 'x')] * 2,
    [('send', None), ('throw', KeyError('out'))],
    [('send', None), ('send', None), ('throw', GeneratorExit())],
]
)");
  const Ref makers = Ref::borrow(program["makers"]), plans = Ref::borrow(program["plans"]);
  long compared = 0;
  for (Py_ssize_t m = 0; m < PyList_GET_SIZE(makers.get()); ++m) {
    for (Py_ssize_t p = 0; p < PyList_GET_SIZE(plans.get()); ++p) {
      PyObject* plan = PyList_GET_ITEM(plans.get(), p);
      for (Py_ssize_t done = 0; done <= PyList_GET_SIZE(plan); ++done) {
        INFO("generator " << m << ", plan " << p << ", copied after " << done << " steps");
        const auto part = [&](PyObject* generator, Py_ssize_t from, Py_ssize_t to) {
          const Ref steps = Ref::steal(PyList_GetSlice(plan, from, to));
          return text_of(
              checked(PyObject_CallFunctionObjArgs(program["steps"], generator, steps.get(), nullptr)).get());
        };
        const Ref first = checked(PyObject_CallNoArgs(PyList_GET_ITEM(makers.get(), m)));
        const Ref second = checked(PyObject_CallNoArgs(PyList_GET_ITEM(makers.get(), m)));
        if (part(first.get(), 0, done) != part(second.get(), 0, done)) FAIL("the oracle differs from itself");
        const Ref frame = checked(PyObject_GetAttrString(second.get(), "gi_frame"));
        const Ref inner = checked(PyObject_GetAttrString(second.get(), "gi_yieldfrom"));
        if (frame.is(Py_None)) break;  // finished
        // The one that another delegates to is copied on its own.
        Ref copied = inner.is(Py_None) ? second : inner;
        Ref same = copied.is(second.get()) ? first : checked(PyObject_GetAttrString(first.get(), "gi_yieldfrom"));
        const Ref copy = copy_of_generator(copied.get());
        CHECK(text_of(checked(PyObject_GetAttrString(copy.get(), "__name__")).get()) ==
              text_of(checked(PyObject_GetAttrString(copied.get(), "__name__")).get()));
        CHECK(part(copy.get(), done, PyList_GET_SIZE(plan)) == part(same.get(), done, PyList_GET_SIZE(plan)));
        ++compared;
      }
    }
  }
  CHECK(compared > 40);
  forget();
}

TEST_CASE("what a generator delegates to goes on with it", "[resume]") { check_delegation(0); }

// When the inner generator ends by what is thrown into it, CPython jumps by the last byte of SEND's argument.
TEST_CASE("a generator delegates far from its beginning", "[resume]") { check_delegation(300); }

TEST_CASE("one resume function per place, live locals and globals", "[resume]") {
  const Ref compiled = compile_program("def f(a, b, c):\n    d = a + b\n    return d * a\n");
  Program program(compiled), other(compiled);
  const CodeInfo* original = prepare(program.code("f"));
  const ResumePlace place{ResumePlace::Kind::Before, find_op(original->bytecode, Op::RETURN_VALUE) - 3};
  REQUIRE(original->bytecode.instructions[place.instruction].op == Op::LOAD_FAST);  // d
  const ResumeFunction* made = resume_at(*original, place, {true, true, true, true});
  REQUIRE(made);
  REQUIRE(made->parameters.size() == 2);  // a, d
  CHECK(made->parameters[0].index == 0);
  CHECK(made->parameters[1].index == 3);
  const Ref result = call(*made, program.names(), {integer(3).get(), integer(5).get()});
  CHECK(PyLong_AsLong(result.get()) == 15);

  CHECK(resume_at(*original, place, {true, true, true, true}) == made);
  CHECK(resume_at(*original, place, {true, false, false, true}) == made);  // dead ones
  const ResumeFunction* unbound = resume_at(*original, place, {true, true, true, false});
  REQUIRE(unbound);
  CHECK(unbound != made);
  CHECK_FALSE(call(*unbound, program.names(), {integer(3).get()}));
  CHECK(PyErr_ExceptionMatches(PyExc_UnboundLocalError));
  PyErr_Clear();
  const ResumeFunction* later =
      resume_at(*original, {ResumePlace::Kind::Before, place.instruction + 1}, {true, true, true, true});
  REQUIRE(later);
  CHECK(later != made);
  REQUIRE(later->parameters.size() == 2);  // a, and d on the stack
  CHECK(later->parameters[1].kind == ResumeParameter::Kind::Stack);

  // They have names, and are found by their code.
  const std::string name = text_of(made->name.get());
  const int32_t offset = original->bytecode.instructions[place.instruction].offset;
  CHECK(name.starts_with("__minidynamo_resume_at_" + std::to_string(offset) + "_"));
  PyCodeObject* code = made->code;
  CHECK(find_resume_function(code) == made);
  CHECK_FALSE(find_resume_function(program.code("f")));
  CHECK(resume_codes(program.code("f")).size() == 3);
  program.set("resumed", function_of(*made, program.names()).get());
  CHECK(program.text("resumed.__code__.co_name, resumed.__code__.co_qualname, resumed.__qualname__, "
                     "resumed.__code__.co_filename, resumed.__code__.co_firstlineno") ==
        "('f', 'f', 'f', 'program.py', 1)");

  CHECK(program.text("[n for n in globals() if n.startswith('__resume')]") == "[]");
  forget();
  CHECK(resume_codes(program.code("f")).empty());
  CHECK(program.text("resumed(3, 5)") == "15");  // who holds one may still call it
}

TEST_CASE("resume functions die with the original", "[resume]") {
  Program program("import weakref\ndef f(a):\n    return a\n");
  const ResumeFunction* made = resume_at(*prepare(program.code("f")), {ResumePlace::Kind::Before, 1}, {true});
  REQUIRE(made);
  program.set("code", Ref::steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(made->code), nullptr)).get());
  program.set("resumed", function_of(*made, program.names()).get());
  PyCodeObject* code = made->code;
  program.run("del f");
  CHECK_FALSE(original_of(*find_resume_function(code)));  // a frame may still run it
  program.run("del resumed");
  CHECK(program.text("code()") == "None");
}

TEST_CASE("forgotten resume functions leave nothing behind", "[resume]") {
  Program program("import weakref\ndef f(a):\n    return a\n");
  const CodeInfo* original = prepare(program.code("f"));
  const ResumeFunction* made = resume_at(*original, {ResumePlace::Kind::Before, 1}, {true});
  REQUIRE(made);
  program.set("resumed", function_of(*made, program.names()).get());
  program.run("code = weakref.ref(resumed.__code__)\nfunction = weakref.ref(resumed)\ndel resumed");
  CHECK(program.text("code() is not None, function()") == "(True, None)");  // the code is the original's
  forget();
  CHECK(program.text("code(), function()") == "(None, None)");
}

TEST_CASE("cells are shared with who else has them", "[resume]") {
  Program program(
      "def f(x):\n"
      "    def add(y):\n"
      "        nonlocal x\n"
      "        x += y\n"
      "        return x\n"
      "    return add, x\n");
  const CodeInfo* outer = prepare(program.code("f"));
  const int32_t x = find_local(outer->bytecode, "x"), add = find_local(outer->bytecode, "add");
  const int32_t at = find_op(outer->bytecode, Op::LOAD_DEREF);  // the return's
  const Ref cell = Ref::steal(PyCell_New(integer(7).get()));
  std::vector<bool> bound(outer->locals_count, false);
  bound[x] = bound[add] = true;
  // `add` lies on the stack by then.
  const ResumeFunction* made = resume_at(*outer, {ResumePlace::Kind::Before, at}, bound);
  REQUIRE(made);
  REQUIRE(made->parameters.size() == 2);
  const Ref result = call(*made, program.names(), {cell.get(), Py_None});
  REQUIRE(result);
  CHECK(PyLong_AsLong(PyTuple_GET_ITEM(result.get(), 1)) == 7);

  // A free variable is a parameter too, so that no closure is needed.
  PyCodeObject* inner_code = nullptr;
  each_code(reinterpret_cast<PyObject*>(outer->code()), [&](PyCodeObject* code) { inner_code = code; });
  const CodeInfo* inner = prepare(inner_code);
  bound.assign(inner->locals_count, true);
  const ResumeFunction* adds =
      resume_at(*inner, {ResumePlace::Kind::Before, find_op(inner->bytecode, Op::LOAD_DEREF)}, bound);
  REQUIRE(adds);
  const bool y_first = adds->parameters[0].index == find_local(inner->bytecode, "y");
  const Ref sum = y_first ? call(*adds, program.names(), {integer(3).get(), cell.get()})
                          : call(*adds, program.names(), {cell.get(), integer(3).get()});
  REQUIRE(sum);
  CHECK(PyLong_AsLong(sum.get()) == 10);
  CHECK(PyLong_AsLong(PyCell_GET(cell.get())) == 10);
  forget();
}

TEST_CASE("arguments do not outlive their use", "[resume]") {
  Program program(
      "import weakref\n"
      "class Thing: pass\n"
      "def f(a, k):\n"
      "    a = k(a.thing)\n"
      "    return k(None)\n"
      "gone = []\n"
      "def k(x):\n"
      "    if x is None: gone.append(reference() is None)\n"
      "thing = Thing()\n"
      "reference = weakref.ref(thing)\n");
  const CodeInfo* original = prepare(program.code("f"));
  const int32_t at = find_op(original->bytecode, Op::CALL);  // stack: null, k, thing
  const ResumeFunction* made = resume_at(*original, {ResumePlace::Kind::Before, at}, {true, true});
  REQUIRE(made);
  program.set("resumed", function_of(*made, program.names()).get());
  REQUIRE(made->parameters.size() == 3);  // k, and k and the thing on the stack
  const std::string local = local_name(original->bytecode, made->parameters[0].index);
  CHECK(local == "k");
  program.run(
      "things = [thing]\n"
      "del thing\n"
      "resumed(k, k, things.pop())\n");
  CHECK(program.text("gone") == "[True]");
  forget();
}

TEST_CASE("a resume function's frame stands in the original", "[resume]") {
  Program program("def f(a, b):\n    for k in a:\n        b = g(b, k)\n    return b\n");
  const CodeInfo* original = prepare(program.code("f"));
  const int32_t at = find_op(original->bytecode, Op::CALL);
  const std::vector<bool> bound(original->locals_count, true);
  for (const ResumePlace::Kind kind : {ResumePlace::Kind::Before, ResumePlace::Kind::InCall}) {
    const ResumeFunction* made = resume_at(*original, {kind, at}, bound);
    REQUIRE(made);
    const CodeInfo* own = prepare(made->code);
    Frame frame(own, function_of(*made, program.names()).get(), nullptr);
    int calls = 0;
    for (int32_t i = 0; i < static_cast<int32_t>(own->bytecode.instructions.size()); ++i) {
      frame.instruction = i;
      const OriginalPosition position = original_position(frame);
      INFO("instruction " << i << "\n" << to_text(own->bytecode));
      CHECK(position.prepared == original);
      CHECK(position.resume == made);
      CHECK(position.in_prologue == (i < made->prologue));
      CHECK(position.instruction == (i < made->prologue ? at : i - made->prologue));
      if (i >= made->prologue)
        CHECK(own->bytecode.instructions[i].op == original->bytecode.instructions[position.instruction].op);
      calls += position.in_prologue_call;
    }
    CHECK(calls == (kind == ResumePlace::Kind::InCall));
    for (int32_t local = 0; local < original->locals_count; ++local) {
      frame.instruction = 0;
      const int32_t there = original_position(frame).local(local);
      REQUIRE(there >= 0);
      CHECK(local_name(own->bytecode, there) == local_name(original->bytecode, local));
    }
  }
  Frame plain(original, program["f"], nullptr);
  plain.instruction = at;
  CHECK(original_position(plain).prepared == original);
  CHECK(original_position(plain).instruction == at);
  CHECK_FALSE(original_position(plain).resume);
  CHECK(original_position(plain).local(1) == 1);
  forget();
}

TEST_CASE("the call in a prologue raises where the original's call does", "[resume]") {
  Program program(
      "def g(arguments):\n"
      "    raise ValueError('from g')\n"
      "def f(x):\n"
      "    try:\n"
      "        x = g([])\n"
      "    except ValueError as error:\n"
      "        return str(error), error.__traceback__.tb_lineno, "
      "error.__traceback__.tb_next.tb_frame.f_code.co_name\n");
  const CodeInfo* f = prepare(program.code("f"));
  const ResumeFunction* made = resume_at(*f, {ResumePlace::Kind::InCall, find_op(f->bytecode, Op::CALL)},
                                         std::vector<bool>(f->locals_count, true));
  REQUIRE(made);
  REQUIRE(made->parameters.size() == 2);  // `x` is written before it is read
  const Ref result = call(*made, program.names(), {program["g"], Ref::steal(PyList_New(0)).get()});
  program.set("result", checked(Ref(result).release()).get());
  CHECK(program.text("result") == "('from g', 5, 'g')");
  forget();
}

TEST_CASE("a place that no stack fits is an error", "[resume]") {
  // By hand, since CPython's compiler leaves out what nothing reaches: an instruction that pops from nothing.
  Program program("def f(x):\n    return x\n");
  CodeInfo original;
  original.code_object = program.code("f");
  original.bytecode = decode(program.code("f"));
  original.locals_count = 1;
  original.bytecode.instructions.push_back({Op::POP_TOP});
  original.bytecode.instructions.push_back({Op::LOAD_FAST});
  original.bytecode.instructions.push_back({Op::RETURN_VALUE});
  const auto unreachable = static_cast<int32_t>(original.bytecode.instructions.size()) - 3;
  CHECK_FALSE(resume_at(original, {ResumePlace::Kind::Before, unreachable}, {true}));
  CHECK(PyErr_ExceptionMatches(PyExc_ValueError));
  PyErr_Clear();
  // The failure is not remembered as a function.
  CHECK(resume_codes(program.code("f")).empty());
  forget();
}
