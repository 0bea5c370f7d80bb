#include "hook/capture/report.h"

#include "emit/resume.h"
#include "guard/constants.h"
#include "hook/capture/capture_history.h"
#include "hook/settings.h"
#include "python/process/interruptions.h"
#include "python/process/out_of_memory.h"
#include "world/external/known_types.h"

namespace minidynamo {
namespace {

// Messages are formatted in Python: a signal that arrives meanwhile is not for the formatting code, and would be
// cleared with its errors.

bool is_logged(PyObject* config, const char* topic) {
  const InterruptionsHeld meanwhile;
  const Ref topics = setting(config, "logs");
  Ref name = Ref::made(PyUnicode_FromString(topic));
  const bool logged = topics && PySet_Contains(topics.get(), name.get()) == 1;
  clear_error();
  return logged;
}

void log(PyObject* config, const char* topic, const std::string& text) {
  const InterruptionsHeld meanwhile;
  Ref done = Ref::steal(PyObject_CallMethod(config, "log", "ss", topic, text.c_str()));
  clear_error();
}

Ref weak_reference(PyCodeObject* code) {
  Ref reference = Ref::steal(PyWeakref_NewRef(as_object(code), nullptr));
  clear_error();
  return reference;
}

// Records keep no code alive.
Uncaptured make_record(Uncaptured::Kind kind, PyCodeObject* frame, PyCodeObject* place) {
  Uncaptured made;
  made.kind = kind;
  made.frame_code = weak_reference(frame);
  made.code = weak_reference(place);
  made.filename = Ref::borrow(place->co_filename);
  made.frame = display_name(frame);
  made.function = qualified_name(place);
  made.capture = OpenCapture::innermost() ? open_capture_id() : function_id(frame);
  return made;
}

Ref code_of(const Ref& reference) {
  return reference ? Ref::borrow(PyWeakref_GET_OBJECT(reference.get())) : Ref::none();
}

// A copy is given back: other threads add records of theirs.
Uncaptured record(PyCodeObject* code, const Break& why, Uncaptured::Kind kind) {
  auto* place = why.code_object ? as_code(why.code_object.get()) : code;
  Uncaptured made = make_record(kind, code, place);
  made.reason = row_of(why.reason).code;
  made.detail = why.detail;
  made.user_stack = why.user_stack;
  made.line = why.line ? why.line : code->co_firstlineno;
  made.column = why.column;
  made.end_column = why.end_column;
  ++runtime().break_counts[made.reason];
  auto& records = runtime().uncaptured;
  for (Uncaptured& earlier : records)
    for (Ref* reference : {&earlier.frame_code, &earlier.code})
      if (code_of(*reference).is(Py_None)) reference->reset();
  records.push_back(made);
  if (records.size() > kMostRecords) records.pop_front();
  return made;
}

// The text that minidynamo._records.breaks.<function> makes of a record.
Ref in_words(const char* function, const Uncaptured& record) {
  Ref make = import_object((std::string("minidynamo._records.breaks.") + function).c_str());
  Ref facts = make ? to_dict(record) : Ref();
  return facts ? Ref::steal(PyObject_CallOneArg(make.get(), facts.get())) : Ref();
}

void log_record(PyObject* config, const Uncaptured& record) {
  const InterruptionsHeld meanwhile;
  if (!is_logged(config, "breaks")) return;
  Ref text = in_words("log_text", record);
  if (text && PyUnicode_Check(text.get())) log(config, "breaks", PyUnicode_AsUTF8(text.get()));
  clear_error();
}

// True if the program asked for the break itself, or has been told already.
bool is_no_news(BreakReason reason) noexcept {
  switch (reason) {
    case BreakReason::DisabledFunction:
    case BreakReason::SkippedFile:
    case BreakReason::ExplicitBreak:
    case BreakReason::Forced:
    case BreakReason::BackendFailed:
      return true;
    default:
      return false;
  }
}

// True if a warning is of use: fullgraph raises, the log has the break already, and stress tests know of it.
bool may_warn(PyObject* config) {
  return !asks_for_fullgraph(config) && !is_logged(config, "breaks") && !runtime().stress.on;
}

// minidynamo._records.breaks.<function>(record, argument) writes to the log, whatever topics are on.
void say(const char* function, const Uncaptured& record, Ref argument) {
  ModeScope nothing_else(kCaptureNothing);
  const InterruptionsHeld meanwhile;
  Ref say = import_object((std::string("minidynamo._records.breaks.") + function).c_str());
  Ref facts = say && argument ? to_dict(record) : Ref();
  if (facts) Ref::drop(PyObject_CallFunctionObjArgs(say.get(), facts.get(), argument.get(), nullptr));
  clear_error();
}

// A list of (kind of guard, message), one for each entry, the latest first.
Ref refusals(CodeCache& cache, ConfigId config, const FrameView& view) {
  Ref list = Ref::made(PyList_New(0));
  for (const std::shared_ptr<CacheEntry>& entry : cache.entries()) {
    if (entry->config != config) continue;
    const GuardTree::Refusal why = entry->guards.refusal(view);
    Ref pair = Ref::steal(Py_BuildValue("(ss)", why.kind.c_str(), why.message.c_str()));
    if (!pair || PyList_Append(list.get(), pair.get()) < 0) return nullptr;
  }
  return list;
}

}  // namespace

bool asks_for_fullgraph(PyObject* config) { return is_set(config, "fullgraph"); }
bool stops_where_slower(PyObject* config) { return is_set(config, "stop_where_slower"); }
bool forbids_recompiles(PyObject* config) { return is_set(config, "error_on_recompile"); }

bool must_tell_of_limit(PyObject* config, const SkipMark& mark) {
  return mark.reason == row_of(BreakReason::RecompileLimit).code && is_set(config, "fail_on_recompile_limit");
}

void raise_recompile(CodeCache& cache, PyObject* config, const FrameView& view, const char* cause) {
  const Ref its_owner = Ref::borrow(as_object(cache.code()));
  ModeScope nothing_else(kCaptureNothing);
  Uncaptured place = make_record(Uncaptured::Kind::Frame, cache.code(), cache.code());
  place.line = cache.code()->co_firstlineno;
  Ref failed = refusals(cache, reinterpret_cast<ConfigId>(config), view);
  Ref make = import_object("minidynamo._records.breaks.recompile_error");
  Ref facts = make && failed ? to_dict(place) : Ref();
  Ref error = facts ? Ref::steal(PyObject_CallFunction(make.get(), "OOs", facts.get(), failed.get(), cause)) : Ref();
  if (error) PyErr_SetObject(as_object(error.type()), error.get());
}

void raise_unsupported(const Uncaptured& why) {
  if (Ref error = in_words("unsupported", why)) PyErr_SetObject(as_object(error.type()), error.get());
}

Ref to_dict(const Uncaptured& record) {
  const char* kind = record.kind == Uncaptured::Kind::GraphBreak ? "graph-break" : "uncaptured";
  const Ref code = code_of(record.code);
  return Ref::steal(Py_BuildValue("{ss ss sO ss ss sO si si si ss ss ss}", "kind", kind, "frame", record.frame.c_str(),
                                  "code", code.get(), "reason", record.reason.c_str(), "detail", record.detail.c_str(),
                                  "filename", record.filename.get(), "line", record.line, "column", record.column,
                                  "end_column", record.end_column, "function", record.function.c_str(), "user_stack",
                                  record.user_stack.c_str(), "capture", record.capture.c_str()));
}

void report_graph_break(PyCodeObject* code, PyObject* config, const Break& why) {
  log_record(config, record(code, why, Uncaptured::Kind::GraphBreak));
}

void report_loop(PyCodeObject* code, PyObject* config, const Break& why) {
  CodeCache* cache = CodeCache::get(code);
  const auto& records = runtime().uncaptured;
  if (!cache || records.empty() || !may_warn(config) || std::exchange(cache->told.loop, true)) return clear_error();
  const Uncaptured made = records.back();
  if (made.reason == row_of(why.reason).code) say("say_loop", made, Ref::none());
}

void report_skipped(PyCodeObject* code, PyObject* config, SkipMark mark, const FrameView& view) {
  CodeCache* cache = CodeCache::find(code);
  if (cache && mark.reason == row_of(BreakReason::RecompileLimit).code && !std::exchange(cache->told.limit, true)) {
    const Uncaptured limited = record(code, Break{BreakReason::RecompileLimit, mark.detail}, Uncaptured::Kind::Frame);
    log_record(config, limited);
    if (may_warn(config)) say("say_limit", limited, refusals(*cache, reinterpret_cast<ConfigId>(config), view));
  }
  if (cache && must_tell_of_limit(config, mark)) return raise_recompile(*cache, config, view, "limit");
  if (!asks_for_fullgraph(config)) return;
  // The first report knows more than the mark.
  const std::deque<Uncaptured>& records = runtime().uncaptured;
  for (auto known = records.rbegin(); known != records.rend(); ++known)
    if (code_of(known->frame_code).is(as_object(code)) && known->reason == mark.reason && known->detail == mark.detail)
      return raise_unsupported(Uncaptured(*known));
  Uncaptured made = make_record(Uncaptured::Kind::Frame, code, code);
  made.reason = mark.reason;
  made.detail = mark.detail;
  made.line = mark.line ? mark.line : code->co_firstlineno;
  raise_unsupported(made);
}

void report_stopped(PyCodeObject* code, PyObject* config, const Break& why) {
  const Uncaptured made = record(code, why, Uncaptured::Kind::Frame);
  log_record(config, made);
  CodeCache* cache = CodeCache::find(code);
  if (may_warn(config) && cache && !std::exchange(cache->told.stopped, true))
    say("say_uncaptured", made, Ref::made(PyLong_FromLong(0)));
}

void report_passing(PyCodeObject* code, PyObject* config, const Break& why) {
  log_record(config, record(code, why, Uncaptured::Kind::Frame));
}

Uncaptured report_forbidden(PyCodeObject* code, PyObject* config, const Break& why) {
  Uncaptured made = record(code, why, Uncaptured::Kind::Frame);
  log_record(config, made);
  return made;
}

Uncaptured report_uncaptured(PyCodeObject* code, PyObject* config, const Break& why) {
  Uncaptured made = record(code, why, Uncaptured::Kind::Frame);
  log_record(config, made);
  CodeCache* cache = CodeCache::get(code);
  if (!cache) return made;
  const auto id = reinterpret_cast<ConfigId>(config);
  const size_t entries = cache->entry_count(id);
  cache->skip({id, row_of(why.reason).code, why.detail, why.line});
  // Frames that were not requested and never captured appear in the log only (`breaks`): under global capture there are
  // many.
  if (!entries && thread_mode().target != code) return made;
  if (is_no_news(why.reason) || !may_warn(config) || std::exchange(cache->told.uncaptured, true)) return made;
  say("say_uncaptured", made, Ref::made(PyLong_FromSize_t(entries)));
  return made;
}

void report_entry(PyCodeObject* code, PyObject* config, const CacheEntry& entry) {
  if (is_logged(config, "code")) log(config, "code", entry.source);
  if (!is_logged(config, "guards")) return;
  std::string text = "guards of " + display_name(code);
  for (const std::string& guard : entry.guards.to_text()) text += "\n  " + guard;
  log(config, "guards", text);
}

void raise_dynamic_size(const std::string& mark) {
  static constinit Imported error{"minidynamo.exceptions.DynamicSizeError"};
  const std::string text =
      mark + "\n  Mark it with torch._dynamo.maybe_mark_dynamic, or leave it unmarked, if it may be fixed.";
  if (error.get()) PyErr_SetString(error, text.c_str());
}

void report_open(PyCodeObject* code, PyObject* config, const Symbols& symbols) {
  if (!symbols.active() || symbols.numbers().empty() || !is_logged(config, "dynamic")) return;
  std::string text = display_name(code) + " is captured for all";
  for (const OpenNumber& number : symbols.numbers())
    text += (&number == &symbols.numbers().front() ? " " : ", ") + number.to_text();
  for (const SizeGuard& guard : symbols.guards()) {
    text += "\n  where " + symbols.trace().text(guard.condition);
    if (guard.origin.code)
      text += "  [" + string_text(guard.origin.code->co_filename) + ":" + std::to_string(guard.origin.line) + "]";
  }
  log(config, "dynamic", text);
}

void report_specialized(PyCodeObject* code, PyObject* config, const DynamicSizes& open, const std::string& why) {
  if (!is_logged(config, "dynamic")) return;
  std::string text = display_name(code) + " is captured with its sizes as they are: " + why;
  for (const auto& [source, dimensions] : open.sources) text += "\n  " + source + " had changed";
  log(config, "dynamic", text);
}

void report_other_form(PyCodeObject* code, PyObject* config, const std::string& error) {
  if (!is_logged(config, "breaks")) return;
  log(config, "breaks",
      display_name(code) +
          " is captured again without backward passes and fused optimizers, which the backend refuses: " + error);
}

void report_recompile(PyCodeObject* code, PyObject* config, CodeCache& cache, const FrameView& view) {
  if (!is_logged(config, "recompiles")) return;
  std::string text = "recompiling " + display_name(code);
  for (const std::string& failure : cache.explain_miss(reinterpret_cast<ConfigId>(config), view))
    text += "\n  " + failure;
  log(config, "recompiles", text);
}

}  // namespace minidynamo
