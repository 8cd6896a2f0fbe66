#include "runtime/framework/resource_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

using ::testing::HasSubstr;

IntrusivePtr<Variable> NewVariable() {
  return MakeRefCounted<Variable>(DType::kFloat, PartialShape({2}));
}

TEST(ResourceManagerTest, KeepsKindsAndContainersApart) {
  ResourceManager manager;
  ASSERT_TRUE(manager.Create("", "variable", "x", NewVariable()).ok());
  EXPECT_EQ(manager.Create("localhost", "variable", "x", NewVariable()).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(manager.Create("", "table", "x", NewVariable()).ok());
  EXPECT_TRUE(manager.Create("other", "variable", "x", NewVariable()).ok());
  ASSERT_TRUE(manager.Delete("", "variable", "x").ok());
  EXPECT_EQ(manager.Lookup("", "variable", "x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(manager.Lookup("", "table", "x").ok());
  EXPECT_TRUE(manager.Lookup("other", "variable", "x").ok());
}

TEST(ResourceManagerTest, ALookupOfNothingNamesItAll) {
  ResourceManager manager;
  const absl::Status status = manager.Lookup("c", "table", "vocab").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("table 'vocab' in container 'c'"));
}

TEST(ResourceManagerTest, OnlyOneOfManyMakes) {
  ResourceManager manager;
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      ASSERT_TRUE(manager
                      .LookupOrCreate("", "variable", "x",
                                      [&]() -> absl::StatusOr<IntrusivePtr<Resource>> {
                                        ++made;
                                        return IntrusivePtr<Resource>(NewVariable());
                                      })
                      .ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

TEST(ResourceManagerTest, ADeletedResourceLivesWhileItIsHeld) {
  ResourceManager manager;
  ASSERT_TRUE(manager.Create("", "variable", "x", NewVariable()).ok());
  const IntrusivePtr<Resource> held = *manager.Lookup("", "variable", "x");
  ASSERT_TRUE(manager.Delete("", "variable", "x").ok());
  EXPECT_TRUE(held->HasOneOwner());
  EXPECT_EQ(manager.Delete("", "variable", "x").code(), absl::StatusCode::kNotFound);
}

TEST(VariableTest, ATensorOnceReadNeverChanges) {
  const auto variable = NewVariable();
  EXPECT_FALSE(variable->initialized());
  variable->Assign(Tensor::Vector<float>({1, 2}));
  const Tensor read = variable->Read();
  ASSERT_TRUE(variable
                  ->Update([](Tensor& t) {
                    EXPECT_FALSE(t.CanWriteInPlace());
                    t = *t.DeepCopy();
                    t.flat<float>()[0] = 7;
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(read.flat<float>()[0], 1);
  EXPECT_EQ(variable->Read().flat<float>()[0], 7);
}

TEST(LookupResourceTest, RefusesAnotherClass) {
  class Table : public Resource {
   public:
    std::string DebugString() const override { return "a table"; }
  };
  ResourceManager manager;
  ResourceHandle handle;
  handle.name = "x";
  handle.resource = NewVariable();
  EXPECT_TRUE(LookupResource<Variable>(manager, handle).ok());
  EXPECT_EQ(LookupResource<Table>(manager, handle).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
