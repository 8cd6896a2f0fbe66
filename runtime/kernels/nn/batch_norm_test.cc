// Ranks of batch normalisation.
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

Tensor Rising(Shape shape) {
  Tensor tensor = Tensor::Zeros(DType::kFloat, shape).value();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(i);
  }
  return tensor;
}

// The means of the channels.
absl::StatusOr<Tensor> Means(Shape shape, int64_t channels, const char* format) {
  const Tensor ones = Tensor::Vector<float>(std::vector<float>(channels, 1.f));
  const Tensor none = Tensor::Vector<float>({});
  const std::vector<Tensor> inputs = {Rising(shape), ones, ones, none, none};
  auto runner =
      KernelRunner::Create("FusedBatchNormV3", inputs, {{"data_format", std::string(format)}});
  if (!runner.ok()) return runner.status();
  absl::StatusOr<std::vector<Tensor>> outputs = runner->Run(inputs);
  if (!outputs.ok()) return outputs.status();
  return (*outputs)[1];
}

// The numbers are TensorFlow's.
TEST(FusedBatchNormTest, FormatSaysWhereChannelsAreWhateverItsRank) {
  for (const char* format : {"NHWC", "NDHWC"}) {
    EXPECT_EQ(Means({2, 3, 4, 5}, 5, format)->flat<float>(),
              absl::MakeConstSpan({57.5f, 58.5f, 59.5f, 60.5f, 61.5f}))
        << format;
    EXPECT_EQ(Means({2, 2, 3, 4, 5}, 5, format)->dim(0), 5) << format;
  }
  for (const char* format : {"NCHW", "NCDHW"}) {
    EXPECT_EQ(Means({2, 3, 4, 5}, 3, format)->flat<float>(),
              absl::MakeConstSpan({39.5f, 59.5f, 79.5f}))
        << format;
    EXPECT_EQ(Means({2, 3, 4, 5, 2}, 3, format)->dim(0), 3) << format;
  }
}

TEST(FusedBatchNormTest, OtherRanksAndNumbersOfChannelsAreRefused) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(Means({2, 3, 5}, 5, "NHWC").status().code(), kInvalid);
  EXPECT_EQ(Means({1, 1, 2, 2, 3, 5}, 5, "NDHWC").status().code(), kInvalid);
  EXPECT_EQ(Means({2, 3, 4, 5}, 3, "NDHWC").status().code(), kInvalid);
  EXPECT_EQ(Means({2, 3, 4, 5}, 5, "NCDHW").status().code(), kInvalid);
}

TEST(FusedBatchNormTest, GradientsTakeEitherRank) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{2, 2, 3, 4, 5}}) {
    for (const char* format : {"NHWC", "NDHWC"}) {
      const Tensor ones = Tensor::Vector<float>(std::vector<float>(5, 1.f));
      const std::vector<Tensor> inputs = {Rising(shape), Rising(shape), ones, ones, ones, ones};
      auto runner = KernelRunner::Create("FusedBatchNormGradV3", inputs,
                                         {{"data_format", std::string(format)}});
      ASSERT_TRUE(runner.ok()) << runner.status();
      const auto outputs = runner->Run(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ((*outputs)[0].shape(), shape);
      EXPECT_EQ((*outputs)[2].shape(), Shape{5});
    }
  }
}

}  // namespace
}  // namespace tessera
