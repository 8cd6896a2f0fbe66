// Shape functions of all declared ops. What they infer is checked against recorded calls in
// tests/conformance.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/framework/op.h"
#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace {

// Ops whose name begins with "_" are made by the planner, after shapes have been inferred.
std::vector<const OpDef*> DeclaredOps() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : OpRegistry::Global().All()) {
    if (!absl::StartsWith(op->name, "_")) ops.push_back(op);
  }
  return ops;
}

TEST(OpShapesTest, EveryOpWithOutputsHasAShapeFunction) {
  for (const OpDef* op : DeclaredOps()) {
    EXPECT_TRUE(op->outputs.empty() || op->shape_fn != nullptr) << op->name;
  }
}

// A line that cannot be read, or stands for another number of inputs, is an internal error.
TEST(OpShapesTest, SpecificationsFitTheirOps) {
  for (const OpDef* op : DeclaredOps()) {
    if (op->shape_fn == nullptr) continue;
    AttrMap attrs;
    CompleteAttrs(*op, &attrs).IgnoreError();  // attributes without a default stay away
    const size_t num_inputs = op->inputs.size();
    ShapeContext context(*op, attrs, std::vector<PartialShape>(num_inputs),
                         std::vector<const Tensor*>(num_inputs, nullptr),
                         static_cast<int>(op->outputs.size()));
    const absl::Status status = op->shape_fn(context);
    EXPECT_FALSE(absl::IsInternal(status)) << op->name << ": " << status;
  }
}

// A window that spans more elements than 64 bits count leaves nothing of the input.
TEST(OpShapesTest, WindowsOfAnyDilationFit) {
  const OpDef& op = *OpRegistry::Global().Find("Conv2D");
  const int64_t dilation = int64_t{1} << 62;
  AttrMap attrs = {{"T", DType::kFloat},
                   {"strides", std::vector<int64_t>{1, 1, 1, 1}},
                   {"dilations", std::vector<int64_t>{1, dilation, 1, 1}},
                   {"padding", "VALID"}};
  ASSERT_TRUE(CompleteAttrs(op, &attrs).ok());
  for (const int64_t size : {2, 3, 4, 5}) {
    ShapeContext context(op, attrs, {PartialShape{1, 5, 5, 1}, PartialShape{size, 1, 1, 1}},
                         {nullptr, nullptr}, 1);
    ASSERT_TRUE(op.shape_fn(context).ok());
    EXPECT_EQ(context.outputs()[0].ToString(), (PartialShape{1, 0, 5, 1}.ToString())) << size;
  }
}

}  // namespace
}  // namespace tessera
