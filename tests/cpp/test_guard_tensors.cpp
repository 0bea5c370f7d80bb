// Tensor guards and gathered parameters on real torch modules. Skipped where torch cannot be imported.
#include "python/version/dict_version.h"
#include "test_guard_support.h"

namespace minidynamo::guard_test {
namespace {

bool has_torch() {
  if (Ref torch = Ref::steal(PyImport_ImportModule("torch"))) return true;
  PyErr_Clear();
  WARN("torch cannot be imported: skipped");
  return false;
}

// Guards and gathers a module tree as a capture of its forward does: parameters, hook dicts, flags, children.
struct ModuleGuards {
  Tree& tree;
  std::vector<uint32_t> inputs;

  void explore(Source* source, PyObject* module) {
    GuardTree& guards = tree.guards;
    guards.add(source, GuardKind::ExactType, {});
    auto own = [&](const char* name) {
      PyObject* value = instance_attribute(module, Namespace::text(name).get());
      REQUIRE(value);
      return tree.attribute(source, name, value);
    };
    guards.add(own("training"), GuardKind::Constant, {});
    for (const char* hooks : {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"})
      guards.add(own(hooks), GuardKind::Length, {});
    Source* dict = guards.find(source, Access::InstanceDict, nullptr, -1);
    guards.add_missing(dict, Access::DictItem, Namespace::text("forward").get(), -1, {});
    Source* parameters = own("_parameters");
    guards.add(parameters, GuardKind::DictKeys, {});
    for_items(parameters, [&](Source* parameter) {
      if (parameter->value.is(Py_None)) {
        guards.add(parameter, GuardKind::Constant, {});
        return;
      }
      guards.add(parameter, GuardKind::Tensor, {});
      inputs.push_back(guards.gather(parameter));
    });
    Source* modules = own("_modules");
    guards.add(modules, GuardKind::DictKeys, {});
    for_items(modules, [&](Source* child) { explore(child, child->value.get()); });
  }

  template <class Function>
  void for_items(Source* dict, Function function) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict->value.get(), &at, &key, &value);)
      function(tree.guards.child(dict, Access::DictItem, key, -1, value));
  }
};

}  // namespace

TEST_CASE("tensor guards fail when metadata changes and name what changed", "[guard][torch]") {
  if (!has_torch()) return;
  Namespace python;
  python.run("import torch\nx = torch.ones(2, 3)");
  Tree tree;
  Source* source = tree.root(python["x"]);
  tree.guards.add(source, GuardKind::Tensor, {});
  tree.guards.gather(source);
  tree.guards.finish();
  CHECK(tree.check());
  CHECK(tree.check(python.value("torch.zeros(2, 3)").get()));
  for (const char* other : {"torch.ones(4, 3)", "torch.ones(2, 3, dtype=torch.float64)", "torch.ones(3, 2).t()",
                            "torch.ones(2, 3, requires_grad=True)", "torch.nn.Parameter(torch.ones(2, 3))", "3",
                            "torch.ones(2, 3, device='meta')", "torch.ones(6)"}) {
    INFO(other);
    Ref value = python.value(other);
    CHECK_FALSE(tree.check(value.get()));
    CHECK(tree.guards.explain_failure(tree.frame()).starts_with("L['x']: "));
  }
  Ref bigger = python.value("torch.ones(4, 3)");
  tree.local = bigger.get();
  const std::string reason = tree.guards.explain_failure(tree.frame());
  INFO(reason);
  CHECK(reason.find("(4, 3)") != std::string::npos);
  CHECK(reason.find("(2, 3)") != std::string::npos);
  CHECK(tree.check(python["x"]));
  python.run("x.resize_(3, 3)");
  CHECK_FALSE(tree.check());
  python.run("x.resize_(2, 3)");
  CHECK(tree.check());
}

TEST_CASE("guards on torch's global state", "[guard][torch]") {
  if (!has_torch()) return;
  Namespace python;
  python.run("import torch");
  Tree tree;
  tree.guards.add(tree.root(Py_None), GuardKind::Constant, {});
  tree.guards.finish();
  CHECK(tree.check());
  python.run("torch.set_grad_enabled(False)");
  CHECK_FALSE(tree.check());
  CHECK_FALSE(tree.check());
  python.run("torch.set_grad_enabled(True)");
  CHECK(tree.check());
  python.run("torch.set_default_dtype(torch.float64)");
  CHECK_FALSE(tree.check());
  python.run("torch.set_default_dtype(torch.float32)");
  CHECK(tree.check());
}

TEST_CASE("a module's parameters are gathered and its changes noticed", "[guard][torch]") {
  if (!has_torch()) return;
  Namespace python;
  python.run(
      "import torch\n"
      "def make():\n"
      "  torch.manual_seed(0)\n"
      "  return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(),\n"
      "                             torch.nn.Sequential(torch.nn.Linear(5, 5, bias=False), torch.nn.LayerNorm(5)))\n"
      "m, twin = make(), make()\n"
      "def hook(*args): pass\n");
  Tree tree;
  ModuleGuards explorer{tree, {}};
  explorer.explore(tree.root(python["m"]), python["m"]);
  REQUIRE(explorer.inputs.size() == 5);
  tree.guards.distinct(explorer.inputs);
  tree.guards.finish();
  bool named = false;
  for (const std::string& line : tree.guards.to_text()) named |= line.find("L['x'][2][1].weight") != std::string::npos;
  CHECK(named);
  auto gathers = [&](const char* module) {
    PyObject* slots[5] = {};
    tree.local = python[module];
    if (!tree.guards.check(tree.frame(), slots)) return false;
    Ref parameters = python.value("list(" + std::string(module) + ".parameters())");
    for (Py_ssize_t i = 0; i < 5; ++i) CHECK(slots[i] == PyList_GET_ITEM(parameters.get(), i));
    return true;
  };
  CHECK(gathers("m"));
  CHECK(gathers("m"));
  CHECK(gathers("twin"));
  CHECK(gathers("m"));
  struct Change {
    const char* change;
    const char* back;
    bool passes;
  };
  const Change changes[] = {
      {"m.eval()", "m.train()", false},
      {"m[2][1].training = False", "m.train()", false},
      {"h = m[2].register_forward_hook(hook)", "h.remove()", false},
      {"w = m[0].weight; m[0].weight = torch.nn.Parameter(torch.zeros(5, 4))", "m[0].weight = w", true},
      {"w = m[0].weight; m[0].weight = torch.nn.Parameter(torch.zeros(6, 4))", "m[0].weight = w", false},
      {"w = m[0].weight; m[0].weight = torch.nn.Parameter(torch.zeros(5, 4), requires_grad=False)", "m[0].weight = w",
       false},
      {"m[0].weight.requires_grad_(False)", "m[0].weight.requires_grad_(True)", false},
      {"m[0].weight.data = torch.zeros(5, 4)", "pass", true},
      {"m[0].weight.data = torch.zeros(4, 4)", "m[0].weight.data = torch.zeros(5, 4)", false},
      {"b = m[0].bias; m[0].bias = None", "m[0].bias = b", false},
      {"m[0].register_parameter('extra', None)", "del m[0].extra", false},
      {"m.append(torch.nn.ReLU())", "del m[3]", false},
      {"r = m[1]; m[1] = torch.nn.Tanh()", "m[1] = r", false},
      {"m[1].forward = hook", "del m[1].forward", false},
      {"w = m[2][1].weight; m[2][1].weight = m[2][1].bias", "m[2][1].weight = w", false},  // one tensor twice
      {"m[0].unrelated = 3", "del m[0].unrelated", true},
  };
  for (const Change& c : changes) {
    INFO(c.change);
    python.run(c.change);
    CHECK(gathers("m") == c.passes);
    CHECK(tree.guards.check_slowly(tree.frame()) == c.passes);
    CHECK(gathers("m") == c.passes);
    CHECK(gathers("twin"));
    python.run(c.back);
    CHECK(gathers("m"));
    CHECK(tree.guards.check_slowly(tree.frame()));
  }
  python.run("m.double()");
  CHECK_FALSE(gathers("m"));
  CHECK(gathers("twin"));
}

}  // namespace minidynamo::guard_test
