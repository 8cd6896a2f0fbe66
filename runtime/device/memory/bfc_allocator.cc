#include "runtime/device/memory/bfc_allocator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/memory/allocation_label.h"

namespace tessera {
namespace {

constexpr size_t RoundUp(size_t size) {
  constexpr size_t kMask = BfcAllocator::kAlignment - 1;
  return std::max<size_t>((size + kMask) & ~kMask, BfcAllocator::kAlignment);
}

std::string Mebibytes(int64_t bytes) { return absl::StrFormat("%.1f MiB", bytes / 1048576.0); }

}  // namespace

// A buffer of the allocator's memory: a chunk in use.
class BfcAllocator::Block final : public Buffer {
 public:
  Block(BfcAllocator* allocator, char* address, size_t size, int chunk)
      : Buffer(address, size, /*writable=*/true, allocator->options_.kind),
        allocator_(allocator),
        chunk_(chunk) {}
  ~Block() override { allocator_->Release(chunk_); }

 private:
  BfcAllocator* const allocator_;
  const int chunk_;
};

class BfcAllocator::StreamAllocator final : public Allocator {
 public:
  StreamAllocator(BfcAllocator* memory, int stream) : memory_(memory), stream_(stream) {}
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override {
    return memory_->Allocate(size, stream_);
  }

  // Guarded by the mutex of `memory_`.
  int64_t bytes_in_use = 0;
  int64_t num_releases = 0;
  int64_t num_passed = 0;  // of the releases, how many nobody needs to wait for

 private:
  BfcAllocator* const memory_;
  const int stream_;
};

BfcAllocator::BfcAllocator(Options options, RegionSource* source, StreamOrder* order)
    : options_(std::move(options)),
      source_(source),
      order_(order),
      next_region_(RoundUp(options_.first_region)) {}

BfcAllocator::~BfcAllocator() {
  absl::MutexLock lock(&mu_);
  CHECK(stats_.bytes_in_use == 0) << stats_.bytes_in_use << " bytes of " << options_.name
                                  << " outlive its allocator";
  for (const auto& [address, size] : regions_) source_->Free(address, size);
}

int BfcAllocator::AddStream() {
  absl::MutexLock lock(&mu_);
  auto place = std::find(streams_.begin(), streams_.end(), nullptr);
  const int stream = static_cast<int>(place - streams_.begin());
  if (place == streams_.end()) place = streams_.emplace(place);
  *place = std::make_unique<StreamAllocator>(this, stream);
  return stream;
}

void BfcAllocator::RemoveStream(int stream) {
  absl::MutexLock lock(&mu_);
  CHECK(streams_[stream]->bytes_in_use == 0)
      << streams_[stream]->bytes_in_use << " bytes of " << options_.name << " outlive their stream";
  streams_[stream] = nullptr;
  // The number will be another stream's.
  for (const FreeChunk& free : free_) {
    Users& users = chunks_[free.index].users;
    users.erase(std::remove_if(users.begin(), users.end(),
                               [stream](const User& user) { return user.stream == stream; }),
                users.end());
  }
}

int64_t BfcAllocator::Mark(int stream) const {
  absl::MutexLock lock(&mu_);
  return streams_[stream]->num_releases;
}

void BfcAllocator::Passed(int stream, int64_t mark) {
  absl::MutexLock lock(&mu_);
  int64_t& passed = streams_[stream]->num_passed;
  passed = std::max(passed, mark);
}

bool BfcAllocator::IsPending(const User& user) const {
  return user.release > streams_[user.stream]->num_passed;
}

bool BfcAllocator::HasPendingUser(const Chunk& chunk, int but_stream) const {
  for (const User& user : chunk.users) {
    if (user.stream != but_stream && IsPending(user)) return true;
  }
  return false;
}

BfcAllocator::Users BfcAllocator::Merge(const Users& a, const Users& b) {
  Users users;
  auto next = b.begin();
  for (const User& user : a) {
    while (next != b.end() && next->stream < user.stream) users.push_back(*next++);
    users.push_back(user);
    if (next == b.end() || next->stream != user.stream) continue;
    users.back().release = std::max(user.release, next++->release);
  }
  users.insert(users.end(), next, b.end());
  return users;
}

void BfcAllocator::AwaitUsers() {
  source_->AwaitWork();
  for (const auto& stream : streams_) {
    if (stream != nullptr) stream->num_passed = stream->num_releases;
  }
}

Allocator* BfcAllocator::allocator(int stream) {
  absl::MutexLock lock(&mu_);
  return streams_[stream].get();
}

absl::StatusOr<IntrusivePtr<Buffer>> BfcAllocator::Allocate(size_t size, int stream) {
  // Sizes beyond the limit must not wrap around when they are rounded up.
  const size_t wanted = size > options_.limit ? size : RoundUp(size);
  std::vector<int> earlier;
  IntrusivePtr<Buffer> block;
  {
    absl::MutexLock lock(&mu_);
    int index = Find(wanted, stream);
    if (index == kNone && Grow(wanted)) index = Find(wanted, stream);
    if (index == kNone && options_.allow_growth && wanted <= options_.limit) {
      // Regions that are too small for this may make room for one that is not.
      AwaitUsers();
      if (ReleaseRegions() > 0 && Grow(wanted)) index = Find(wanted, stream);
    }
    if (index == kNone) return OutOfMemory(size);
    RemoveFree(index);
    // The rest that is split off keeps all users.
    for (const User& user : chunks_[index].users) {
      if (user.stream != stream && IsPending(user)) earlier.push_back(user.stream);
    }
    chunks_[index].is_free = false;
    Split(index, wanted);
    Chunk& chunk = chunks_[index];
    chunk.stream = stream;
    chunk.label = std::string(AllocationLabel::Current());
    stats_.bytes_in_use += static_cast<int64_t>(chunk.size);
    stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
    ++stats_.num_allocations;
    streams_[stream]->bytes_in_use += static_cast<int64_t>(chunk.size);
    block = MakeRefCounted<Block>(this, chunk.address, size, index);
  }
  for (int user : earlier) order_->Order(user, stream);
  return block;
}

int BfcAllocator::Find(size_t size, int stream) const {
  // How many chunks that fit are looked at for one that no other stream may still use.
  constexpr int kMaxLooks = 32;
  const auto first = free_.lower_bound({size, nullptr, kNone});
  if (first == free_.end()) return kNone;
  auto free = first;
  for (int i = 0; i < kMaxLooks && free != free_.end(); ++i, ++free) {
    if (!HasPendingUser(chunks_[free->index], stream)) return free->index;
  }
  return first->index;
}

bool BfcAllocator::Grow(size_t size) {
  const size_t left = (options_.limit - region_bytes_) & ~(kAlignment - 1);
  if (size > left) return false;
  size_t region = options_.allow_growth ? std::clamp(next_region_, size, left) : left;
  absl::StatusOr<char*> address = source_->Allocate(region);
  // The device may have less left than the limit says.
  while (!address.ok() && region > size) {
    region = std::max(size, RoundUp(region / 2));
    address = source_->Allocate(region);
  }
  if (!address.ok()) return false;
  next_region_ = std::max(next_region_, region * 2);
  region_bytes_ += region;
  regions_.emplace(*address, region);
  AddFree(NewChunk(*address, region));
  return true;
}

void BfcAllocator::Split(int index, size_t size) {
  const size_t rest = chunks_[index].size - size;
  if (rest < kAlignment || (rest < size / 8 && rest < options_.max_unused)) return;
  const int second = NewChunk(chunks_[index].address + size, rest);
  Chunk& chunk = chunks_[index];
  Chunk& after = chunks_[second];
  chunk.size = size;
  after.users = chunk.users;
  after.prev = index;
  after.next = chunk.next;
  if (chunk.next != kNone) chunks_[chunk.next].prev = second;
  chunk.next = second;
  AddFree(second);
}

void BfcAllocator::Release(int index) {
  absl::MutexLock lock(&mu_);
  Chunk& chunk = chunks_[index];
  stats_.bytes_in_use -= static_cast<int64_t>(chunk.size);
  streams_[chunk.stream]->bytes_in_use -= static_cast<int64_t>(chunk.size);
  chunk.is_free = true;
  chunk.users = {{chunk.stream, ++streams_[chunk.stream]->num_releases}};
  AddFree(index);
}

void BfcAllocator::AddFree(int index) {
  if (const int next = chunks_[index].next; next != kNone && chunks_[next].is_free) {
    RemoveFree(next);
    Join(index, next);
  }
  if (const int prev = chunks_[index].prev; prev != kNone && chunks_[prev].is_free) {
    RemoveFree(prev);
    Join(prev, index);
    index = prev;
  }
  free_.insert({chunks_[index].size, chunks_[index].address, index});
}

void BfcAllocator::RemoveFree(int index) {
  free_.erase({chunks_[index].size, chunks_[index].address, index});
}

void BfcAllocator::Join(int first, int second) {
  Chunk& a = chunks_[first];
  Chunk& b = chunks_[second];
  a.size += b.size;
  a.users = Merge(a.users, b.users);
  a.next = b.next;
  if (b.next != kNone) chunks_[b.next].prev = first;
  b = Chunk();
  unused_chunks_.push_back(second);
}

int BfcAllocator::NewChunk(char* address, size_t size) {
  if (unused_chunks_.empty()) {
    unused_chunks_.push_back(static_cast<int>(chunks_.size()));
    chunks_.emplace_back();
  }
  const int index = unused_chunks_.back();
  unused_chunks_.pop_back();
  chunks_[index].address = address;
  chunks_[index].size = size;
  return index;
}

size_t BfcAllocator::ReleaseUnused() {
  absl::MutexLock lock(&mu_);
  return ReleaseRegions();
}

size_t BfcAllocator::ReleaseRegions() {
  if (!options_.allow_growth) return 0;
  size_t released = 0;
  for (auto free = free_.begin(); free != free_.end();) {
    const Chunk& chunk = chunks_[free->index];
    const bool is_region = chunk.prev == kNone && chunk.next == kNone;
    if (!is_region || HasPendingUser(chunk)) {
      ++free;
      continue;
    }
    source_->Free(chunk.address, chunk.size);
    regions_.erase(chunk.address);
    released += chunk.size;
    unused_chunks_.push_back(free->index);
    chunks_[free->index] = Chunk();
    free = free_.erase(free);
  }
  region_bytes_ -= released;
  return released;
}

absl::Status BfcAllocator::OutOfMemory(size_t size) const {
  struct Holder {
    int64_t bytes = 0;
    int count = 0;
    absl::string_view label;
  };
  std::map<absl::string_view, Holder> by_label;
  for (const Chunk& chunk : chunks_) {
    if (chunk.is_free) continue;
    Holder& holder = by_label[chunk.label];
    holder.label = chunk.label;
    holder.bytes += static_cast<int64_t>(chunk.size);
    ++holder.count;
  }
  std::vector<Holder> holders;
  for (const auto& [label, holder] : by_label) holders.push_back(holder);
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  constexpr size_t kMaxHolders = 5;
  holders.resize(std::min(holders.size(), kMaxHolders));

  const size_t largest = free_.empty() ? 0 : free_.rbegin()->size;
  std::string message = absl::StrCat(
      "out of memory on ", options_.name, ": cannot allocate ", size, " bytes; ",
      Mebibytes(stats_.bytes_in_use), " of ", Mebibytes(static_cast<int64_t>(options_.limit)),
      " are in use, and the largest free chunk has ", Mebibytes(static_cast<int64_t>(largest)));
  for (size_t i = 0; i < holders.size(); ++i) {
    absl::StrAppend(&message, i == 0 ? ". Largest holders: " : ", ",
                    holders[i].label.empty() ? "without a name" : holders[i].label, " ",
                    Mebibytes(holders[i].bytes), " in ", holders[i].count,
                    holders[i].count == 1 ? " buffer" : " buffers");
  }
  if (!AllocationLabel::Current().empty()) {
    absl::StrAppend(&message, "; asked for by '", AllocationLabel::Current(), "'");
  }
  return absl::ResourceExhaustedError(message);
}

DeviceStats BfcAllocator::stats() const {
  absl::MutexLock lock(&mu_);
  DeviceStats stats = stats_;
  stats.bytes_limit = static_cast<int64_t>(options_.limit);
  return stats;
}

void BfcAllocator::CheckInvariants() const {
  absl::MutexLock lock(&mu_);
  std::map<char*, int> by_address;
  for (int i = 0; i < static_cast<int>(chunks_.size()); ++i) {
    if (chunks_[i].size > 0) by_address.emplace(chunks_[i].address, i);
  }
  CHECK(by_address.size() + unused_chunks_.size() == chunks_.size());
  size_t num_free = 0, total = 0;
  int64_t in_use = 0;
  for (const auto& [address, region_size] : regions_) {
    total += region_size;
    char* at = address;
    for (int prev = kNone; at < address + region_size;) {
      const auto found = by_address.find(at);
      CHECK(found != by_address.end()) << "a gap between chunks";
      const Chunk& chunk = chunks_[found->second];
      CHECK(chunk.prev == prev && chunk.size % kAlignment == 0);
      CHECK(prev == kNone || !chunk.is_free || !chunks_[prev].is_free)
          << "neighbours that are free are not joined";
      if (chunk.is_free) {
        ++num_free;
        CHECK(free_.contains({chunk.size, chunk.address, found->second}));
      } else {
        in_use += static_cast<int64_t>(chunk.size);
      }
      prev = found->second;
      at += chunk.size;
      CHECK((chunk.next == kNone) == (at == address + region_size));
      by_address.erase(found);
    }
    CHECK(at == address + region_size);
  }
  CHECK(by_address.empty()) << "chunks in no region";
  CHECK(num_free == free_.size() && total == region_bytes_ && in_use == stats_.bytes_in_use);
}

}  // namespace tessera
