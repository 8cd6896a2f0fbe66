#include "runtime/exec/missing_kernels.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

TEST(MissingKernelsTest, NamesANodeOnce) {
  MissingKernels missing;
  missing.Add("Foo", "b");
  missing.Add("Foo", "a", "for int8");
  missing.Add("Foo", "b");
  missing.Add("Bar", "b");
  EXPECT_THAT(std::string(missing.ToStatus().message()),
              HasSubstr("2 ops have no kernel: Bar (node 'b'), Foo (nodes 'b', 'a': for int8);"));
}

TEST(MissingKernelsTest, MergesWhatAFunctionLacks) {
  MissingKernels inner;
  inner.Add("Foo", "a");
  MissingKernels outer;
  EXPECT_TRUE(outer.Merge(inner.ToStatus(), "call/"));
  EXPECT_TRUE(outer.Merge(inner.ToStatus(), "call/"));
  EXPECT_FALSE(outer.Merge(absl::InternalError("another error")));
  EXPECT_THAT(std::string(outer.ToStatus().message()), HasSubstr("Foo (node 'call/a');"));
}

// Comparing each node with all others before it would take minutes.
TEST(MissingKernelsTest, CountsAQuarterOfAMillionNodesOfOneOp) {
  constexpr int kNodes = 250'000;
  MissingKernels missing;
  for (int i = 0; i < kNodes; ++i) missing.Add("Foo", absl::StrCat("node", i));
  MissingKernels merged;
  EXPECT_TRUE(merged.Merge(missing.ToStatus()));
  EXPECT_THAT(std::string(merged.ToStatus().message()),
              HasSubstr(absl::StrCat("and ", kNodes - 8, " more")));
}

}  // namespace
}  // namespace tessera
