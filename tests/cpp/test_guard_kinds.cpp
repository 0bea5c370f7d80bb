// Each guard kind and each access by itself: what must pass, what must fail, how it prints.
#include <algorithm>

#include "python/version/dict_version.h"
#include "test_guard_support.h"

namespace minidynamo::guard_test {
namespace {

bool constant_guard_passes(const Namespace& python, const char* expected, const char* seen) {
  Ref first = python.value(expected), second = python.value(seen);
  Tree tree;
  tree.guards.add(tree.root(first.get()), GuardKind::Constant, {});
  tree.guards.finish();
  bool passes = tree.check(second.get());
  CHECK(tree.check(first.get()));
  CHECK(tree.check(second.get()) == passes);
  return passes;
}

}  // namespace

TEST_CASE("constant guards compare type and value exactly", "[guard]") {
  Namespace python;
  python.run(
      "import enum\n"
      "class Color(enum.Enum):\n  RED = 1\n  BLUE = 2\n"
      "class Int(int): pass\n"
      "class Str(str): pass\n"
      "def f(): pass\n"
      "def g(): pass\n");
  struct Case {
    const char* expected;
    const char* seen;
    bool passes;
  };
  const Case cases[] = {
      {"10**40", "10**40", true},
      {"10**40", "10**40+1", false},
      {"1", "True", false},
      {"True", "1", false},
      {"1", "1.0", false},
      {"1", "Int(1)", false},
      {"0.0", "-0.0", false},
      {"float('nan')", "float('nan')", true},
      {"float('nan')", "-float('nan')", false},
      {"0.1+0.2", "0.30000000000000004", true},
      {"0.1+0.2", "0.3", false},
      {"complex(0.0, 1)", "complex(-0.0, 1)", false},
      {"complex(2, 1)", "complex(2, 1)", true},
      {"'a'*3", "'aa'+'a'", true},
      {"'abc'", "b'abc'", false},
      {"'abc'", "Str('abc')", false},
      {"bytes(3)", "bytes(3)", true},
      {"bytes(3)", "bytearray(3)", false},
      {"None", "None", true},
      {"None", "Ellipsis", false},
      {"NotImplemented", "NotImplemented", true},
      {"range(0, 4, 2)", "range(0, 4, 2)", true},
      {"range(0, 4, 2)", "range(0, 3, 2)", false},  // equal for Python, but .stop differs
      {"slice(1, 2)", "slice(1, 2)", true},
      {"slice(1, 2)", "slice(1, 2.0)", false},
      {"(1, (2, 'a'))", "(1, (2, ''.join(['a'])))", true},
      {"(1, (2, 'a'))", "(1, (2.0, 'a'))", false},
      {"(1, 2)", "(1, 2, 3)", false},
      {"(1, 2)", "[1, 2]", false},
      {"frozenset([1, 2])", "frozenset([1, 2])", true},
      {"frozenset([1, 2])", "frozenset([1, 3])", false},
      {"frozenset([1, 2])", "frozenset([1, True+1.0])", false},
      {"frozenset([8, 0])", "frozenset([0, 8])", false},  // equal, but they iterate in another order
      {"frozenset([])", "set()", false},
      {"Color.RED", "Color.RED", true},
      {"Color.RED", "Color.BLUE", false},
      {"f.__code__", "f.__code__", true},
      {"f.__code__", "g.__code__", false},
      {"('a', Color.RED)", "('a', Color.RED)", true},
      {"('a', Color.RED)", "('a', Color.BLUE)", false},
  };
  for (const Case& c : cases) {
    INFO(c.expected << " against " << c.seen);
    CHECK(constant_guard_passes(python, c.expected, c.seen) == c.passes);
  }
}

TEST_CASE("torch's constants compare by value", "[guard][torch]") {
  Namespace python;
  if (Ref torch = Ref::steal(PyImport_ImportModule("torch")); !torch) {
    PyErr_Clear();
    WARN("torch cannot be imported: skipped");
    return;
  }
  python.run("import torch");
  CHECK(constant_guard_passes(python, "torch.float32", "torch.float32"));
  CHECK_FALSE(constant_guard_passes(python, "torch.float32", "torch.float64"));
  CHECK(constant_guard_passes(python, "torch.device('cpu')", "torch.device('cpu')"));
  CHECK_FALSE(constant_guard_passes(python, "torch.device('cpu')", "torch.device('meta')"));
  CHECK(constant_guard_passes(python, "torch.Size([2, 3])", "torch.Size([2, 3])"));
  CHECK_FALSE(constant_guard_passes(python, "torch.Size([2, 3])", "torch.Size([2, 4])"));
  CHECK_FALSE(constant_guard_passes(python, "torch.Size([2, 3])", "(2, 3)"));
  CHECK_FALSE(constant_guard_passes(python, "torch.strided", "torch.sparse_coo"));
  CHECK_FALSE(constant_guard_passes(python, "torch.contiguous_format", "torch.channels_last"));
}

TEST_CASE("identity and type guards do not keep their objects alive, and are not fooled by reused addresses",
          "[guard]") {
  Namespace python;
  python.run(
      "import weakref\n"
      "class Box: pass\n"
      "box = Box()\n"
      "ref = weakref.ref(box)\n");
  Tree tree;
  tree.guards.add(tree.root(python["box"]), GuardKind::Identity, {});
  tree.guards.finish();
  CHECK(tree.check());
  python.run("del box\nassert ref() is None\nothers = [Box() for _ in range(64)]");
  PyObject* others = python["others"];
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(others); ++i) CHECK_FALSE(tree.check(PyList_GET_ITEM(others, i)));

  Tree types;
  types.guards.add(types.root(python.value("Box()").get()), GuardKind::ExactType, {});
  types.guards.finish();
  CHECK(types.check(python.value("Box()").get()));
  CHECK_FALSE(types.check(python.value("3").get()));
  python.run(
      "import gc\n"
      "was = weakref.ref(Box)\n"
      "del Box, others\n"
      "gc.collect()\n"
      "assert was() is None\n"
      "class Box: pass\n"
      "box = Box()");
  CHECK_FALSE(types.check(python["box"]));
}

TEST_CASE("lengths, keys and elements", "[guard]") {
  Namespace python;
  python.run("import collections");
  struct Case {
    GuardKind kind;
    const char* expected;
    const char* mutation;  // x's
    bool passes;
  };
  const Case cases[] = {
      {GuardKind::Length, "[1, 2]", "x[0] = 5", true},
      {GuardKind::Length, "[1, 2]", "x.append(3)", false},
      {GuardKind::Length, "{1: 2}", "x[1] = 3", true},
      {GuardKind::Length, "{1: 2}", "x.clear()", false},
      {GuardKind::Length, "{1}", "x.add(2)", false},
      {GuardKind::Length, "collections.deque([1])", "x.append(2)", false},
      {GuardKind::Length, "collections.OrderedDict(a=1)", "x['b'] = 2", false},
      {GuardKind::Length, "collections.OrderedDict()", "pass", true},
      {GuardKind::Length, "bytearray(2)", "x.append(1)", false},
      {GuardKind::DictKeys, "{'a': 1, 'b': 2}", "x['a'] = 7", true},
      {GuardKind::DictKeys, "{'a': 1, 'b': 2}", "x['a'] = x.pop('a')", false},
      {GuardKind::DictKeys, "{'a': 1, 'b': 2}", "del x['b']", false},
      {GuardKind::DictKeys, "{1: 1}", "x.clear(); x[True] = 1", false},
      {GuardKind::DictKeys, "collections.OrderedDict(a=1, b=2)", "x.move_to_end('a')", false},
      {GuardKind::DictKeys, "collections.OrderedDict(a=1, b=2)", "x.move_to_end('b')", true},
      {GuardKind::DictKeys, "collections.defaultdict(list, a=1)", "x['b']", false},
      {GuardKind::SetItems, "{1, 2}", "x.remove(1)", false},
      {GuardKind::SetItems, "{1, 2}", "x.remove(1); x.add(3)", false},
      {GuardKind::SetItems, "{1, 2}", "x.add(2)", true},
      {GuardKind::SetItems, "set()", "pass", true},
  };
  for (const Case& c : cases) {
    INFO(c.expected << " after " << c.mutation);
    python.run(std::string("x = ") + c.expected);
    Tree tree;
    tree.guards.add(tree.root(python["x"]), c.kind, {});
    tree.guards.finish();
    REQUIRE(tree.check());
    python.run(c.mutation);
    CHECK(tree.check() == c.passes);
    CHECK(tree.check() == c.passes);
  }
}

TEST_CASE("a guard that cannot be made refuses every frame and says so", "[guard]") {
  Namespace python;
  Tree tree;
  Ref number = python.value("3");
  tree.guards.add(tree.root(number.get()), GuardKind::DictKeys, {});
  tree.guards.finish();
  CHECK_FALSE(tree.check());
  CHECK(tree.guards.explain_failure(tree.frame()) == "L['x']: no guard of kind DictKeys fits 3");
}

TEST_CASE("inline attributes are read without making a dict", "[guard]") {
  Namespace python;
  python.run(
      "class P: pass\n"
      "p = P(); p.a = 1; p.b = 'two'\n"
      "q = P(); q.a = 1; q.b = 'two'\n"
      "def inline(o):\n"
      "  import sys\n"
      "  return sys.getsizeof(o)\n");
  Tree tree;
  Source* root = tree.root(python["p"]);
  Ref a = python.value("p.a"), b = python.value("p.b");
  tree.guards.add(tree.attribute(root, "a", a.get()), GuardKind::Constant, {});
  tree.guards.add(tree.attribute(root, "b", b.get()), GuardKind::Constant, {});
  Source* dict = tree.guards.find(root, Access::InstanceDict, nullptr, -1);
  REQUIRE(dict);
  tree.guards.add(dict, GuardKind::DictKeys, {});
  tree.guards.add_missing(dict, Access::DictItem, Namespace::text("c").get(), -1, {});
  tree.guards.finish();
  REQUIRE(has_inline_attributes(python["p"]));
  CHECK(tree.check());
  CHECK(tree.check(python["q"]));
  CHECK(has_inline_attributes(python["p"]));
  CHECK(has_inline_attributes(python["q"]));
  // The same guards hold of the other form.
  python.run("vars(q)");
  CHECK_FALSE(has_inline_attributes(python["q"]));
  CHECK(tree.check(python["q"]));
  python.run("q.__dict__ = {'a': 1, 'b': 'two'}");
  CHECK(tree.check(python["q"]));
  python.run("q.c = 1");
  CHECK_FALSE(tree.check(python["q"]));
  CHECK(tree.check(python["p"]));
  python.run("p.c = 1");
  CHECK_FALSE(tree.check(python["p"]));
  python.run("del p.c; p.a = 2");
  CHECK_FALSE(tree.check(python["p"]));
  python.run("p.a = 1; del p.b; p.b = 'tw' + 'o'");
  CHECK(tree.check(python["p"]));
}

TEST_CASE("a gathered __dict__ is the object's own", "[guard]") {
  Namespace python;
  python.run("class P: pass\np = P(); p.a = 1");
  Tree tree;
  Source* root = tree.root(python["p"]);
  Source* dict = tree.guards.child(root, Access::InstanceDict, nullptr, -1, nullptr);
  CHECK(tree.guards.gather(root) == 0);
  CHECK(tree.guards.gather(dict) == 1);
  CHECK(tree.guards.gather(dict) == 1);
  tree.guards.finish();
  PyObject* slots[2] = {};
  REQUIRE(tree.guards.check(tree.frame(), slots));
  CHECK(slots[0] == python["p"]);
  CHECK(slots[1] == python.value("p.__dict__").get());
  REQUIRE(tree.guards.check(tree.frame(), slots));
  CHECK(slots[1] == python.value("p.__dict__").get());
}

TEST_CASE("foreign keys are never asked", "[guard]") {
  Namespace python;
  python.run(
      "calls = 0\n"
      "class K:\n"
      "  def __hash__(self): return hash('k')\n"
      "  def __eq__(self, other):\n"
      "    global calls\n"
      "    calls += 1\n"
      "    return isinstance(other, str)\n"
      "d = {'k': 1}\n"
      "foreign = {K(): 1}\n"
      "calls = 0\n");
  Tree tree;
  Source* root = tree.root(python["d"]);
  Ref one = python.value("1");
  tree.guards.add(tree.guards.child(root, Access::DictItem, Namespace::text("k").get(), -1, one.get()),
                  GuardKind::Constant, {});
  tree.guards.finish();
  CHECK(tree.check());
  CHECK_FALSE(tree.check(python["foreign"]));
  CHECK(PyLong_AsLong(python["calls"]) == 0);

  Tree absent;
  absent.guards.add_missing(absent.root(python["d"]), Access::DictItem, Namespace::text("other").get(), -1, {});
  absent.guards.finish();
  CHECK(absent.check());
  python.run("foreign = {K(): 1}");
  Tree undecided;
  undecided.guards.add_missing(undecided.root(python["foreign"]), Access::DictItem, Namespace::text("k").get(), -1, {});
  undecided.guards.finish();
  CHECK_FALSE(undecided.check());
}

TEST_CASE("keys whose hash is Python code", "[guard]") {
  Namespace python;
  python.run(
      "import enum\n"
      "calls = []\n"
      "class Color(enum.Enum):\n"
      "  RED = 1\n"
      "  BLUE = 2\n"
      "  def __hash__(self):\n"
      "    calls.append(self)\n"
      "    return 7\n"
      "class Name(str, enum.Enum):\n"
      "  X = 'x'\n"
      "d = {Color.RED: 1, Color.BLUE: 2, Name.X: 3, (Color.RED, 1): 4}\n"
      "tuple_key = list(d)[3]\n"
      "calls.clear()\n");
  Tree tree;
  Source* root = tree.root(python["d"]);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(python["d"], &at, &key, &value);) {
    Source* item = tree.guards.child(root, Access::DictItem, key, -1, value);
    CHECK(tree.guards.child(root, Access::DictItem, key, -1, value) == item);
    tree.guards.add(item, GuardKind::Constant, {});
  }
  tree.guards.add(root, GuardKind::DictKeys, {});
  tree.guards.finish();
  CHECK(tree.guards.guard_count() == 5);
  CHECK(tree.check());
  CHECK(tree.check());
  CHECK(PyList_GET_SIZE(python["calls"]) == 0);
  for (auto [mutation, back] : {std::pair{"d[Color.BLUE] = 3", "d[Color.BLUE] = 2"},
                                {"d[Name.X] = 4", "d[Name.X] = 3"},
                                {"d[tuple_key] = 5", "d[tuple_key] = 4"}}) {
    INFO(mutation);
    python.run(mutation);
    CHECK_FALSE(tree.check());
    python.run(back);
    CHECK(tree.check());
  }
}

TEST_CASE("guards print as Python and failures name their cause", "[guard]") {
  Namespace python;
  python.run(
      "class Model: pass\n"
      "class Layer:\n  scale = 2\n"
      "m = Model()\n"
      "m.training = True\n"
      "m._modules = {'layers': Layer()}\n"
      "m._modules['layers']._modules = {'0': Layer()}\n"
      "m._modules['layers']._modules['0'].__dict__.update(_parameters={'weight': 1.5}, eps=1e-5)\n"
      "code = compile('def forward(): pass', '/somewhere/model.py', 'exec').co_consts[0]\n"
      "def helper(): pass\n");
  Tree tree;
  GuardOrigin origin{reinterpret_cast<PyCodeObject*>(python["code"]), 12};
  Source* model = tree.guards.local(0, Namespace::text("self").get(), python["m"]);
  tree.local = python["m"];
  GuardTree& guards = tree.guards;
  auto item = [&](Source* parent, const char* key, const char* value) {
    return guards.child(parent, Access::DictItem, Namespace::text(key).get(), -1, python.value(value).get());
  };
  guards.add(model, GuardKind::ExactType, origin);
  guards.add(model, GuardKind::ExactType, origin);
  guards.add(tree.attribute(model, "training", Py_True), GuardKind::Constant, origin);
  Source* modules = tree.attribute(model, "_modules", python.value("m._modules").get());
  Source* layers = item(modules, "layers", "m._modules['layers']");
  Source* inner = tree.attribute(layers, "_modules", python.value("m._modules['layers']._modules").get());
  Source* layer = item(inner, "0", "m._modules['layers']._modules['0']");
  CHECK(layer->to_text() == "L['self'].layers[0]");
  python.run("layer = m._modules['layers']._modules['0']");
  Source* parameters = tree.attribute(layer, "_parameters", python.value("layer._parameters").get());
  Source* weight = item(parameters, "weight", "layer._parameters['weight']");
  CHECK(weight->to_text() == "L['self'].layers[0].weight");
  guards.add(weight, GuardKind::Constant, origin);
  guards.add_missing(parameters, Access::DictItem, Namespace::text("bias").get(), -1, origin);
  guards.add(modules, GuardKind::DictKeys, origin);
  Source* type = guards.child(layer, Access::Type, nullptr, -1, python["Layer"]);
  guards.add(
      guards.child(type, Access::ClassAttribute, Namespace::text("scale").get(), -1, python.value("Layer.scale").get()),
      GuardKind::Constant, origin);
  Source* globals = guards.pinned(python.dict(), "G");
  guards.add(guards.child(globals, Access::DictItem, Namespace::text("helper").get(), -1, python["helper"]),
             GuardKind::Identity, origin);
  size_t before = guards.guard_count();
  CHECK(before == 7);
  CHECK(guards.to_text().size() == before);
  guards.finish();
  CHECK(guards.guard_count() == before);
  std::vector<std::string> lines = guards.to_text();
  auto printed = [&](const std::string& line) { return std::count(lines.begin(), lines.end(), line) == 1; };
  for (const std::string& line : lines) UNSCOPED_INFO(line);
  CHECK(printed("type(L['self']) is Model  # model.py:12"));
  CHECK(printed("L['self'].training == True  # model.py:12"));
  CHECK(printed("L['self'].layers[0].weight == 1.5  # model.py:12"));
  CHECK(printed("'bias' not in L['self'].layers[0]._parameters  # model.py:12"));
  CHECK(printed("list(L['self']._modules) == ['layers']  # model.py:12"));
  CHECK(printed("type(L['self'].layers[0]).scale == 2  # model.py:12"));
  CHECK(printed("G['helper'] is helper  # model.py:12"));

  const std::string cause = "  [guarded because of model.py:12 in forward]";
  CHECK(tree.check());
  python.run("m.training = False");
  CHECK_FALSE(tree.check());
  CHECK(guards.explain_failure(tree.frame()) == "L['self'].training: expected True, got False" + cause);
  python.run("m.training = True; layer._parameters['bias'] = 3");
  CHECK(guards.explain_failure(tree.frame()) ==
        "'bias' not in L['self'].layers[0]._parameters: it is there now (3)" + cause);
  python.run("del layer._parameters['bias']; Layer.scale = 3");
  CHECK(guards.explain_failure(tree.frame()) == "type(L['self'].layers[0]).scale: expected 2, got 3" + cause);
  python.run("Layer.scale = 2; m._modules['more'] = 1");
  CHECK(guards.explain_failure(tree.frame()) ==
        "list(L['self']._modules): expected ['layers'], got ['layers', 'more']" + cause);
  python.run("del m._modules['more']; helper = len");
  CHECK(guards.explain_failure(tree.frame()) == "G['helper']: expected <an object that is gone>, got len" + cause);
  CHECK_FALSE(tree.check());
}

}  // namespace minidynamo::guard_test
