#include "runtime/device/memory/bfc_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <thread>

#include "runtime/device/memory/allocation_label.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr size_t kMiB = size_t{1} << 20;

// Host memory in place of a device's, of a given size.
class HostRegions : public RegionSource {
 public:
  explicit HostRegions(size_t capacity) : left_(capacity) {}
  ~HostRegions() override { EXPECT_THAT(regions_, IsEmpty()) << "regions were not given back"; }

  absl::StatusOr<char*> Allocate(size_t size) override {
    absl::MutexLock lock(&mu_);
    if (size > left_) return absl::ResourceExhaustedError("no memory left");
    void* const map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return absl::ResourceExhaustedError("no address left");
    left_ -= size;
    regions_[static_cast<char*>(map)] = size;
    return static_cast<char*>(map);
  }
  void Free(char* region, size_t size) override {
    absl::MutexLock lock(&mu_);
    EXPECT_EQ(regions_[region], size);
    regions_.erase(region);
    left_ += size;
    ::munmap(region, size);
  }
  void AwaitWork() override {
    ++num_waits;
    if (await_work != nullptr) await_work();
  }
  std::vector<size_t> sizes() {
    absl::MutexLock lock(&mu_);
    std::vector<size_t> sizes;
    for (const auto& [region, size] : regions_) sizes.push_back(size);
    std::sort(sizes.begin(), sizes.end());
    return sizes;
  }

  std::function<void()> await_work;
  int num_waits = 0;

 private:
  absl::Mutex mu_;
  size_t left_;
  std::map<char*, size_t> regions_;
};

// Notes which streams were made to wait.
class NotedOrder : public StreamOrder {
 public:
  void Order(int earlier, int later) override { orders.emplace_back(earlier, later); }
  std::vector<std::pair<int, int>> orders;
};

class BfcAllocatorTest : public ::testing::Test {
 protected:
  void Make(size_t limit, bool allow_growth = false) {
    memory_ = std::make_unique<BfcAllocator>(
        BfcAllocator::Options{.name = "GPU:0", .limit = limit, .allow_growth = allow_growth},
        &regions_, &order_);
    stream_ = memory_->AddStream();
  }
  void TearDown() override {
    if (memory_ != nullptr) memory_->CheckInvariants();
  }
  IntrusivePtr<Buffer> Allocate(size_t size) { return Allocate(size, stream_); }
  IntrusivePtr<Buffer> Allocate(size_t size, int stream) {
    auto buffer = memory_->Allocate(size, stream);
    EXPECT_TRUE(buffer.ok()) << buffer.status();
    return buffer.ok() ? *std::move(buffer) : nullptr;
  }

  HostRegions regions_{64 * kMiB};
  NotedOrder order_;
  std::unique_ptr<BfcAllocator> memory_;
  int stream_ = 0;
};

TEST_F(BfcAllocatorTest, BuffersAreAlignedAndOfTheAskedSizeAndKind) {
  Make(kMiB);
  for (size_t size : {size_t{0}, size_t{1}, size_t{256}, size_t{257}}) {
    const auto buffer = Allocate(size);
    EXPECT_EQ(buffer->size(), size);
    EXPECT_EQ(buffer->memory_kind(), MemoryKind::kDevice);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->address()) % BfcAllocator::kAlignment, 0);
  }
}

TEST_F(BfcAllocatorTest, BestFitTakesTheSmallestChunkThatIsLargeEnough) {
  Make(kMiB);
  auto large = Allocate(8192);
  const auto wall = Allocate(256);
  auto small = Allocate(4096);
  const auto end = Allocate(256);
  char* const address = small->address();
  large = nullptr;
  small = nullptr;
  EXPECT_EQ(Allocate(4000)->address(), address);
}

TEST_F(BfcAllocatorTest, FreeNeighboursAreJoined) {
  Make(kMiB);
  std::vector<IntrusivePtr<Buffer>> all;
  for (int i = 0; i < 4; ++i) all.push_back(Allocate(kMiB / 4));
  EXPECT_FALSE(memory_->Allocate(256, stream_).ok());
  // In no order of addresses: each is joined with both neighbours once.
  for (int i : {1, 3, 0, 2}) all[i] = nullptr;
  memory_->CheckInvariants();
  EXPECT_NE(Allocate(kMiB), nullptr);
}

TEST_F(BfcAllocatorTest, WithoutGrowthAllMemoryIsOneRegion) {
  Make(8 * kMiB);
  EXPECT_THAT(regions_.sizes(), IsEmpty()) << "what nobody uses takes no memory";
  Allocate(1);
  EXPECT_THAT(regions_.sizes(), ElementsAre(8 * kMiB));
}

TEST_F(BfcAllocatorTest, GrowthTakesRegionsThatDoubleUpToTheLimit) {
  Make(17 * kMiB, /*allow_growth=*/true);
  std::vector<IntrusivePtr<Buffer>> all;
  for (int i = 0; i < 17; ++i) all.push_back(Allocate(kMiB));
  EXPECT_THAT(regions_.sizes(), ElementsAre(2 * kMiB, 3 * kMiB, 4 * kMiB, 8 * kMiB));
  EXPECT_EQ(memory_->Allocate(kMiB, stream_).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(BfcAllocatorTest, GrowthContentsItselfWithLessWhereTheDeviceHasLess) {
  HostRegions regions(5 * kMiB);
  BfcAllocator memory({.name = "GPU:0", .limit = 100 * kMiB}, &regions, nullptr);
  const int stream = memory.AddStream();
  EXPECT_TRUE(memory.Allocate(3 * kMiB, stream).ok());
  EXPECT_FALSE(memory.Allocate(6 * kMiB, stream).ok());
}

TEST_F(BfcAllocatorTest, UnusedRegionsGoBackOnceTheirLastUserIsGone) {
  Make(32 * kMiB, /*allow_growth=*/true);
  const int second = memory_->AddStream();
  const auto kept = Allocate(kMiB);
  Allocate(8 * kMiB, second);
  EXPECT_EQ(memory_->ReleaseUnused(), 0) << "work may still use it";
  memory_->RemoveStream(second);
  EXPECT_EQ(memory_->ReleaseUnused(), 8 * kMiB);
  EXPECT_THAT(regions_.sizes(), ElementsAre(2 * kMiB));
  EXPECT_EQ(regions_.num_waits, 0);
}

TEST_F(BfcAllocatorTest, RegionsTooSmallMakeRoomForOneThatIsNotOnceTheirWorkIsDone) {
  Make(16 * kMiB, /*allow_growth=*/true);
  std::vector<IntrusivePtr<Buffer>> all;
  for (int i = 0; i < 14; ++i) all.push_back(Allocate(kMiB));
  all.clear();
  EXPECT_EQ(regions_.num_waits, 0);
  EXPECT_NE(Allocate(15 * kMiB), nullptr);
  EXPECT_EQ(regions_.num_waits, 1);
}

TEST_F(BfcAllocatorTest, SameStreamReusesMemoryAtOnceAndWaitsForNobody) {
  Make(kMiB);
  char* const address = Allocate(kMiB)->address();
  EXPECT_EQ(Allocate(kMiB)->address(), address);
  EXPECT_THAT(order_.orders, IsEmpty());
}

TEST_F(BfcAllocatorTest, AnotherStreamIsMadeToWaitForTheLastUsers) {
  Make(kMiB);
  const int second = memory_->AddStream();
  const int third = memory_->AddStream();
  { const auto a = Allocate(kMiB / 2, stream_), b = Allocate(kMiB / 2, second); }
  // Both halves are joined.
  auto whole = Allocate(kMiB, third);
  EXPECT_THAT(order_.orders, ElementsAre(Pair(stream_, third), Pair(second, third)));
  whole = nullptr;
  order_.orders.clear();
  // The third has waited for the others: who comes after it waits for it alone.
  Allocate(kMiB, second);
  EXPECT_THAT(order_.orders, ElementsAre(Pair(third, second)));
}

TEST_F(BfcAllocatorTest, RestOfASplitChunkStillHasTheUsersOfTheWhole) {
  Make(kMiB);
  const int second = memory_->AddStream();
  Allocate(kMiB);
  const auto half = Allocate(kMiB / 2);
  const auto rest = Allocate(kMiB / 2, second);
  EXPECT_THAT(order_.orders, ElementsAre(Pair(stream_, second)));
}

TEST_F(BfcAllocatorTest, ChunksThatNeedNoWaitAreTakenFirst) {
  Make(kMiB);
  const int second = memory_->AddStream();
  auto foreign = Allocate(1024, second);
  const auto wall = Allocate(256);
  auto own = Allocate(4096);
  const auto end = Allocate(256);
  char* const address = own->address();
  foreign = nullptr;
  own = nullptr;
  EXPECT_EQ(Allocate(1024)->address(), address) << "although the other fits better";
  EXPECT_THAT(order_.orders, IsEmpty());
}

TEST_F(BfcAllocatorTest, NobodyWaitsForAStreamThatIsGone) {
  Make(kMiB);
  const int second = memory_->AddStream();
  Allocate(kMiB, second);
  memory_->RemoveStream(second);
  EXPECT_EQ(memory_->AddStream(), second) << "numbers are reused";
  Allocate(kMiB);
  EXPECT_THAT(order_.orders, IsEmpty());
}

TEST_F(BfcAllocatorTest, NobodyWaitsForWorkThatAStreamHasPassed) {
  Make(kMiB);
  const int second = memory_->AddStream();
  Allocate(kMiB);
  const int64_t mark = memory_->Mark(stream_);
  { const auto a = Allocate(kMiB / 2), b = Allocate(kMiB / 4); }
  memory_->Passed(stream_, mark);
  // What was released after the mark is still waited for.
  { const auto whole = Allocate(kMiB, second); }
  EXPECT_THAT(order_.orders, ElementsAre(Pair(stream_, second)));
  memory_->Passed(second, memory_->Mark(second));
  // An older mark that comes late changes nothing.
  memory_->Passed(second, 0);
  order_.orders.clear();
  Allocate(kMiB);
  EXPECT_THAT(order_.orders, IsEmpty());
}

TEST_F(BfcAllocatorTest, RegionsOfStreamsThatHavePassedGoBack) {
  Make(32 * kMiB, /*allow_growth=*/true);
  Allocate(8 * kMiB);
  EXPECT_EQ(memory_->ReleaseUnused(), 0);
  memory_->Passed(stream_, memory_->Mark(stream_));
  EXPECT_EQ(memory_->ReleaseUnused(), 8 * kMiB);
  EXPECT_EQ(regions_.num_waits, 0);
}

TEST_F(BfcAllocatorTest, ThousandsOfStreamsShareTheMemory) {
  Make(kMiB);
  constexpr int kNumStreams = 4000;
  for (int i = 1; i < kNumStreams; ++i) ASSERT_EQ(memory_->AddStream(), i);
  const auto first = Allocate(kMiB / 2, 0);
  const auto last = Allocate(kMiB / 2, kNumStreams - 1);
  EXPECT_NE(first->address(), last->address());
}

TEST_F(BfcAllocatorTest, RestsAreUsedDownToTheSizeThatIsAskedFor) {
  for (const auto& [max_unused, expected] :
       {std::pair(16 * kMiB, 16 * kMiB), std::pair(kMiB / 2, 15 * kMiB)}) {
    BfcAllocator memory({.name = "GPU:0", .limit = 16 * kMiB, .max_unused = max_unused}, &regions_,
                        &order_);
    const auto buffer = memory.Allocate(15 * kMiB, memory.AddStream());
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_EQ(memory.stats().bytes_in_use, static_cast<int64_t>(expected));
  }
}

TEST_F(BfcAllocatorTest, FullMemoryNamesTheLargestHolders) {
  Make(4 * kMiB);
  std::vector<IntrusivePtr<Buffer>> all;
  {
    const AllocationLabel outer("dense/MatMul");
    all.push_back(Allocate(kMiB));
    {
      const AllocationLabel inner("embedding");
      all.push_back(Allocate(3 * kMiB / 2));
    }
    all.push_back(Allocate(kMiB / 4));
  }
  all.push_back(Allocate(512));
  const absl::Status status = memory_->Allocate(2 * kMiB, stream_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "out of memory on GPU:0: cannot allocate 2097152 bytes; 2.8 MiB of 4.0 MiB are in use, "
            "and the largest free chunk has 1.2 MiB. Largest holders: embedding 1.5 MiB in 1 "
            "buffer, dense/MatMul 1.2 MiB in 2 buffers, without a name 0.0 MiB in 1 buffer");
  const AllocationLabel asking("softmax");
  EXPECT_THAT(std::string(memory_->Allocate(2 * kMiB, stream_).status().message()),
              ::testing::EndsWith("; asked for by 'softmax'"));
}

TEST_F(BfcAllocatorTest, SizesThatNoMemoryHasAreErrors) {
  Make(kMiB);
  for (size_t size : {kMiB + 1, SIZE_MAX, SIZE_MAX - 1}) {
    EXPECT_EQ(memory_->Allocate(size, stream_).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
}

TEST_F(BfcAllocatorTest, StatsCountChunksInUse) {
  Make(kMiB);
  const int second = memory_->AddStream();
  {
    const auto a = Allocate(1), b = Allocate(257, second);
    EXPECT_EQ(memory_->stats().bytes_in_use, 256 + 512);
  }
  const DeviceStats stats = memory_->stats();
  EXPECT_EQ(stats.bytes_in_use, 0);
  EXPECT_EQ(stats.peak_bytes_in_use, 256 + 512);
  EXPECT_EQ(stats.num_allocations, 2);
  EXPECT_EQ(stats.bytes_limit, static_cast<int64_t>(kMiB));
}

TEST_F(BfcAllocatorTest, BufferThatOutlivesItsStreamAborts) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  Make(kMiB);
  const auto buffer = Allocate(1);
  EXPECT_DEATH(memory_->RemoveStream(stream_), "256 bytes of GPU:0 outlive their stream");
}

// Streams that do their work late, each on a thread of its own, as those of devices do. The work of
// a buffer writes all of it, checks it, and comes after the host has released the buffer.
class LateStreams : public StreamOrder {
 public:
  explicit LateStreams(int count) : streams_(count) {
    for (int i = 0; i < count; ++i) streams_[i].thread = std::thread([this, i] { Loop(i); });
  }
  // Does all work. Nothing may be enqueued any more.
  void Finish() {
    {
      absl::MutexLock lock(&mu_);
      is_stopping_ = true;
    }
    for (Stream& stream : streams_) stream.thread.join();
  }
  // Waits for all work that is enqueued now.
  void Await() {
    absl::MutexLock lock(&mu_);
    for (Stream& stream : streams_) {
      const auto is_done = [&stream, mark = stream.enqueued] { return stream.done >= mark; };
      mu_.Await(absl::Condition(&is_done));
    }
  }
  // How often work has found bytes that other work had written.
  int num_torn() const { return num_torn_; }

  void Order(int earlier, int later) override {
    absl::MutexLock lock(&mu_);
    streams_[later].work.push_back({.wait_for = earlier, .mark = streams_[earlier].enqueued});
    ++streams_[later].enqueued;
  }
  // How much work was ever enqueued on a stream, and how much of it is done.
  int64_t num_enqueued(int stream) {
    absl::MutexLock lock(&mu_);
    return streams_[stream].enqueued;
  }
  int64_t num_done(int stream) {
    absl::MutexLock lock(&mu_);
    return streams_[stream].done;
  }
  void Use(int stream, const Buffer& buffer) {
    absl::MutexLock lock(&mu_);
    Stream& s = streams_[stream];
    s.work.push_back({.address = buffer.address(), .size = buffer.size()});
    ++s.enqueued;
  }

 private:
  struct Work {
    char* address = nullptr;
    size_t size = 0;
    int wait_for = -1;
    int64_t mark = 0;
  };
  struct Stream {
    std::deque<Work> work;
    int64_t enqueued = 0, done = 0;
    std::thread thread;
  };
  void Loop(int i) {
    Stream& stream = streams_[i];
    std::minstd_rand random(i + 1);
    while (true) {
      Work work;
      {
        absl::MutexLock lock(&mu_);
        const auto has_work = [&] { return !stream.work.empty() || is_stopping_; };
        mu_.Await(absl::Condition(&has_work));
        if (stream.work.empty()) return;
        work = stream.work.front();
        stream.work.pop_front();
        const auto may_run = [&] {
          return work.wait_for < 0 || streams_[work.wait_for].done >= work.mark;
        };
        mu_.Await(absl::Condition(&may_run));
      }
      if (work.size > 0) {
        const int value = static_cast<int>(random() % 256);
        std::memset(work.address, value, work.size);
        if (random() % 4 == 0) std::this_thread::yield();
        for (size_t k = 0; k < work.size; k += 64) {
          num_torn_ += static_cast<unsigned char>(work.address[k]) != value;
        }
      }
      absl::MutexLock lock(&mu_);
      ++stream.done;
    }
  }

  absl::Mutex mu_;
  std::vector<Stream> streams_;
  bool is_stopping_ = false;
  std::atomic<int> num_torn_ = 0;
};

// Each thread of the host allocates, enqueues and releases at random on a stream of its own. That
// work is late and that it writes whole buffers shows every chunk that is handed on too early: as
// torn bytes, and as a race to ThreadSanitizer.
TEST(BfcAllocatorStressTest, NoTwoBuffersShareBytesWhileWorkUsesThem) {
  constexpr int kNumStreams = 3, kNumSteps = 3000;
  for (const bool allow_growth : {false, true}) {
    HostRegions regions(8 * kMiB);
    LateStreams streams(kNumStreams);
    regions.await_work = [&] { streams.Await(); };
    BfcAllocator memory({.name = "GPU:0",
                         .limit = 4 * kMiB,
                         .allow_growth = allow_growth,
                         .first_region = 64 * 1024},
                        &regions, &streams);
    std::atomic<int> num_full = 0;
    std::vector<std::thread> hosts;
    for (int i = 0; i < kNumStreams; ++i) {
      ASSERT_EQ(memory.AddStream(), i);
    }
    for (int i = 0; i < kNumStreams; ++i) {
      hosts.emplace_back([&, i] {
        std::minstd_rand random(i + 7);
        std::vector<IntrusivePtr<Buffer>> held;
        int64_t mark = 0, marked_at = 0;
        for (int step = 0; step < kNumSteps; ++step) {
          if (random() % 5 < 3) {
            const size_t size = random() % 20 == 0 ? random() % (512 * 1024) : random() % 9000;
            auto buffer = memory.Allocate(size, i);
            if (buffer.ok()) {
              streams.Use(i, **buffer);
              held.push_back(*std::move(buffer));
            } else {
              ++num_full;
              held.clear();
            }
          } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            streams.Use(i, *held.back());
            held.pop_back();
          }
          if (random() % 20 == 0 && streams.num_done(i) >= marked_at) {
            memory.Passed(i, mark);
            mark = memory.Mark(i);
            marked_at = streams.num_enqueued(i);
          }
          if (random() % 500 == 0) memory.CheckInvariants();
          if (random() % 100 == 0) memory.ReleaseUnused();
        }
      });
    }
    for (std::thread& host : hosts) host.join();
    streams.Finish();
    EXPECT_EQ(streams.num_torn(), 0) << "two buffers shared bytes while work used them";
    memory.CheckInvariants();
    EXPECT_EQ(memory.stats().bytes_in_use, 0);
    EXPECT_GT(num_full, 0) << "the memory was never full";
  }
}

}  // namespace
}  // namespace tessera
