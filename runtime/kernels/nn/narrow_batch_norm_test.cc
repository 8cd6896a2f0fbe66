// Batch normalisation of half in training has the bits of TensorFlow's: its floats are added in the
// same order.
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"
#include "runtime/kernels/testing/narrow_tensor.h"

namespace tessera {
namespace {

struct RecordedBatchNorm {
  std::vector<int64_t> shape;
  uint64_t y, dx;  // checksums of TensorFlow's results, on one thread
};
// Printed by tests/conformance/narrow_checksums.py.
const RecordedBatchNorm kRecorded[] = {
    {{4, 5, 6, 3}, 0xb45529f96109fe7e, 0x609ccbdc05616437},
    {{8, 8, 8, 20}, 0x7f3c1df79e53bd1e, 0x7d2dec2011566f5c},
    {{3, 2, 2, 9}, 0xbd5f4a21263d818a, 0x83227d54d58b9994},
};

float Number(int64_t i) { return static_cast<float>(i * 7919 % 1000 - 500) / 128; }

std::vector<Tensor> Run(absl::string_view op, std::vector<Tensor> inputs, ThreadPool* pool) {
  return KernelRunner::Create(op, inputs, {{"epsilon", 0.001f}})->Run(inputs, pool).value();
}

void Check(const RecordedBatchNorm& recorded, ThreadPool* pool) {
  const Shape shape(recorded.shape);
  const int64_t channels = shape.dim(3), image = shape.num_elements() / shape.dim(0);
  const Tensor x = NarrowTensor(DType::kHalf, shape, Number);
  // The images in reverse.
  const Tensor dy = NarrowTensor(DType::kHalf, shape, [&](int64_t i) {
    return Number((shape.dim(0) - 1 - i / image) * image + i % image) / 4;
  });
  std::vector<float> scale, offset;
  for (int64_t c = 0; c < channels; ++c) {
    scale.push_back(1 + static_cast<float>(c) / 16);
    offset.push_back(static_cast<float>(c) / 8 - 1);
  }
  const Tensor scales = Tensor::Vector<float>(scale), none = Tensor::Vector<float>({});
  const std::vector<Tensor> y =
      Run("FusedBatchNormV3", {x, scales, Tensor::Vector<float>(offset), none, none}, pool);
  EXPECT_EQ(NarrowChecksum(y[0]), recorded.y) << shape.ToString();
  const std::vector<Tensor> gradients =
      Run("FusedBatchNormGradV3", {dy, x, scales, y[3], y[4], y[5]}, pool);
  EXPECT_EQ(NarrowChecksum(gradients[0]), recorded.dx) << shape.ToString();
}

TEST(NarrowBatchNormTest, HasTensorFlowsBits) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const RecordedBatchNorm& recorded : kRecorded) {
    Check(recorded, nullptr);
    Check(recorded, &pool);
  }
}

}  // namespace
}  // namespace tessera
