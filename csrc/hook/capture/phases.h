// The phases of a capture, whose time is measured.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace minidynamo {

enum class Phase : uint8_t {
  Evaluate,     // the bytecode, over real objects and fake tensors
  Propagate,    // operators over fake tensors, within Evaluate
  Guards,       // built and checked for the first time
  GraphExport,  // the recorded graph becomes a torch.fx.GraphModule
  Backend,      // the compilation of the graph, without Imports
  Imports,      // the modules that the backend loads at its first use
  Codegen,      // residual bytecode
};
inline constexpr std::array<const char*, 7> kPhaseNames = {"evaluate", "propagate", "guards", "graph_export",
                                                           "backend",  "imports",   "codegen"};
using PhaseSeconds = std::array<double, kPhaseNames.size()>;

inline double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

inline double& of(PhaseSeconds& seconds, Phase phase) noexcept { return seconds[static_cast<size_t>(phase)]; }

}  // namespace minidynamo
