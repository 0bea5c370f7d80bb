// Looking ahead in iterators, tables of sets, and tracebacks of frames that never ran.
#include <limits>

#include "python/code/traceback.h"
#include "python/objects/iterators.h"
#include "python/objects/set_table.h"
#include "test_code_support.h"

namespace {

using namespace minidynamo;
using namespace minidynamo::code_test;

std::string peeked(PyObject* iterator, Py_ssize_t ahead) {
  const Ref item = peek_item(iterator, ahead);
  CHECK_FALSE(PyErr_Occurred());
  return item ? text_of(checked(PyObject_Repr(item.get())).get()) : "end";
}

}  // namespace

TEST_CASE("an iterator yields what was seen ahead of it", "[iterators]") {
  // After 0, 1, 2... steps, each item ahead and the two behind the end.
  Program program(
      "class Instance:\n"
      "    def __init__(self): self.x, self.y = 1, 2\n"
      "holed = {key: None for key in range(5)}\n"
      "del holed[0], holed[3]\n");
  for (const char* expression : {"iter([])",
                                 "iter(['a', 'b', 'c'])",
                                 "iter(())",
                                 "iter((1, (2,), None))",
                                 "iter(range(0))",
                                 "iter(range(4))",
                                 "iter(range(10, -5, -3))",
                                 "iter(range(-5, 100, 40))",
                                 "iter(range(2**40, 2**40 + 3))",
                                 "iter({})",
                                 "iter({1: 'a', 2: 'b', 3: None})",
                                 "iter({1: 'a', 2: 'b'}.values())",
                                 "iter({1: 'a', 2: 'b'}.items())",
                                 "iter(vars(Instance()).items())",
                                 "iter(holed)",
                                 "iter(set())",
                                 "iter({30, 1, 2, 17})",
                                 "iter(frozenset('abcd'))",
                                 "iter('')",
                                 "iter('abc')",
                                 "iter('a\\u20ac\\U0001f600')",
                                 "iter(b'')",
                                 "iter(b'a\\xff')",
                                 "reversed([])",
                                 "reversed(['a', 'b', 'c'])",
                                 "reversed((1, 'a'))",
                                 "reversed(range(3))"}) {
    INFO(expression);
    const Ref iterator = program.value(expression), rest = program.value(std::string("list(") + expression + ")");
    REQUIRE(can_peek(iterator.get()));
    const Py_ssize_t count = PyList_GET_SIZE(rest.get());
    for (Py_ssize_t step = 0; step <= count; ++step) {
      for (Py_ssize_t ahead = 0; ahead < count + 2 - step; ++ahead) {
        const bool is_there = step + ahead < count;
        const Ref text = checked(PyObject_Repr(is_there ? PyList_GET_ITEM(rest.get(), step + ahead) : Py_None));
        CHECK(peeked(iterator.get(), ahead) == (is_there ? text_of(text.get()) : "end"));
      }
      DictWalk walk;  // one look after the other
      for (Py_ssize_t ahead = 0; ahead < count - step; ++ahead) {
        const Ref item = peek_item(iterator.get(), ahead, &walk);
        CHECK(text_of(checked(PyObject_Repr(item.get())).get()) == peeked(iterator.get(), ahead));
      }
      const Ref item = Ref::steal(PyIter_Next(iterator.get()));  // where it was left
      CHECK(static_cast<bool>(item) == (step < count));
    }
    CHECK(peeked(iterator.get(), 0) == "end");  // exhausted
  }
}

TEST_CASE("items of a list and a tuple are seen themselves", "[iterators]") {
  Program program("items = [object(), object()]\nlist_iterator, tuple_iterator = iter(items), iter(tuple(items))\n");
  PyObject* second = PyList_GET_ITEM(program["items"], 1);
  CHECK(peek_item(program["list_iterator"], 1).is(second));
  CHECK(peek_item(program["tuple_iterator"], 1).is(second));
}

TEST_CASE("a list that changes under its iterator", "[iterators]") {
  Program program("items = [1, 2, 3]\niterator = iter(items)\nnext(iterator)\n");
  PyObject* iterator = program["iterator"];
  CHECK(iterated_container(iterator) == program["items"]);
  program.run("items.append(4)");
  CHECK(peeked(iterator, 2) == "4");
  program.run("del items[1:]");
  CHECK(peeked(iterator, 0) == "end");
  CHECK(iterated_container(iterator) == program["items"]);  // it has not noticed yet
  program.run("items.append(5)");
  CHECK(peeked(iterator, 0) == "5");
  program.run("list(iterator)\nitems.append(6)");
  CHECK(peeked(iterator, 0) == "end");  // it does not start again
  CHECK_FALSE(iterated_container(iterator));
}

TEST_CASE("ranges up to the ends of a C long", "[iterators]") {
  Program program(
      "top = 2**63 - 1\n"
      "up, down = iter(range(top - 2, top)), iter(range(-top, -top - 1, -1))\n"
      "wide = iter(range(-top, 2**62, 2**61))\n");
  CHECK(peeked(program["up"], 1) == program.text("top - 1"));
  CHECK(peeked(program["up"], 2) == "end");
  CHECK(peeked(program["down"], 0) == program.text("-top"));
  CHECK(peeked(program["down"], 1) == "end");
  // The distance from the start does not fit in a long, though every item does.
  for (int ahead = 0; ahead < 6; ++ahead) {
    CHECK(peeked(program["wide"], ahead) == program.text("-top + " + std::to_string(ahead) + " * 2**61"));
  }
  CHECK(peeked(program["wide"], 6) == "end");
}

TEST_CASE("iterators that cannot be looked ahead in", "[iterators]") {
  Program program("def g(): yield 1\nclass L(list): pass\n");
  for (const char* expression :
       {"reversed('ab')", "g()", "iter(bytearray(b'text'))", "iter(memoryview(b'text'))", "iter(range(2**70))",
        "zip([1])", "enumerate([1])", "iter(int, 1)", "[1]", "range(3)"}) {
    INFO(expression);
    const Ref object = program.value(expression);
    CHECK_FALSE(can_peek(object.get()));
    CHECK_FALSE(peek_item(object.get(), 0));
    CHECK_FALSE(iterated_container(object.get()));
  }
  CHECK(can_peek(program.value("iter(L([1]))").get()));
  CHECK_FALSE(iterated_container(program.value("iter((1,))").get()));
}

TEST_CASE("where an iterator over a set stands", "[iterators]") {
  Program program("s = {3, 1, 2}\nit = iter(s)\n");
  PyObject* iterator = program["it"];
  CHECK(iterated_container(iterator) == program["s"]);
  for (Py_ssize_t given = 0; given <= 3; ++given) {
    const SetIteration at = look_at_set_iterator(iterator);
    CHECK(at.set == program["s"]);
    CHECK(at.passed == given);
    CHECK_FALSE(at.is_stale);
    program.run("next(it, None)");
  }
  CHECK_FALSE(look_at_set_iterator(iterator).set);
  program.run("it = iter(s)\nnext(it)\ns.add(4)");
  CHECK(look_at_set_iterator(program["it"]).is_stale);
}

TEST_CASE("where an iterator over a dict stands", "[iterators]") {
  for (const char* view : {"keys", "values", "items"}) {
    INFO(view);
    Program program("d = {'a': 1, 'b': 2, 'c': 3}\nother = dict(d)\n");
    program.run("it = iter(d." + std::string(view) + "())");
    PyObject* iterator = program["it"];
    REQUIRE(is_dict_iterator(Py_TYPE(iterator)));
    for (Py_ssize_t given = 0; given <= 3; ++given) {
      const DictIteration at = look_at_dict_iterator(iterator);
      CHECK(at.dict == program["d"]);
      CHECK(at.passed == given);
      CHECK(at.size == 3);
      CHECK(at.left == 3 - given);
      CHECK_FALSE(is_stale_dict_iterator(iterator));
      program.run("next(it, None)");
    }
    CHECK_FALSE(look_at_dict_iterator(iterator).dict);  // it has noticed its end
    program.run("it = iter(other." + std::string(view) + "())\nnext(it)\nother['d'] = 4");
    const DictIteration stale = look_at_dict_iterator(program["it"]);
    CHECK(stale.dict == program["other"]);
    CHECK(stale.passed == 1);
    CHECK(stale.size == 3);
    CHECK(stale.left == 2);
    CHECK(is_stale_dict_iterator(program["it"]));
    program.run("placed = iter(other." + std::string(view) + "())\ndel other['a']");
    place_dict_iterator(program["placed"], {nullptr, 1, 0, 3, 2});
    CHECK_FALSE(is_stale_dict_iterator(program["placed"]));
    CHECK(program.text("[item for item in placed]") == program.text("list(other." + std::string(view) + "())[1:]"));
  }
  Program others("");
  for (const char* expression : {"iter([1])", "{}.keys()", "reversed({1: 2})", "iter({1})"}) {
    INFO(expression);
    CHECK_FALSE(is_dict_iterator(Py_TYPE(others.value(expression).get())));
  }
}

TEST_CASE("a set gets the table of another", "[sets]") {
  // Numbers that collide, put in and taken out in many ways.
  Program program(
      "import random\n"
      "random.seed(5)\n"
      "class Bag(set): pass\n"
      "def made(kind):\n"
      "    numbers = [8 * random.randrange(40) for _ in range(random.randrange(60))]\n"
      "    built = set(numbers)\n"
      "    for number in numbers[::2]: built.discard(number)\n"
      "    built.update(numbers[:random.randrange(5)])\n"
      "    return built if kind is set else kind(built)\n"
      "sets = [made(random.choice([set, frozenset, Bag])) for _ in range(300)]\n");
  int out_of_order = 0;
  for (Py_ssize_t i = 0; i < 300; ++i) {
    PyObject* set = PyList_GET_ITEM(program["sets"], i);
    const Ref copy = set_with_table_of(set);
    REQUIRE(copy);
    CHECK(have_same_table(copy.get(), set));
    CHECK(PyObject_RichCompareBool(copy.get(), set, Py_EQ) == 1);
    const Ref items = checked(PySequence_List(set)), copied = checked(PySequence_List(copy.get()));
    CHECK(PyObject_RichCompareBool(items.get(), copied.get(), Py_EQ) == 1);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(items.get()); ++k)
      CHECK(PySet_Contains(copy.get(), PyList_GET_ITEM(items.get(), k)) == 1);
    if (PyFrozenSet_Check(copy.get())) continue;
    out_of_order += !is_table_in_order(set);
    // It is a set like any other.
    const Ref number = checked(PyLong_FromLong(7));
    REQUIRE(PySet_Add(copy.get(), number.get()) == 0);
    CHECK_FALSE(have_same_table(copy.get(), set));
    REQUIRE(PySet_Clear(copy.get()) == 0);
    REQUIRE(copy_set_table(copy.get(), set));
    CHECK(have_same_table(copy.get(), set));
  }
  CHECK(out_of_order > 20);
}

TEST_CASE("tracebacks get entries of frames that never ran", "[traceback]") {
  Program program("def inner(): pass\ndef outer(): pass\nkept = 'global'\n");
  PyErr_SetString(PyExc_KeyError, "lazily made");
  add_traceback(make_traceback_frame(program.code("inner"), program.names()).get(), 4, 17);
  add_traceback(make_traceback_frame(program.code("outer"), program.names()).get(), -1, 23);
  REQUIRE(PyErr_ExceptionMatches(PyExc_KeyError));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Ref owned[] = {Ref::steal(type), Ref::steal(value), Ref::steal(traceback)};
  REQUIRE(traceback);
  program.set("first", traceback);
  CHECK(program.text("first.tb_frame.f_code is outer.__code__, first.tb_lineno, first.tb_lasti") == "(True, 23, 0)");
  CHECK(program.text(
            "first.tb_next.tb_frame.f_code is inner.__code__, first.tb_next.tb_lineno, first.tb_next.tb_lasti") ==
        "(True, 17, 4)");
  CHECK(program.text("first.tb_next.tb_next, first.tb_frame.f_globals['kept'], first.tb_frame.f_locals") ==
        "(None, 'global', {})");
}

TEST_CASE("entries come before those of an error that has travelled", "[traceback]") {
  Program program("def f(): raise ValueError('from f')\ndef caller(): pass\n");
  REQUIRE_FALSE(Ref::steal(PyObject_CallNoArgs(program["f"])));
  add_traceback(make_traceback_frame(program.code("caller"), program.names()).get(), 0, 5);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref owned[] = {Ref::steal(type), Ref::steal(value), Ref::steal(traceback)};
  program.set("first", traceback);
  program.set("error", value);
  CHECK(program.text("first.tb_frame.f_code.co_name, first.tb_next.tb_frame.f_code.co_name, first.tb_next.tb_next") ==
        "('caller', 'f', None)");
  CHECK(program.text("str(error)") == "'from f'");
}
