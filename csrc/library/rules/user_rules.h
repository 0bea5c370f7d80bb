// The user's rules for functions and files: allow_in_graph, assume_constant_result, disallow_in_graph,
// substitute_in_graph, disable, skip; and the marks that torch.compiler's functions of the same names leave, read
// without importing torch._dynamo.
//
// Rules decide when a frame is captured; entries that exist stay. They survive reset_runtime().
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/protocols/rule.h"

namespace minidynamo {

enum class UserRule : uint8_t {
  AllowInGraph,    // a call is one node of the graph, whatever the function is
  AssumeConstant,  // called for real at each trace; the result is a constant of the graph
  Disallow,        // a call ends the graph
  Substitute,      // another function is traced in its place
};

// Functions are distinguished by identity. A rule goes with its function, where that can be weakly referenced;
// otherwise it keeps it alive.
void add_user_rule(PyObject* callable, UserRule rule, Ref substitute = nullptr);
// False if there was none.
bool remove_user_rule(PyObject* callable) noexcept;

// The rule that the user or a mark of torch.compiler sets for a callable; null if there is none.
const Rule* find_user_rule(PyObject* callable);
// To be called when modules may have been imported.
void look_for_torch_marks();
// The function of torch's that torch itself keeps out of its captures by a wrapper (torch.manual_seed is one once
// torch._dynamo is imported); null if it is none.
PyObject* behind_torch_wrapper(PyObject* callable) noexcept;

// Functions with this code are neither captured nor traced into; what they call may be.
void keep_code_out(PyCodeObject* code);
bool unskip(PyCodeObject* code) noexcept;

// A module's name (which covers what lies below it), an absolute path of a file or a directory, or a glob pattern for
// such paths, of which '*' also matches slashes.
struct SkipRule {
  enum class Kind : uint8_t { Module, Path, Pattern };
  Kind kind;
  std::string text;
};
void set_skip_rules(std::vector<SkipRule> rules);
bool is_skipped_code(PyCodeObject* code);

// True if everything that a call of the function does is to run uncaptured (torch.compiler.disable; minidynamo.disable
// sees to that itself).
bool runs_disabled(PyObject* function);

}  // namespace minidynamo
