#include "runtime/kernels/elementwise.h"

#include <memory>
#include <string>
#include <utility>

#include "Eigen/Core"
#include "absl/container/flat_hash_map.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/host_values.h"

namespace tessera {
namespace {

// The declarations of the registered kernels, by name. Written before main alone.
absl::flat_hash_map<absl::string_view, const ElementwiseOp*>& Ops() {
  static auto* const ops = new absl::flat_hash_map<absl::string_view, const ElementwiseOp*>;
  return *ops;
}

// Returns the value of a float attribute as the elements' dtype holds it: TensorFlow computes with
// that.
float RoundedTo(DType dtype, float value) {
  switch (dtype) {
    case DType::kHalf:
      return static_cast<float>(static_cast<Eigen::half>(value));
    case DType::kBfloat16:
      return static_cast<float>(static_cast<Eigen::bfloat16>(value));
    default:
      return value;
  }
}

class ElementwiseKernel : public OpKernel {
 public:
  explicit ElementwiseKernel(const KernelBuild& build)
      : op_(*Ops().at(build.op().name)),
        input_size_(DTypeSize(build.input_types()[0])),
        output_size_(DTypeSize(RemoveRef(build.output_types()[0]))) {
    const DType input = build.input_types()[0], output = RemoveRef(build.output_types()[0]);
    // Complex numbers and their parts are of types that the node names apart.
    const DType result = op_.ResultOf(input);
    if (output != result) {
      build.Fail(
          absl::InvalidArgumentError(absl::StrCat(op_.name, " of ", DTypeName(input), " gives ",
                                                  DTypeName(result), ", not ", DTypeName(output))));
    }
    keeps_shape_ = op_.name == absl::string_view("ClipByValue");
    if (op_.if_incompatible) {
      fails_if_incompatible_ = build.attr<bool>("incompatible_shape_error");
    }
    const float attr =
        op_.attr == nullptr ? 0 : RoundedTo(RemoveRef(input), build.attr<float>(op_.attr));
    elementwise_ = Primitive<Elementwise>(build)(build, {op_.name, input, attr});
  }

  absl::Status Compute(KernelContext& ctx) override {
    switch (op_.arity) {
      case 1:
        return ComputeUnary(ctx);
      case 2:
        return ComputeBinary(ctx);
      default:
        return ComputeBroadcast(ctx);
    }
  }

 private:
  absl::Status ComputeUnary(KernelContext& ctx) {
    const Tensor& x = ctx.input(0);
    LoopBlock row;
    row.columns = x.num_elements();
    row.data[1] = x.address();
    row.column_stride[1] = input_size_;
    ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocateOutput({0}, 0, x.shape()));
    return RunRow(ctx, z, row);
  }

  // Equal shapes and scalars do without strides; the rest is for ComputeBroadcast().
  absl::Status ComputeBinary(KernelContext& ctx) {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    LoopBlock row;
    row.data[1] = x.address();
    row.data[2] = y.address();
    row.column_stride[1] = row.column_stride[2] = input_size_;
    const Shape* shape = &x.shape();
    if (!(x.shape() == y.shape())) {
      const bool same_sizes = op_.same_sizes && x.num_elements() == y.num_elements();
      if (op_.same_shapes || (op_.same_sizes && !same_sizes)) return ShapesDiffer(ctx);
      if (same_sizes) {
        // Element by element, whatever the shapes.
      } else if (y.num_elements() == 1 && y.rank() <= x.rank()) {
        row.column_stride[2] = 0;
      } else if (x.num_elements() == 1 && x.rank() <= y.rank()) {
        row.column_stride[1] = 0;
        shape = &y.shape();
      } else {
        return ComputeBroadcast(ctx);
      }
    }
    row.columns = shape->num_elements();
    ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocateOutput({0, 1}, 0, *shape));
    return RunRow(ctx, z, row);
  }

  absl::Status RunRow(KernelContext& ctx, Tensor* z, LoopBlock& row) const {
    if (row.columns == 0) return absl::OkStatus();
    row.data[0] = z->address();
    row.column_stride[0] = output_size_;
    return elementwise_->RunRow(ctx, row);
  }

  absl::Status ComputeBroadcast(KernelContext& ctx) {
    Shape shape = ctx.input(0).shape();
    for (int i = 1; i < op_.arity; ++i) {
      if (op_.same_shapes && !ScalarOrSame(shape, ctx.input(i).shape())) return ShapesDiffer(ctx);
      absl::StatusOr<Shape> both = BroadcastShape(shape, ctx.input(i).shape());
      if (!both.ok()) {
        if (fails_if_incompatible_) return both.status();
        return GiveScalar(ctx, *op_.if_incompatible);
      }
      shape = *std::move(both);
    }
    if (keeps_shape_ && !(shape == ctx.input(0).shape())) return ShapesDiffer(ctx);
    const char* data[kMaxOperands];
    ByteStrides strides[kMaxOperands];
    for (int i = 0; i < op_.arity; ++i) {
      data[i] = ctx.input(i).address();
      strides[i] = BroadcastByteStrides(ctx.input(i).shape(), shape, input_size_);
    }
    ASSIGN_OR_RETURN(Tensor * z, op_.arity == 2 ? ctx.ForwardOrAllocateOutput({0, 1}, 0, shape)
                                                : ctx.ForwardOrAllocateOutput({0}, 0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    StridedOperands operands(shape.dims());
    operands.Add(z->address(), RowMajorByteStrides(shape, output_size_));
    for (int i = 0; i < op_.arity; ++i) operands.Add(data[i], strides[i]);
    return elementwise_->Run(ctx, operands);
  }

  static absl::Status GiveScalar(KernelContext& ctx, bool value) {
    ASSIGN_OR_RETURN(Tensor * z, ctx.AllocateOutput(0, {}));
    if (ctx.stream() == nullptr) {
      z->scalar<bool>() = value;
    } else {
      ASSIGN_OR_RETURN(const Tensor on_host, ScalarIn(ctx.host_allocator(), value));
      ctx.stream()->Copy(on_host, z);
    }
    return absl::OkStatus();
  }

  static bool ScalarOrSame(const Shape& a, const Shape& b) {
    return a.IsScalar() || b.IsScalar() || a == b;
  }

  absl::Status ShapesDiffer(const KernelContext& ctx) const {
    std::string shapes;
    for (int i = 0; i < op_.arity; ++i) {
      absl::StrAppend(&shapes, i == 0 ? "" : ", ", ctx.input(i).shape().ToString());
    }
    return absl::InvalidArgumentError(
        absl::StrCat("operands of ", op_.name, " must have equal shapes, not ", shapes));
  }

  const ElementwiseOp& op_;
  const int64_t input_size_;
  const int64_t output_size_;
  bool fails_if_incompatible_ = true;
  bool keeps_shape_ = false;  // the first input's: limits of ClipByValue cannot widen it
  std::unique_ptr<Elementwise> elementwise_;
};

}  // namespace

const ElementwiseOp* FindElementwiseOp(absl::string_view name) {
  const auto it = Ops().find(name);
  return it == Ops().end() ? nullptr : it->second;
}

ElementwiseRegistration::ElementwiseRegistration(KernelDevices devices,
                                                 absl::Span<const ElementwiseOp* const> ops) {
  for (const ElementwiseOp* op : ops) {
    Ops().emplace(op->name, op);
    KernelBuilder builder(op->name, devices,
                          [](const KernelBuild& build) -> std::unique_ptr<OpKernel> {
                            return std::make_unique<ElementwiseKernel>(build);
                          });
    // The logical ops have no type attribute.
    if (op->dtypes != kBool) builder.TypeConstraint("T", DTypeList(op->dtypes));
    KernelRegistration registration(builder);
  }
}

}  // namespace tessera
