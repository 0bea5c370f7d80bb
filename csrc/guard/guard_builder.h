// The tree while a trace builds it: sources in an arena, found again by hash, and guards as a list.
//
// Building is hot (ten thousand calls a capture): no allocation per call beyond the arenas' growth.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "guard/access_kinds.h"
#include "guard/guard_kinds.h"

namespace minidynamo {

// A code object as the printed forms want it. Guards do not keep code alive: a cache entry hangs on the code object
// itself.
struct OriginName {
  Ref filename, function;
};

struct GuardRequest {
  Source* source;
  Source* other;  // relations
  GuardKind kind;
  uint32_t origin;
  int32_t line;
};

// Sources of which the first `written` must each give an object of its own.
struct ApartRequest {
  std::vector<Source*> sources;
  size_t written;
};

class GuardBuilder {
 public:
  GuardBuilder();

  Source* find(Source* parent, Access access, PyObject* key, int32_t index, bool absent) const noexcept;
  Source* find_or_make(Source* parent, Access access, PyObject* key, int32_t index, PyObject* value, bool absent);
  void name_pinned(Source* source, const std::string& text);

  void add(Source* source, GuardKind kind, Source* other, GuardOrigin origin);
  uint32_t gather(Source* source);

  // Sources in order of making; parents come before children.
  size_t size() const noexcept { return count_; }
  Source& source(size_t id) const noexcept { return chunks_[id / kChunk][id % kChunk]; }
  const std::vector<GuardRequest>& requests() const noexcept { return requests_; }
  std::vector<GuardRequest>& requests() noexcept { return requests_; }
  // Drops the other requests, by position.
  void keep(const std::vector<bool>& requests);
  const std::vector<Source*>& gathered() const noexcept { return gathered_; }
  std::vector<std::vector<uint32_t>> distinct;
  TorchState torch_state = TorchState::now();  // when the trace began: another thread may change it meanwhile
  std::vector<ApartRequest> apart;
  void require_disjoint(std::vector<Source*> written, std::vector<Source*> others);
  std::vector<uint32_t> storage_slots;  // whose tensors share storages as they do
  std::vector<bool> storage_written;
  std::vector<OpenNumber> numbers;
  struct SizeRequest {
    SizeCondition condition;
    uint32_t origin;
    int32_t line;
  };
  std::vector<SizeRequest> sizes;
  void add_size_guard(const SizeGuard& guard);

  std::vector<OriginName>& origins() noexcept { return origins_; }
  const std::vector<OriginName>& origins() const noexcept { return origins_; }

  int traverse(visitproc visit, void* arg) const;

 private:
  static constexpr size_t kChunk = 256;

  std::vector<std::unique_ptr<Source[]>> chunks_;
  size_t count_ = 0;
  std::vector<Source*> table_;  // open addressing, a power of two
  std::deque<std::string> texts_;
  std::vector<GuardRequest> requests_;
  std::unordered_set<uint64_t> relations_;  // seen already
  std::vector<Source*> gathered_;
  std::vector<OriginName> origins_;
  std::unordered_map<PyCodeObject*, uint32_t> origin_of_;
  std::vector<Ref> origin_codes_;  // keep origin_of_'s addresses true
  PyCodeObject* last_code_ = nullptr;
  uint32_t last_origin_ = 0;

  uint32_t origin_index(PyCodeObject* code);
  size_t place_of(Source* parent, Access access, PyObject* key, Py_hash_t hash, int32_t index,
                  bool absent) const noexcept;
  void grow();
};

// How an open number prints (OpenNumber), by the path to the tensor or int.
std::string number_path(std::string path, int32_t dimension);

// The number that tells keys apart while building: their hash, or their address where hashing would run user code (an
// enum member's
// __hash__ is a Python function, which must not run during a trace).
Py_hash_t build_hash(PyObject* key) noexcept;
// The hash under which a dict holds the key of a DictItem source. May run user code if the dict does not hold that very
// key. `known` remembers the hashes found, by dict and key.
using DictHashes = std::unordered_map<PyObject*, std::unordered_map<PyObject*, Py_hash_t>>;
Py_hash_t dict_hash(const Source& source, DictHashes& known);

}  // namespace minidynamo
