// True if this thread runs native code on behalf of its trace.
#pragma once
#include <utility>

namespace minidynamo {

namespace detail {
inline thread_local int native_depth = 0;
inline thread_local int recording_depth = 0;
}  // namespace detail

// While one lives, frames and operators run natively: nothing is traced, operators are not recorded one by one.
class NativeScope {
 public:
  NativeScope() noexcept { ++detail::native_depth; }
  ~NativeScope() { --detail::native_depth; }
  NativeScope(const NativeScope&) = delete;
  NativeScope& operator=(const NativeScope&) = delete;
};
inline bool is_native() noexcept { return detail::native_depth > 0; }

// While one lives, what native code does is recorded operator by operator: no node will stand for the call.
class OperatorRecordingScope {
 public:
  OperatorRecordingScope() noexcept { ++detail::recording_depth; }
  ~OperatorRecordingScope() { --detail::recording_depth; }
  OperatorRecordingScope(const OperatorRecordingScope&) = delete;
  OperatorRecordingScope& operator=(const OperatorRecordingScope&) = delete;
};
inline bool is_recording_operators() noexcept { return detail::recording_depth > 0; }

// While one lives, another trace runs on this thread, which has a scope of its own.
class NativeScopeApart {
 public:
  NativeScopeApart() noexcept
      : outer_(std::exchange(detail::native_depth, 0)), outer_recording_(std::exchange(detail::recording_depth, 0)) {}
  ~NativeScopeApart() { detail::native_depth = outer_, detail::recording_depth = outer_recording_; }
  NativeScopeApart(const NativeScopeApart&) = delete;
  NativeScopeApart& operator=(const NativeScopeApart&) = delete;

 private:
  int outer_, outer_recording_;
};

}  // namespace minidynamo
