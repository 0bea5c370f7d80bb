// The region of a trace in which transforms are active: torch.func's levels, forward-mode AD, a call of autograd's
// engine.
//
// In it, calls are executed on fakes (and on functorch's wrappers of them) as everywhere, but no Python call becomes a
// node: it means something else there than where the graph runs. What arrives below all transforms are plain
// operators, which the dispatcher records one by one, each in the grad mode that it ran in (a transform may have set
// another than the program's). Autocast has had its say by then, so for the region's nodes it is off.
//
// A trace cannot end inside: it ends before the call that led in.
//
// Below autograd the whole of a trace is recorded so, but its nodes need no modes: whatever runs the graph runs it with
// autograd and autocast off (tensor/autograd/below_autograd.h).
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "python/ref.h"
#include "tensor/autograd/transforms.h"

namespace minidynamo {

class Tracer;
struct Frame;

class Transforms {
 public:
  explicit Transforms(bool below_autograd) noexcept : any_(below_autograd), below_autograd_(below_autograd) {}

  bool any() const noexcept { return any_; }  // operators have been recorded one by one: values may be wrappers
  bool records_operators() const noexcept { return below_autograd_ || depth_ > 0; }
  bool inside() const noexcept { return depth_ > 0; }  // a region
  // True if an instruction began in a region, which may be over: the trace cannot end before it. As Tracer::executed.
  bool was_inside(long instruction) const noexcept {
    return (inside() && instruction > since_) || std::ranges::any_of(over_, [&](const Region& region) {
             return region.since < instruction && instruction <= region.until;
           });
  }

  // The thread's state may have changed: the region begins or ends with it. False: the trace is given up.
  bool look(Tracer& tracer);
  // A region of its own around one call.
  bool enter(Tracer& tracer);
  bool leave(Tracer& tracer);

  // The next node runs in this grad mode.
  bool use_grad_mode(Tracer& tracer, bool on);
  // Arguments of an operator, with nodes for the numbers in tensors that C++ made for itself (`y[0] = 2` copies one).
  static Ref with_constants(Tracer& tracer, PyObject* arguments);
  // Where operators are recorded one by one, in words.
  const char* place() const noexcept { return inside() ? "within a transform" : "in a call with a backward pass"; }
  // In words, as the program called it: "torch.func.grad, called in line 7".
  std::string text(const Frame* innermost) const;

 private:
  bool begin(Tracer& tracer);
  bool end(Tracer& tracer);
  static bool record(Tracer& tracer, PyObject* function, Ref arguments);

  bool any_;
  const bool below_autograd_;
  int depth_ = 0;
  bool is_looked_at_ = false;  // one level of the depth is what look() found
  long since_ = 0;
  struct Region {
    long since, until;
  };
  std::vector<Region> over_;
  bool graph_grad_mode_ = true;  // that the graph's nodes have set so far
  std::vector<Ref> autocast_;    // devices whose autocast is off for the region
};

}  // namespace minidynamo
