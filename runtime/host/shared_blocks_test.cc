#include "runtime/host/shared_blocks.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr size_t kSize = SharedBlocks::kBlockSize;

std::vector<char*> TakeAndFill(SharedBlocks& blocks, size_t count) {
  std::vector<char*> taken;
  for (size_t i = 0; i < count; ++i) {
    taken.push_back(static_cast<char*>(blocks.Take()));
    std::memset(taken.back(), 'x', kSize);
  }
  return taken;
}

TEST(SharedBlocksTest, IsForOneSize) {
  EXPECT_FALSE(SharedBlocks::IsFor(0));
  EXPECT_FALSE(SharedBlocks::IsFor(SharedBlocks::kMinSize - 1));
  EXPECT_TRUE(SharedBlocks::IsFor(SharedBlocks::kMinSize));
  EXPECT_TRUE(SharedBlocks::IsFor(kSize));
  EXPECT_FALSE(SharedBlocks::IsFor(kSize + 1));
  EXPECT_FALSE(SharedBlocks::IsFor(SIZE_MAX));
}

TEST(SharedBlocksTest, OwnsItsBlocksAlone) {
  SharedBlocks blocks;
  char other = 0;
  EXPECT_FALSE(blocks.Owns(nullptr));
  EXPECT_FALSE(blocks.Owns(&other));
  char* block = static_cast<char*>(blocks.Take());
  EXPECT_TRUE(blocks.Owns(block));
  EXPECT_TRUE(blocks.Owns(block + kSize - 1));
  EXPECT_FALSE(blocks.Owns(nullptr));
  EXPECT_FALSE(blocks.Owns(&other));
}

TEST(SharedBlocksTest, TheBlockFreedLastComesFirst) {
  SharedBlocks blocks;
  const std::vector<char*> taken = TakeAndFill(blocks, 3);
  blocks.Put(taken[2]);
  blocks.Put(taken[0]);
  EXPECT_EQ(blocks.Take(), taken[0]);
  EXPECT_EQ(blocks.Take(), taken[2]);
}

TEST(SharedBlocksTest, BlocksAreBounded) {
  SharedBlocks blocks;
  for (size_t i = 0; i < SharedBlocks::kMaxBlocks; ++i) ASSERT_NE(blocks.Take(), nullptr);
  EXPECT_EQ(blocks.Take(), nullptr);
}

TEST(SharedBlocksTest, WhatWasFreeSinceTheCallBeforeGoesBack) {
  SharedBlocks blocks;
  const std::vector<char*> taken = TakeAndFill(blocks, 10);
  for (size_t i = 0; i < 8; ++i) blocks.Put(taken[i]);
  EXPECT_EQ(blocks.GiveBackIdle(), 0u);
  // Two were in use meanwhile.
  EXPECT_EQ(blocks.Take(), taken[7]);
  EXPECT_EQ(blocks.Take(), taken[6]);
  blocks.Put(taken[6]);
  blocks.Put(taken[7]);
  EXPECT_EQ(blocks.GiveBackIdle(), 6 * kSize);
  EXPECT_EQ(blocks.GiveBackIdle(), 2 * kSize);
  EXPECT_EQ(blocks.GiveBackIdle(), 0u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(*std::max_element(taken[i], taken[i] + kSize), 0) << i;  // pages anew
  }
  for (size_t i = 8; i < 10; ++i) EXPECT_EQ(taken[i][kSize - 1], 'x');
  // One that went back goes back again once it was in use.
  std::memset(blocks.Take(), 'x', kSize);
  blocks.Put(taken[7]);
  EXPECT_EQ(blocks.GiveBackIdle(), 0u);
  EXPECT_EQ(blocks.GiveBackIdle(), kSize);
}

TEST(SharedBlocksTest, ThreadsKeepTheirBytesWhileOthersGoBack) {
  SharedBlocks blocks;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread giver([&] {
    while (!stop) blocks.GiveBackIdle();
  });
  std::vector<std::thread> users;
  for (int id = 1; id <= 4; ++id) {
    users.emplace_back([&, id] {
      for (int turn = 0; turn < 2000; ++turn) {
        char* mine[3];
        for (char*& block : mine) {
          block = static_cast<char*>(blocks.Take());
          std::memset(block, id, kSize);
        }
        for (char* block : mine) {
          if (block[0] != id || std::memcmp(block, block + 1, kSize - 1) != 0) ++wrong;
          blocks.Put(block);
        }
      }
    });
  }
  for (std::thread& user : users) user.join();
  stop = true;
  giver.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tessera
