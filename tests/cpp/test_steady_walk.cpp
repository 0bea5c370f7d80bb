// Walks that are written down (guard/steady_walk.h): what they must not take for unchanged.
#include "guard/mirror.h"
#include "python/scoped_value.h"
#include "test_guard_support.h"

namespace minidynamo::guard_test {
namespace {

constexpr const char* kProgram = R"(
class Inner:
    level = 1
class Layer:
    def __init__(self, value):
        self.__dict__['value'] = value
        self.inner = Inner()
        self.inner.__dict__['names'] = ['a', 'b']
class Model:
    def __init__(self):
        self.__dict__['layers'] = {n: Layer(n) for n in range(3)}
        self.__dict__['count'] = 0
        self.__dict__['step'] = make(4)
def make(value):
    def step(by=value): return value + by
    return step
model = Model()
)";

// Guards as of a captured `model.forward`: values, classes, a class attribute, list items, parts of a function.
struct ModelTree : Tree {
  Namespace python;
  bool counts = false;

  explicit ModelTree(bool with_count = false) : counts(with_count) {
    python.run(kProgram);
    Source* model = root(python["model"]);
    Source* layers = attribute(model, "layers", python.value("model.layers").get());
    for (int n = 0; n < 3; ++n) {
      const std::string path = "model.layers[" + std::to_string(n) + "]";
      const Ref key = python.value(std::to_string(n)), layer = python.value(path);
      Source* item = guards.child(layers, Access::DictItem, key.get(), -1, layer.get());
      guards.add(item, GuardKind::ExactType, {});
      want(attribute(item, "value", python.value(path + ".value").get()), GuardKind::Constant);
      Source* inner = attribute(item, "inner", python.value(path + ".inner").get());
      Source* type = guards.child(inner, Access::Type, nullptr, -1, python.value("Inner").get());
      want(class_attribute_of(type, "level", "Inner.level"), GuardKind::Constant);
      Source* names = attribute(inner, "names", python.value(path + ".inner.names").get());
      guards.add(names, GuardKind::Length, {});
      const Ref second = python.value(path + ".inner.names[1]");
      want(guards.child(names, Access::Index, nullptr, 1, second.get()), GuardKind::Constant);
      guards.gather(inner);
    }
    const Ref step = python.value("model.step");
    Source* function = attribute(model, "step", step.get());
    want(part_of(function, "__code__"), GuardKind::Identity);
    const Ref cell = python.value("model.step.__closure__[0]"), held = python.value("4");
    Source* closure = guards.child(part_of(function, "__closure__"), Access::Index, nullptr, 0, cell.get());
    want(guards.child(closure, Access::CellContents, nullptr, -1, held.get()), GuardKind::Constant);
    if (counts) guards.add(attribute(model, "count", python.value("model.count").get()), GuardKind::Integer, {});
    guards.finish();
    specialize();
  }

  // Until what is written down is used.
  void specialize() {
    for (int i = 0; i < 3; ++i) CHECK(check());
    CHECK(guards.has_steady_walk());
  }

  // A change after which guards fail, and how it is taken back.
  void refuses(const std::string& change, const std::string& back) {
    INFO(change);
    python.run(change);
    CHECK_FALSE(check());
    python.run(back);
    specialize();
  }

 private:
  void want(Source* source, GuardKind kind) { guards.add(source, kind, {}); }
  Source* class_attribute_of(Source* type, const char* name, const std::string& value) {
    return guards.child(type, Access::ClassAttribute, Namespace::text(name).get(), -1, python.value(value).get());
  }
  Source* part_of(Source* function, const std::string& name) {
    const Ref value = python.value("model.step." + name);
    return guards.child(function, Access::Attribute, Namespace::text(name).get(), -1, value.get());
  }
};

}  // namespace

TEST_CASE("a steady walk sees every change", "[guard][steady]") {
  const ScopedValue mirror(mirror_mode, Mirror::Record);
  ModelTree tree;
  tree.refuses("model.layers[1].value = 7", "model.layers[1].value = 1");
  tree.refuses("layer = model.layers.pop(2)", "model.layers[2] = layer");
  tree.refuses("model.layers[0].inner.names[1] = 'c'", "model.layers[0].inner.names[1] = 'b'");
  tree.refuses("model.layers[0].inner.names.append('c')", "model.layers[0].inner.names.pop()");
  tree.refuses("Inner.level = 2", "Inner.level = 1");
  tree.refuses("class Other(Layer): pass\nmodel.layers[2].__class__ = Other", "model.layers[2].__class__ = Layer");
  tree.refuses("old = model.layers[0].__dict__; model.layers[0].__dict__ = {**old, 'value': 3}",
               "model.layers[0].__dict__ = old");
  tree.refuses("code = model.step.__code__; model.step.__code__ = code.replace(co_firstlineno=9)",
               "model.step.__code__ = code");
  tree.refuses("model.step.__closure__[0].cell_contents = 5", "model.step.__closure__[0].cell_contents = 4");
  CHECK(take_mirror_differences().empty());
}

TEST_CASE("a steady walk goes on where guards do not look", "[guard][steady]") {
  const ScopedValue mirror(mirror_mode, Mirror::Record);
  ModelTree tree;
  for (const char* change : {
           "model.layers[0].other = 1",                                  // another version
           "model.layers[0].__dict__ = dict(model.layers[0].__dict__)",  // another dict, of equal items
           "model.layers[1].__dict__.update({k: v for k, v in list(model.layers[1].__dict__.items())})",
           "Inner.other = 1",
           "names = model.layers[1].inner.names; names.extend(names * 50); del names[2:]",  // its items move
       }) {
    INFO(change);
    tree.python.run(change);
    tree.specialize();
  }
  CHECK(take_mirror_differences().empty());
}

TEST_CASE("what changes at every call does not end a steady walk", "[guard][steady]") {
  ModelTree tree(true);
  for (int i = 0; i < 100; ++i) {
    tree.python.run("model.count += 1");
    CHECK(tree.check());
  }
  CHECK(tree.guards.has_steady_walk());
  tree.python.run("model.layers[2].value = 7");
  CHECK_FALSE(tree.check());
}

TEST_CASE("another object at the same address is another object", "[guard][steady]") {
  const ScopedValue mirror(mirror_mode, Mirror::Record);
  Namespace python;
  python.run(
      "class A:\n  pass\nclass B:\n  pass\ndef make(cls, value):\n  x = cls(); x.__dict__['k'] = value; return x");
  for (const char* other : {"make(B, 1)", "make(A, 2)", "make(A, 1)"}) {
    INFO(other);
    Tree tree;
    Ref first = python.value("make(A, 1)");
    Source* root = tree.root(first.get());
    tree.guards.add(root, GuardKind::ExactType, {});
    const Ref one = python.value("1");
    tree.guards.add(tree.attribute(root, "k", one.get()), GuardKind::Constant, {});
    tree.guards.finish();
    for (int i = 0; i < 3; ++i) REQUIRE(tree.check());
    REQUIRE(tree.guards.has_steady_walk());
    // The allocator hands out first what was freed last.
    PyObject* address = std::exchange(first, Ref()).get();
    std::vector<Ref> tried;
    for (int i = 0; i < 1000 && (tried.empty() || !tried.back().is(address)); ++i) tried.push_back(python.value(other));
    if (!tried.back().is(address)) WARN("no object came to lie at the address");
    CHECK(tree.check(tried.back().get()) == (std::string(other) == "make(A, 1)"));
  }
  CHECK(take_mirror_differences().empty());
}

}  // namespace minidynamo::guard_test
