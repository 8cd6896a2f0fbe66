// Gradients of ops on ragged tensors (row splits, then flat values), and on composite tensors in a
// single variant.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

Expr Gather(const Expr& params, const Expr& indices) {
  return params.empty() ? params : Call("GatherV2", {params, indices, params.builder()->Int(0)});
}
// The positions at which a vector of booleans is true.
Expr Positions(const Expr& condition) {
  return Call("Squeeze", {Call("Where", {condition})}, {{"squeeze_dims", std::vector<int64_t>{1}}});
}

// The gradient of a composite tensor is one of the same kind. Components without a gradient, such
// as row splits, are those of the forward value.
REGISTER_GRADIENT("CompositeTensorVariantFromComponents", [](GradientOp& op) {
  const std::vector<Expr> d =
      CallAll("CompositeTensorVariantToComponents", {{op.dy()}},
              {{"metadata", op.attr<std::string>("metadata")},
               {"Tcomponents", op.attr<std::vector<DType>>("Tcomponents")}});
  for (size_t i = 0; i < d.size(); ++i) {
    if (op.Wants(static_cast<int>(i))) op.Set(static_cast<int>(i), d[i]);
  }
});
REGISTER_GRADIENT("CompositeTensorVariantToComponents", [](GradientOp& op) {
  std::vector<Expr> components;
  for (int i = 0; i < op.num_outputs(); ++i) {
    components.push_back(op.HasDy(i) ? op.dy(i) : op.out(i));
  }
  op.Set(0, Call("CompositeTensorVariantFromComponents", components,
                 {{"metadata", op.attr<std::string>("metadata")}}));
});

REGISTER_GRADIENT("RaggedTensorToSparse", [](GradientOp& op) {
  const int values = op.num_inputs() - 1;
  op.Set(values, Reshape(op.dy(1), ShapeOf(op.in(values))));
});

REGISTER_GRADIENT("RaggedFillEmptyRows", [](GradientOp& op) {
  const std::vector<Expr> d = CallAll("RaggedFillEmptyRowsGrad", {{op.out(3), op.dy(1)}});
  if (d.empty()) return;
  op.Set(1, d[0]);
  op.Set(3, d[1]);
});

// The flat values of the rows that were gathered are those of the output, in its order.
REGISTER_GRADIENT("RaggedGather", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const int values = op.num_inputs() - 2;
  Expr splits = op.in(0);  // of the outer rows in the flat values
  for (int i = 1; i < values; ++i) splits = Gather(op.in(i), splits);
  const Expr rows = Reshape(op.in(values + 1), build.Ints({-1}));
  const Expr starts = Gather(splits, rows), limits = Gather(SliceVector(splits, 1, 0), rows);
  if (starts.empty()) return;
  const Expr indices = Call("RaggedRange", {starts, limits, build.Scalar(starts.dtype(), 1)},
                            {{"Tsplits", starts.dtype()}}, 1);
  op.SetSlices(values, op.dy(op.num_outputs() - 1), indices, ShapeOf(op.in(values)));
});

// Returns whether the encoded tensors of RaggedTensorFromVariant, of a rank that is not known, are
// taken for a vector. TensorFlow takes them for one where the result is ragged; but what is read
// from a TensorArray, as tf.map_fn does, is one row of a vector.
bool IsTakenForVector(GradientOp& op) {
  const Node* producer = op.in(0).endpoint().node;
  while (producer->IsOp("Identity")) producer = producer->input(0).node;
  return op.attr<int64_t>("output_ragged_rank") > 0 && !producer->IsOp("TensorArrayReadV3");
}
REGISTER_GRADIENT("RaggedTensorFromVariant", [](GradientOp& op) {
  const PartialShape shape = op.StaticShape(op.in(0));
  if (shape.known_rank() && shape.rank() > 1) {
    op.Fail(absl::UnimplementedError("the variants must be a scalar or a vector"));
    return;
  }
  const bool is_vector = shape.known_rank() ? shape.rank() == 1 : IsTakenForVector(op);
  std::vector<Expr> parts;
  for (int i = 0; i + 1 < op.num_outputs(); ++i) parts.push_back(op.out(i));
  parts.push_back(op.dy(op.num_outputs() - 1));
  op.Set(0, Call("RaggedTensorToVariant", parts,
                 {{"RAGGED_RANK", static_cast<int64_t>(parts.size()) - 1},
                  {"Tsplits", op.attr<DType>("Tsplits")},
                  {"batched_input", is_vector}}));
});
REGISTER_GRADIENT("RaggedTensorToVariant", [](GradientOp& op) {
  const int values = op.num_inputs() - 1;
  const DType splits_dtype = op.attr<DType>("Tsplits");
  const Expr splits = values > 0 ? op.in(0) : op.build().Scalar(splits_dtype, 0);
  op.Set(values, Call("RaggedTensorToVariantGradient", {op.dy(), splits, ShapeOf(op.in(values))},
                      {{"Tvalues", op.in(values).dtype()}}));
});

// Asks the op itself where each value went: it spreads the values' numbers, and -1 for a default.
REGISTER_GRADIENT("RaggedTensorToTensor", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  int outer = 1;  // dimensions of the output that the partition says
  for (const std::string& type : op.attr<std::vector<std::string>>("row_partition_types")) {
    if (type != "FIRST_DIM_SIZE") ++outer;
  }
  const Expr values = op.in(1), dy = op.dy();
  const Expr shape = ShapeOf(dy), count = Call("Squeeze", {SliceVector(ShapeOf(values), 0, 1)});
  const DType shape_dtype = op.attr<DType>("Tshape");
  std::vector<Expr> inputs = {CastTo(SliceVector(shape, 0, outer), shape_dtype),
                              Call("Range", {build.Int(0), count, build.Int(1)}), build.Int(-1)};
  for (int i = 3; i < op.num_inputs(); ++i) inputs.push_back(op.in(i));
  const Expr numbers = Reshape(
      Call("RaggedTensorToTensor", inputs,
           {{"row_partition_types", op.attr<std::vector<std::string>>("row_partition_types")},
            {"num_row_partition_tensors", static_cast<int64_t>(inputs.size()) - 3}}),
      build.Ints({-1}));
  const Expr inner = SliceVector(shape, outer, 0);
  const Expr rows = Reshape(dy, Concat({{build.Ints({-1}), inner}}, 0));
  const Expr is_default = Call("Equal", {numbers, build.Int(-1)});
  if (op.Wants(1)) {
    const Expr kept = Positions(Call("LogicalNot", {is_default}));
    op.SetSlices(1, Gather(rows, kept), Gather(numbers, kept), ShapeOf(values));
  }
  if (op.Wants(2)) {
    const Expr sum = SumOver(Gather(rows, Positions(is_default)), build.Ints({0}));
    const Expr default_shape = ShapeOf(op.in(2));
    const std::vector<Expr> axes = CallAll("BroadcastGradientArgs", {{default_shape, inner}});
    if (!axes.empty()) op.Set(2, Reshape(SumOver(sum, axes[0]), default_shape));
  }
});

}  // namespace
}  // namespace tessera
