#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Any other byte in a bool is undefined behaviour.
TEST(ImmutableConstTest, EachByteOfABoolIsZeroOrOne) {
  const std::string path = JoinPath(::testing::TempDir(), absl::StrCat("bools.", ::getpid()));
  ASSERT_TRUE(WriteFileAtomically(path, absl::string_view("\x00\x01\x02\xff", 4)).ok());
  const auto read = [&](int64_t count) {
    return RunOp("ImmutableConst", {},
                 {{"dtype", DType::kBool},
                  {"shape", PartialShape(Shape{count})},
                  {"memory_region_name", path}});
  };
  const Tensor bools = read(4).value();
  EXPECT_THAT(std::string(bools.raw(), bools.size_bytes()), ::testing::ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(read(5).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
