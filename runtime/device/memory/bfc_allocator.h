// The allocator of a device's memory.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/device.h"
#include "runtime/tensor/buffer.h"

namespace tessera {

// The source from which an allocator gets its memory, in large regions. Thread-safe.
class RegionSource {
 public:
  virtual ~RegionSource() = default;
  // Returns `size` bytes, aligned to BfcAllocator::kAlignment. Errors: RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<char*> Allocate(size_t size) = 0;
  // Gives a region back. No device works on it any more.
  virtual void Free(char* region, size_t size) = 0;
  // Waits until all work is done that was enqueued on any region. Asked only before memory is out.
  virtual void AwaitWork() = 0;
};

// The streams of the devices that share an allocator, by the number that AddStream() gave them.
class StreamOrder {
 public:
  virtual ~StreamOrder() = default;
  // Makes what is enqueued on stream `later` from now on wait for what is enqueued on stream
  // `earlier` now. Called without a lock of the allocator's.
  virtual void Order(int earlier, int later) = 0;
};

// Best fit with coalescing: chunks of a region are split when less is wanted, and joined with their
// neighbours when they are free.
//
//   BfcAllocator memory({.name = "GPU:0", .limit = size_t{70} << 30}, &source, &streams);
//   const int stream = memory.AddStream();
//   Allocator* const allocator = memory.allocator(stream);    // Device::SetMemory()
//
// Memory is released in the order of streams: a buffer may die when the work that uses it is
// enqueued, and not done. Whoever gets its bytes on the same stream enqueues later and need not
// wait. Who gets them on another stream is made to wait by StreamOrder, so that such chunks are
// taken only when there is no other that is large enough. A stream that has caught up says so, and
// then nobody waits for what it did before:
//
//   stream->Then([&memory, number, mark = memory.Mark(number)](absl::Status) {
//     memory.Passed(number, mark);
//   });
//
// A buffer belongs to the stream of the allocator that gave it: the device lets no other stream use
// it without an order between the two.
//
// Thread-safe. All buffers must be released before this is destroyed; otherwise the process aborts.
class BfcAllocator {
 public:
  // The alignment of chunks, and so of every buffer.
  static constexpr size_t kAlignment = 256;

  struct Options {
    std::string name;  // for messages
    MemoryKind kind = MemoryKind::kDevice;
    // Most bytes that are taken from the source.
    size_t limit = 0;
    // Takes regions as they are needed, each twice as large as the one before, and gives unused
    // ones back. Otherwise all of `limit` is taken at the first allocation, which fragments least.
    bool allow_growth = false;
    size_t first_region = size_t{2} << 20;
    // A chunk keeps a rest that nobody asked for if it is smaller than this, and than an eighth of
    // what was asked for. A larger rest is split off.
    size_t max_unused = size_t{16} << 20;
  };

  // `source` and `order` must outlive the allocator. `order` may be null if there is one stream.
  BfcAllocator(Options options, RegionSource* source, StreamOrder* order);
  ~BfcAllocator();
  BfcAllocator(const BfcAllocator&) = delete;
  BfcAllocator& operator=(const BfcAllocator&) = delete;

  // Returns the number of a new stream.
  int AddStream();
  // The stream has done all of its work, and its buffers are released. Requires that; the process
  // aborts otherwise.
  void RemoveStream(int stream);

  // The allocator for buffers that work on this stream uses. Lives until RemoveStream().
  Allocator* allocator(int stream);
  // Errors: RESOURCE_EXHAUSTED, naming the largest holders (AllocationLabel), how much is free and
  // how large the largest free chunk is.
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size, int stream);

  // Numbers what was released on a stream until now. Passed() says that the stream has done all
  // work that was enqueued before the mark was taken.
  int64_t Mark(int stream) const;
  void Passed(int stream, int64_t mark);

  // Gives regions of which nothing is in use back to their source, if allow_growth. Returns how
  // many bytes. Only regions whose last users have passed (Passed()) or are removed.
  size_t ReleaseUnused();

  DeviceStats stats() const;
  size_t limit() const { return options_.limit; }

  // Aborts the process unless chunks, bins and counts fit together. For tests.
  void CheckInvariants() const;

 private:
  class Block;
  class StreamAllocator;
  // A stream whose work may still use a free chunk, and the number of the stream's release after
  // which it does not.
  struct User {
    int stream;
    int64_t release;
  };
  using Users = std::vector<User>;  // in ascending order of streams

  struct Chunk {
    char* address = nullptr;
    size_t size = 0;
    bool is_free = true;
    int stream = 0;    // whose it is while in use
    Users users;       // while free: whose work may still use it, unless it has passed
    int prev = kNone;  // neighbours in the region, by index in chunks_
    int next = kNone;
    std::string label;  // while in use
  };
  static constexpr int kNone = -1;
  // Free chunks in order of size, then address: the first that is large enough fits best.
  struct FreeChunk {
    size_t size;
    char* address;
    int index;
    friend auto operator<=>(const FreeChunk&, const FreeChunk&) = default;
  };

  // True if the user's work may still be under way.
  bool IsPending(const User& user) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // True if some user but `but_stream` is pending.
  bool HasPendingUser(const Chunk& chunk, int but_stream = kNone) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static Users Merge(const Users& a, const Users& b);
  // A free chunk for the stream, or kNone.
  int Find(size_t size, int stream) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes a region with room for `size` bytes from the source; false if there is none.
  bool Grow(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Cuts what is more than `size` off a chunk that is in use, if that is worth while.
  void Split(int index, size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Release(int index);
  // Adds a chunk to free_, joined with its free neighbours.
  void AddFree(int index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveFree(int index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Joins two neighbours, neither of which is in free_.
  void Join(int first, int second) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int NewChunk(char* address, size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t ReleaseRegions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits for the users of all free chunks, and forgets them.
  void AwaitUsers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OutOfMemory(size_t size) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  RegionSource* const source_;
  StreamOrder* const order_;

  mutable absl::Mutex mu_;
  std::vector<Chunk> chunks_ ABSL_GUARDED_BY(mu_);
  std::vector<int> unused_chunks_ ABSL_GUARDED_BY(mu_);  // entries of chunks_ that are no chunk
  std::set<FreeChunk> free_ ABSL_GUARDED_BY(mu_);
  std::map<char*, size_t> regions_ ABSL_GUARDED_BY(mu_);  // address and size
  size_t region_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  size_t next_region_ ABSL_GUARDED_BY(mu_);
  DeviceStats stats_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<StreamAllocator>> streams_ ABSL_GUARDED_BY(mu_);  // null: no stream
};

}  // namespace tessera
