#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

TEST(FingerprintTest, ObjectsHaveNone) {
  const auto code_for = [](DType dtype) {
    return RunOp("Fingerprint",
                 {Tensor::Zeros(dtype, {2}).value(), Tensor::Scalar<std::string>("farmhash64")})
        .status()
        .code();
  };
  EXPECT_EQ(code_for(DType::kFloat), absl::StatusCode::kOk);
  EXPECT_EQ(code_for(DType::kString), absl::StatusCode::kOk);
  EXPECT_EQ(code_for(DType::kResource), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_for(DType::kVariant), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
