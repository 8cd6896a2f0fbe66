// Cross-entropies of half and bfloat16 have the bits of TensorFlow's, which rounds each step.

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"
#include "runtime/kernels/testing/narrow_tensor.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 64;

// A matrix of formula(row, column) in a narrow dtype.
template <typename Formula>
Tensor NarrowMatrix(DType dtype, int64_t columns, Formula formula) {
  return NarrowTensor(dtype, {kRows, columns},
                      [&](int64_t i) { return formula(i / columns, i % columns); });
}

std::vector<Tensor> RunBoth(absl::string_view op, std::vector<Tensor> inputs) {
  KernelRunner runner = KernelRunner::Create(op, inputs).value();
  return runner.Run(std::move(inputs)).value();
}

struct RecordedCase {
  DType dtype;
  int64_t classes;
  // Of TensorFlow's losses and gradients: with sparse labels, then with dense ones.
  uint64_t checksums[4];
};
// Printed by tests/conformance/narrow_checksums.py.
constexpr RecordedCase kRecordedCases[] = {
    {DType::kHalf,
     4,
     {0x94ecb70fd4159517, 0x718fda51eae0e83b, 0x6cda09636fd2e4f0, 0xd12b6e76fa7276b9}},
    {DType::kHalf,
     10,
     {0x2d81a22fa2d3c0f2, 0xd3c84cb22f873ce1, 0x858fafd7d755d830, 0x8617d7dfbdf88fc6}},
    {DType::kHalf,
     45,
     {0x52b2acbdeec851b9, 0xe18d16ff6669ebc2, 0x054f40e169d7cb6d, 0x5957d2203bb734e2}},
    {DType::kHalf,
     100,
     {0x58fd666cb0cce3db, 0x6ccda227705e6b65, 0xa3c10bf6f97dfd80, 0xe9b8a9575429767a}},
    {DType::kBfloat16,
     4,
     {0xdc5f17803657fc04, 0x57e74cbff3de5cfd, 0x410c5cb081f01763, 0x5c8530e91c74baf9}},
    {DType::kBfloat16,
     10,
     {0xb655c965430fe9fc, 0x32a5077e9bebb831, 0x459dd9f20446b4a3, 0xca38cbe506e8c4d1}},
    {DType::kBfloat16,
     45,
     {0x0f98f9a2916b78c9, 0x34ffa734015c4c45, 0x0d81d709ef94edc7, 0xfce7cece266151e8}},
    {DType::kBfloat16,
     100,
     {0xd1bf11ca8d64ff9f, 0x4ac611720c3f920b, 0xebe178588ca30de4, 0x7ceecc562d246c50}},
};

TEST(NarrowCrossEntropyTest, HasTensorFlowsBits) {
  for (const RecordedCase& recorded : kRecordedCases) {
    SCOPED_TRACE(absl::StrCat(DTypeName(recorded.dtype), " of ", recorded.classes, " classes"));
    const auto logit = [](int64_t row, int64_t column) {
      return static_cast<float>((row * 7919 + column * 104729) % 1000 - 500) / 128;
    };
    const auto weight = [](int64_t row, int64_t column) {
      return static_cast<float>((row + column) % 4) / 64;
    };
    const Tensor logits = NarrowMatrix(recorded.dtype, recorded.classes, logit);
    std::vector<int64_t> classes(kRows);
    for (int64_t row = 0; row < kRows; ++row) classes[row] = row * 13 % recorded.classes;
    const std::vector<Tensor> sparse =
        RunBoth("SparseSoftmaxCrossEntropyWithLogits", {logits, Tensor::Vector<int64_t>(classes)});
    const std::vector<Tensor> dense =
        RunBoth("SoftmaxCrossEntropyWithLogits",
                {logits, NarrowMatrix(recorded.dtype, recorded.classes, weight)});
    EXPECT_EQ(NarrowChecksum(sparse[0]), recorded.checksums[0]) << "loss";
    EXPECT_EQ(NarrowChecksum(sparse[1]), recorded.checksums[1]) << "gradient";
    EXPECT_EQ(NarrowChecksum(dense[0]), recorded.checksums[2]) << "loss of dense labels";
    EXPECT_EQ(NarrowChecksum(dense[1]), recorded.checksums[3]) << "gradient of dense labels";
  }
}

// 0 times the infinite loss of a class without a chance.
TEST(CrossEntropyTest, AClassWithoutAChanceAndWithoutALabelMakesTheLossNaN) {
  const Tensor logits = Tensor::Of<float>({1, 3}, {-std::numeric_limits<float>::infinity(), 1, 2});
  const Tensor labels = Tensor::Of<float>({1, 3}, {0, 0, 1});
  for (const DType dtype : {DType::kFloat, DType::kHalf, DType::kBfloat16}) {
    const auto cast = [&](const Tensor& x) {
      return RunOp("Cast", {x}, {{"DstT", dtype}}).value();
    };
    const std::vector<Tensor> dense =
        RunBoth("SoftmaxCrossEntropyWithLogits", {cast(logits), cast(labels)});
    const Tensor loss = RunOp("Cast", {dense[0]}, {{"DstT", DType::kFloat}}).value();
    EXPECT_TRUE(std::isnan(loss.flat<float>()[0])) << DTypeName(dtype);
  }
}

}  // namespace
}  // namespace tessera
