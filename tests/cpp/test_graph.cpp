// The graph room alone: recording, arguments, dead code, text, and the exported module run against eager torch.
//
// Calls are made by a small recorder: an operation runs on real tensors, its result is faked, and the call is recorded
// with the fakes. The exported module, given the same inputs, must return what the real tensors say.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tensor/fake/fake.h"

namespace {

using namespace minidynamo;

constexpr const char* kWorld = R"(
import builtins, collections, copy, enum, functools, math, operator, pickle, warnings
import torch
import torch.nn.functional as F
warnings.simplefilter('ignore')
torch.manual_seed(0)
Pair = collections.namedtuple('Pair', 'first second')
class Color(enum.Enum):
    RED = 1
class Bits(enum.IntFlag):
    A = 1
    B = 2
class Length(int):
    pass
@torch.library.custom_op('minidynamo_test::twice', mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
@twice.register_fake
def _(x):
    return torch.empty_like(x)
def choose(pair, mapping, mode=None):
    return pair.first * mapping['scale'] + pair.second * (3 if mode is Color.RED else 1)
def apply(function, *args):
    return function(*args)
def same(got, expected):
    assert type(got) is tuple and len(got) == len(expected), (got, expected)
    for a, b in zip(got, expected):
        torch.testing.assert_close(a, b, equal_nan=True)
def check(gm, inputs, expected):
    'every way of running, copying and printing a module'
    def fresh():
        return [x.clone() for x in inputs]
    graph = gm.graph
    graph.lint()
    for node in graph.nodes:
        assert node.graph is graph and all(node in used.users for used in node.all_input_nodes)
        if node.op not in ('output', 'placeholder', 'get_attr'):
            assert node in graph.find_nodes(op=node.op, target=node.target)
    assert len(graph.nodes) == len(list(graph.nodes))
    assert type(gm).__name__ == 'GraphModule' and gm._needs_recompile()
    same(torch.fx.Interpreter(gm).run(*fresh()), expected)
    assert gm._needs_recompile(), 'the source was generated although nobody asked'
    same(gm(*fresh()), expected)
    same(gm.forward(*fresh()), expected)
    copied = copy.deepcopy(gm)
    copied.graph.lint()
    same(copied(*fresh()), expected)
    copied.graph.eliminate_dead_code
    copied.recompile()
    same(copied(*fresh()), expected)
    assert 'def forward(self' in gm.code and gm.print_readable(print_output=False)
    names = {node.name for node in graph.nodes}
    extra = graph.create_node('placeholder', 'x')
    assert extra.name not in names
    graph.erase_node(extra)
)";

std::string error_message() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref held_type = Ref::steal(type), held_value = Ref::steal(value), held_traceback = Ref::steal(traceback);
  if (!type) return "";
  Ref text = Ref::steal(PyObject_Str(value));
  return std::string(reinterpret_cast<PyTypeObject*>(type)->tp_name) + ": " + PyUnicode_AsUTF8(text.get());
}

bool torch_is_there() {
  if (!Py_IsInitialized()) Py_InitializeEx(0);
  Ref torch = Ref::steal(PyImport_ImportModule("torch"));
  PyErr_Clear();
  return static_cast<bool>(torch);
}

// Records calls written as Python expressions over the names of its world.
class Recorder {
 public:
  Graph graph;

  Recorder() : names_(Ref::steal(PyDict_New())), fakes_(Ref::steal(PyDict_New())), inputs_(Ref::steal(PyList_New(0))) {
    PyDict_SetItemString(names_.get(), "__builtins__", PyEval_GetBuiltins());
    PyDict_SetItemString(names_.get(), "__name__", Ref::steal(PyUnicode_FromString("__main__")).get());
    run(kWorld);
    PyDict_SetItemString(names_.get(), "fakes", fakes_.get());
    PyDict_SetItemString(names_.get(), "inputs", inputs_.get());
    run("def faked(x):\n"
        "    if isinstance(x, torch.Tensor): return fakes[id(x)][1]\n"
        "    if isinstance(x, slice): return slice(faked(x.start), faked(x.stop), faked(x.step))\n"
        "    if isinstance(x, dict): return {k: faked(v) for k, v in x.items()}\n"
        "    if isinstance(x, tuple) and hasattr(x, '_fields'): return type(x)(*map(faked, x))\n"
        "    if type(x) is list: return list(map(faked, x))\n"
        "    if isinstance(x, tuple) and type(x) is not torch.Size: return tuple(map(faked, x))\n"
        "    return x\n"
        "def tensors(x):\n"
        "    if isinstance(x, torch.Tensor): return [x]\n"
        "    if isinstance(x, dict): x = list(x.values())\n"
        "    return [t for item in x for t in tensors(item)] if isinstance(x, (tuple, list)) else []\n");
  }

  void run(const std::string& source) {
    const Ref done = Ref::steal(PyRun_String(source.c_str(), Py_file_input, names_.get(), names_.get()));
    if (!done) FAIL(source << '\n' << error_message());
  }
  Ref evaluate(const std::string& expression) {
    Ref value = Ref::steal(PyRun_String(expression.c_str(), Py_eval_input, names_.get(), names_.get()));
    if (!value) FAIL(expression << '\n' << error_message());
    return value;
  }
  std::string text(const std::string& expression) {
    return PyUnicode_AsUTF8(evaluate("str(" + expression + ")").get());
  }
  void set(const char* name, const Ref& value) { PyDict_SetItemString(names_.get(), name, value.get()); }

  // An input called `name`, with the value of `expression`.
  void input(const char* name, const std::string& expression, const std::string& source = "") {
    Ref real = evaluate(expression);
    set(name, real);
    const Ref fake = remember(real.get());
    PyList_Append(inputs_.get(), evaluate(std::string(name) + ".clone()").get());
    const NodeId node = graph.add_placeholder(source.empty() ? "L['" + std::string(name) + "']" : source, fake);
    REQUIRE(graph.producer(fake.get()) == node);
  }

  // name = target(*args, **kwargs), and its recording. `target` is an expression, or a method's name with a dot in
  // front.
  NodeId call(const char* name, const std::string& target, const std::string& args, const std::string& kwargs = "{}",
              bool impure = false, std::shared_ptr<const CallSite> site = nullptr) {
    const bool method = target[0] == '.';
    const std::string callee =
        method ? "(lambda self, *a, **k: getattr(self, '" + target.substr(1) + "')(*a, **k))" : target;
    Ref fake_args = evaluate("faked(" + args + ")"), fake_kwargs = evaluate("faked(" + kwargs + ")");
    set("result", evaluate("(" + callee + ")(*" + args + ", **" + kwargs + ")"));
    set(name, evaluate("result"));
    Ref produced = evaluate("tensors(result)");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(produced.get()); ++i) remember(PyList_GET_ITEM(produced.get(), i));
    Ref callable = method ? Ref::steal(PyUnicode_FromString(target.c_str() + 1)) : evaluate(target);
    return graph.add_call(method ? NodeKind::CallMethod : NodeKind::CallFunction, callable, fake_args.get(),
                          fake_kwargs.get(), evaluate("faked(result) if tensors(result) else result").get(), impure,
                          std::move(site));
  }

  NodeId producer(const std::string& expression) { return graph.producer(evaluate("faked(" + expression + ")").get()); }

  // Exports `outputs` (a Python tuple) as `gm` and checks it in every way against the real values.
  void check(const std::string& outputs) {
    exported(outputs);
    run("check(gm, inputs_of(gm), " + outputs + ")");
  }
  void exported(const std::string& outputs) {
    std::vector<NodeId> nodes;
    const Py_ssize_t count = PyTuple_GET_SIZE(evaluate(outputs).get());
    for (Py_ssize_t i = 0; i < count; ++i) {
      nodes.push_back(producer(outputs + "[" + std::to_string(i) + "]"));
      REQUIRE(nodes.back() != kNoNode);
    }
    graph.remove_dead_code(nodes);
    Ref module = to_graph_module(graph, nodes, "__minidynamo_compiled_fn_0");
    if (!module) FAIL(error_message());
    set("gm", module);
    Ref used = Ref::steal(PyList_New(0));
    Py_ssize_t position = 0;
    for (const Node& node : graph.nodes()) {
      if (node.kind != NodeKind::Placeholder) continue;
      if (node.used) PyList_Append(used.get(), PyList_GET_ITEM(inputs_.get(), position));
      ++position;
    }
    set("used_inputs", used);
    run("def inputs_of(gm): return used_inputs");
  }

 private:
  Ref names_, fakes_, inputs_;

  // The fake of a real tensor; made once, so that an in-place operation returns its argument's fake.
  Ref remember(PyObject* real) {
    Ref key = Ref::steal(PyLong_FromVoidPtr(real));
    if (PyObject* known = PyDict_GetItem(fakes_.get(), key.get())) return Ref::borrow(PyTuple_GET_ITEM(known, 1));
    Ref fake = make_fake(real);
    if (!fake) FAIL(error_message());
    PyDict_SetItem(fakes_.get(), key.get(), Ref::steal(PyTuple_Pack(2, real, fake.get())).get());
    return fake;
  }
};

}  // namespace

#define NEEDS_TORCH() \
  if (!torch_is_there()) return

TEST_CASE("a graph of functions, methods and operators runs as eager does", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.randn(2, 3)");
  r.input("w", "torch.randn(4, 3)", "L['self']._modules['layers']._modules['0']._parameters['weight']");
  r.input("unused", "torch.randn(1)");
  r.input("b", "torch.randn(4)", "G['abs']");
  r.call("y", "torch._C._nn.linear", "(x, w, b)");
  r.call("y", "F.relu", "(y,)", "{'inplace': False}");
  r.call("y", "operator.add", "(y, 1)");
  r.call("dead", "torch.sin", "(y,)");
  r.call("y", ".view", "(y, 4, -1)");
  r.call("z", "torch.abs", "(y,)");
  r.call("s", "torch.sum", "(z,)", "{'dim': (0,), 'keepdim': True, 'dtype': torch.float64}");
  r.call("t", "torch.ops.aten.mul.Tensor", "(s, s)");
  r.call("t", "twice", "(t,)");
  r.call("t", "torch.neg", "(t,)");
  r.call("g", "builtins.getattr", "(t, 'T')");
  CHECK(r.graph.call_count() == 11);
  r.check("(s, g, y, s)");
  CHECK(r.graph.call_count() == 10);
  CHECK(r.text("[n.name for n in gm.graph.nodes]") ==
        "['l_x_', 'l_self_modules_layers_modules_0_parameters_weight_', 'g_abs_', 'linear', 'relu', 'add', 'view', "
        "'abs_1', "
        "'sum_1', 'mul_tensor', 'twice_default', 'neg', 'getattr_1', 'output']");
  CHECK(r.text("[n.target for n in gm.graph.find_nodes(op='placeholder')]") ==
        "['l_x_', 'l_self_modules_layers_modules_0_parameters_weight_', 'g_abs_']");
  CHECK(r.text("list(gm.graph.nodes)[1].meta['source']") ==
        "L['self']._modules['layers']._modules['0']._parameters['weight']");
  CHECK(r.text("gm.meta['name']") == "__minidynamo_compiled_fn_0");
  CHECK(r.graph.nodes()[3].input == 2);
  CHECK(r.graph.nodes()[2].input == -1);
  r.run("clone = pickle.loads(pickle.dumps(gm)); same(clone(*used_inputs), (s, g, y, s))");
}

TEST_CASE("arguments of every kind reach the callee as they were", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.randn(4, 6)");
  r.input("n", "torch.tensor(2)");
  r.call("a", "torch.cat", "([x, x[:0] if False else x],)", "{'dim': -1}");
  r.call("b", "operator.getitem", "(a, (slice(None, 2), Ellipsis, None, slice(n, None, 2)))");
  r.call("c", "choose", "(Pair(x, x), {'scale': 2.5, 'other': (1, [None])})", "{'mode': Color.RED}");
  r.call("d", "apply", "(torch.add, c, float('inf'))");
  r.call("e", "apply", "(apply, choose, Pair(c, 1), {'scale': complex(0.0, -2.0), 'mode': Color.RED})");
  r.call("f", ".to", "(x, torch.device('cpu'), torch.float64)",
         "{'memory_format': torch.preserve_format, 'copy': True}");
  r.call("g", ".reshape", "(f, torch.Size([2, 12]))");
  r.call("h", "torch.sum", "(g,)", "{'dim': tuple(range(2))}");
  r.call("i", "torch.full_like", "(g, float('nan'))");
  r.call("j", "operator.mul", "(g, Length(3))");
  r.call("k", "operator.pow", "(-2.0, x)");
  CHECK(error_message() == "");
  r.call("m", "torch.zeros_like", "(x,)", "{'dtype': float, 'layout': torch.strided}");
  r.call("o", "apply", "(lambda t, bits: t + bits.value, x, Bits.A | Bits.B)");
  r.call("p", "apply", "(operator.mul, x, complex(math.inf, -0.0))");
  r.call("q", "operator.iadd", "(2, x)");
  r.check("(a, b, c, d, e, f, g, h, i, j, k, m, o, p, q)");
}

TEST_CASE("results that are containers get an element node for each tensor used", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.randn(6)");
  r.run("def nested(x): return {'out': [x + 1, (x * 2, 'text')], 3: x.neg(), 'none': None}");
  r.call("parts", "torch.split", "(x, 2)");
  r.call("top", "torch.max", "(x, 0)");
  r.call("n", "nested", "(x,)");
  r.call("sum", "operator.add", "(parts[1], parts[2])");
  CHECK(r.graph.call_count() == 4);
  r.check("(sum, top[1], n['out'][1][0], n[3])");
  CHECK(r.text("len(gm.graph.find_nodes(op='call_function', target=operator.getitem))") == "7");
  CHECK(r.graph.call_count() == 4);
}

TEST_CASE("a result that contains itself is refused", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.randn(2)");
  const size_t nodes = r.graph.nodes().size();
  Ref function = r.evaluate("torch.neg"), args = r.evaluate("(1,)");
  Ref cyclic = r.evaluate("[faked(x)]");
  for (int i = 0; i < 2; ++i) PyList_Append(cyclic.get(), cyclic.get());
  CHECK(r.graph.add_call(NodeKind::CallFunction, function, args.get(), nullptr, cyclic.get(), false, nullptr) ==
        kNoNode);
  CHECK(error_message().find("RecursionError") == 0);
  CHECK(r.graph.nodes().size() == nodes);
  Ref fresh = make_fake(r.evaluate("torch.ones(2)").get());
  PyList_Insert(cyclic.get(), 0, fresh.get());
  CHECK(r.graph.add_call(NodeKind::CallFunction, function, args.get(), nullptr, cyclic.get(), false, nullptr) ==
        kNoNode);
  PyErr_Clear();
  CHECK(r.graph.nodes().size() == nodes);
  CHECK(r.graph.producer(fresh.get()) == kNoNode);
  CHECK(r.graph.producer(r.evaluate("faked(x)").get()) == 0);
  PyList_SetSlice(cyclic.get(), 0, PyList_GET_SIZE(cyclic.get()), nullptr);
}

TEST_CASE("writes stay in the graph, in order, and keep their tensor's producer", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.zeros(3)");
  r.call("y", "torch.clone", "(x,)");
  const NodeId before = r.producer("y");
  r.call("v", ".view", "(y, -1)");
  r.call("w", ".add_", "(v, 1)", "{}", true);
  CHECK(r.producer("w") == r.producer("v"));
  r.call("y", "operator.imul", "(y, 3)", "{}", true);
  CHECK(r.producer("y") == before);
  r.call("nothing", "operator.setitem", "(y, 0, 7.0)", "{}", true);
  r.call("z", "torch.neg", "(y,)");
  r.call("dead", "torch.exp", "(z,)");
  r.check("(z,)");
  CHECK(r.text("z.tolist()") == "[-7.0, -3.0, -3.0]");
  CHECK_FALSE(r.graph.nodes().back().used);
}

TEST_CASE("a graph without outputs or inputs", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.call("x", "torch.ones", "(2,)");
  r.check("(x,)");
  Recorder empty;
  empty.input("x", "torch.ones(2)");
  empty.check("()");
  CHECK(empty.text("len(gm.graph.nodes)") == "1");
}

TEST_CASE("what cannot stand in a graph is refused by name and leaves the graph alone", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.randn(3)");
  r.input("shown", "torch.randn(3)");
  r.run(
      "class Thing: pass\n"
      "class Words(list): pass\n"
      "cyclic = []; cyclic.append(cyclic)\n"
      "def closing(): return shown\n"
      "def defaulted(t=shown): return t\n"
      "def take(*args, **kwargs): return 1\n");
  const size_t nodes = r.graph.nodes().size();
  auto refusal = [&](const std::string& args, const std::string& kwargs = "{}", const char* target = "take") {
    CHECK(r.call("ignored", target, args, kwargs) == kNoNode);
    CHECK(r.graph.nodes().size() == nodes);
    return error_message();
  };
  CHECK(refusal("(x, Thing())") == "TypeError: argument 2 of take: an object of type 'Thing' cannot stand in a graph");
  CHECK(refusal("(x,)", "{'k': [(1, {1, 2})]}") ==
        "TypeError: argument k of take: an object of type 'set' cannot stand in a graph");
  CHECK(refusal("(Words(),)").find("'Words'") != std::string::npos);
  CHECK(refusal("({Pair(1, 2): x},)").find("a dict with a key of type 'Pair'") != std::string::npos);
  CHECK(refusal("(torch.Generator(),)").find("Generator") != std::string::npos);
  CHECK(refusal("(defaulted,)").find("'function'") != std::string::npos);
  CHECK(refusal("(shown.add,)").find("'builtin_function_or_method'") != std::string::npos);
  CHECK(refusal("(x,)", "{'from': 1}") == "TypeError: argument from of take: the keyword 'from' is not an identifier");
  CHECK(refusal("(x,)", "{'a-b': 1}").find("is not an identifier") != std::string::npos);
  // Around the recorder's own faking:
  Ref take = r.evaluate("take");
  auto direct = [&](const char* args) {
    CHECK(r.graph.add_call(NodeKind::CallFunction, take, r.evaluate(args).get(), nullptr, Py_None, false, nullptr) ==
          kNoNode);
    return error_message();
  };
  CHECK(direct("(torch.ones(2),)") == "TypeError: argument 1 of take: a real tensor that is not an input of the graph");
  CHECK(direct("(cyclic,)").find("RecursionError") == 0);
  Ref stranger = make_fake(r.evaluate("torch.ones(2)").get());
  Ref args = Ref::steal(PyTuple_Pack(1, stranger.get()));
  CHECK(r.graph.add_call(NodeKind::CallFunction, take, args.get(), nullptr, Py_None, false, nullptr) == kNoNode);
  CHECK(error_message() == "TypeError: argument 1 of take: a fake tensor that this graph did not produce");
  Ref method = Ref::steal(PyUnicode_FromString("upper"));
  args = r.evaluate("('text',)");
  CHECK(r.graph.add_call(NodeKind::CallMethod, method, args.get(), nullptr, Py_None, false, nullptr) == kNoNode);
  CHECK(error_message().find("argument 1 of upper") != std::string::npos);
  CHECK(r.graph.nodes().size() == nodes);
  CHECK(r.graph.call_count() == 0);
}

TEST_CASE("targets that source cannot name are called all the same", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.randn(3)");
  r.run(
      "class Callable:\n"
      "    def __call__(self, x): return x + 5\n"
      "class Square(torch.autograd.Function):\n"
      "    @staticmethod\n"
      "    def forward(ctx, x): return x * x\n"
      "callables = [Callable(), lambda x: x * 4, (lambda f: f)(lambda x: x - 1), functools.partial(torch.mul, "
      "other=3),\n"
      "             Square.apply]\n"
      "def local():\n"
      "    def add(x): return x + 9\n"
      "    return add\n"
      "inner = local()\n"
      "posing = local(); posing.__module__ = 'torch'\n");
  r.call("a", "callables[0]", "(x,)");
  r.call("b", "callables[1]", "(x,)");
  r.call("c", "callables[2]", "(x,)");
  r.call("d", "callables[3]", "(x,)");
  r.call("e", "callables[4]", "(x,)");
  r.call("f", "inner", "(x,)");
  r.call("g", "posing", "(x,)");
  r.call("h", "torch.Tensor.neg", "(x,)");
  r.call("i", "torch.Tensor.__rsub__", "(x, 1)");
  r.call("j", "torch.Tensor.__add__", "(x, 1)");
  r.call("k", "torch._C._VariableFunctions.sub", "(x, 1)");
  r.check("(a, b, c, d, e, f, g, h, i, j, k)");
  CHECK(r.text("len({n.name for n in gm.graph.nodes})") == "13");
}

TEST_CASE("nodes know their place in the program and their tensors", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.run(
      "import linecache\n"
      "source = 'def outer(x):\\n    return inner(x)\\ndef inner(x):\\n    return x.relu()\\n'\n"
      "linecache.cache['model.py'] = (len(source), None, source.splitlines(True), 'model.py')\n"
      "exec(compile(source, 'model.py', 'exec'), space := {})\n");
  auto site = [&](const char* function, int line, std::shared_ptr<const CallSite> caller) {
    Ref code = r.evaluate(std::string("space['") + function + "'].__code__");
    return std::make_shared<const CallSite>(
        CallSite{reinterpret_cast<PyCodeObject*>(code.get()), line, std::move(caller), code});
  };
  auto inner = site("inner", 4, site("outer", 2, nullptr));
  r.input("x", "torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last).requires_grad_()");
  r.call("y", ".relu", "(x,)", "{}", false, inner);
  r.call("z", "torch.relu", "(y,)", "{}", false, inner);
  r.call("u", "torch.neg", "(z,)", "{}", false, site("outer", 99, nullptr));
  r.exported("(u,)");
  r.run("nodes = list(gm.graph.nodes)");
  CHECK(r.text("nodes[1].meta['stack_trace']") ==
        "  File \"model.py\", line 2, in outer\n    return inner(x)\n  File \"model.py\", line 4, in inner\n    return "
        "x.relu()\n");
  CHECK(r.text("nodes[1].meta['stack_trace'] is nodes[2].meta['stack_trace']") == "True");
  CHECK(r.text("nodes[3].meta['stack_trace']") == "  File \"model.py\", line 99, in outer\n");
  CHECK(r.text("nodes[1].meta['source_fn_stack']") == "[('relu', 'relu')]");
  CHECK(r.text("nodes[2].meta['source_fn_stack'] == [('relu_1', torch.relu)]") == "True");
  CHECK(r.text("nodes[1].meta['example_value'] is faked(y)") == "True");
  r.run(
      "from torch.fx.passes.shape_prop import _extract_tensor_metadata as extract\n"
      "metas = [(n.meta['tensor_meta'], extract(t)) for n, t in zip(nodes, (x, y, z, u))]\n"
      "assert all(type(a) is type(b) for a, b in metas)\n"
      "assert metas[0][0] == metas[0][1], metas[0]\n"
      "assert metas[0][0].memory_format is torch.channels_last and metas[0][0].requires_grad\n"
      "assert [a.shape for a, b in metas] == [b.shape for a, b in metas]\n");
  CHECK(r.text("gm.graph._co_fields") == "{'co_name': 'outer', 'co_filename': 'model.py', 'co_firstlineno': 1}");
  CHECK(r.text("'model.py:1 in outer' in (gm.real_recompile() or gm.forward.__code__.co_filename)") == "True");
}

TEST_CASE("a graph as text", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.randn(2, 3)");
  r.call("y", "torch.add", "(x, 1)", "{'alpha': 2}");
  r.call("s", "torch.split", "(y, [1, 1])");
  r.call("z", ".add_", "(y, x)", "{}", true);
  r.call("g", "operator.getitem", "(y, (slice(None, 1), None))");
  r.call("c", "choose", "(Pair(x, 2), {'scale': x})", "{'mode': Color.RED}");
  std::string text = r.graph.to_text();
  std::string expected =
      "%0: float32[2, 3] = placeholder L['x']\n"
      "%1: float32[2, 3] = torch.add(%0, 1, alpha=2)\n"
      "%2: (float32[1, 3], float32[1, 3]) = torch.functional.split(%1, [1, 1])\n"
      "%3: float32[1, 3] = operator.getitem(%2, 0)\n"
      "%4: float32[1, 3] = operator.getitem(%2, 1)\n"
      "%5: float32[2, 3] = .add_(%1, %0)  # impure\n"
      "%6: float32[1, 1, 3] = operator.getitem(%1, (slice(None, 1, None), None))\n"
      "%7: float32[2, 3] = __main__.choose(__main__.Pair(%0, 2), {'scale': %0}, mode=<Color.RED: 1>)\n";
  CHECK(text == expected);
  r.graph.remove_dead_code({});
  CHECK(r.graph.to_text().find("placeholder L['x']  # input 0") != std::string::npos);
}

TEST_CASE("an output that was removed is an error, not a crash", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.input("x", "torch.randn(2)");
  r.call("y", "torch.neg", "(x,)");
  r.graph.remove_dead_code({});
  CHECK_FALSE(to_graph_module(r.graph, {r.producer("y")}, ""));
  CHECK(error_message().find("ValueError: an output of the graph") == 0);
  CHECK_FALSE(to_graph_module(r.graph, {kNoNode}, ""));
  CHECK(error_message().find("ValueError") == 0);
}

TEST_CASE("recording and exporting leak nothing", "[graph]") {
  NEEDS_TORCH();
  Recorder r;
  r.run("import gc, sys, weakref\nmarker = Pair(1, 2)\nprobe = object()\n");
  auto one_round = [&] {
    Recorder round;
    round.input("x", "torch.randn(3)");
    round.call("y", "torch.split", "(x, [1, 2])");
    round.call("z", "choose", "(Pair(y[0], y[0]), {'scale': 1.5})", "{'mode': Color.RED}");
    round.check("(z, y[1])");
  };
  one_round();
  r.run("gc.collect(); gc.collect()");
  const std::string before =
      r.text("(len([o for o in gc.get_objects() if isinstance(o, (torch.Tensor, torch.fx.Node))]))");
  for (int i = 0; i < 5; ++i) one_round();
  r.run("gc.collect(); gc.collect()");
  CHECK(r.text("(len([o for o in gc.get_objects() if isinstance(o, (torch.Tensor, torch.fx.Node))]))") == before);
}
