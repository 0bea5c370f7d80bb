#include "hook/report.h"

#include "trace/known_types.h"

namespace minidynamo {
namespace {

bool flag(PyObject* config, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(config, name));
  const bool is_set = value && PyObject_IsTrue(value.get()) == 1;
  PyErr_Clear();
  return is_set;
}

bool is_logged(PyObject* config, const char* topic) {
  Ref topics = Ref::steal(PyObject_GetAttrString(config, "logs"));
  Ref name = Ref::steal(PyUnicode_FromString(topic));
  const bool logged = topics && PySet_Contains(topics.get(), name.get()) == 1;
  PyErr_Clear();
  return logged;
}

void log(PyObject* config, const char* topic, const std::string& text) {
  Ref done = Ref::steal(PyObject_CallMethod(config, "log", "ss", topic, text.c_str()));
  PyErr_Clear();
}

void record(PyCodeObject* code, const Break& why) {
  Uncaptured frame{why.code_object ? why.code_object : Ref::borrow(reinterpret_cast<PyObject*>(code)),
                   row_of(why.reason).code,
                   why.detail,
                   why.user_stack,
                   why.line ? why.line : code->co_firstlineno,
                   why.column,
                   why.end_column};
  runtime().uncaptured.push_back(std::move(frame));
}

// Raises minidynamo.exceptions.Unsupported for fullgraph=True.
void raise_unsupported(const Uncaptured& why) {
  Ref raise = import_object("minidynamo.exceptions.Unsupported");
  if (!raise) return;
  const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(why.code.get())->co_filename);
  std::string message =
      why.detail + " [" + why.reason + "]\n  at " + (file ? file : "?") + ":" + std::to_string(why.line);
  if (!why.user_stack.empty()) message += "\nUser stack (innermost last):\n" + why.user_stack;
  PyErr_SetString(raise.get(), message.c_str());
}

void raise_unsupported(const SkipMark& mark, PyCodeObject* code) {
  raise_unsupported(Uncaptured{Ref::borrow(reinterpret_cast<PyObject*>(code)), mark.reason, mark.detail, "",
                               mark.line ? mark.line : code->co_firstlineno});
}

void log_break(PyObject* config, PyCodeObject* code) {
  if (!is_logged(config, "breaks")) return;
  const Uncaptured& why = runtime().uncaptured.back();
  const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(why.code.get())->co_filename);
  log(config, "breaks",
      std::string(PyUnicode_AsUTF8(code->co_qualname)) + " runs uncaptured: " + why.detail + " [" + why.reason +
          "] at " + (file ? file : "?") + ":" + std::to_string(why.line) + "\n" + why.user_stack);
}

}  // namespace

bool asks_for_fullgraph(PyObject* config) { return flag(config, "fullgraph"); }

void raise_unsupported() { raise_unsupported(runtime().uncaptured.back()); }

void report_skipped(PyCodeObject* code, PyObject* config, const SkipMark& mark) {
  if (mark.reason == "recompile-limit" && runtime().limited.insert(code).second)
    record(code, Break{BreakReason::RecompileLimit, mark.detail});
  if (asks_for_fullgraph(config)) raise_unsupported(mark, code);
}

void report_uncaptured(PyCodeObject* code, PyObject* config, const Break& why) {
  record(code, why);
  log_break(config, code);
  if (CodeCache* cache = CodeCache::get(code))
    cache->skip({reinterpret_cast<ConfigId>(config), row_of(why.reason).code, why.detail, why.line});
}

void report_entry(PyCodeObject* code, PyObject* config, const CacheEntry& entry) {
  if (is_logged(config, "code")) log(config, "code", entry.source);
  if (!is_logged(config, "guards")) return;
  std::string text = std::string("guards of ") + PyUnicode_AsUTF8(code->co_qualname);
  for (const std::string& guard : entry.guards.to_text()) text += "\n  " + guard;
  log(config, "guards", text);
}

void report_recompile(PyCodeObject* code, PyObject* config, CodeCache& cache, const FrameView& view) {
  if (!is_logged(config, "recompiles")) return;
  std::string text = std::string("recompiling ") + PyUnicode_AsUTF8(code->co_qualname);
  for (const std::string& failure : cache.explain_miss(reinterpret_cast<ConfigId>(config), view))
    text += "\n  " + failure;
  log(config, "recompiles", text);
}

}  // namespace minidynamo
