// Reductions of half and bfloat16 have the bits of TensorFlow's, which rounds after each operation
// or in the end, as the op and the dtype have it.

#include <cmath>
#include <cstdint>
#include <ostream>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"
#include "runtime/kernels/testing/narrow_tensor.h"

namespace tessera {
namespace {

// Tables of this file are printed by tests/conformance/narrow_checksums.py.

Tensor Numbers(DType dtype, const Shape& shape) {
  return NarrowTensor(dtype, shape,
                      [](int64_t i) { return static_cast<float>(i * 7919 % 1000 - 500) / 128; });
}

struct RecordedReduction {
  const char* op;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<int32_t> axes;
  uint64_t checksum;  // of TensorFlow's results
};
std::ostream& operator<<(std::ostream& out, const RecordedReduction& r) {
  return out << r.op << " of " << DTypeName(r.dtype) << " " << Shape(r.shape).ToString();
}
const RecordedReduction kReductions[] = {
    {"Sum", DType::kHalf, {7, 3}, {1}, 0xcc73488230d61870},
    {"Sum", DType::kHalf, {7, 45}, {1}, 0x1de1599b2ffdf45c},
    {"Sum", DType::kHalf, {3, 3001}, {1}, 0x9080a678fb3b6b60},
    {"Sum", DType::kHalf, {10000}, {0}, 0xbfe02d2ee4929a8a},
    {"Sum", DType::kHalf, {15, 16}, {0}, 0xa1faac63253fd334},
    {"Sum", DType::kHalf, {64, 20}, {0}, 0xc2bb45ecbe1d6050},
    {"Sum", DType::kHalf, {3, 17, 20}, {1}, 0x9dd14b5ebc3fe7fc},
    {"Sum", DType::kHalf, {5, 9, 7}, {0, 2}, 0x216c4f9188896dbf},
    {"Sum", DType::kHalf, {3, 4, 5, 6}, {1, 3}, 0x45e5c2400db9630c},
    {"Sum", DType::kHalf, {3, 4, 5, 6}, {0, 2}, 0x67671291ce2d3488},
    {"Mean", DType::kHalf, {7, 45}, {1}, 0x1e62b083df8b5fbe},
    {"Mean", DType::kHalf, {3, 17, 20}, {1}, 0x3d740aa5cae5fd89},
    {"EuclideanNorm", DType::kHalf, {7, 45}, {1}, 0x4db24cb0ab089bd6},
    {"Prod", DType::kHalf, {7, 5}, {1}, 0x86a9635b4b8cb3b0},
    {"Sum", DType::kBfloat16, {7, 3}, {1}, 0xc3c4210032906f77},
    {"Sum", DType::kBfloat16, {7, 45}, {1}, 0x80cd772ea95c92cd},
    {"Sum", DType::kBfloat16, {3, 3001}, {1}, 0x8323004ae8afa157},
    {"Sum", DType::kBfloat16, {10000}, {0}, 0x584fe2c05e2d7c4c},
    {"Sum", DType::kBfloat16, {15, 16}, {0}, 0x30a1f4f6af2b92ba},
    {"Sum", DType::kBfloat16, {64, 20}, {0}, 0xffee5a7a8359c34c},
    {"Sum", DType::kBfloat16, {3, 17, 20}, {1}, 0xcfbcfcb7ead20996},
    {"Sum", DType::kBfloat16, {5, 9, 7}, {0, 2}, 0x21b5544c2333635e},
    {"Sum", DType::kBfloat16, {3, 4, 5, 6}, {1, 3}, 0x0c832453e809f585},
    {"Sum", DType::kBfloat16, {3, 4, 5, 6}, {0, 2}, 0x406f857d526432ff},
    {"Mean", DType::kBfloat16, {7, 45}, {1}, 0x4eb60eeb67fdd038},
    {"Mean", DType::kBfloat16, {3, 17, 20}, {1}, 0xc76589dd4c3f0346},
    {"EuclideanNorm", DType::kBfloat16, {7, 45}, {1}, 0xa1f66cc6b00a622c},
    {"Prod", DType::kBfloat16, {7, 5}, {1}, 0x977adda0756825ce},
};

TEST(StepwiseReductionTest, HasTensorFlowsBits) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const RecordedReduction& r : kReductions) {
    const std::vector<Tensor> inputs = {Numbers(r.dtype, Shape(r.shape)),
                                        Tensor::Vector<int32_t>(r.axes)};
    EXPECT_EQ(NarrowChecksum(RunOp(r.op, inputs).value()), r.checksum) << r;
    EXPECT_EQ(NarrowChecksum(RunOp(r.op, inputs, {}, &pool).value()), r.checksum)
        << r << " on several threads";
  }
}

struct RecordedOp {
  const char* op;
  DType dtype;
  uint64_t checksum;
};
constexpr RecordedOp kOps[] = {
    {"BiasAddGrad", DType::kHalf, 0x291fca7d447a0de0},
    {"L2Loss", DType::kHalf, 0x13e847d004f7866e},
    {"Softmax", DType::kHalf, 0x5f637e863bd8dbcd},
    {"LogSoftmax", DType::kHalf, 0xed7f28f4eda0ffba},
    {"AddN", DType::kHalf, 0x9e231947bfba1708},
    {"AvgPool", DType::kHalf, 0xd3cb844a365fcb76},
    {"MaxPoolGrad", DType::kHalf, 0x979f7ef72e918094},
    {"AvgPoolGrad", DType::kHalf, 0xe45d0e9bc9029640},
    {"BiasAddGrad", DType::kBfloat16, 0xd29a231ca1aed726},
    {"L2Loss", DType::kBfloat16, 0x6e7401872c4babbe},
    {"Softmax", DType::kBfloat16, 0x59caa8b7d2518fee},
    {"LogSoftmax", DType::kBfloat16, 0xac3492de8e4251cf},
    {"AddN", DType::kBfloat16, 0xf3d056e8c03ae417},
    {"AvgPool", DType::kBfloat16, 0xbd2fe9febdffa4ca},
    {"MaxPoolGrad", DType::kBfloat16, 0xd79b6b1ea184703d},
};

std::vector<Tensor> InputsOf(const RecordedOp& r, AttrMap* attrs) {
  const absl::string_view op = r.op;
  if (op == "BiasAddGrad") return {Numbers(r.dtype, {40, 20})};
  if (op == "L2Loss") return {Numbers(r.dtype, {5000})};
  if (op == "Softmax" || op == "LogSoftmax") return {Numbers(r.dtype, {16, 45})};
  if (op == "AddN") {
    std::vector<Tensor> addends;
    for (int64_t i = 0; i < 20; ++i) {
      addends.push_back(NarrowTensor(r.dtype, {50}, [&](int64_t j) {
        return static_cast<float>((i * 50 + j) * 7919 % 1000 - 500) / 128;
      }));
    }
    return addends;
  }
  (*attrs)["ksize"] = std::vector<int64_t>{1, 3, 3, 1};
  if (op == "MaxPoolGrad") {
    (*attrs)["strides"] = std::vector<int64_t>{1, 1, 1, 1};
    (*attrs)["padding"] = std::string("SAME");
    const Tensor image = Numbers(r.dtype, {2, 7, 7, 8});
    return {image, RunOp("MaxPool", {image}, *attrs).value(), image};
  }
  (*attrs)["strides"] = std::vector<int64_t>{1, 2, 2, 1};
  (*attrs)["padding"] = std::string(op == "AvgPool" ? "SAME" : "VALID");
  if (op == "AvgPool") return {Numbers(r.dtype, {2, 7, 7, 8})};
  return {Tensor::Vector<int32_t>({2, 9, 9, 8}), Numbers(r.dtype, {2, 4, 4, 8})};
}

TEST(StepwiseReductionTest, OtherOpsThatAddHaveTensorFlowsBits) {
  for (const RecordedOp& r : kOps) {
    AttrMap attrs;
    std::vector<Tensor> inputs = InputsOf(r, &attrs);
    EXPECT_EQ(NarrowChecksum(RunOp(r.op, std::move(inputs), attrs).value()), r.checksum)
        << r.op << " of " << DTypeName(r.dtype);
  }
}

float HalfOf(absl::string_view op, const Tensor& x, std::vector<int32_t> axes) {
  const Tensor y = RunOp(op, {x, Tensor::Vector<int32_t>(axes)}).value();
  return static_cast<float>(y.flat<Eigen::half>()[0]);
}

Tensor Ones(int64_t count) {
  return NarrowTensor(DType::kHalf, {count}, [](int64_t) { return 1.0f; });
}

TEST(StepwiseReductionTest, MeansOfMoreElementsThanHalfCanCountAreRight) {
  EXPECT_EQ(HalfOf("Mean", Ones(100000), {0}), 1);
  EXPECT_TRUE(std::isinf(HalfOf("Sum", Ones(100000), {0})));
}

TEST(StepwiseReductionTest, NothingAndNaNAndScalars) {
  EXPECT_EQ(HalfOf("Sum", Ones(0), {0}), 0);
  EXPECT_EQ(HalfOf("Prod", Ones(0), {0}), 1);
  EXPECT_TRUE(std::isnan(HalfOf("Mean", Ones(0), {0})));
  EXPECT_EQ(RunOp("Sum", {NarrowTensor(DType::kHalf, {3, 0, 2}, [](int64_t) { return 1.0f; }),
                          Tensor::Vector<int32_t>({0})})
                ->shape(),
            Shape({0, 2}));
  for (const int64_t nan_at : {0, 5, 39}) {
    const Tensor x =
        NarrowTensor(DType::kHalf, {40}, [&](int64_t i) { return i == nan_at ? NAN : 1.0f; });
    EXPECT_TRUE(std::isnan(HalfOf("Sum", x, {0}))) << nan_at;
  }
  EXPECT_EQ(HalfOf("Sum", NarrowTensor(DType::kHalf, {}, [](int64_t) { return 2.5f; }), {}), 2.5f);
}

}  // namespace
}  // namespace tessera
