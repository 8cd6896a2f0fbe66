#include "runtime/kernels/primitives/cuda/cudnn_convolution.h"

#include <gtest/gtest.h>

namespace tessera::cuda {
namespace {

constexpr ConvolutionDirection kDirections[] = {ConvolutionDirection::kForward,
                                                ConvolutionDirection::kInputGradient,
                                                ConvolutionDirection::kFilterGradient};

class CudnnConvolutionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<const Cudnn*> cudnn = LoadCudnn();
    if (!cudnn.ok()) GTEST_SKIP() << cudnn.status();
    cudnn_ = *cudnn;
    shape_.batch = 2, shape_.in_channels = 8, shape_.out_channels = 16;
    shape_.input = {9, 8}, shape_.filter = {3, 2}, shape_.output = {5, 8};
    shape_.strides = {2, 1}, shape_.dilations = {1, 1};
    shape_.pad_before = {1, 0}, shape_.pad_after = {1, 1};
  }

  absl::Status Describe(ConvolutionDirection direction, cudnnDataType_t type) {
    return DescribeConvolution(*cudnn_, {direction, shape_, DType::kFloat}, type).status();
  }

  const Cudnn* cudnn_ = nullptr;
  ConvolutionShape shape_;
};

TEST_F(CudnnConvolutionTest, DescribesEachDirectionAndType) {
  for (const auto direction : kDirections) {
    for (const auto type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
      const absl::Status status = Describe(direction, type);
      EXPECT_TRUE(status.ok()) << static_cast<int>(direction) << ", " << type << ": " << status;
    }
  }
}

TEST_F(CudnnConvolutionTest, DescribesGroupsAndChannelsFirst) {
  shape_.groups = 4;
  shape_.channels_first = true;
  for (const auto direction : kDirections) {
    const absl::Status status = Describe(direction, CUDNN_DATA_FLOAT);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(CudnnConvolutionTest, DescribesEachActivationWithBiasAndAddend) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kRelu6, Activation::kElu,
        Activation::kLeakyRelu, Activation::kTanh, Activation::kSigmoid, Activation::kSwish,
        Activation::kGeluErf, Activation::kGeluTanh}) {
    for (const bool bias : {false, true}) {
      for (const bool add : {false, true}) {
        const PostOps post_ops{.bias = bias, .add = add, .activation = activation, .alpha = 0.25f};
        const auto operations = DescribeConvolution(
            *cudnn_, {ConvolutionDirection::kForward, shape_, DType::kHalf, post_ops},
            CUDNN_DATA_HALF);
        ASSERT_TRUE(operations.ok()) << static_cast<int>(activation) << operations.status();
        EXPECT_EQ(operations->operations().size(),
                  1u + bias + add + (activation != Activation::kNone));
      }
    }
  }
}

TEST_F(CudnnConvolutionTest, SizesThatContradictEachOtherAreErrors) {
  shape_.output = {50, 80};
  EXPECT_FALSE(Describe(ConvolutionDirection::kForward, CUDNN_DATA_FLOAT).ok());
}

}  // namespace
}  // namespace tessera::cuda
