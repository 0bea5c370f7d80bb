// A named region in the profile that torch.profiler makes. On a thread that is not profiled it leaves nothing behind.
#pragma once
#include <memory>
#include <string>

namespace at {
struct RecordFunction;
}

namespace minidynamo {

class ProfilerRegion {
 public:
  explicit ProfilerRegion(const std::string& name);
  ~ProfilerRegion();
  ProfilerRegion(const ProfilerRegion&) = delete;

 private:
  std::unique_ptr<at::RecordFunction> region_;
};

}  // namespace minidynamo
