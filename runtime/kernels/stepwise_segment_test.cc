// Reductions of segments of half and bfloat16 have the bits of TensorFlow's, which rounds after
// each row.
#include <cstdint>
#include <ostream>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"
#include "runtime/kernels/testing/narrow_tensor.h"

namespace tessera {
namespace {

struct RecordedSegments {
  const char* op;
  DType dtype;
  int32_t rows, columns, segments;
  uint64_t checksum;  // of TensorFlow's results
};
std::ostream& operator<<(std::ostream& out, const RecordedSegments& r) {
  return out << r.op << " of " << DTypeName(r.dtype) << " [" << r.rows << ", " << r.columns << "]";
}
// Printed by tests/conformance/narrow_checksums.py.
constexpr RecordedSegments kSegments[] = {
    {"SegmentSum", DType::kHalf, 7, 5, 2, 0x8ec2c51cc3ab0a04},
    {"SegmentMean", DType::kHalf, 7, 5, 2, 0xdae9895746bbb4a4},
    {"SegmentProd", DType::kHalf, 7, 5, 2, 0x36b0d64712155802},
    {"UnsortedSegmentSum", DType::kHalf, 7, 5, 2, 0xf4bd1da85cd02038},
    {"UnsortedSegmentProd", DType::kHalf, 7, 5, 2, 0x1e34725818e82d43},
    {"SegmentSum", DType::kHalf, 40, 1, 3, 0x604bffb5cf8880b4},
    {"SegmentMean", DType::kHalf, 40, 1, 3, 0xdeb5414d39ceea84},
    {"SegmentProd", DType::kHalf, 40, 1, 3, 0xe2c88220f075df69},
    {"UnsortedSegmentSum", DType::kHalf, 40, 1, 3, 0x8bfc10e170e973bc},
    {"UnsortedSegmentProd", DType::kHalf, 40, 1, 3, 0x22c5ac38266afc67},
    {"SegmentSum", DType::kHalf, 60, 8, 3, 0x96a7953d64d70d10},
    {"SegmentMean", DType::kHalf, 60, 8, 3, 0xc463f60072fbbdc0},
    {"SegmentProd", DType::kHalf, 60, 8, 3, 0x2aa75fbced2a5ee2},
    {"UnsortedSegmentSum", DType::kHalf, 60, 8, 3, 0x7670c6afee48ed24},
    {"UnsortedSegmentProd", DType::kHalf, 60, 8, 3, 0x406c6c533d3d2505},
    {"SegmentSum", DType::kHalf, 100, 45, 4, 0x7baa4945b8e7b1a2},
    {"SegmentMean", DType::kHalf, 100, 45, 4, 0xeee4d0ec6848a380},
    {"SegmentProd", DType::kHalf, 100, 45, 4, 0xeb2a27f6922f70e8},
    {"UnsortedSegmentSum", DType::kHalf, 100, 45, 4, 0x79a55d9a4e29533e},
    {"UnsortedSegmentProd", DType::kHalf, 100, 45, 4, 0xa2af8a013b51e420},
    {"SegmentSum", DType::kBfloat16, 7, 5, 2, 0x5606bcac23c654b0},
    {"SegmentMean", DType::kBfloat16, 7, 5, 2, 0xf882ed0e7e15a0de},
    {"SegmentProd", DType::kBfloat16, 7, 5, 2, 0x952192a6296d3fbc},
    {"UnsortedSegmentSum", DType::kBfloat16, 7, 5, 2, 0x8fae21d765792458},
    {"UnsortedSegmentProd", DType::kBfloat16, 7, 5, 2, 0x62cd1f1be285b7f0},
    {"SegmentSum", DType::kBfloat16, 40, 1, 3, 0xc5605670247a7068},
    {"SegmentMean", DType::kBfloat16, 40, 1, 3, 0xaa7a58fc0d822620},
    {"SegmentProd", DType::kBfloat16, 40, 1, 3, 0x394693bc77bd61a3},
    {"UnsortedSegmentSum", DType::kBfloat16, 40, 1, 3, 0x434b6a30ffffa4b6},
    {"UnsortedSegmentProd", DType::kBfloat16, 40, 1, 3, 0x9c586b80395808db},
    {"SegmentSum", DType::kBfloat16, 60, 8, 3, 0x462cab6e5ae65b3b},
    {"SegmentMean", DType::kBfloat16, 60, 8, 3, 0x82e19225916188b5},
    {"SegmentProd", DType::kBfloat16, 60, 8, 3, 0x48278cec2056a18c},
    {"UnsortedSegmentSum", DType::kBfloat16, 60, 8, 3, 0xa45b6b317ee54070},
    {"UnsortedSegmentProd", DType::kBfloat16, 60, 8, 3, 0x07dca5015f123f7b},
    {"SegmentSum", DType::kBfloat16, 100, 45, 4, 0x6de8795f3f895892},
    {"SegmentMean", DType::kBfloat16, 100, 45, 4, 0x5d0848ca6cf8a0cc},
    {"SegmentProd", DType::kBfloat16, 100, 45, 4, 0x67d89394c4f63cfa},
    {"UnsortedSegmentSum", DType::kBfloat16, 100, 45, 4, 0x7a451a2ea8b40379},
    {"UnsortedSegmentProd", DType::kBfloat16, 100, 45, 4, 0x0013e80db2666ba3},
};

std::vector<Tensor> InputsOf(const RecordedSegments& r) {
  const bool is_product = absl::EndsWith(r.op, "Prod");
  const bool is_unsorted = absl::StartsWith(r.op, "Unsorted");
  Tensor numbers = NarrowTensor(r.dtype, {r.rows, r.columns}, [&](int64_t i) {
    const float number = static_cast<float>(i * 7919 % 1000 - 500) / 128;
    return is_product ? 1 + number / 64 : number;
  });
  std::vector<int32_t> ids;
  for (int32_t row = 0; row < r.rows; ++row) {
    ids.push_back(is_unsorted ? row * 7 % (r.segments + 1) - 1 : row * r.segments / r.rows);
  }
  std::vector<Tensor> inputs = {std::move(numbers), Tensor::Vector<int32_t>(ids)};
  if (is_unsorted) inputs.push_back(Tensor::Scalar<int32_t>(r.segments));
  return inputs;
}

TEST(StepwiseSegmentTest, HasTensorFlowsBits) {
  ThreadPool pool({.name = "test", .num_threads = 3});
  for (const RecordedSegments& r : kSegments) {
    EXPECT_EQ(NarrowChecksum(RunOp(r.op, InputsOf(r)).value()), r.checksum) << r;
    EXPECT_EQ(NarrowChecksum(RunOp(r.op, InputsOf(r), {}, &pool).value()), r.checksum)
        << r << " on several threads";
  }
}

TEST(StepwiseSegmentTest, ASumStaysWhereItsDTypeHasNoNextNumber) {
  const Tensor ones = NarrowTensor(DType::kBfloat16, {1000}, [](int64_t) { return 1.0f; });
  const Tensor ids = Tensor::Vector<int32_t>(std::vector<int32_t>(1000, 0));
  const Tensor sum = RunOp("UnsortedSegmentSum", {ones, ids, Tensor::Scalar<int32_t>(1)}).value();
  EXPECT_EQ(static_cast<float>(sum.flat<Eigen::bfloat16>()[0]), 256);
}

}  // namespace
}  // namespace tessera
