#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

std::string Lower(const std::string& text) {
  return RunOp("StringLower", {Tensor::Scalar(text)}, {{"encoding", "utf-8"}})
      ->scalar<std::string>();
}

TEST(StringCaseTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Lower("\xc3\x89"
                  "A"),
            "\xc3\xa9"
            "a");
  EXPECT_EQ(Lower("\xff"
                  "A"),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(Lower("A\xe2\x82"), "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace tessera
