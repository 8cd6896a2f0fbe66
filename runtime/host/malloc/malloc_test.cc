#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/host/shared_blocks.h"

namespace tessera {
namespace {

constexpr size_t kSize = SharedBlocks::kMinSize + 16;

// Which the compiler does not see through.
char* Allocate(size_t size) {
  void* volatile block = std::malloc(size);
  return static_cast<char*>(block);
}

TEST(MallocTest, BlocksOfTheSharedSizePassFromThreadToThread) {
  char* block = Allocate(kSize);
  ASSERT_TRUE(shared_blocks.Owns(block));
  std::thread([block] { std::free(block); }).join();
  char* again = Allocate(SharedBlocks::kBlockSize);
  EXPECT_EQ(again, block);
  std::free(again);
}

TEST(MallocTest, OtherSizesAreMimallocs) {
  for (const size_t size : {size_t{0}, size_t{1}, kSize / 2, 2 * kSize}) {
    char* block = Allocate(size);
    EXPECT_FALSE(shared_blocks.Owns(block)) << size;
    std::free(block);
  }
}

TEST(MallocTest, ReallocKeepsWhatIsThereIntoAndOutOfSharedBlocks) {
  for (const size_t from : {size_t{100}, kSize, 3 * kSize}) {
    for (const size_t to : {size_t{50}, kSize + 100, 5 * kSize}) {
      char* block = Allocate(from);
      std::memset(block, 'x', from);
      void* moved = std::realloc(block, to);
      ASSERT_NE(moved, nullptr);
      EXPECT_GE(malloc_usable_size(moved), to);
      const std::vector<char> expected(std::min(from, to), 'x');
      EXPECT_EQ(std::memcmp(moved, expected.data(), expected.size()), 0) << from << " " << to;
      std::memset(moved, 'y', to);
      std::free(moved);
    }
  }
}

TEST(MallocTest, ReallocThatFailsLeavesTheBlock) {
  char* block = Allocate(kSize);
  std::memset(block, 'x', kSize);
  volatile size_t impossible = PTRDIFF_MAX;
  void* volatile argument = block;  // the compiler would take it for freed
  EXPECT_EQ(std::realloc(argument, impossible), nullptr);
  errno = 0;
  EXPECT_EQ(reallocarray(argument, impossible, 8), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(block[kSize - 1], 'x');
  std::free(block);
}

TEST(MallocTest, NewThrowsWhereThereIsNoMemory) {
  volatile size_t impossible = PTRDIFF_MAX;
  const size_t size = impossible;
  EXPECT_THROW(::operator delete(::operator new(size)), std::bad_alloc);
  EXPECT_THROW(::operator delete[](::operator new[](size)), std::bad_alloc);
  constexpr std::align_val_t kAlignment{128};
  EXPECT_THROW(::operator delete(::operator new(size, kAlignment), kAlignment), std::bad_alloc);
  EXPECT_THROW(::operator delete[](::operator new[](size, kAlignment), kAlignment), std::bad_alloc);
  EXPECT_EQ(::operator new(size, std::nothrow), nullptr);
  EXPECT_EQ(::operator new[](size, std::nothrow), nullptr);
  EXPECT_EQ(::operator new(size, kAlignment, std::nothrow), nullptr);
  EXPECT_EQ(::operator new[](size, kAlignment, std::nothrow), nullptr);
}

TEST(MallocTest, NewAlignsAsItIsAskedTo) {
  for (const size_t alignment : {16, 64, 4096}) {
    for (const size_t size : {size_t{1}, size_t{100}, kSize, 3 * kSize}) {
      void* const block = ::operator new(size, std::align_val_t(alignment));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0) << size;
      std::memset(block, 'x', size);
      ::operator delete(block, std::align_val_t(alignment));
    }
  }
}

}  // namespace
}  // namespace tessera
