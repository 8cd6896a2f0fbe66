#include "runtime/tensor/large_blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr size_t kMega = size_t{1} << 20;

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(LargeBlocksTest, BlocksAreAsLargeAsAskedAndNotMuchLarger) {
  for (size_t size = kMega; size < 300 * kMega; size = size * 5 / 4 + 1) {
    size_t block_size = 0;
    void* block = AllocateLargeBlock(size, &block_size);
    ASSERT_NE(block, nullptr);
    EXPECT_GE(block_size, size);
    EXPECT_LE(block_size, size + size / 8 + 2 * kMega);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0u);
    static_cast<char*>(block)[0] = 1;
    static_cast<char*>(block)[block_size - 1] = 1;
    FreeLargeBlock(block, block_size);
  }
  ReleaseFreeMemory();
}

TEST(LargeBlocksTest, FreedBlocksAreReused) {
  ReleaseFreeMemory();
  size_t size_a = 0, size_b = 0;
  void* a = AllocateLargeBlock(5 * kMega, &size_a);
  FreeLargeBlock(a, size_a);
  EXPECT_EQ(AllocateLargeBlock(5 * kMega - 100, &size_b), a);
  EXPECT_EQ(size_a, size_b);
  FreeLargeBlock(a, size_a);
  EXPECT_EQ(ReleaseFreeMemory(), size_a);
  EXPECT_EQ(ReleaseFreeMemory(), 0u);
}

TEST(LargeBlocksTest, BlocksOfAWhileCanBeGivenBack) {
  ReleaseFreeMemory();
  size_t size_a = 0, size_b = 0;
  void* a = AllocateLargeBlock(5 * kMega, &size_a);
  void* b = AllocateLargeBlock(9 * kMega, &size_b);
  FreeLargeBlock(a, size_a);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const absl::Time time = absl::Now();
  FreeLargeBlock(b, size_b);
  EXPECT_EQ(ReleaseBlocksFreedSince(time), size_b);
  EXPECT_EQ(ReleaseBlocksFreedSince(time), 0u);
  EXPECT_EQ(ReleaseFreeMemory(), size_a);
}

TEST(LargeBlocksTest, ImpossibleSizesAreRefused) {
  size_t block_size;
  EXPECT_EQ(AllocateLargeBlock(std::numeric_limits<size_t>::max(), &block_size), nullptr);
  EXPECT_EQ(AllocateLargeBlock(size_t{1} << 61, &block_size), nullptr);
}

TEST(LargeBlocksTest, IdleBlocksGoBackToTheSystemByThemselves) {
  const int64_t before = ResidentBytes();
  size_t block_size;
  void* block = AllocateLargeBlock(128 * kMega, &block_size);
  std::memset(block, 1, block_size);
  EXPECT_GT(ResidentBytes(), before + int64_t{100 * kMega});
  FreeLargeBlock(block, block_size);
  for (int i = 0; i < 100 && ResidentBytes() > before + int64_t{32 * kMega}; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(ResidentBytes(), before + int64_t{32 * kMega});
}

TEST(LargeBlocksTest, ThreadsNeverShareABlock) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::mt19937 random(t);
      for (int i = 0; i < 300; ++i) {
        size_t block_size;
        auto* block = static_cast<int*>(AllocateLargeBlock(kMega + random() % kMega, &block_size));
        block[0] = t;
        block[block_size / sizeof(int) - 1] = i;
        std::this_thread::yield();
        ASSERT_EQ(block[0], t);
        ASSERT_EQ(block[block_size / sizeof(int) - 1], i);
        FreeLargeBlock(block, block_size);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

constexpr absl::Duration kQuick = absl::Microseconds(500), kSlow = absl::Milliseconds(8);
constexpr size_t kBlock = size_t{16} << 20;

// Returns the number of blocks that have small pages before one tries huge ones.
int PausedBlocks(HugePageTrials& trials) {
  int blocks = 0;
  while (!trials.ShouldTry(kBlock)) ++blocks;
  return blocks;
}

TEST(HugePageTrialsTest, QuickPagesAreAskedForAlways) {
  HugePageTrials trials;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(trials.ShouldTry(kBlock));
    ASSERT_TRUE(trials.Report(kQuick));
  }
}

TEST(HugePageTrialsTest, SlowPagesAreAskedForLessAndLessOften) {
  HugePageTrials trials;
  ASSERT_TRUE(trials.ShouldTry(kBlock));
  EXPECT_FALSE(trials.Report(kSlow));
  EXPECT_EQ(PausedBlocks(trials), 4);
  EXPECT_FALSE(trials.Report(kSlow));
  EXPECT_EQ(PausedBlocks(trials), 8);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(trials.Report(kSlow));
    EXPECT_LE(PausedBlocks(trials), 64);
  }
}

TEST(HugePageTrialsTest, AQuickPageEndsThePauses) {
  HugePageTrials trials;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(trials.Report(kSlow));
    PausedBlocks(trials);
  }
  EXPECT_TRUE(trials.Report(kQuick));
  EXPECT_TRUE(trials.ShouldTry(kBlock));
  EXPECT_FALSE(trials.Report(kSlow));
  EXPECT_EQ(PausedBlocks(trials), 4);
}

TEST(HugePagesTest, BlocksBeginAtAHugePageAndKeepWhatIsWritten) {
  HugePageTrials trials;
  for (const size_t size : {size_t{1}, kHugePage, kHugePage + 1, 3 * kHugePage - 5}) {
    auto* const block = static_cast<char*>(MapAtHugePage(size));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kHugePage, 0);
    if (size >= kHugePage) AskForHugePages(block, size, &trials);
    EXPECT_EQ(block[0], 0);
    EXPECT_EQ(block[size - 1], 0);
    std::memset(block, 7, size);
    EXPECT_EQ(block[size / 2], 7);
    EXPECT_EQ(::munmap(block, size), 0);
  }
  EXPECT_EQ(MapAtHugePage(size_t{1} << 62), nullptr);
}

}  // namespace
}  // namespace tessera
