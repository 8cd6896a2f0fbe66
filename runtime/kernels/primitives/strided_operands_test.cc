#include "runtime/kernels/primitives/strided_operands.h"

#include <limits>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(StridedOperandsTest, ArraysWithoutGapsHaveOneDimension) {
  const Shape shape{2, 3, 4};
  StridedOperands operands(shape.dims());
  operands.Add(nullptr, RowMajorByteStrides(shape, 4));
  operands.Add(nullptr, RowMajorByteStrides(shape, 8));
  operands.Coalesce();
  ASSERT_EQ(operands.rank(), 1);
  EXPECT_EQ(operands.dim(0), 24);
  EXPECT_EQ(operands.stride(0, 0), 4);
  EXPECT_EQ(operands.stride(1, 0), 8);
}

TEST(StridedOperandsTest, WhatRepeatsInOneOperandIsNotMerged) {
  const Shape shape{2, 3, 4};
  StridedOperands operands(shape.dims());
  operands.Add(nullptr, RowMajorByteStrides(shape, 4));
  operands.Add(nullptr, BroadcastByteStrides({3, 1}, shape, 4));
  operands.Coalesce();
  ASSERT_EQ(operands.rank(), 3);
  EXPECT_EQ(operands.stride(1, 0), 0);
  EXPECT_EQ(operands.stride(1, 1), 4);
  EXPECT_EQ(operands.stride(1, 2), 0);
}

TEST(StridedOperandsTest, DimensionsOfOneElementGo) {
  const Shape shape{1, 5, 1, 2};
  StridedOperands operands(shape.dims());
  operands.Add(nullptr, RowMajorByteStrides(shape, 2));
  operands.Add(nullptr, BroadcastByteStrides({5, 1, 1}, shape, 2));
  EXPECT_EQ(operands.num_elements(), 10);
  operands.Coalesce();
  ASSERT_EQ(operands.rank(), 2);
  EXPECT_EQ(operands.dim(0), 5);
  EXPECT_EQ(operands.dim(1), 2);
  EXPECT_EQ(operands.num_elements(), 10);
}

TEST(StridedOperandsTest, OneElementHasNoDimension) {
  const Shape shape{1, 1};
  StridedOperands operands(shape.dims());
  operands.Add(nullptr, RowMajorByteStrides(shape, 4));
  operands.Coalesce();
  EXPECT_EQ(operands.rank(), 0);
  EXPECT_EQ(operands.num_elements(), 1);
}

TEST(StridedOperandsTest, NothingHasNoStridesHoweverLargeItsDimensionsAre) {
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  const Shape shape{0, 3, kGreatest, kGreatest};
  StridedOperands operands(shape.dims());
  operands.Add(nullptr, RowMajorByteStrides(shape, 4));
  operands.Add(nullptr, BroadcastByteStrides({kGreatest, 1}, shape, 4));
  EXPECT_EQ(operands.num_elements(), 0);
  operands.Coalesce();
  EXPECT_EQ(operands.rank(), 1);
  EXPECT_EQ(operands.dim(0), 0);
  EXPECT_EQ(operands.num_elements(), 0);
}

}  // namespace
}  // namespace tessera
