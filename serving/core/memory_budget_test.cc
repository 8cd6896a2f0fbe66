#include "serving/core/memory_budget.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(MemoryBudgetTest, TextOfBytes) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(int64_t{300} << 20), "300 MiB");
  EXPECT_EQ(BytesText(int64_t{5} << 42), "20 TiB");
}

TEST(MemoryBudgetTest, FillsUpToTheLimitAndNoFurther) {
  MemoryBudget budget(1000);
  EXPECT_TRUE(budget.Reserve({"a", 1}, {.mapped = 500, .heap = 100}).ok());
  EXPECT_FALSE(budget.Reserve({"b", 1}, {.mapped = 401}).ok());
  EXPECT_EQ(budget.in_use(), 600);
  EXPECT_TRUE(budget.Reserve({"b", 1}, {.heap = 400}).ok());
  EXPECT_FALSE(budget.Fits({.heap = 1}));
  budget.Release({"a", 1});
  budget.Release({"a", 1});
  EXPECT_TRUE(budget.Fits({.heap = 600}));
  EXPECT_FALSE(budget.Fits({.heap = 601})) << "released once, however often that is said";
}

TEST(MemoryBudgetTest, TellsWhatIsReservedForWhom) {
  MemoryBudget budget(1000);
  ASSERT_TRUE(budget.Reserve({"a", 1}, {.mapped = 500, .heap = 100}).ok());
  ASSERT_FALSE(budget.Reserve({"b", 1}, {.mapped = 500}).ok());
  const auto reserved = budget.reserved();
  ASSERT_EQ(reserved.size(), 1) << "nothing for what was refused";
  EXPECT_EQ(reserved.begin()->first, ServableId({"a", 1}));
  EXPECT_EQ(reserved.begin()->second.mapped, 500);
  EXPECT_EQ(reserved.begin()->second.heap, 100);
  budget.Release({"a", 1});
  EXPECT_THAT(budget.reserved(), IsEmpty());
}

TEST(MemoryBudgetTest, RefusalSaysWhatIsMissingAndWhatHelps) {
  MemoryBudget budget(int64_t{1} << 30);
  ASSERT_TRUE(budget.Reserve({"a", 1}, {.mapped = int64_t{900} << 20}).ok());
  const absl::Status refused =
      budget.Reserve({"b", 7}, {.mapped = int64_t{200} << 20, .heap = int64_t{40} << 20});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("Insufficient resources to load servable {name: b version: 7}: it takes "
                        "about 240 MiB (200 MiB of mapped files, 40 MiB besides), and versions "
                        "that are loaded take 900 MiB of the limit of 1.0 GiB. Raise "
                        "--memory_limit"));
}

TEST(MemoryBudgetTest, WithoutALimitEverythingFits) {
  MemoryBudget budget(0);
  EXPECT_TRUE(budget.Reserve({"a", 1}, {.mapped = int64_t{1} << 60}).ok());
}

}  // namespace
}  // namespace tessera::serving
