// Joined tensors against loops over all elements.
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/thread_pool.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Rows of a few bytes, of as many as are copied by vectors, and of more, in several blocks each.
TEST(ConcatTest, ColumnsOfMatricesStandSideBySide) {
  ThreadPool pool({.num_threads = 2});
  for (const int64_t columns : {1, 7, 8, 31, 200, 512, 700}) {
    const int64_t rows = 100000 / (columns + 10), widths[] = {columns, columns + 3, columns};
    std::vector<Tensor> inputs;
    for (const int64_t width : widths) {
      Tensor input = Tensor::Allocate(DType::kFloat, {rows, width}).value();
      for (int64_t i = 0; i < input.num_elements(); ++i) {
        input.data<float>()[i] = static_cast<float>(i * 3 + static_cast<int64_t>(inputs.size()));
      }
      inputs.push_back(input);
    }
    std::vector<Tensor> arguments = inputs;
    arguments.push_back(Tensor::Scalar<int32_t>(1));
    const Tensor joined = RunOp("ConcatV2", arguments, {{"N", 3}}, &pool).value();
    ASSERT_EQ(joined.shape(), Shape({rows, 3 * columns + 3}));
    const float* at = joined.data<float>();
    for (int64_t row = 0; row < rows; ++row) {
      for (int i = 0; i < 3; ++i) {
        for (int64_t c = 0; c < widths[i]; ++c) {
          ASSERT_EQ(*at++, inputs[i].data<float>()[row * widths[i] + c])
              << "column " << c << " of input " << i << ", row " << row;
        }
      }
    }
  }
}

TEST(ConcatTest, TensorsWithoutElementsAreJoined) {
  const Tensor none = Tensor::Allocate(DType::kFloat, {2, 0}).value();
  const Tensor one = Tensor::Of<float>({2, 1}, {1, 2});
  const Tensor axis = Tensor::Scalar<int32_t>(1);
  EXPECT_EQ(RunOp("ConcatV2", {none, none, axis}, {{"N", 2}})->shape(), Shape({2, 0}));
  EXPECT_EQ(RunOp("ConcatV2", {none, one, none, axis}, {{"N", 3}})->shape(), Shape({2, 1}));
  const Tensor no_rows = Tensor::Allocate(DType::kFloat, {0, 3}).value();
  EXPECT_EQ(RunOp("ConcatV2", {no_rows, no_rows, axis}, {{"N", 2}})->shape(), Shape({0, 6}));
}

}  // namespace
}  // namespace tessera
