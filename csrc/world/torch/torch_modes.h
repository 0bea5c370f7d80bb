// The torch modes that a trace has changed and not yet put back: thread-local ones (grad mode, autocast, inference
// mode), and which attention kernels may be used, which is a setting of the process. The program itself sets it for
// that long whenever it runs; a trace puts it back when it ends.
//
// Where a trace ends inside such a context, the graph leaves the modes as it found them, and the residual code sets
// them again: no backend has to know of them.
#pragma once
#include <vector>

#include "python/ref.h"

namespace minidynamo {

class TorchModes {
 public:
  struct Change {
    PyObject* setter;  // borrowed for good
    Ref prefix;        // tuple: arguments before the value
    Ref before, now;
  };
  // An object that holds a mode while it is entered. Residual code enters another: `enter(argument)`.
  struct OpenContext {
    Ref context;
    PyObject* enter;  // borrowed for good
    Ref argument;
    bool is_in_graph;  // inference mode; the others only keep away what is not there where an entry fits
  };

  // `setter(*arguments)` is about to be recorded.
  void note(PyObject* setter, PyObject* arguments);
  void note_entered(OpenContext context) { contexts_.push_back(std::move(context)); }
  // False: the context was entered before the trace.
  bool leave(PyObject* context);

  // At the end of the trace, before the thread's state is restored: an open context would restore it whenever it dies.
  void close();

  // True if the trace itself has set what `getter(*arguments)` returns.
  bool has_set(PyObject* getter, PyObject* arguments) const;
  // The differences from the start of the trace.
  std::vector<Change> changes() const;
  int autocast_nesting() const noexcept { return nesting_; }  // entered and not left; negative: the other way
  const std::vector<OpenContext>& contexts() const noexcept { return contexts_; }

 private:
  struct Setting {
    PyObject *setter, *getter;
    Ref prefix, before;
    bool is_of_process;
  };
  std::vector<Setting> settings_;
  std::vector<OpenContext> contexts_;
  int nesting_ = 0;
};

}  // namespace minidynamo
