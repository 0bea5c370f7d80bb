// That a dict's version moves with each change, whichever way CPython keeps it.
#include <set>

#include "python/version/dict_version.h"
#include "test_guard_support.h"

namespace minidynamo::guard_test {

TEST_CASE("each change of a dict changes its version, and nothing else does", "[python]") {
  Namespace python;
  for (const char* change :
       {"d['a'] = 2", "d['new'] = 1", "del d['a']", "d.pop('a')", "d.popitem()", "d.setdefault('new')", "d.update(b=3)",
        "d.update({'b': 3})", "d |= {'b': 3}", "d.clear()", "dict.__init__(d, b=3)", "exec('a = 5', d)",
        "exec('global a; a = 5', d)", "exec('del a', d)"}) {
    INFO(change);
    python.run("d = {'a': 1, 'c': 3}\n");
    const Ref dict = Ref::borrow(python["d"]);
    const uint64_t before = exact_version(dict.get());
    REQUIRE(before != 0);
    python.run("d.get('a'), list(d), len(d), 'b' in d, d.copy(), d == {}, repr(d), d['a'], d.items()\n");
    CHECK(exact_version(dict.get()) == before);
    python.run(change);
    CHECK(exact_version(dict.get()) != before);
  }
}

TEST_CASE("writing to an instance changes the version of its dict, or it has none", "[python]") {
  Namespace python;
  for (const char* change : {"o.x = 2", "o.new = 1", "del o.x", "setattr(o, 'x', 2)", "vars(o).update(x=2)",
                             "o.__dict__['x'] = 2", "for _ in range(50): o.x = _", "vars(o).clear()"}) {
    INFO(change);
    python.run("class A: pass\no = A()\no.x = 1\no.y = 2\nd = o.__dict__\n");
    const Ref dict = Ref::borrow(python["d"]);
    const uint64_t before = exact_version(dict.get());
    python.run(change);
    if (before != 0) CHECK(exact_version(dict.get()) != before);
  }
}

TEST_CASE("no version is used twice, also where a dict lies where another was", "[python]") {
  Namespace python;
  std::set<uint64_t> seen;
  for (int i = 0; i < 2000; ++i) {
    const Ref dict = python.value("{'a': 1}");
    CHECK(seen.insert(dict_version(dict.get())).second);
  }
}

}  // namespace minidynamo::guard_test
