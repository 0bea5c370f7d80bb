// The thread-local torch modes (grad mode, autocast, inference mode) that a trace has changed and not yet put back.
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
  struct InferenceContext {
    Ref context, mode;
  };

  // `setter(*arguments)` is about to be recorded.
  void note(PyObject* setter, PyObject* arguments);
  void note_inference(Ref context, Ref mode) { inference_.push_back({std::move(context), std::move(mode)}); }
  // False: the context was entered before the trace.
  bool leave_inference(PyObject* context);

  // At the end of the trace, before the thread's state is restored: an open context would restore it whenever it dies.
  void close_inference();

  // Whether the trace itself has set what `getter(*arguments)` gives.
  bool has_set(PyObject* getter, PyObject* arguments) const;
  // What differs now from the start of the trace.
  std::vector<Change> changes() const;
  int autocast_nesting() const noexcept { return nesting_; }  // entered and not left; negative: the other way
  const std::vector<InferenceContext>& inference() const noexcept { return inference_; }

 private:
  struct Setting {
    PyObject *setter, *getter;
    Ref prefix, before;
  };
  std::vector<Setting> settings_;
  std::vector<InferenceContext> inference_;
  int nesting_ = 0;
};

}  // namespace minidynamo
