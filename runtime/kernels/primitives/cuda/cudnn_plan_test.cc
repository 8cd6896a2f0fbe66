// What cuDNN takes in one call on an A100, an H100 and a B200: it chooses engines and compiles
// kernels for GPUs that it is told of, without one. The numbers that these kernels give are not
// shown here.
#include "runtime/kernels/primitives/cuda/cudnn_plan.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "runtime/kernels/primitives/cuda/cudnn_attention.h"
#include "runtime/kernels/primitives/cuda/cudnn_batch_norm.h"
#include "runtime/kernels/primitives/cuda/cudnn_convolution.h"
#include "runtime/kernels/primitives/cuda/cudnn_pooling.h"

namespace tessera::cuda {
namespace {

struct Gpu {
  const char* name;
  int capability, multiprocessors, shared_memory, l2_cache;
};
// From the data sheets.
constexpr Gpu kGpus[] = {
    {"NVIDIA A100-SXM4-80GB", 800, 108, 166912, 41943040},
    {"NVIDIA H100 80GB HBM3", 900, 132, 232448, 52428800},
    {"NVIDIA B200", 1000, 148, 232448, 132644864},
};

std::string PropertiesOf(const Gpu& gpu) {
  return absl::StrFormat(
      R"({"deviceName": "%s", "deviceVer": %d, "multiProcessorCount": %d,
          "maxSharedMemoryPerBlockOptin": %d, "l2CacheSize": %d, "maxSharedMemoryPerBlock": 49152,
          "reservedSharedMemoryPerBlock": 1024, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
          "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
          "warpSize": 32, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
          "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "pciDeviceId": 0,
          "isTccDriver": 0, "supportCoopLaunch": 1, "driverVer": 13000, "cudaDeviceId": 0,
          "totalGlobalMem": 85029158912})",
      gpu.name, gpu.capability, gpu.multiprocessors, gpu.shared_memory, gpu.l2_cache);
}

constexpr size_t kWorkspace = size_t{32} << 20;

class CudnnPlanTest : public ::testing::TestWithParam<Gpu> {
 protected:
  void SetUp() override {
    // cuDNN finds both by their names once they are loaded.
    static void* const driver = ::dlopen(
        "runtime/kernels/primitives/cuda/testing/libdriver_stand_in.so", RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(driver, nullptr) << ::dlerror();
    if (const auto nvrtc = LoadNvrtc(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
    const absl::StatusOr<const Cudnn*> cudnn = LoadCudnn();
    if (!cudnn.ok()) GTEST_SKIP() << cudnn.status();
    cudnn_ = *cudnn;
    absl::StatusOr<Descriptor> properties =
        Descriptor::Make(*cudnn_, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    if (!properties.ok()) GTEST_SKIP() << "needs cuDNN 9.8: " << properties.status();
    const std::string json = PropertiesOf(GetParam());
    ASSERT_TRUE(properties
                    ->Set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                          absl::MakeConstSpan(json.c_str(), json.size() + 1))
                    .ok());
    const absl::Status status = properties->Finalize("a GPU");
    ASSERT_TRUE(status.ok()) << status;
    properties_.emplace(*std::move(properties));
  }

  // True if cuDNN has a plan.
  bool Takes(const absl::StatusOr<CudnnGraph>& graph, bool exact = false) {
    EXPECT_TRUE(graph.ok()) << graph.status();
    if (!graph.ok()) return false;
    const auto plan = ChoosePlan(*graph, {.properties = properties_->handle()},
                                 {.exact = exact, .workspace_size = kWorkspace});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() && plan->has_value();
  }

  // cuDNN compiles for seconds: all dtypes are tried for one GPU.
  static std::vector<DType> DTypes() {
    if (GetParam().capability == 900) return {DType::kFloat, DType::kHalf, DType::kBfloat16};
    return {DType::kBfloat16};
  }

  const Cudnn* cudnn_ = nullptr;
  std::optional<Descriptor> properties_;
};

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnPlanTest, ::testing::ValuesIn(kGpus),
                         [](const auto& gpu) { return absl::StrCat(gpu.param.capability); });

TEST_P(CudnnPlanTest, ConvolutionsInEachDirection) {
  ConvolutionShape shape;
  shape.batch = 8, shape.in_channels = shape.out_channels = 64;
  shape.input = shape.output = {28, 28}, shape.filter = {3, 3};
  shape.strides = shape.dilations = shape.pad_before = shape.pad_after = {1, 1};
  for (const DType dtype : DTypes()) {
    for (const auto direction :
         {ConvolutionDirection::kForward, ConvolutionDirection::kInputGradient,
          ConvolutionDirection::kFilterGradient}) {
      // Without rounding of operands too.
      EXPECT_TRUE(
          Takes(DescribeConvolution(*cudnn_, {direction, shape, dtype}, *CudnnTypeOf(dtype)),
                /*exact=*/dtype == DType::kFloat))
          << DTypeName(dtype) << ", direction " << static_cast<int>(direction);
    }
  }
}

TEST_P(CudnnPlanTest, ConvolutionWithBiasAddendAndReluInHalf) {
  ConvolutionShape shape;
  shape.batch = 8, shape.in_channels = shape.out_channels = 64;
  shape.input = shape.output = {28, 28}, shape.filter = {3, 3};
  shape.strides = shape.dilations = shape.pad_before = shape.pad_after = {1, 1};
  const PostOps post_ops{.bias = true, .add = true, .activation = Activation::kRelu};
  EXPECT_TRUE(Takes(DescribeConvolution(
      *cudnn_, {ConvolutionDirection::kForward, shape, DType::kHalf, post_ops}, CUDNN_DATA_HALF)));
}

TEST_P(CudnnPlanTest, PoolsOfImagesWithChannelsLast) {
  PoolShape shape;
  shape.batch = 8, shape.channels = 64;
  shape.input[1] = shape.input[2] = 56, shape.output[1] = shape.output[2] = 28;
  shape.window[1] = shape.window[2] = 3, shape.stride[1] = shape.stride[2] = 2;
  for (const DType dtype : DTypes()) {
    for (const PoolMode mode : {PoolMode::kMax, PoolMode::kAverage, PoolMode::kAverageGradient}) {
      EXPECT_TRUE(Takes(DescribePool(*cudnn_, {mode, shape, dtype}, *CudnnTypeOf(dtype))))
          << DTypeName(dtype) << ", mode " << static_cast<int>(mode);
    }
  }
}

TEST_P(CudnnPlanTest, BatchNormAndItsGradientWithChannelsLast) {
  const ChannelShape shape{.outer = 64 * 28 * 28, .channels = 64, .inner = 1};
  for (const DType dtype : DTypes()) {
    for (const bool is_gradient : {false, true}) {
      EXPECT_TRUE(
          Takes(DescribeBatchNorm(*cudnn_, {shape, dtype, is_gradient}, *CudnnTypeOf(dtype))))
          << DTypeName(dtype) << (is_gradient ? ", gradient" : "");
    }
  }
}

TEST_P(CudnnPlanTest, BatchNormWithChannelsFirst) {
  const ChannelShape shape{.outer = 64, .channels = 64, .inner = 28 * 28};
  EXPECT_TRUE(Takes(DescribeBatchNorm(*cudnn_, {shape, DType::kBfloat16}, CUDNN_DATA_BFLOAT16)));
}

TEST_P(CudnnPlanTest, AttentionWithAndWithoutBias) {
  for (const DType dtype : {DType::kHalf, DType::kBfloat16}) {
    if (dtype == DType::kHalf && GetParam().capability != 900) continue;
    AttentionProblem problem{.batch = 2,
                             .heads = 12,
                             .queries = 128,
                             .keys = 128,
                             .features = 64,
                             .value_features = 64,
                             .dtype = dtype};
    const cudnnDataType_t type = *CudnnTypeOf(dtype);
    EXPECT_TRUE(Takes(DescribeAttention(*cudnn_, problem, type, type))) << DTypeName(dtype);
    // As Keras has them: heads after tokens.
    problem.query_order.heads_first = problem.key_order.heads_first =
        problem.value_order.heads_first = problem.output_order.heads_first = false;
    EXPECT_TRUE(Takes(DescribeAttention(*cudnn_, problem, type, type))) << DTypeName(dtype);
    problem.has_bias = true;
    problem.bias_dims = {1, 1, 128, 128};
    EXPECT_TRUE(Takes(DescribeAttention(*cudnn_, problem, type, type)))
        << DTypeName(dtype) << ", bias of queries and keys";
    problem.bias_dims = {2, 1, 1, 128};
    EXPECT_TRUE(Takes(DescribeAttention(*cudnn_, problem, type, CUDNN_DATA_FLOAT)))
        << DTypeName(dtype) << ", bias of images and keys, of float";
  }
}

TEST_P(CudnnPlanTest, OddNumbersOfKeysAndFewFeatures) {
  AttentionProblem problem{
      .batch = 1, .heads = 4, .queries = 1, .keys = 77, .features = 32, .value_features = 32};
  EXPECT_TRUE(Takes(DescribeAttention(*cudnn_, problem, CUDNN_DATA_HALF, CUDNN_DATA_HALF)));
}

TEST_P(CudnnPlanTest, RefusesWhatItHasNoKernelFor) {
  // Channels that are no multiple of what vectors hold.
  EXPECT_FALSE(Takes(DescribeBatchNorm(
      *cudnn_, {{.outer = 32, .channels = 63, .inner = 49}, DType::kHalf}, CUDNN_DATA_HALF)));
}

}  // namespace
}  // namespace tessera::cuda
