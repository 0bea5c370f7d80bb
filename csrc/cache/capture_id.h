// The name of a capture in reports, log records, profiles and traces: "3/1" is the second capture of the fourth
// function that was captured in this process. A resume function counts as its original: 3/2 may be the code behind a
// break in 3/1. A cache entry bears the name of its capture.
#pragma once
#include <cstdint>
#include <string>

namespace minidynamo {

struct CaptureId {
  uint32_t function = 0;
  uint32_t number = 0;  // among the captures of the function

  std::string text() const { return std::to_string(function) + "/" + std::to_string(number); }
};

}  // namespace minidynamo
