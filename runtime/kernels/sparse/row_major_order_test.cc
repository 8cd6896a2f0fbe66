#include "runtime/kernels/sparse/row_major_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> Expected(const std::vector<int64_t>& indices, int64_t rank) {
  std::vector<int64_t> order(indices.size() / rank);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::lexicographical_compare(&indices[a * rank], &indices[a * rank] + rank,
                                        &indices[b * rank], &indices[b * rank] + rank);
  });
  return order;
}

TEST(RowMajorOrderTest, EqualIndicesKeepTheirOrder) {
  const std::vector<int64_t> indices = {1, 0, 0, 2, 1, 0, 0, 1, 0, 2};
  EXPECT_THAT(RowMajorOrder(indices.data(), 5, {2, 3}), ElementsAre(3, 1, 4, 0, 2));
}

TEST(RowMajorOrderTest, NothingHasAnOrder) {
  EXPECT_THAT(RowMajorOrder(nullptr, 0, {4, 4}), ElementsAre());
}

// Few and many indices; dense shapes of few and of many digits, and such as cannot be counted.
TEST(RowMajorOrderTest, AnyNumberOfIndicesOfAnyShapeIsSorted) {
  std::mt19937_64 random(5);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {9}, {40, 50}, {1000, 1000, 3}, {1 << 20, 1 << 20}, {1 << 30, 1 << 30}, {huge, huge}}) {
    for (const int64_t count : {1, 2, 100, 511, 512, 5000}) {
      std::vector<int64_t> indices;
      for (int64_t i = 0; i < count; ++i) {
        for (const int64_t dim : shape)
          indices.push_back(static_cast<int64_t>(random() >> 1) % dim);
      }
      EXPECT_EQ(RowMajorOrder(indices.data(), count, shape),
                Expected(indices, static_cast<int64_t>(shape.size())))
          << shape.size() << " " << shape[0] << " " << count;
    }
  }
}

TEST(RowMajorOrderTest, IndicesOutsideOfTheShapeAreSortedToo) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < 600; ++i) indices.insert(indices.end(), {i * 7 % 5 - 2, i * 11 % 13 - 4});
  EXPECT_EQ(RowMajorOrder(indices.data(), 600, {3, 3}), Expected(indices, 2));
}

}  // namespace
}  // namespace tessera
