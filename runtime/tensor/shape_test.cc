#include "runtime/tensor/shape.h"

#include <limits>

#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ShapeTest, ScalarHasOneElementAndNoDimension) {
  Shape shape;
  EXPECT_EQ(shape.num_elements(), 1);
  EXPECT_EQ(shape.rank(), 0);
  EXPECT_EQ(shape.ToString(), "[]");
}

TEST(ShapeTest, EditingKeepsTheCount) {
  Shape shape{2, 3};
  shape.AddDim(4);
  EXPECT_EQ(shape.num_elements(), 24);
  shape.InsertDim(0, 5);
  EXPECT_EQ(shape, (Shape{5, 2, 3, 4}));
  EXPECT_EQ(shape.num_elements(), 120);
  shape.RemoveDim(1);
  EXPECT_EQ(shape, (Shape{5, 3, 4}));
  shape.SetDim(2, 0);
  EXPECT_EQ(shape.num_elements(), 0);
  shape.SetDim(2, 1);
  EXPECT_EQ(shape.num_elements(), 15);
}

TEST(ShapeTest, ShapesOfMoreThanSixDimensionsCopy) {
  const Shape shape{1, 2, 3, 4, 5, 6, 7, 8};
  Shape copy = shape;
  copy.SetDim(0, 9);
  EXPECT_EQ(shape.dim(0), 1);
  EXPECT_EQ(shape.num_elements(), 40320);
}

TEST(ShapeTest, AssignsBetweenInlineAndLargeShapes) {
  const Shape small({2, 3}), large({1, 2, 1, 2, 1, 2, 1});
  Shape shape = small;
  shape = large;
  EXPECT_EQ(shape, large);
  EXPECT_EQ(shape.num_elements(), 8);
  shape = small;
  EXPECT_EQ(shape, small);
  EXPECT_EQ(shape.num_elements(), 6);
  shape = *&shape;
  EXPECT_EQ(shape, small);
  EXPECT_NE(shape, Shape({3, 2}));
  EXPECT_NE(shape, Shape({2, 3, 1}));
}

TEST(ShapeTest, AddedDimensionsOverflowAsGivenOnesDo) {
  Shape shape;
  for (const int64_t dim : {int64_t{1} << 40, int64_t{1} << 40, int64_t{0}}) shape.AddDim(dim);
  EXPECT_EQ(shape.num_elements(), -1);
  EXPECT_EQ(Shape({int64_t{1} << 40, int64_t{1} << 40, 0}).num_elements(), -1);
}

TEST(ShapeTest, MakeRefusesWhatIsNoShape) {
  EXPECT_EQ(Shape::Make({2, -1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Shape::Make({kMax, 2}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Shape::Make(std::vector<int64_t>(kMaxRank + 1, 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Shape::Make(std::vector<int64_t>(kMaxRank, 1)).ok());
  EXPECT_EQ(Shape::Make({kMax})->num_elements(), kMax);
  EXPECT_EQ(Shape::Make({0, kMax, kMax})->num_elements(), 0);
}

TEST(ShapeTest, OverflowOfAnUncheckedShapeShowsAsNegativeCount) {
  EXPECT_EQ((Shape{kMax, kMax}).num_elements(), -1);
}

TEST(ShapeTest, MultiplyReportsOverflow) {
  EXPECT_EQ(MultiplyWithoutOverflow(3, 4), 12);
  EXPECT_EQ(MultiplyWithoutOverflow(int64_t{1} << 32, int64_t{1} << 31), -1);
  EXPECT_EQ(MultiplyWithoutOverflow(-1, 4), -1);
  EXPECT_EQ(MultiplyWithoutOverflow(0, kMax), 0);
}

TEST(PartialShapeTest, UnknownsFitAnything) {
  const PartialShape unknown;
  const PartialShape partial{-1, 3};
  EXPECT_TRUE(unknown.IsCompatibleWith(partial));
  EXPECT_TRUE(partial.IsCompatibleWith(PartialShape{2, -1}));
  EXPECT_FALSE(partial.IsCompatibleWith(PartialShape{2, 4}));
  EXPECT_FALSE(partial.IsCompatibleWith(PartialShape{3}));
  EXPECT_TRUE(partial.IsCompatibleWith(Shape{7, 3}));
}

TEST(PartialShapeTest, MergeKeepsWhatEitherKnows) {
  EXPECT_EQ(*(PartialShape{-1, 3}.MergeWith(PartialShape{2, -1})), (PartialShape{2, 3}));
  EXPECT_EQ(*PartialShape().MergeWith(PartialShape{-1}), PartialShape{-1});
  EXPECT_EQ(*(PartialShape{4}.MergeWith(PartialShape())), PartialShape{4});
  EXPECT_EQ((PartialShape{4}.MergeWith(PartialShape{5})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PartialShapeTest, PrintsUnknownsAsQuestionMarks) {
  EXPECT_EQ((PartialShape{-1, 3}).ToString(), "[?,3]");
  EXPECT_EQ(PartialShape().ToString(), "<unknown>");
  EXPECT_EQ(PartialShape(Shape()).ToString(), "[]");
  EXPECT_NE(PartialShape(), PartialShape(Shape()));
}

TEST(PartialShapeTest, OnlyFullyDefinedShapesConvert) {
  EXPECT_FALSE(PartialShape().IsFullyDefined());
  EXPECT_FALSE((PartialShape{-1}).IsFullyDefined());
  EXPECT_FALSE((PartialShape{-1}).AsShape().ok());
  EXPECT_EQ(*(PartialShape{2, 3}).AsShape(), (Shape{2, 3}));
  EXPECT_EQ(PartialShape::UnknownOfRank(2).ToString(), "[?,?]");
}

}  // namespace
}  // namespace tessera
