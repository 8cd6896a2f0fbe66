// A fixture for tests of the GPU's primitives beside those of the CPU.
#pragma once

#include <cmath>
#include <cstring>
#include <random>

#include "gtest/gtest.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

inline constexpr absl::string_view kEmulated = "EMULATED_GPU";
// Runs a primitive on the CPU and on the emulated GPU.
class BothDevicesTest : public ::testing::Test {
 protected:
  Tensor Floats(const Shape& shape, float low = -1, float high = 1) {
    Tensor tensor = Empty(DType::kFloat, shape);
    std::uniform_real_distribution<float> distribution(low, high);
    for (float& x : tensor.flat<float>()) x = distribution(random_);
    return tensor;
  }
  Tensor Indices(int64_t count, int64_t low, int64_t high) {
    Tensor tensor = Empty(DType::kInt32, {count});
    std::uniform_int_distribution<int32_t> distribution(static_cast<int32_t>(low),
                                                        static_cast<int32_t>(high));
    for (int32_t& x : tensor.flat<int32_t>()) x = distribution(random_);
    return tensor;
  }
  // Whose elements nobody has written.
  static Tensor Empty(DType dtype, const Shape& shape) {
    Tensor tensor = Tensor::Allocate(dtype, shape).value();
    std::memset(tensor.mutable_raw(), 0x7f, tensor.size_bytes());
    return tensor;
  }
  static Tensor Copy(const Tensor& from) {
    Tensor to = Empty(from.dtype(), from.shape());
    std::memcpy(to.mutable_raw(), from.raw(), from.size_bytes());
    return to;
  }

  // Runs the primitive of both devices. `run` calls what it is given with arguments of its own.
  template <typename P, typename Run>
  void OnBoth(const Run& run) {
    for (const absl::string_view device : {kCpu, kEmulated}) {
      auto* const primitive = PrimitiveImplementations<P>::Find(device);
      ASSERT_NE(primitive, nullptr) << device;
      const absl::Status status = run(primitive, device == kCpu ? 0 : 1);
      ASSERT_TRUE(status.ok()) << device << ": " << status;
    }
  }

  static void ExpectNear(const Tensor& want, const Tensor& have, float tolerance = 1e-5f) {
    ASSERT_EQ(want.shape(), have.shape());
    const auto a = want.flat<float>(), b = have.flat<float>();
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) || std::isinf(a[i])) {
        ASSERT_TRUE(std::isnan(a[i]) ? std::isnan(b[i]) : a[i] == b[i]) << i << ": " << b[i];
      } else {
        ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(a[i]))) << "at " << i;
      }
    }
  }
  static void ExpectSameBytes(const Tensor& want, const Tensor& have) {
    ASSERT_EQ(want.size_bytes(), have.size_bytes());
    EXPECT_EQ(std::memcmp(want.raw(), have.raw(), want.size_bytes()), 0);
  }

  StepContext step_;
  KernelContext ctx_{step_, /*device=*/nullptr};
  std::mt19937 random_{7};
};

}  // namespace tessera
