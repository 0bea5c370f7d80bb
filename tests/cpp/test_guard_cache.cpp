// The code cache: order, limits, configurations, life times.
#include "cache/code_cache.h"
#include "model/protocols/upward.h"
#include "test_guard_support.h"

namespace minidynamo::guard_test {
namespace {

using Outcome = LookupResult::Outcome;

struct Caller {
  PyObject* argument;
  GatheredSlots slots;
  FrameView frame() { return {nullptr, &argument}; }
};

std::shared_ptr<CacheEntry> entry_for(PyObject* value, ConfigId config) {
  auto entry = std::make_shared<CacheEntry>();
  entry->config = config;
  Source* source = entry->guards.local(0, Namespace::text("x").get(), value);
  entry->guards.add(source, GuardKind::Constant, {});
  entry->guards.gather(source);
  entry->guards.finish();
  return entry;
}

PyCodeObject* code_of(const Namespace& python, const char* name) {
  return reinterpret_cast<PyCodeObject*>(reinterpret_cast<PyFunctionObject*>(python[name])->func_code);
}

}  // namespace

TEST_CASE("lookup finds the entry whose guards hold and asks it first next time", "[cache]") {
  CacheRegistry& registry = CacheRegistry::instance();
  registry.reset();
  Namespace python;
  python.run("def f(x): return x");
  CHECK(CodeCache::find(code_of(python, "f")) == nullptr);
  CodeCache* cache = CodeCache::get(code_of(python, "f"));
  REQUIRE(cache);
  CHECK(CodeCache::find(code_of(python, "f")) == cache);
  CHECK(CodeCache::get(code_of(python, "f")) == cache);

  std::vector<Ref> values;
  for (int i = 0; i < 4; ++i) values.push_back(Ref::steal(PyLong_FromLong(1000 + i)));
  for (int i = 0; i < 3; ++i) REQUIRE(cache->add(entry_for(values[i].get(), 7)));
  Caller caller;
  for (int i : {0, 1, 1, 2, 0}) {
    caller.argument = values[i].get();
    LookupResult result = cache->lookup(7, caller.frame(), caller.slots);
    REQUIRE(result.outcome == Outcome::Hit);
    CHECK(result.slots[0] == values[i].get());
    CHECK(result.entry == cache->entries()[0]);
  }
  CHECK(cache->entries()[0]->hits == 2);
  CHECK(registry.statistics.hits == 5);
  CHECK(registry.live_entries() == 3);
  CHECK(registry.statistics.guards_added == 3);

  caller.argument = values[3].get();
  CHECK(cache->lookup(7, caller.frame(), caller.slots).outcome == Outcome::Miss);
  const std::vector<std::string> reasons = cache->explain_miss(7, caller.frame());
  REQUIRE(reasons.size() == 3);
  CHECK(reasons[0] == "L['x']: expected 1000, got 1003");
  CHECK(cache->last_miss() == reasons);

  // Another configuration sees none of this.
  caller.argument = values[0].get();
  CHECK(cache->lookup(8, caller.frame(), caller.slots).outcome == Outcome::Miss);
  REQUIRE(cache->add(entry_for(values[0].get(), 8)));
  CHECK(cache->lookup(8, caller.frame(), caller.slots).entry->config == 8);
  CHECK(cache->lookup(7, caller.frame(), caller.slots).entry->config == 7);

  cache->remove(cache->lookup(8, caller.frame(), caller.slots).entry.get());
  CHECK(cache->lookup(8, caller.frame(), caller.slots).outcome == Outcome::Miss);
  registry.reset();
  CHECK(cache->entries().empty());
  CHECK(registry.statistics.hits == 0);
}

TEST_CASE("past the recompile limit frames run uncaptured, entries still hit", "[cache]") {
  CacheRegistry& registry = CacheRegistry::instance();
  registry.reset();
  registry.recompile_limit = 2;
  Namespace python;
  python.run("def f(x): return x");
  CodeCache* cache = CodeCache::get(code_of(python, "f"));
  std::vector<Ref> values;
  for (int i = 0; i < 3; ++i) values.push_back(Ref::steal(PyLong_FromLong(1000 + i)));
  CHECK(cache->add(entry_for(values[0].get(), 0)));
  CHECK(cache->add(entry_for(values[1].get(), 0)));
  CHECK_FALSE(cache->add(entry_for(values[2].get(), 0)));
  CHECK(cache->add(entry_for(values[2].get(), 1)));
  Caller caller{values[2].get(), {}};
  LookupResult result = cache->lookup(0, caller.frame(), caller.slots);
  REQUIRE(result.outcome == Outcome::Uncaptured);
  CHECK(result.skip->reason == "recompile-limit");
  CHECK(registry.statistics.refused_by_limit == 1);
  CHECK(cache->lookup(1, caller.frame(), caller.slots).outcome == Outcome::Hit);
  caller.argument = values[0].get();
  CHECK(cache->lookup(0, caller.frame(), caller.slots).outcome == Outcome::Hit);
  registry.reset();
  CHECK(cache->lookup(0, caller.frame(), caller.slots).outcome == Outcome::Miss);
  registry.recompile_limit = 8;
}

TEST_CASE("a mark says why a code object runs uncaptured", "[cache]") {
  CacheRegistry::instance().reset();
  Namespace python;
  python.run("def f(x): yield x");
  CodeCache* cache = CodeCache::get(code_of(python, "f"));
  cache->skip({3, "generator", "f is a generator function", 1});
  Caller caller{Py_None, {}};
  LookupResult result = cache->lookup(3, caller.frame(), caller.slots);
  REQUIRE(result.outcome == Outcome::Uncaptured);
  CHECK(result.skip->detail == "f is a generator function");
  CHECK(cache->lookup(4, caller.frame(), caller.slots).outcome == Outcome::Miss);
  CacheRegistry::instance().reset();
  CHECK_FALSE(cache->skipped(3));
}

TEST_CASE("a cache dies with its code object, and an entry in use outlives a reset", "[cache]") {
  CacheRegistry& registry = CacheRegistry::instance();
  registry.reset();
  Namespace python;
  const size_t before = registry.codes().size();
  python.run("import weakref, gc\ndef f(x): return x\nclass Graph: pass\ngraph = Graph()\nref = weakref.ref(graph)");
  CodeCache* cache = CodeCache::get(code_of(python, "f"));
  auto entry = entry_for(Py_None, 0);
  entry->graph_module = Ref::borrow(python["graph"]);
  REQUIRE(cache->add(std::move(entry)));
  CHECK(registry.codes().size() == before + 1);
  python.run("del graph\nassert ref() is not None\ndel f\ngc.collect()\nassert ref() is None");
  CHECK(registry.codes().size() == before);

  python.run("def f(x): return x\ngraph = Graph()\nref = weakref.ref(graph)");
  cache = CodeCache::get(code_of(python, "f"));
  entry = entry_for(Py_None, 0);
  entry->graph_module = Ref::borrow(python["graph"]);
  REQUIRE(cache->add(std::move(entry)));
  python.run("del graph");
  Caller caller{Py_None, {}};
  LookupResult result = cache->lookup(0, caller.frame(), caller.slots);
  REQUIRE(result.outcome == Outcome::Hit);
  registry.reset();
  python.run("assert ref() is not None");
  result.entry.reset();
  python.run("assert ref() is None");
}

TEST_CASE("what dies in a reset may come back to the cache", "[cache]") {
  // The graph's death drops the last reference to another captured function.
  CacheRegistry& registry = CacheRegistry::instance();
  registry.reset();
  Namespace python;
  python.run(
      "import types\n"
      "class Graph:\n"
      "  def __del__(self): self.other = None\n"
      "graph = Graph()\n"
      "def f(x): return x\n"
      "def g(x): return x\n"
      "g = types.FunctionType(g.__code__.replace(co_firstlineno=77), {})\n"
      "graph.other = g\n");
  CodeCache* cache = CodeCache::get(code_of(python, "f"));
  auto entry = entry_for(Py_None, 0);
  entry->graph_module = Ref::borrow(python["graph"]);
  cache->add(std::move(entry));
  CodeCache::get(code_of(python, "g"))->add(entry_for(Py_None, 0));
  python.run("del g, graph");
  const size_t before = registry.codes().size();
  registry.reset();
  CHECK(registry.codes().size() == before - 1);
  CHECK(registry.live_entries() == 0);
}

}  // namespace minidynamo::guard_test
