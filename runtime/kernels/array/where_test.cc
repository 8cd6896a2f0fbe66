#include <cmath>
#include <complex>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

// The share of elements that are not zero, in percent, decides which way they are found.
TEST(WhereTest, FindsDenseAndSparseElements) {
  for (const int64_t percent : {0, 1, 10, 50, 100}) {
    for (const int64_t columns : {1, 31, 32, 33, 200}) {
      constexpr int64_t kRows = 40;
      Tensor x = Tensor::Allocate(DType::kBool, {4, kRows / 4, columns}).value();
      std::vector<int64_t> expected;
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        x.data<bool>()[i] = i * 7919 % 100 < percent;
        if (!x.data<bool>()[i]) continue;
        const int64_t row = i / columns;
        expected.insert(expected.end(), {row / (kRows / 4), row % (kRows / 4), i % columns});
      }
      const Tensor found = RunOp("Where", {x}).value();
      EXPECT_EQ(std::vector<int64_t>(found.flat<int64_t>().begin(), found.flat<int64_t>().end()),
                expected)
          << percent << " percent, " << columns << " columns";
    }
  }
}

// Elements of all widths are looked at in blocks, of which the last one is not full.
template <typename T>
void ExpectFound() {
  for (const int64_t size : {1, 63, 64, 65, 300}) {
    Tensor x = Tensor::Zeros(DTypeOf<T>, {size}).value();
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < size; i += i % 5 + 1) {
      x.data<T>()[i] = T(1);
      expected.push_back(i);
    }
    const Tensor found = RunOp("Where", {x}).value();
    EXPECT_EQ(found.flat<int64_t>(), absl::MakeConstSpan(expected)) << size;
  }
}

TEST(WhereTest, FindsElementsOfAllWidths) {
  ExpectFound<bool>();
  ExpectFound<int16_t>();
  ExpectFound<float>();
  ExpectFound<int64_t>();
  ExpectFound<std::complex<double>>();
}

TEST(WhereTest, NaNIsNotZeroAndNegativeZeroIs) {
  const Tensor found = RunOp("Where", {Tensor::Vector<float>({0, NAN, -0.0f, 1e-45f})}).value();
  EXPECT_THAT(found.flat<int64_t>(), ElementsAre(1, 3));
}

TEST(WhereTest, NoElementsHaveNoPositions) {
  EXPECT_EQ(RunOp("Where", {Tensor::Of<int32_t>({0, 3}, {})}).value().shape(), Shape({0, 2}));
  EXPECT_EQ(RunOp("Where", {Tensor::Of<int32_t>({3, 0}, {})}).value().shape(), Shape({0, 2}));
}

}  // namespace
}  // namespace tessera
