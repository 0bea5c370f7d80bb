// The switch of mirror mode (mirror.h).
#pragma once
#include <cstdint>

namespace minidynamo {

enum class Mirror : uint8_t {
  Off,
  Record,  // differences are kept for mirror_differences()
  Abort,   // the process ends at the first difference: for processes that a test starts
};

// Changed under the GIL. Read at every check: a byte, so that a program without mirror pays for a comparison only.
inline Mirror mirror_mode = Mirror::Off;

}  // namespace minidynamo
