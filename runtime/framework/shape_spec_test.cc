#include "runtime/framework/shape_spec.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

// The shapes that a line infers, as text, or the error.
std::string Infer(absl::string_view spec, std::vector<PartialShape> inputs, int num_outputs,
                  std::vector<const Tensor*> values = {}, AttrMap attrs = {}) {
  OpDef op;
  op.name = "Op";
  ShapeContext context(op, attrs, std::move(inputs), std::move(values), num_outputs);
  const absl::Status status = InferBySpec(spec, context);
  if (!status.ok()) return status.ToString();
  std::string text;
  for (const PartialShape& shape : context.outputs()) text += shape.ToString();
  return text;
}

TEST(ShapeSpecTest, NamesCarrySizesFromInputsToOutputs) {
  constexpr char kSpec[] = "[m, k], [k, n] -> [m, n], [k], [7]";
  EXPECT_EQ(Infer(kSpec, {{2, 3}, {3, 4}}, 3), "[2,4][3][7]");
  EXPECT_EQ(Infer(kSpec, {{2, -1}, {3, -1}}, 3), "[2,?][3][7]");
  EXPECT_EQ(Infer(kSpec, {PartialShape(), {3, 4}}, 3), "[?,4][3][7]");
}

TEST(ShapeSpecTest, SizesThatDoNotFitAreRefused) {
  EXPECT_EQ(Infer("[m, k], [k, n] -> [m, n]", {{2, 3}, {5, 4}}, 1),
            "INVALID_ARGUMENT: input 1 of Op must be [k, n], is [5,4]: dimension 'k' is 5");
  EXPECT_EQ(Infer("[n, 4] -> []", {{2, 3}}, 1),
            "INVALID_ARGUMENT: input 0 of Op must be [n, 4], is [2,3]: dimension '4' is 3");
  EXPECT_EQ(Infer("[n] -> []", {{2, 3}}, 1),
            "INVALID_ARGUMENT: input 0 of Op must be [n], is [2,3]: its rank is 2");
}

TEST(ShapeSpecTest, ARunStandsForAnyNumberOfDimensions) {
  constexpr char kSpec[] = "[*b, m, m], [*b, m, k] -> [*b, k], [*b]";
  EXPECT_EQ(Infer(kSpec, {{5, -1, 3, 3}, {-1, 6, 3, 2}}, 2), "[5,6,2][5,6]");
  EXPECT_EQ(Infer(kSpec, {{3, 3}, {3, 2}}, 2), "[2][]");
  EXPECT_EQ(Infer(kSpec, {PartialShape(), PartialShape()}, 2), "<unknown><unknown>");
  EXPECT_NE(Infer(kSpec, {{5, 3, 3}, {6, 3, 2}}, 2).find("INVALID_ARGUMENT"), std::string::npos);
  EXPECT_NE(Infer(kSpec, {{3}, {3, 2}}, 2).find("its rank is 1"), std::string::npos);
  EXPECT_EQ(Infer("[n, *r], [n] -> [?, *r]", {{4, 5, 6}, {4}}, 1), "[?,5,6]");
}

TEST(ShapeSpecTest, SizesComeFromAttributesAndConstants) {
  EXPECT_EQ(Infer("[n] -> [n, @k, @m]", {{2}}, 1, {}, {{"k", int64_t{3}}, {"m", int64_t{-1}}}),
            "[2,3,?]");
  const Tensor five = Tensor::Scalar<int32_t>(5);
  EXPECT_EQ(Infer("[n], [] -> [$1, n]", {{2}, PartialShape(Shape())}, 1, {nullptr, &five}),
            "[5,2]");
  EXPECT_EQ(Infer("[n], [] -> [$1, n]", {{2}, PartialShape(Shape())}, 1), "[?,2]");
  EXPECT_EQ(Infer("[n], [2] -> [n, <1>]", {{2}, {2}}, 1), "[2,?,?]");
  EXPECT_EQ(Infer("[n], [?] -> [n, <1>]", {{2}, PartialShape()}, 1), "<unknown>");
  const Tensor negative = Tensor::Scalar<int32_t>(-5);
  EXPECT_NE(Infer("[] -> [$0]", {PartialShape(Shape())}, 1, {&negative}).find("INVALID_ARGUMENT"),
            std::string::npos);
}

TEST(ShapeSpecTest, TheLastShapeMayRepeat) {
  EXPECT_EQ(Infer("[*s]... -> [*s]", {{2, -1}, {-1, 3}, PartialShape()}, 1), "[2,3]");
  EXPECT_EQ(Infer("_ -> [], [?]...", {{2}}, 4), "[][?][?][?]");
  EXPECT_EQ(Infer("-> [2]", {}, 1), "[2]");
}

TEST(ShapeSpecTest, ALineThatDoesNotFitTheNodeIsInternal) {
  for (absl::string_view spec : {"[] []", "[], [] -> []", "[] -> [], []", "[] -> [<x>]"}) {
    EXPECT_EQ(Infer(spec, {PartialShape(Shape())}, 1).substr(0, 8), "INTERNAL") << spec;
  }
}

}  // namespace
}  // namespace tessera
