#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// The positions of the sorted elements along a dimension.
absl::StatusOr<std::vector<int32_t>> OrderBy(const Tensor& keys, int64_t dimension,
                                             bool is_descending) {
  Tensor positions = Tensor::Allocate(DType::kInt32, keys.shape()).value();
  int64_t stride = 1;
  for (int d = static_cast<int>(dimension) + 1; d < keys.rank(); ++d) stride *= keys.dim(d);
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    positions.flat<int32_t>()[i] =
        static_cast<int32_t>(i / stride % keys.dim(static_cast<int>(dimension)));
  }
  const absl::StatusOr<Tensor> sorted = RunOp("_SortByKey", {keys, positions},
                                              {{"T", std::vector<DType>{DType::kInt32}},
                                               {"dimension", dimension},
                                               {"is_descending", is_descending}});
  if (!sorted.ok()) return sorted.status();
  const absl::Span<const int32_t> values = sorted->flat<int32_t>();
  return std::vector<int32_t>(values.begin(), values.end());
}

TEST(SortByKeyTest, EqualKeysKeepTheirOrder) {
  const Tensor keys = Tensor::Vector<int64_t>(
      {3, std::numeric_limits<int64_t>::min(), 3, -1, std::numeric_limits<int64_t>::max(), -1});
  EXPECT_EQ(OrderBy(keys, 0, false).value(), (std::vector<int32_t>{1, 3, 5, 0, 2, 4}));
  EXPECT_EQ(OrderBy(keys, 0, true).value(), (std::vector<int32_t>{4, 0, 2, 3, 5, 1}));
}

TEST(SortByKeyTest, FloatsHaveTheirTotalOrder) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor keys = Tensor::Vector<float>({nan, 0.0f, infinity, -0.0f, -nan, -infinity, -2.0f});
  EXPECT_EQ(OrderBy(keys, 0, false).value(), (std::vector<int32_t>{4, 5, 6, 3, 1, 2, 0}));
  EXPECT_EQ(OrderBy(keys, 0, true).value(), (std::vector<int32_t>{0, 2, 1, 3, 6, 5, 4}));
}

TEST(SortByKeyTest, LinesLieAlongAnyDimension) {
  const Tensor keys = Tensor::Vector<uint8_t>({9, 200, 1, 3, 7, 0}).Reshaped({3, 2}).value();
  EXPECT_EQ(OrderBy(keys, 0, false).value(), (std::vector<int32_t>{1, 2, 2, 1, 0, 0}));
  EXPECT_EQ(OrderBy(keys, 1, false).value(), (std::vector<int32_t>{0, 1, 0, 1, 1, 0}));
}

TEST(SortByKeyTest, LongLinesAreSortedAsShortOnes) {
  Tensor keys = Tensor::Allocate(DType::kInt32, {2, 10000}).value();
  absl::Span<int32_t> values = keys.flat<int32_t>();
  uint32_t random = 12345;
  for (int32_t& value : values) {
    random = random * 1664525 + 1013904223;
    // Many are equal, and some digits are the same in all.
    value = static_cast<int32_t>(random >> 20) * (1 << 18) - (1 << 29);
  }
  for (const bool is_descending : {false, true}) {
    const std::vector<int32_t> order = OrderBy(keys, 1, is_descending).value();
    for (int line = 0; line < 2; ++line) {
      const int32_t* const begin = values.data() + line * 10000;
      std::vector<int32_t> expected(10000);
      std::iota(expected.begin(), expected.end(), 0);
      std::stable_sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) {
        return is_descending ? begin[a] > begin[b] : begin[a] < begin[b];
      });
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), order.begin() + line * 10000));
    }
  }
}

TEST(SortByKeyTest, NothingIsSorted) {
  EXPECT_TRUE(OrderBy(Tensor::Zeros(DType::kFloat, {0, 3}).value(), 0, true)->empty());
  EXPECT_TRUE(OrderBy(Tensor::Zeros(DType::kBool, {2, 0}).value(), 0, false)->empty());
}

TEST(SortByKeyTest, RefusesWhatDoesNotFit) {
  const Tensor keys = Tensor::Zeros(DType::kFloat, {2, 3}).value();
  EXPECT_EQ(RunOp("_SortByKey", {keys, keys},
                  {{"T", std::vector<DType>{DType::kFloat}}, {"dimension", int64_t{2}}})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunOp("_SortByKey", {keys, Tensor::Zeros(DType::kFloat, {3, 2}).value()},
                  {{"T", std::vector<DType>{DType::kFloat}}, {"dimension", int64_t{0}}})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunOp("_SortByKey", {Tensor::Scalar(1.0f), Tensor::Scalar(1.0f)},
                  {{"T", std::vector<DType>{DType::kFloat}}, {"dimension", int64_t{0}}})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
