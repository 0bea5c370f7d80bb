// Guard mutation: trees over random object graphs; one thing is changed at a time, and after every change the fast
// check, which believes version stamps and remembered pointers, must say what the plain slow check says.
//
// Changes are also taken back (the guards must pass again), and frames alternate between two graphs of the same shape,
// as layers that share a cache entry do.
#include <cstdlib>
#include <random>
#include <unordered_map>

#include "guard/mirror.h"
#include "python/scoped_value.h"
#include "python/version/dict_version.h"
#include "python/version/type_version.h"
#include "test_guard_support.h"

namespace minidynamo::guard_test {
namespace {

constexpr const char* kProgram = R"(
import collections, random, types

class Base:
    level = 1
    def method(self): return 1

class Thing(Base):
    kind = 'thing'

class Other(Base):
    kind = 'other'

class Slotted:
    __slots__ = ('a', 'b')

class MyDict(dict): pass
class MyList(list): pass
Pair = collections.namedtuple('Pair', 'left right')
shared = [1, 2]
CLASSES = (Base, Thing, Other)
NAMES = ['a', 'b', 'c', 'd', 'training', '_parameters']

def make_function(value):
    captured = value
    def inner(x=1, *, flag=True): return captured, x, flag
    return inner

def leaf(r):
    return r.choice([
        lambda: r.randrange(-3, 400), lambda: r.random(), lambda: 'name%d' % r.randrange(3), lambda: None,
        lambda: r.random() < 0.5, lambda: (r.randrange(300), 'x'), lambda: frozenset([r.randrange(3)]),
        lambda: len, lambda: make_function, lambda: Thing, lambda: float('nan'), lambda: b'bytes', lambda: shared,
        lambda: 10 ** r.randrange(18, 22), lambda: types, lambda: slice(1, r.randrange(3)),
    ])()

def grow(r, depth):
    if depth == 0 or r.random() < 0.15:
        return leaf(r)
    n = r.randrange(0, 5)
    def thing(kind):
        o = kind()
        for name in r.sample(NAMES, min(n, len(NAMES))):
            setattr(o, name, grow(r, depth - 1))
        if r.random() < 0.4:
            o.__dict__  # makes the dict
        return o
    def function():
        return make_function(grow(r, depth - 1))
    return r.choice([
        lambda: thing(Thing), lambda: thing(Thing), lambda: thing(Other),
        lambda: {r.choice(NAMES): grow(r, depth - 1) for _ in range(n)},
        lambda: {r.choice([1, 2.5, (1, 2), 'a', None, Thing]): grow(r, depth - 1) for _ in range(n)},
        lambda: MyDict((r.choice(NAMES), grow(r, depth - 1)) for _ in range(n)),
        lambda: collections.OrderedDict((r.choice(NAMES), grow(r, depth - 1)) for _ in range(n)),
        lambda: [grow(r, depth - 1) for _ in range(n)],
        lambda: MyList(grow(r, depth - 1) for _ in range(n)),
        lambda: tuple(grow(r, depth - 1) for _ in range(n)),
        lambda: Pair(grow(r, depth - 1), grow(r, depth - 1)),
        lambda: {r.randrange(10) for _ in range(n)},
        lambda: collections.deque(grow(r, depth - 1) for _ in range(n)),
        function,
    ])()

def grow_root(seed):
    r = random.Random(seed)
    root = r.choice([Thing, Other])()
    for name in NAMES: setattr(root, name, grow(r, 5))
    if r.random() < 0.5: root.__dict__
    return root

def reachable(root):
    seen, todo = {}, [root]
    while todo:
        o = todo.pop()
        if id(o) in seen or isinstance(o, (type, types.ModuleType, types.BuiltinFunctionType)) or o is make_function:
            continue
        seen[id(o)] = o
        if isinstance(o, dict): todo += list(dict.values(o))
        elif isinstance(o, (list, tuple, collections.deque)): todo += list(o)
        elif isinstance(o, types.FunctionType): todo += [c.cell_contents for c in o.__closure__ or () if c is not None]
        elif isinstance(o, Base):
            todo += [getattr(o, n) for n in NAMES if hasattr(o, n)]
    return [o for o in seen.values() if isinstance(o, (dict, list, set, collections.deque, Base, types.FunctionType))]

class DiesLoudly:
    pass

def mutate(r, root):
    '''Changes one thing; returns a function that takes it back.'''
    choices = reachable(root)
    if not choices or r.random() < 0.12:
        cls, name = r.choice(CLASSES), r.choice(['kind', 'level', 'extra', 'method'])
        had, old = name in cls.__dict__, cls.__dict__.get(name)
        if had and r.random() < 0.5: delattr(cls, name)
        else: setattr(cls, name, leaf(r))
        def back():
            if had: setattr(cls, name, old)
            elif name in cls.__dict__: delattr(cls, name)
        return back
    o = r.choice(choices)
    what = r.randrange(5)
    if isinstance(o, dict):
        old = list(dict.items(o))
        def back():
            dict.clear(o) if not isinstance(o, collections.OrderedDict) else o.clear()
            for k, v in old: o[k] = v
        keys = list(o)
        if what == 0 and keys: o[r.choice(keys)] = leaf(r)
        elif what == 1 and keys: del o[r.choice(keys)]
        elif what == 2: o[r.choice(NAMES)] = grow(r, 1)
        elif what == 3 and keys:
            k = r.choice(keys)
            if isinstance(o, collections.OrderedDict): o.move_to_end(k)
            else: o[k] = o.pop(k)
        elif what == 4 and keys: o.update({r.choice(keys): leaf(r)})
        else: o.clear()
        return back
    if isinstance(o, set):
        old = set(o)
        if what < 2 and o: o.pop()
        else: o.add(r.randrange(10))
        def back():
            o.clear(); o.update(old)
        return back
    if isinstance(o, (list, collections.deque)):
        old = list(o)
        if what == 0 or not o: o.append(leaf(r))
        elif what == 1: o.pop()
        elif what == 2: o.reverse()
        else: o[r.randrange(len(o))] = leaf(r)
        def back():
            o.clear(); o.extend(old)
        return back
    if isinstance(o, types.FunctionType):
        which = r.choice(['__defaults__', '__kwdefaults__', 'cell', '__code__', 'attribute'])
        if which == 'attribute':
            o.mark = r.random()
            return lambda: o.__dict__.clear()
        if which == 'cell':
            if not o.__closure__: return lambda: None
            cell = o.__closure__[0]
            old = cell.cell_contents
            cell.cell_contents = leaf(r)
            def back(): cell.cell_contents = old
            return back
        old = getattr(o, which)
        new = {'__defaults__': (2,), '__kwdefaults__': {'flag': None}, '__code__': make_function(3).__code__}[which]
        if which == '__code__' and o is not make_function:
            new = new.replace(co_firstlineno=r.randrange(1, 1000))
        setattr(o, which, new)
        return lambda: setattr(o, which, old)
    name = r.choice(NAMES)
    had, old = name in vars(type(o)) or hasattr(o, name), getattr(o, name, None)
    if what == 0:
        cls = type(o)
        o.__class__ = Other if cls is Thing else Thing
        def back(): o.__class__ = cls
        return back
    if what == 1 and had:
        delattr(o, name)
        return lambda: setattr(o, name, old)
    if what == 2:
        before = o.__dict__
        o.__dict__ = dict(before) if r.random() < 0.5 else {**before, name: leaf(r)}
        def back(): o.__dict__ = before
        return back
    if what == 3:
        # Many times the same store: the interpreter's specialized instructions write to the dict in their own way.
        for _ in range(20): o.a = 1
        o.a = leaf(r)
    else:
        setattr(o, name, leaf(r))
    def back():
        if what == 3: return
        if had: setattr(o, name, old)
        elif hasattr(o, name): delattr(o, name)
    return back
)";

// Plays the tracer: walks a graph and takes sources and guards at random.
class Explorer {
 public:
  Explorer(Tree& tree, std::mt19937& random) : tree_(tree), guards_(tree.guards), random_(random) {}

  void explore(Source* source, PyObject* object, int depth) {
    if (maybe(8)) gathered_.push_back(guards_.gather(source));
    if (maybe(3)) guards_.add(source, GuardKind::ExactType, {});
    if (seen_.contains(object)) {
      if (maybe(50)) guards_.add_relation(source, GuardKind::SameAs, seen_[object], {});
      if (depth <= 0) return;
    } else {
      if (!seen_.empty() && maybe(10)) guards_.add_relation(source, GuardKind::NotSameAs, seen_.begin()->second, {});
      seen_[object] = source;
    }
    if (PyType_Check(object) || PyModule_Check(object) || PyCFunction_Check(object)) {
      guards_.add(source, maybe(50) ? GuardKind::Identity : GuardKind::Constant, {});
      if (PyType_Check(object)) explore_class(source, object);
      return;
    }
    if (PyDict_Check(object)) return explore_dict(source, object, depth);
    if (PyList_Check(object) || PyTuple_Check(object)) return explore_sequence(source, object, depth);
    if (PyAnySet_Check(object)) {
      if (maybe(70)) guards_.add(source, maybe(60) ? GuardKind::SetItems : GuardKind::Length, {});
      return;
    }
    if (PyFunction_Check(object)) return explore_function(source, object, depth);
    if (PyCell_Check(object)) {
      if (PyObject* contents = PyCell_GET(object))
        explore(guards_.child(source, Access::CellContents, nullptr, -1, contents), contents, depth - 1);
      return;
    }
    if (has_instance_dict(Py_TYPE(object)) && !PyCode_Check(object)) return explore_instance(source, object, depth);
    if (deque_length(object) >= 0) return explore_sequence(source, object, depth);
    if (maybe(80)) guards_.add(source, GuardKind::Constant, {});
  }

  const std::vector<uint32_t>& gathered() const { return gathered_; }

 private:
  Tree& tree_;
  GuardTree& guards_;
  std::mt19937& random_;
  std::unordered_map<PyObject*, Source*> seen_;
  std::vector<uint32_t> gathered_;

  bool maybe(unsigned percent) { return random_() % 100 < percent; }
  static Ref name(const char* text) { return Namespace::text(text); }
  static Py_ssize_t deque_length(PyObject* object) {
    return std::string(Py_TYPE(object)->tp_name) == "collections.deque" ? PyObject_Size(object) : -1;
  }

  void explore_dict(Source* source, PyObject* dict, int depth) {
    if (maybe(30)) guards_.add(source, maybe(50) ? GuardKind::DictKeys : GuardKind::Length, {});
    std::vector<std::pair<Ref, Ref>> items;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);)
      items.emplace_back(Ref::borrow(key), Ref::borrow(value));
    for (auto& [k, v] : items)
      if (maybe(70)) explore(guards_.child(source, Access::DictItem, k.get(), -1, v.get()), v.get(), depth - 1);
    for (const char* absent : {"a", "c", "missing"})
      if (maybe(30) && !PyDict_GetItemString(dict, absent))
        guards_.add_missing(source, Access::DictItem, name(absent).get(), -1, {});
  }

  void explore_sequence(Source* source, PyObject* sequence, int depth) {
    const Py_ssize_t size = PySequence_Size(sequence);
    if (maybe(50)) guards_.add(source, GuardKind::Length, {});
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (!maybe(70)) continue;
      Ref item = Ref::steal(PySequence_GetItem(sequence, i));
      explore(guards_.child(source, Access::Index, nullptr, static_cast<int32_t>(i), item.get()), item.get(),
              depth - 1);
    }
    if (maybe(10)) guards_.add_missing(source, Access::Index, nullptr, static_cast<int32_t>(size), {});
  }

  void explore_function(Source* source, PyObject* function, int depth) {
    if (maybe(30)) guards_.add(source, GuardKind::Identity, {});
    for (const char* part : {"__closure__", "__defaults__", "__kwdefaults__", "__code__"}) {
      if (!maybe(40)) continue;
      Ref value = Ref::steal(PyObject_GetAttrString(function, part));
      Source* child = guards_.child(source, Access::Attribute, name(part).get(), -1, value.get());
      explore(child, value.get(), depth - 1);
    }
    if (maybe(20)) {
      Source* dict = guards_.child(source, Access::InstanceDict, nullptr, -1, instance_dict(function));
      if (!instance_attribute(function, name("mark").get()))
        guards_.add_missing(dict, Access::DictItem, name("mark").get(), -1, {});
    }
  }

  void explore_class(Source* source, PyObject* type) {
    for (const char* attribute : {"kind", "level", "method", "extra", "__len__"}) {
      if (!maybe(50)) continue;
      Ref key = name(attribute);
      PyObject* found = class_attribute(reinterpret_cast<PyTypeObject*>(type), key.get());
      if (!found) {
        guards_.add_missing(source, Access::ClassAttribute, key.get(), -1, {});
        continue;
      }
      Source* child = guards_.child(source, Access::ClassAttribute, key.get(), -1, found);
      guards_.add(child, PyFunction_Check(found) ? GuardKind::Identity : GuardKind::Constant, {});
    }
  }

  void explore_instance(Source* source, PyObject* object, int depth) {
    if (maybe(40)) explore_class_of(source, object);
    Source* dict = guards_.child(source, Access::InstanceDict, nullptr, -1, instance_dict(object));
    if (maybe(15)) guards_.add(dict, maybe(50) ? GuardKind::DictKeys : GuardKind::Length, {});
    for (const char* attribute : {"a", "b", "c", "d", "training", "_parameters"}) {
      if (!maybe(70)) continue;
      Ref key = name(attribute);
      Ref value = Ref::borrow(instance_attribute(object, key.get()));
      if (value)
        explore(guards_.child(dict, Access::DictItem, key.get(), -1, value.get()), value.get(), depth - 1);
      else
        guards_.add_missing(dict, Access::DictItem, key.get(), -1, {});
    }
  }

  void explore_class_of(Source* source, PyObject* object) {
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    explore_class(guards_.child(source, Access::Type, nullptr, -1, type), type);
  }
};

struct Statistics {
  long checks = 0, passed = 0, failed = 0, guards = 0;
  long steady_passed = 0, steady_failed = 0;  // those checks that records of earlier walks decided
};

void play(unsigned seed, int mutations, Statistics& statistics) {
  INFO("seed " << seed);
  Namespace python;
  python.run(kProgram);
  const std::string random_seed = std::to_string(seed);
  python.run("r = random.Random(" + random_seed + ")\nroot = grow_root(" + random_seed + ")\ntwin = grow_root(" +
             random_seed + ")\nundo = []");
  std::mt19937 random(seed);
  Tree tree;
  Source* source = tree.root(python["root"]);
  Explorer explorer(tree, random);
  explorer.explore(source, python["root"], 6);
  const std::vector<uint32_t> gathered = explorer.gathered();
  tree.guards.finish();
  statistics.guards += static_cast<long>(tree.guards.guard_count());
  REQUIRE(tree.check());
  REQUIRE(tree.check());

  auto agree = [&](PyObject* value) {
    tree.local = value;
    std::vector<PyObject*> slots(tree.guards.gathered() + 1);
    const bool slow = tree.guards.check_slowly(tree.frame());
    const bool was_steady = tree.guards.has_steady_walk();
    const bool fast = tree.guards.check(tree.frame(), slots.data());
    ++statistics.checks;
    ++(fast ? statistics.passed : statistics.failed);
    if (was_steady) ++(fast ? statistics.steady_passed : statistics.steady_failed);
    if (fast != slow) {
      for (const std::string& line : tree.guards.to_text()) UNSCOPED_INFO(line);
      UNSCOPED_INFO("slowly: " << tree.guards.explain_failure(tree.frame()));
    }
    REQUIRE(fast == slow);
    REQUIRE_FALSE(PyErr_Occurred());
    if (fast)  // gathers the same objects as a fresh walk
      for (uint32_t slot = 0; slot < tree.guards.gathered(); ++slot) {
        REQUIRE(slots[slot] != nullptr);
        REQUIRE(Py_REFCNT(slots[slot]) > 0);
      }
    return fast;
  };

  for (int i = 0; i < mutations; ++i) {
    python.run("undo.append(mutate(r, root))");
    agree(python["root"]);
    if (random() % 2) agree(python["root"]);
    if (random() % 3 == 0) agree(python["twin"]);
    if (random() % 4) {
      python.run("while undo: undo.pop()()");
      for (int again = 0; again < 3; ++again) agree(python["root"]);
    } else if (random() % 4 == 0) {
      python.run("undo.append(mutate(r, twin))");
      agree(python["twin"]);
    }
  }
}

}  // namespace

TEST_CASE("fast and slow checks agree under mutation", "[guard][mutation]") {
  const char* rounds = std::getenv("MINIDYNAMO_GUARD_ROUNDS");
  const unsigned count = rounds ? static_cast<unsigned>(std::atoi(rounds)) : 150;
  Statistics statistics;
  const ScopedValue mirror(mirror_mode, Mirror::Record);  // steady walks are written down at once
  for (unsigned seed = 1; seed <= count; ++seed) play(seed, 40, statistics);
  INFO(statistics.checks << " checks, " << statistics.passed << " passed, " << statistics.guards << " guards");
  // A test in which one answer never occurs would show nothing.
  CHECK(statistics.passed > statistics.checks / 10);
  CHECK(statistics.failed > statistics.checks / 10);
  CHECK(statistics.steady_passed > statistics.checks / 20);
  CHECK(statistics.steady_failed > statistics.checks / 20);
  CHECK(take_mirror_differences().empty());
  if (rounds)
    WARN(statistics.checks << " checks, " << statistics.passed << " passed, " << statistics.guards << " guards");
}

}  // namespace minidynamo::guard_test
