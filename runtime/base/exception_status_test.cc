#include "runtime/base/exception_status.h"

#include <limits>
#include <stdexcept>
#include <string>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(ExceptionStatusTest, ResultsAreHandedOn) {
  EXPECT_TRUE(CatchExceptions("it", [] { return absl::OkStatus(); }).ok());
  EXPECT_EQ(CatchExceptions("it", [] { return absl::NotFoundError("x"); }),
            absl::NotFoundError("x"));
}

TEST(ExceptionStatusTest, LackOfMemoryIsResourceExhausted) {
  EXPECT_EQ(CatchExceptions("it", []() -> absl::Status { throw std::bad_alloc(); }),
            absl::ResourceExhaustedError("it: there is not enough memory"));
  const auto grow = [] {
    std::string text;
    text.reserve(std::numeric_limits<size_t>::max());
    return absl::OkStatus();
  };
  EXPECT_EQ(CatchExceptions("it", grow),
            absl::ResourceExhaustedError("it: more memory is needed than any machine has"));
}

TEST(ExceptionStatusTest, OthersAreInternal) {
  EXPECT_EQ(CatchExceptions("it", []() -> absl::Status { throw std::runtime_error("why"); }),
            absl::InternalError("it failed: why"));
  EXPECT_EQ(CatchExceptions("it", []() -> absl::Status { throw 7; }),
            absl::InternalError("it failed"));
}

}  // namespace
}  // namespace tessera
