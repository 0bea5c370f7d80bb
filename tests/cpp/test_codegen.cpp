// Residual functions against two oracles: a plain interpreter of plans (below), and the printed source run by CPython.
//
// All three run in fresh worlds of logging objects; logs and results, with object identities numbered, must be equal.
#if __has_include(<catch2/catch_test_macros.hpp>)  // version 3
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
#include <random>
#include <string>
#include <vector>

#include "bytecode/instruction.h"
#include "emit/call_code.h"
#include "emit/plan.h"
#include "python/ref.h"

namespace {

using namespace minidynamo;
using Kind = PlanStep::Kind;

// The world that the plans work on. `describe` numbers containers and objects by first sight, so that sharing shows.
constexpr const char* kWorld = R"(
log = []
class Thing:
    def __init__(self, name):
        object.__setattr__(self, 'name', name)
    def __setattr__(self, name, value):
        log.append(('setattr', describe(self), name, describe(value)))
    def __delattr__(self, name):
        log.append(('delattr', describe(self), name))
    def __setitem__(self, key, value):
        log.append(('setitem', describe(self), describe(key), describe(value)))
    def __delitem__(self, key):
        log.append(('delitem', describe(self), describe(key)))
    def __hash__(self):
        log.append(('hash', self.name))
        return len(self.name)
    def __eq__(self, other):
        return self is other

def is_literal(x):
    return x is None or isinstance(x, (int, str)) or isinstance(x, tuple) and all(map(is_literal, x))

numbers, keep = {}, []
def describe(x):
    if x is None or isinstance(x, (int, str)):
        return x
    if is_literal(x):  # the compiler makes one object of equal ones
        return ('tuple', [describe(v) for v in x])
    if id(x) in numbers:
        return '#%d' % numbers[id(x)]
    keep.append(x)
    numbers[id(x)] = len(numbers)
    if isinstance(x, Thing):
        return ('thing', x.name)
    if isinstance(x, dict):
        return ('dict', [(describe(k), describe(v)) for k, v in x.items()])
    if isinstance(x, slice):
        return ('slice', describe(x.start), describe(x.stop), describe(x.step))
    if isinstance(x, (tuple, list)):
        return (type(x).__name__, [describe(v) for v in x])
    if isinstance(x, set):
        return ('set', sorted(v.name if isinstance(v, Thing) else repr(v) for v in x))
    return type(x).__name__

made = 0
def make(*args):
    global made
    made += 1
    log.append(('make', made, [describe(a) for a in args]))
    return Thing('made%d' % made)

def __minidynamo_compiled_fn_0(*inputs):
    log.append(('graph', inputs))
    return tuple(Thing('out%d' % i) for i in range(output_count))

def original(a, b):
    pass

live = tuple(Thing('live%d' % i) for i in range(4))
inputs = (1, 2, 3)
)";

void ensure_python() {
  if (!Py_IsInitialized()) Py_InitializeEx(0);
}

struct World {
  explicit World(uint32_t output_count) : names(Ref::steal(PyDict_New())) {
    ensure_python();
    PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
    set("__name__", Ref::steal(PyUnicode_FromString("world")));
    set("output_count", Ref::steal(PyLong_FromUnsignedLong(output_count)));
    run(kWorld);
  }
  void run(const char* source) {
    const Ref done = Ref::steal(PyRun_String(source, Py_file_input, names.get(), names.get()));
    if (!done) PyErr_Print();
    REQUIRE(done);
  }
  Ref get(const char* name) const { return Ref::borrow(PyDict_GetItemString(names.get(), name)); }
  void set(const char* name, const Ref& value) { PyDict_SetItemString(names.get(), name, value.get()); }
  PyCodeObject* original() const { return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(get("original").get())); }
  // Log and result as text.
  std::string outcome(const Ref& result) {
    if (!result) {
      PyErr_Print();
      return "error";
    }
    set("result", result);
    const Ref text = Ref::steal(PyRun_String("repr((log, describe(result)))", Py_eval_input, names.get(), names.get()));
    REQUIRE(text);
    return PyUnicode_AsUTF8(text.get());
  }

  Ref names;
};

Ref make_residual(const Plan& plan, const World& world) {
  const Ref compiled = world.get("__minidynamo_compiled_fn_0");
  const LentFunction made = residual_function(plan, world.original(), world.names.get(), compiled.get());
  return made ? made.to_function(world.names.get()) : Ref();
}

// The plan's meaning, as plainly as possible: what is needed, in order, one step at a time.
class PlainInterpreter {
 public:
  PlainInterpreter(const Plan& plan, World& world) : plan_(plan), world_(world), values_(plan.steps.size()) {}

  Ref run() {
    if (plan_.calls_graph) {
      outputs_ =
          Ref::steal(PyObject_CallObject(world_.get("__minidynamo_compiled_fn_0").get(), world_.get("inputs").get()));
    }
    std::vector<bool> needed(plan_.steps.size(), false);
    if (plan_.result != kNoValue) needed[plan_.result] = true;
    for (size_t id = plan_.steps.size(); id-- > 0;) {
      const PlanStep& step = plan_.steps[id];
      if (step.kind >= Kind::SetAttribute) needed[id] = true;
      if (!needed[id]) continue;
      for (const ValueId operand : step.operands) needed[operand] = true;
    }
    for (size_t id = 0; id < plan_.steps.size(); ++id) {
      if (needed[id]) values_[id] = execute(plan_.steps[id]);
    }
    return plan_.result == kNoValue ? Ref::none() : values_[plan_.result];
  }

 private:
  PyObject* operand(const PlanStep& step, size_t i) { return values_[step.operands[i]].get(); }
  Ref operands(const PlanStep& step) {
    Ref list = Ref::steal(PyList_New(0));
    for (const ValueId id : step.operands) PyList_Append(list.get(), values_[id].get());
    return list;
  }

  Ref execute(const PlanStep& step) {
    switch (step.kind) {
      case Kind::Constant:
        return step.object;
      case Kind::Live:
        return Ref::borrow(PyTuple_GetItem(world_.get("live").get(), step.index));
      case Kind::Output:
        return Ref::borrow(PyTuple_GetItem(outputs_.get(), step.index));
      case Kind::Tuple:
        return Ref::steal(PyList_AsTuple(operands(step).get()));
      case Kind::List:
        return operands(step);
      case Kind::Set:
        return Ref::steal(PySet_New(operands(step).get()));
      case Kind::Dict: {
        Ref dict = Ref::steal(PyDict_New());
        for (size_t i = 0; i < step.operands.size(); i += 2) {
          PyDict_SetItem(dict.get(), operand(step, i), operand(step, i + 1));
        }
        return dict;
      }
      case Kind::Slice:
        return Ref::steal(PySlice_New(operand(step, 0), operand(step, 1), operand(step, 2)));
      case Kind::Call:
      case Kind::CallEffect:
        return Ref::steal(
            PyObject_CallObject(step.object.get(), Ref::steal(PyList_AsTuple(operands(step).get())).get()));
      case Kind::SetAttribute:
        PyObject_SetAttr(operand(step, 0), step.object.get(), operand(step, 1));
        break;
      case Kind::DeleteAttribute:
        PyObject_SetAttr(operand(step, 0), step.object.get(), nullptr);
        break;
      case Kind::SetItem:
        PyObject_SetItem(operand(step, 0), operand(step, 1), operand(step, 2));
        break;
      case Kind::DeleteItem:
        PyObject_DelItem(operand(step, 0), operand(step, 1));
        break;
    }
    return Ref::none();
  }

  const Plan& plan_;
  World& world_;
  std::vector<Ref> values_;
  Ref outputs_;
};

Ref str(const char* text) { return Ref::steal(PyUnicode_InternFromString(text)); }
Ref integer(long value) { return Ref::steal(PyLong_FromLong(value)); }

// A plan is built per world: its constants are the world's objects.
using PlanMaker = Plan (*)(World&, uint32_t seed);

std::string run_plain(PlanMaker maker, uint32_t outputs, uint32_t seed) {
  World world(outputs);
  const Plan plan = maker(world, seed);
  const Ref result = PlainInterpreter(plan, world).run();
  return world.outcome(result);
}

std::string run_bytecode(PlanMaker maker, uint32_t outputs, uint32_t seed, bool quickened) {
  World world(outputs);
  const Plan plan = maker(world, seed);
  const Ref function = make_residual(plan, world);
  if (!function) PyErr_Print();
  REQUIRE(function);
  const auto call = [&] {
    return Ref::steal(
        PyObject_CallFunctionObjArgs(function.get(), world.get("inputs").get(), world.get("live").get(), nullptr));
  };
  if (!quickened) return world.outcome(call());
  for (int i = 0; i < 40; ++i) REQUIRE(call());
  world.run("log.clear(); numbers.clear(); keep.clear(); made = 0");
  return world.outcome(call());
}

std::string run_source(PlanMaker maker, uint32_t outputs, uint32_t seed) {
  World world(outputs);
  const Plan plan = maker(world, seed);
  const std::string source = to_source(plan, world.original());
  INFO(source);
  world.run(source.c_str());
  // `make` and the other functions of the world print as world.make.
  const Ref function = world.get("original");
  world.run("class world: pass\nworld.make = make");
  return world.outcome(Ref::steal(
      PyObject_CallFunctionObjArgs(function.get(), world.get("inputs").get(), world.get("live").get(), nullptr)));
}

constexpr uint32_t kOutputs = 4;

Plan random_plan(World& world, uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t limit) { return static_cast<uint32_t>(random() % limit); };
  Plan plan;
  plan.compiled_name = "__minidynamo_compiled_fn_0";
  plan.output_count = kOutputs;
  plan.calls_graph = below(8) != 0;
  std::vector<ValueId> values, hashable, things;
  const auto define = [&](PlanStep step, bool is_hashable, bool is_thing) {
    const auto id = static_cast<ValueId>(plan.steps.size());
    plan.steps.push_back(std::move(step));
    values.push_back(id);
    if (is_hashable) hashable.push_back(id);
    if (is_thing) things.push_back(id);
  };
  const auto any = [&] { return values[below(values.size())]; };
  define({Kind::Live, nullptr, below(4), {}}, true, true);
  const uint32_t length = 1 + below(24);
  while (plan.steps.size() < length) {
    std::vector<ValueId> operands;
    const uint32_t choice = below(16);
    switch (choice) {
      case 0:
        define({Kind::Constant, below(2) ? integer(below(300)) : str("text"), 0, {}}, true, false);
        break;
      case 1:
        define({Kind::Constant, Ref::none(), 0, {}}, true, false);
        break;
      case 2:
        define({Kind::Live, nullptr, below(4), {}}, true, true);
        break;
      case 3:
      case 4:
      case 5:
        if (plan.calls_graph) define({Kind::Output, nullptr, below(kOutputs), {}}, true, true);
        break;
      case 6:
      case 7:
        for (uint32_t i = below(4); i > 0; --i) operands.push_back(any());
        define({choice == 6 ? Kind::Tuple : Kind::List, nullptr, 0, operands}, false, false);
        break;
      case 8:
        for (uint32_t i = below(4); i > 0; --i) operands.push_back(hashable[below(hashable.size())]);
        define({Kind::Set, nullptr, 0, operands}, false, false);
        break;
      case 9:
        for (uint32_t i = below(3); i > 0; --i) {
          operands.push_back(hashable[below(hashable.size())]);
          operands.push_back(any());
        }
        define({Kind::Dict, nullptr, 0, operands}, false, false);
        break;
      case 10:
        define({Kind::Slice, nullptr, 0, {any(), any(), any()}}, false, false);
        break;
      case 11:
      case 12:
        for (uint32_t i = below(4); i > 0; --i) operands.push_back(any());
        if (choice == 11) {
          define({Kind::Call, world.get("make"), 0, operands}, true, true);
        } else {
          plan.steps.push_back({Kind::CallEffect, world.get("make"), 0, operands});
        }
        break;
      case 13:
        plan.steps.push_back(
            {Kind::SetAttribute, str(below(4) ? "attr" : "not plain"), 0, {things[below(things.size())], any()}});
        break;
      case 14:
        plan.steps.push_back({Kind::SetItem, nullptr, 0, {things[below(things.size())], any(), any()}});
        break;
      default:
        if (below(2)) {
          plan.steps.push_back({Kind::DeleteAttribute, str("attr"), 0, {things[below(things.size())]}});
        } else {
          plan.steps.push_back({Kind::DeleteItem, nullptr, 0, {things[below(things.size())], any()}});
        }
    }
  }
  if (below(10) != 0) plan.result = below(3) ? values.back() : any();
  return plan;
}

std::vector<Op> ops_of(const Ref& function) {
  const Bytecode bytecode = decode(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.get())));
  std::vector<Op> ops;
  for (const Instruction& instruction : bytecode.instructions) ops.push_back(instruction.op);
  return ops;
}

Plan graph_plan(uint32_t outputs) {
  Plan plan;
  plan.compiled_name = "__minidynamo_compiled_fn_0";
  plan.output_count = outputs;
  for (uint32_t i = 0; i < outputs; ++i) plan.steps.push_back({Kind::Output, nullptr, i, {}});
  return plan;
}

}  // namespace

TEST_CASE("random plans: bytecode, source and meaning agree", "[codegen]") {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    INFO("seed " << seed);
    const std::string expected = run_plain(random_plan, kOutputs, seed);
    REQUIRE(run_bytecode(random_plan, kOutputs, seed, false) == expected);
    REQUIRE(run_source(random_plan, kOutputs, seed) == expected);
    if (seed % 10 == 0) REQUIRE(run_bytecode(random_plan, kOutputs, seed, true) == expected);
  }
}

// The instructions of a function that calls its graph first.
static std::vector<Op> behind_graph_call(std::vector<Op> rest) {
  std::vector<Op> ops = {Op::COPY_FREE_VARS, Op::RESUME};
  begin_call([&](Op op, int32_t) { ops.push_back(op); }, [&] { ops.push_back(Op::LOAD_DEREF); });
  ops.insert(ops.end(), {Op::LOAD_FAST, Op::CALL_FUNCTION_EX});
  ops.insert(ops.end(), rest.begin(), rest.end());
  return ops;
}

TEST_CASE("a frame that returns one output is eight instructions", "[codegen]") {
  World world(1);
  Plan plan = graph_plan(1);
  plan.result = 0;
  const Ref function = make_residual(plan, world);
  REQUIRE(function);
  CHECK(ops_of(function) == behind_graph_call({Op::UNPACK_SEQUENCE, Op::RETURN_VALUE}));
  CHECK(to_source(plan, world.original()).find("(out0,) = __minidynamo_compiled_fn_0(*inputs)\n    return out0\n") !=
        std::string::npos);
}

TEST_CASE("outputs returned in order stay on the stack", "[codegen]") {
  for (uint32_t count = 2; count <= 3; ++count) {
    World world(count);
    Plan plan = graph_plan(count);
    plan.steps.push_back({Kind::Tuple, nullptr, 0, {}});
    for (uint32_t i = 0; i < count; ++i) plan.steps.back().operands.push_back(i);
    plan.result = count;
    const Ref function = make_residual(plan, world);
    REQUIRE(function);
    CHECK(ops_of(function) == behind_graph_call({Op::UNPACK_SEQUENCE, Op::SWAP, Op::BUILD_TUPLE, Op::RETURN_VALUE}));
  }
}

TEST_CASE("what nothing needs is not emitted", "[codegen]") {
  World world(2);
  Plan plan = graph_plan(2);
  plan.steps.push_back({Kind::List, nullptr, 0, {0, 1}});
  plan.steps.push_back({Kind::Call, world.get("make"), 0, {2}});
  const Ref function = make_residual(plan, world);
  REQUIRE(function);
  CHECK(ops_of(function) == behind_graph_call({Op::POP_TOP, Op::LOAD_CONST, Op::RETURN_VALUE}));
}

TEST_CASE("the function stands where the original stands", "[codegen]") {
  World world(1);
  Plan plan = graph_plan(1);
  plan.result = 0;
  const Ref function = make_residual(plan, world);
  REQUIRE(function);
  world.set("f", function);
  world.run(
      "assert f.__name__ == original.__name__ and f.__qualname__ == original.__qualname__\n"
      "a, b = f.__code__, original.__code__\n"
      "assert (a.co_filename, a.co_firstlineno) == (b.co_filename, b.co_firstlineno)\n"
      "assert {l for _, _, l in a.co_lines()} == {b.co_firstlineno} and f.__globals__ is globals()\n");
}

TEST_CASE("constants keep their identity", "[codegen]") {
  World world(0);
  world.run("import sys; const = (''.join(['not', '_interned']), frozenset([''.join(['nor', '_this'])]))");
  const Ref constant = world.get("const");
  Plan plan;
  plan.calls_graph = false;
  plan.steps.push_back({Kind::Constant, constant, 0, {}});
  plan.steps.push_back({Kind::Constant, Ref::borrow(PyTuple_GET_ITEM(constant.get(), 0)), 0, {}});
  plan.steps.push_back({Kind::Tuple, nullptr, 0, {0, 1}});
  plan.result = 2;
  world.set("before", Ref::steal(PySequence_List(constant.get())));
  const Ref function = make_residual(plan, world);
  REQUIRE(function);
  world.set("f", function);
  world.run(
      "r = f((), ())\n"
      "assert r[0] is const and r[1] is before[0] and const[0] is before[0] and const[1] is before[1]\n");
}

TEST_CASE("a graph that returns another number of outputs is an error", "[codegen]") {
  World world(3);
  Plan plan = graph_plan(2);
  plan.result = 0;
  const Ref function = make_residual(plan, world);
  REQUIRE(function);
  const Ref result = Ref::steal(
      PyObject_CallFunctionObjArgs(function.get(), world.get("inputs").get(), world.get("live").get(), nullptr));
  CHECK_FALSE(result);
  CHECK(PyErr_ExceptionMatches(PyExc_ValueError));
  PyErr_Clear();
}

TEST_CASE("large and deep plans", "[codegen]") {
  World world(700);
  Plan plan = graph_plan(700);
  plan.steps.push_back({Kind::List, nullptr, 0, {}});
  for (uint32_t i = 0; i < 700; ++i) plan.steps.back().operands.push_back(699 - i);
  for (int depth = 0; depth < 20000; ++depth) {
    plan.steps.push_back(
        {depth % 2 ? Kind::List : Kind::Tuple, nullptr, 0, {static_cast<ValueId>(plan.steps.size() - 1)}});
  }
  plan.result = static_cast<ValueId>(plan.steps.size() - 1);
  const Ref function = make_residual(plan, world);
  if (!function) PyErr_Print();
  REQUIRE(function);
  world.set("f", function);
  world.run(
      "r = f(inputs, live)\n"
      "for depth in range(20000):\n    r, = r\n"
      "assert [t.name for t in r] == ['out%d' % i for i in reversed(range(700))]\n");
  CHECK(to_source(plan, world.original()).size() > 20000);
}

TEST_CASE("plans that are not well-formed are refused", "[codegen]") {
  World world(1);
  std::vector<std::vector<PlanStep>> wrong;
  wrong.push_back({{Kind::Tuple, nullptr, 0, {0}}});                                             // itself
  wrong.push_back({{Kind::Output, nullptr, 1, {}}});                                             // no such output
  wrong.push_back({{Kind::Constant, Ref::none(), 0, {}}, {Kind::Dict, nullptr, 0, {0}}});        // key alone
  wrong.push_back({{Kind::Constant, Ref::none(), 0, {}}, {Kind::Slice, nullptr, 0, {0, 0}}});    // two of three
  wrong.push_back({{Kind::Live, nullptr, 0, {}}, {Kind::SetAttribute, integer(1), 0, {0, 0}}});  // name
  wrong.push_back(
      {{Kind::Live, nullptr, 0, {}}, {Kind::DeleteItem, nullptr, 0, {0, 0}}, {Kind::List, nullptr, 0, {1}}});
  for (const std::vector<PlanStep>& steps : wrong) {
    Plan plan = graph_plan(0);
    plan.output_count = 1;
    plan.steps = steps;
    CHECK_FALSE(
        residual_function(plan, world.original(), world.names.get(), world.get("__minidynamo_compiled_fn_0").get()));
    CHECK(PyErr_ExceptionMatches(PyExc_ValueError));
    PyErr_Clear();
  }
}
