// For tests, preloaded into a Python process: operator new that fails where minidynamo's native part calls it, itself or
// by way of the standard library. What torch allocates is torch's affair.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Range {
  uintptr_t begin = 0, end = 0;
  bool has(const void* address) const noexcept {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= begin && at < end;
  }
};
Range watched, standard_library, own;
thread_local long count = -1;  // -1: nothing fails
thread_local long first = 0, last = 0;
thread_local bool looking = false;

struct Search {
  const char* name;
  Range found;
};

int visit(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (!info->dlpi_name || !std::strstr(info->dlpi_name, search->name)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
    search->found.begin = info->dlpi_addr + part.p_vaddr;
    search->found.end = search->found.begin + part.p_memsz;
  }
  return 1;
}

Range range_of(const char* name) {
  Search search{name, {}};
  dl_iterate_phdr(visit, &search);
  return search.found;
}

// The first caller that is neither this library nor the standard one.
bool is_watched(const void* caller) {
  if (watched.has(caller)) return true;
  if (!standard_library.has(caller)) return false;
  void* frames[12];
  looking = true;
  const int depth = backtrace(frames, 12);
  looking = false;
  for (int i = 0; i < depth; ++i)
    if (!own.has(frames[i]) && !standard_library.has(frames[i])) return watched.has(frames[i]);
  return false;
}

bool fails(const void* caller) {
  if (count < 0 || looking || !is_watched(caller)) return false;
  const long now = count++;
  return now >= first && (now < last || last <= 0);
}

void* allocate(size_t size, const void* caller) {
  void* memory = fails(caller) ? nullptr : std::malloc(size ? size : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new[](size_t size) { return allocate(size, __builtin_return_address(0)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

extern "C" {

int minidynamo_test_watch(const char* library) {
  watched = range_of(library);
  standard_library = range_of("libstdc++");
  own = range_of("failing_new");
  void* warm[4];
  backtrace(warm, 4);  // which loads a library the first time
  return watched.end > 0 && standard_library.end > 0;
}

// Those from the start-th on fail, up to the stop-th, or all if that is 0.
void minidynamo_test_fail_new(long start, long stop) {
  first = start;
  last = stop;
  count = 0;
}

// Back to normal; how many there were.
long minidynamo_test_allow_new() {
  const long seen = count;
  count = -1;
  return seen;
}
}
