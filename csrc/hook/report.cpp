#include "hook/report.h"

#include "codegen/resume.h"
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

void record(PyCodeObject* code, const Break& why, Uncaptured::Kind kind) {
  Ref frame_code = Ref::borrow(reinterpret_cast<PyObject*>(code));
  Ref place = why.code_object ? why.code_object : frame_code;
  runtime().uncaptured.push_back({kind, std::move(frame_code), std::move(place), row_of(why.reason).code, why.detail,
                                  why.user_stack, why.line ? why.line : code->co_firstlineno, why.column,
                                  why.end_column});
}

// What minidynamo._breaks.<function> makes of a record.
Ref in_words(const char* function, const Uncaptured& record) {
  Ref make = import_object((std::string("minidynamo._breaks.") + function).c_str());
  Ref facts = make ? to_dict(record) : Ref();
  return facts ? Ref::steal(PyObject_CallOneArg(make.get(), facts.get())) : Ref();
}

void raise_unsupported(const Uncaptured& why) {
  if (Ref error = in_words("unsupported", why)) PyErr_SetObject(reinterpret_cast<PyObject*>(error.type()), error.get());
}

void log_last_record(PyObject* config) {
  if (!is_logged(config, "breaks")) return;
  Ref text = in_words("log_text", runtime().uncaptured.back());
  if (text && PyUnicode_Check(text.get())) log(config, "breaks", PyUnicode_AsUTF8(text.get()));
  PyErr_Clear();
}

}  // namespace

bool asks_for_fullgraph(PyObject* config) { return flag(config, "fullgraph"); }

void raise_unsupported() { raise_unsupported(runtime().uncaptured.back()); }

Ref to_dict(const Uncaptured& record) {
  auto* place = reinterpret_cast<PyCodeObject*>(record.code.get());
  auto* frame = reinterpret_cast<PyCodeObject*>(record.frame_code.get());
  const char* kind = record.kind == Uncaptured::Kind::GraphBreak ? "graph-break" : "uncaptured";
  return Ref::steal(
      Py_BuildValue("{ss ss sO ss ss sO si si si ss ss}", "kind", kind, "frame", display_name(frame).c_str(), "code",
                    record.code.get(), "reason", record.reason.c_str(), "detail", record.detail.c_str(), "filename",
                    place->co_filename, "line", record.line, "column", record.column, "end_column", record.end_column,
                    "function", display_name(place).c_str(), "user_stack", record.user_stack.c_str()));
}

void report_graph_break(PyCodeObject* code, PyObject* config, const Break& why) {
  record(code, why, Uncaptured::Kind::GraphBreak);
  log_last_record(config);
}

void report_skipped(PyCodeObject* code, PyObject* config, const SkipMark& mark) {
  if (mark.reason == "recompile-limit" && runtime().limited.insert(code).second) {
    record(code, Break{BreakReason::RecompileLimit, mark.detail}, Uncaptured::Kind::Frame);
    log_last_record(config);
  }
  if (!asks_for_fullgraph(config)) return;
  // The first report knows more than the mark.
  const std::vector<Uncaptured>& records = runtime().uncaptured;
  for (auto known = records.rbegin(); known != records.rend(); ++known)
    if (known->frame_code.get() == reinterpret_cast<PyObject*>(code) && known->reason == mark.reason &&
        known->detail == mark.detail)
      return raise_unsupported(*known);
  Ref code_object = Ref::borrow(reinterpret_cast<PyObject*>(code));
  raise_unsupported({Uncaptured::Kind::Frame, code_object, code_object, mark.reason, mark.detail, "",
                     mark.line ? mark.line : code->co_firstlineno});
}

void report_passing(PyCodeObject* code, PyObject* config, const Break& why) {
  record(code, why, Uncaptured::Kind::Frame);
  log_last_record(config);
}

void report_uncaptured(PyCodeObject* code, PyObject* config, const Break& why) {
  record(code, why, Uncaptured::Kind::Frame);
  log_last_record(config);
  if (CodeCache* cache = CodeCache::get(code))
    cache->skip({reinterpret_cast<ConfigId>(config), row_of(why.reason).code, why.detail, why.line});
}

void report_entry(PyCodeObject* code, PyObject* config, const CacheEntry& entry) {
  if (is_logged(config, "code")) log(config, "code", entry.source);
  if (!is_logged(config, "guards")) return;
  std::string text = "guards of " + display_name(code);
  for (const std::string& guard : entry.guards.to_text()) text += "\n  " + guard;
  log(config, "guards", text);
}

void report_recompile(PyCodeObject* code, PyObject* config, CodeCache& cache, const FrameView& view) {
  if (!is_logged(config, "recompiles")) return;
  std::string text = "recompiling " + display_name(code);
  for (const std::string& failure : cache.explain_miss(reinterpret_cast<ConfigId>(config), view))
    text += "\n  " + failure;
  log(config, "recompiles", text);
}

}  // namespace minidynamo
