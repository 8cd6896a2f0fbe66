// Gradients of tensor lists. The gradient of a list is a list of the gradients of its elements, of
// which one that nobody wrote counts as zeros. The gradient of an optional is an optional.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

Expr ElementShape(const Expr& list) {
  return Call("TensorListElementShape", {list}, {{"shape_type", DType::kInt32}});
}
Expr Length(const Expr& list) { return Call("TensorListLength", {list}); }
// A list like `list` whose elements are not written.
Expr Reserved(const Expr& list, DType dtype) {
  return Call("TensorListReserve", {ElementShape(list), Length(list)}, {{"element_dtype", dtype}});
}

REGISTER_GRADIENT("TensorListPushBack", [](GradientOp& op) {
  const Expr item = op.in(1);
  const std::vector<Expr> popped =
      CallAll("TensorListPopBack", {{op.dy(), ShapeOf(item)}}, {{"element_dtype", item.dtype()}});
  if (popped.empty()) return;
  op.Set(0, popped[0]);
  op.Set(1, popped[1]);
});
REGISTER_GRADIENT("TensorListPopBack", [](GradientOp& op) {
  const DType dtype = op.attr<DType>("element_dtype");
  const Expr list = op.HasDy(0) ? op.dy(0) : Reserved(op.out(0), dtype);
  const Expr item = op.HasDy(1) ? op.dy(1) : ZerosLike(op.out(1));
  op.Set(0, Call("TensorListPushBack", {list, item}));
});
REGISTER_GRADIENT("TensorListStack", [](GradientOp& op) {
  op.Set(0, Call("TensorListFromTensor", {op.dy(), ElementShape(op.in(0))}));
});
REGISTER_GRADIENT("TensorListFromTensor", [](GradientOp& op) {
  const Expr tensor = op.in(0);
  op.Set(0, Call("TensorListStack", {op.dy(), SliceVector(ShapeOf(tensor), 1, 0)},
                 {{"element_dtype", tensor.dtype()}}));
});
REGISTER_GRADIENT("TensorListGetItem", [](GradientOp& op) {
  const Expr item = op.dy();
  op.Set(0, Call("TensorListSetItem", {Reserved(op.in(0), item.dtype()), op.in(1), item}));
});
REGISTER_GRADIENT("TensorListSetItem", [](GradientOp& op) {
  const Expr item = op.in(2), dy = op.dy();
  const Expr others = Call("TensorListSetItem", {dy, op.in(1), ZerosLike(item)});
  // The op may have made the list longer, as a TensorArray of dynamic size does.
  op.Set(0, op.attr<bool>("resize_if_index_out_of_bounds")
                ? Call("TensorListResize", {others, Length(op.in(0))})
                : others);
  op.Set(2, Call("TensorListGetItem", {dy, op.in(1), ShapeOf(item)},
                 {{"element_dtype", item.dtype()}}));
});
REGISTER_GRADIENT("TensorListResize", [](GradientOp& op) {
  op.Set(0, Call("TensorListResize", {op.dy(), Length(op.in(0))}));
});
REGISTER_GRADIENT("TensorListGather", [](GradientOp& op) {
  const Expr list = op.in(0);
  op.Set(0, Call("TensorListScatterV2", {op.dy(), op.in(1), ElementShape(list), Length(list)}));
});
Expr GatheredItems(GradientOp& op, const Expr& tensor, const Expr& indices) {
  return Call("TensorListGather", {op.dy(), indices, SliceVector(ShapeOf(tensor), 1, 0)},
              {{"element_dtype", tensor.dtype()}});
}
void ScatterGradient(GradientOp& op) { op.Set(0, GatheredItems(op, op.in(0), op.in(1))); }
REGISTER_GRADIENT("TensorListScatter", ScatterGradient);
REGISTER_GRADIENT("TensorListScatterV2", ScatterGradient);
REGISTER_GRADIENT("TensorListScatterIntoExistingList", [](GradientOp& op) {
  const Expr tensor = op.in(1), indices = op.in(2);
  op.Set(0, Call("TensorListScatterIntoExistingList", {op.dy(), ZerosLike(tensor), indices}));
  op.Set(1, GatheredItems(op, tensor, indices));
});
void ConcatGradient(GradientOp& op) {
  op.Set(0, Call("TensorListSplit", {op.dy(0), ElementShape(op.in(0)), op.out(1)}));
}
REGISTER_GRADIENT("TensorListConcat", ConcatGradient);
REGISTER_GRADIENT("TensorListConcatV2", ConcatGradient);
REGISTER_GRADIENT("TensorListSplit", [](GradientOp& op) {
  const Expr tensor = op.in(0), lengths = op.in(2);
  const Expr shape = Concat({{op.build().Ints({-1}), SliceVector(ShapeOf(tensor), 1, 0)}}, 0);
  op.Set(0, Call("TensorListConcatV2", {op.dy(), shape, lengths},
                 {{"element_dtype", tensor.dtype()}}));
});
// A list without elements, or with elements that nobody wrote, depends on no tensor.
REGISTER_NO_GRADIENT("EmptyTensorList");
REGISTER_NO_GRADIENT("TensorListReserve");
REGISTER_NO_GRADIENT("TensorListConcatLists");
REGISTER_NO_GRADIENT("TensorListElementShape");
REGISTER_NO_GRADIENT("TensorListLength");
REGISTER_NO_GRADIENT("TensorListPushBackBatch");

REGISTER_GRADIENT("OptionalFromValue", [](GradientOp& op) {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  for (int i = 0; i < op.num_inputs(); ++i) {
    dtypes.push_back(op.in(i).dtype());
    shapes.push_back(op.StaticShape(op.in(i)));
  }
  const std::vector<Expr> d = CallAll("OptionalGetValue", {{op.dy()}},
                                      {{"output_types", dtypes}, {"output_shapes", shapes}});
  for (size_t i = 0; i < d.size(); ++i) op.Set(static_cast<int>(i), d[i]);
});
REGISTER_GRADIENT("OptionalGetValue", [](GradientOp& op) {
  std::vector<Expr> d;
  for (int i = 0; i < op.num_outputs(); ++i) d.push_back(op.dy(i));
  op.Set(0, Call("OptionalFromValue", d));
});

}  // namespace
}  // namespace tessera
