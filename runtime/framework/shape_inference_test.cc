#include "runtime/framework/shape_inference.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

absl::StatusOr<PartialShape> BroadcastOf(PartialShape a, PartialShape b, AttrMap attrs = {}) {
  const OpDef op;
  ShapeContext context(op, attrs, {std::move(a), std::move(b)}, {nullptr, nullptr}, 1);
  absl::Status status = shape::Broadcast(context);
  if (!status.ok()) return status;
  return context.outputs()[0];
}

TEST(ShapeInferenceTest, OperandsBroadcastFromTheirLastDimension) {
  EXPECT_EQ(BroadcastOf({2, 1, 4}, {3, 1}).value(), (PartialShape{2, 3, 4}));
  EXPECT_EQ(BroadcastOf({-1, 3}, {5, -1}).value(), (PartialShape{5, 3}));
  EXPECT_EQ(BroadcastOf({-1}, {1}).value(), PartialShape{-1});
  EXPECT_FALSE(BroadcastOf({2}, {3}).ok());
}

// Equal and NotEqual: with incompatible_shape_error off, one false for shapes that do not fit.
TEST(ShapeInferenceTest, ShapesThatNeedNotFitMayGiveAScalar) {
  const AttrMap lenient = {{"incompatible_shape_error", false}};
  EXPECT_EQ(BroadcastOf({2}, {3}, lenient).value(), PartialShape(Shape()));
  EXPECT_EQ(BroadcastOf({2, 1}, {3}, lenient).value(), (PartialShape{2, 3}));
  EXPECT_FALSE(BroadcastOf({2}, {-1}, lenient).value().known_rank())
      << "a vector if they fit, else a scalar";
  EXPECT_FALSE(BroadcastOf({2}, {3}, {{"incompatible_shape_error", true}}).ok());
}

}  // namespace
}  // namespace tessera
