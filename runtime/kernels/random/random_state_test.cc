#include "runtime/kernels/random/random_state.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

const Philox kSeed(1, 2);

uint64_t CounterOfNext(ResourceManager& resources) {
  return RandomState::Take(resources, "noise", kSeed).value()->Get().counter_low();
}

TEST(RandomStateTest, SavedStatesGoOnInAnotherSession) {
  ResourceManager first, second;
  const auto state = RandomState::Take(first, "noise", kSeed).value();
  const auto of_another_function = RandomState::Take(first, "noise", kSeed).value();
  state->Reserve(10);
  of_another_function->Reserve(3);
  ASSERT_TRUE(WriteRandomStates(*ReadRandomStates(first, HeapAllocator()), second).ok());
  EXPECT_EQ(CounterOfNext(second), 10);
  EXPECT_EQ(CounterOfNext(second), 3);
  EXPECT_EQ(CounterOfNext(second), 0) << "no more were saved";
}

TEST(RandomStateTest, StatesInUseAreSetAsWell) {
  ResourceManager first, second;
  const auto state = RandomState::Take(first, "noise", kSeed).value();
  state->Reserve(10);
  const auto used = RandomState::Take(second, "noise", kSeed).value();
  used->Reserve(1);
  ASSERT_TRUE(WriteRandomStates(*ReadRandomStates(first, HeapAllocator()), second).ok());
  EXPECT_EQ(used->Get().counter_low(), 10);
}

TEST(RandomStateTest, AReleasedStateStartsAnew) {
  ResourceManager resources;
  const auto state = RandomState::Take(resources, "noise", kSeed).value();
  state->Reserve(10);
  state->Release();
  EXPECT_EQ(CounterOfNext(resources), 0);
  EXPECT_EQ(ReadRandomStates(resources, HeapAllocator())->names.num_elements(), 1);
}

TEST(RandomStateTest, OtherTensorsAreRefused) {
  ResourceManager resources;
  EXPECT_EQ(WriteRandomStates(
                {Tensor::Vector<std::string>({"a", "b"}), Tensor::Of<uint64_t>({1, 3}, {1, 2, 3})},
                resources)
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
