// Which locals may still be read: against marks in the programs, and against a plain search along the paths.
#include <set>
#include <sstream>

#include "bytecode/liveness.h"
#include "bytecode/op_facts.h"
#include "bytecode/stack_depth.h"
#include "python/code/code_object.h"
#include "test_code_support.h"
#include "world/external/scope.h"

namespace {

using namespace minidynamo;
using namespace minidynamo::code_test;

// `# live:` names what must be live before the first instruction of the line. A context manager may swallow what its
// body raises, so a variable that the body sets is live where the body begins: that it has no value matters behind it.
constexpr const char* kMarked = R"(
def straight(a, b, unused):
    c = a + 1  # live: a b
    a = 5  # live: b c
    d = c * b  # live: a b c
    return a + d  # live: a d

def loop(n, items):
    total = 0  # live: items
    for item in items:  # live: items total
        total = total + item  # live: item total
    return total  # live: total

def variable_of_loop(items, default):
    found = default  # live: items default
    for item in items:  # live: items found
        if item > found:  # live: item found
            found = item  # live: item
    else:
        item = 0
    return found, item  # live: found item

def while_loop(n, step):
    k = 0  # live: n step
    while k < n:  # live: k n step
        k = k + step  # live: k n step
    return step  # live: step

def branches(flag, x, y):
    if flag:  # live: flag x y
        y = x  # live: x
    return y  # live: y

def handler(x, y):
    done = False  # live: x y
    try:
        z = x.first(y)  # live: done x y
        done = True  # live: done x y z
        x.second()  # live: done x y z
    except ValueError as error:
        return done, error.args, y
    return z  # live: z

def finalizer(x, note):
    try:
        y = x()  # live: note x
        note.append(y)  # live: note y
    finally:
        note.append(0)  # live: note
    return 1  # live:

def managed(manager, x):
    with manager as entered:  # live: manager x y
        y = entered(x)  # live: entered x y
    return y  # live: y

def deleted(x, y):
    del x  # live: x y
    return y  # live: y

def deleted_again(x, flag):
    if flag:  # live: x flag
        del x  # live: x
    return x  # live: x

def captured(x, y):
    def inner():  # live: x y
        return x
    y = y + 1  # live: x y inner
    x = y  # live: x y inner
    return inner  # live: inner

def counts(start):
    count = start  # live: count start
    def next_number():  # live: count
        nonlocal count
        count += 1  # live: count
        return count  # live: count
    return next_number

def generates(n, factor):
    k = 0  # live: n factor
    while k < n:  # live: k n factor
        got = yield k * factor  # live: k n factor
        k = k + (got or 1)  # live: got k n factor
    return factor  # live: factor

def comprehends(items, factor):
    squares = [item * factor for item in items]  # live: items factor
    items = None  # live: squares
    return squares, items  # live: squares items

class Derived(dict):
    def method(self, key):
        key = 1  # live: self __class__
        value = super().get(key)  # live: self __class__ key
        return value  # live: self __class__ value
)";

std::string names_of(const Bytecode& bytecode, const std::vector<int32_t>& locals) {
  std::set<std::string> names;
  for (const int32_t local : locals) names.insert(local_name(bytecode, local));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

int32_t first_of_line(const Bytecode& bytecode, int32_t line) {
  // The instructions that CPython puts before RESUME carry the line of `def`.
  for (size_t i = 0; i < bytecode.instructions.size(); ++i)
    if (bytecode.instructions[i].position.line == line && bytecode.instructions[i].op != Op::RESUME)
      return static_cast<int32_t>(i);
  return -1;
}

// True if the instruction looks at the local's slot or cell.
bool reads(const Instruction& instruction, int32_t local) {
  switch (instruction.op) {
    case Op::LOAD_FAST:
    case Op::DELETE_FAST:
    case Op::MAKE_CELL:
    case Op::LOAD_CLOSURE:
    case Op::LOAD_DEREF:
    case Op::STORE_DEREF:
    case Op::DELETE_DEREF:
    case Op::LOAD_CLASSDEREF:
    case Op::LOAD_FROM_DICT_OR_DEREF:
    case Op::LOAD_FAST_AND_CLEAR:
      return instruction.arg == local;
    default:
      return false;
  }
}

// From each instruction along every path until the local is read or written.
class PathSearch {
 public:
  PathSearch(const Bytecode& bytecode, int32_t local) : bytecode_(bytecode), local_(local) {}

  bool is_read_from(int32_t start) {
    std::vector<int32_t> pending{start};
    std::set<int32_t> seen;
    const auto go = [&](int32_t to) {
      if (seen.insert(to).second) pending.push_back(to);
    };
    while (!pending.empty()) {
      const int32_t at = pending.back();
      pending.pop_back();
      const Instruction& now = bytecode_.instructions[at];
      if (reads(now, local_)) return true;
      if (const ExceptionRegion* region = bytecode_.region_at(at)) go(region->target);
      if ((now.op == Op::STORE_FAST || now.op == Op::LOAD_FAST_AND_CLEAR) && now.arg == local_) continue;
      if (is_jump(now.op)) go(now.target);
      if (!ends_flow(now.op)) go(at + 1);
    }
    return false;
  }

 private:
  const Bytecode& bytecode_;
  const int32_t local_;
};

bool calls_super_without_arguments(const Bytecode& bytecode) { return find_local(bytecode, "__class__") >= 0; }

}  // namespace

TEST_CASE("what the marked lines say is live", "[liveness]") {
  const Ref compiled = compile_program(kMarked);
  std::istringstream lines(kMarked);
  std::vector<std::string> marks(1);
  const std::string mark = "# live:";
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(mark);
    marks.push_back(at == std::string::npos ? "-" : line.substr(at + mark.size()));
  }
  int checked_lines = 0;
  each_code(compiled.get(), [&](PyCodeObject* code) {
    if (!(code->co_flags & CO_NEWLOCALS)) return;
    const Bytecode bytecode = decode(code);
    const Liveness liveness(bytecode);
    for (int32_t line = code->co_firstlineno + 1; line < static_cast<int32_t>(marks.size()); ++line) {
      const int32_t first = first_of_line(bytecode, line);
      if (first < 0 || marks[line] == "-") continue;
      if (text_of(code->co_name)[0] == '<') continue;  // the body of a comprehension shares its line
      std::istringstream words(marks[line]);
      std::vector<int32_t> expected, live;
      // From CPython 3.12 on a comprehension saves the variable that it uses, whether it has a value or not.
      if (text_of(code->co_name) == "comprehends" && bytecode.instructions[first].position.line == line)
        for (const Instruction& instruction : bytecode.instructions)
          if (instruction.op == Op::LOAD_FAST_AND_CLEAR && instruction.position.line == line)
            expected.push_back(instruction.arg);
      for (std::string word; words >> word;) {
        expected.push_back(find_local(bytecode, word));
        REQUIRE(expected.back() >= 0);
      }
      for (int32_t local = 0; local < PyTuple_GET_SIZE(bytecode.localsplus_names.get()); ++local)
        if (liveness.before(first, local)) live.push_back(local);
      INFO(text_of(code->co_name) << ", line " << line << "\n" << to_text(bytecode));
      CHECK(names_of(bytecode, live) == names_of(bytecode, expected));
      ++checked_lines;
    }
  });
  CHECK(checked_lines > 40);
}

TEST_CASE("liveness agrees with a search along all paths", "[liveness]") {
  long compared = 0, live = 0;
  const auto compare = [&](PyCodeObject* code) {
    const Bytecode bytecode = decode(code);
    const auto count = static_cast<int32_t>(bytecode.instructions.size());
    if (count > 400 || calls_super_without_arguments(bytecode)) return;
    StackDepths depths;
    REQUIRE(compute_stack_depths(bytecode, depths));
    const Liveness liveness(bytecode);
    INFO(text_of(code->co_qualname) << "\n" << to_text(bytecode));
    for (int32_t local = 0; local < PyTuple_GET_SIZE(bytecode.localsplus_names.get()); ++local) {
      PathSearch paths(bytecode, local);
      for (int32_t i = 0; i < count; ++i) {
        if (depths.before[i] < 0) continue;
        const bool expected = paths.is_read_from(i);
        if (liveness.before(i, local) != expected) {
          INFO("instruction " << i << ", local " << local_name(bytecode, local));
          FAIL_CHECK("liveness differs");
        }
        // After it: next, or at its target, or in its handler.
        const Instruction& now = bytecode.instructions[i];
        const ExceptionRegion* region = bytecode.region_at(i);
        const bool after = (region && paths.is_read_from(region->target)) ||
                           (is_jump(now.op) && paths.is_read_from(now.target)) ||
                           (!ends_flow(now.op) && paths.is_read_from(i + 1));
        if (liveness.after(i, local) != after) {
          INFO("after instruction " << i << ", local " << local_name(bytecode, local));
          FAIL_CHECK("liveness differs");
        }
        ++compared;
        live += expected;
      }
    }
  };
  each_code(compile_program(kMarked).get(), compare);
  each_library_code({"bisect", "contextlib", "heapq", "textwrap"}, compare);
  CHECK(compared > 20'000);
  CHECK(live > 1'000);
  CHECK(live < compared);
}

TEST_CASE("liveness of more locals than a word has bits", "[liveness]") {
  std::string source = "def many(x):\n";
  for (int i = 0; i < 150; ++i) source += "    v" + std::to_string(i) + " = x + " + std::to_string(i) + "\n";
  source += "    x = 0\n    return v0 + v63 + v64 + v149\n";
  Program program(source);
  const Bytecode bytecode = decode(program.code("many"));
  const Liveness liveness(bytecode);
  const int32_t at = first_of_line(bytecode, 152);  // x = 0
  std::vector<int32_t> live;
  for (int32_t local = 0; local < 151; ++local)
    if (liveness.before(at, local)) live.push_back(local);
  CHECK(names_of(bytecode, live) == "v0 v149 v63 v64");
  CHECK(liveness.before(0, find_local(bytecode, "x")));
  CHECK_FALSE(liveness.before(0, find_local(bytecode, "v64")));
}
