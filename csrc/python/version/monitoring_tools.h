// Tools of sys.monitoring, which CPython 3.12 brings: debuggers, coverage tools and profilers that set no trace
// function. For files that define Py_BUILD_CORE before their first include.
#pragma once
#include <Python.h>
#include <internal/pycore_interp.h>

#include <algorithm>

namespace minidynamo {

// True if a tool is registered (it may want events of single code objects) or events of all code are on. These are read
// again when the interpreter's version of them moves; registering a tool or taking it away does not move it.
inline bool is_monitored(const PyInterpreterState* interpreter, uint64_t version_of_events) noexcept {
  static constinit uint64_t known_version = ~uint64_t{0};
  static constinit bool has_events = false;
  const auto is_set = [](const auto& value) { return value != 0; };
  if (known_version != version_of_events) {
    has_events = std::ranges::any_of(interpreter->monitors.tools, is_set);
    known_version = version_of_events;
  }
  return has_events || std::ranges::any_of(interpreter->monitoring_tool_names, is_set);
}

}  // namespace minidynamo
