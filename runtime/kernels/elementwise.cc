#include "runtime/kernels/elementwise.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"

namespace tessera {
namespace {

// The registered ops, by name. Written before main alone.
absl::node_hash_map<std::string, ElementwiseOp>& Ops() {
  static auto* const ops = new absl::node_hash_map<std::string, ElementwiseOp>;
  return *ops;
}

// Loops below this many nanoseconds do not look for other threads at all.
constexpr double kSingleThreadCost = 10000;

class ElementwiseKernel : public OpKernel {
 public:
  ElementwiseKernel(const KernelBuild& build, const ElementwiseOp& op)
      : op_(&op),
        loop_(op_->loops[static_cast<int>(build.input_types()[0])]),
        input_size_(DTypeSize(build.input_types()[0])),
        output_size_(DTypeSize(RemoveRef(build.output_types()[0]))) {
    const DType input = build.input_types()[0];
    for (const DType dtype : {build.output_types()[0], input, input, input}) {
      dtypes_.push_back(RemoveRef(dtype));
    }
    // Complex numbers and their parts are of types that the node names apart.
    const DType result = op_->results[static_cast<int>(input)];
    if (dtypes_[0] != result) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(op_->name, " of ", DTypeName(input),
                                                         " gives ", DTypeName(result), ", not ",
                                                         DTypeName(dtypes_[0]))));
    }
    as_float_ = IsNarrowFloat(input);
    if (!op_->attr.empty()) SetAttr(build.attr<float>(op_->attr), input);
    num_operands_ = 1 + op_->arity + (op_->attr.empty() ? 0 : 1);
    if (op_->if_incompatible) {
      fails_if_incompatible_ = build.attr<bool>("incompatible_shape_error");
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    switch (op_->arity) {
      case 1:
        return ComputeUnary(ctx);
      case 2:
        return ComputeBinary(ctx);
      default:
        return ComputeBroadcast(ctx);
    }
  }

 private:
  void SetAttr(float value, DType dtype) {
    if (dtype == DType::kDouble) {
      const double wide = value;
      std::memcpy(attr_, &wide, sizeof(wide));
    } else {
      std::memcpy(attr_, &value, sizeof(value));
    }
  }

  absl::Status ComputeUnary(KernelContext& ctx) {
    const Tensor& x = ctx.input(0);
    const int64_t n = x.num_elements();
    LoopBlock block;
    block.data[1] = const_cast<char*>(x.raw());
    block.column_stride[1] = input_size_;
    ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocateOutput({0}, 0, x.shape()));
    return RunFlat(ctx, n, z, block);
  }

  // Equal shapes and scalars do without any plan; the rest is for ComputeBroadcast().
  absl::Status ComputeBinary(KernelContext& ctx) {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    LoopBlock block;
    block.data[1] = const_cast<char*>(x.raw());
    block.data[2] = const_cast<char*>(y.raw());
    block.column_stride[1] = block.column_stride[2] = input_size_;
    const Shape* shape = &x.shape();
    if (!(x.shape() == y.shape())) {
      if (op_->same_shapes) return ShapesDiffer(ctx);
      if (y.num_elements() == 1 && y.rank() <= x.rank()) {
        block.column_stride[2] = 0;
      } else if (x.num_elements() == 1 && x.rank() <= y.rank()) {
        block.column_stride[1] = 0;
        shape = &y.shape();
      } else {
        return ComputeBroadcast(ctx);
      }
    }
    const int64_t n = shape->num_elements();
    if (op_->check != nullptr && n > 0) RETURN_IF_ERROR(op_->check(y));
    ASSIGN_OR_RETURN(Tensor * z, ctx.ForwardOrAllocateOutput({0, 1}, 0, *shape));
    return RunFlat(ctx, n, z, block);
  }

  // One dimension, all strides known; the attribute's operand is added here.
  absl::Status RunFlat(KernelContext& ctx, int64_t n, Tensor* z, LoopBlock& block) {
    if (n == 0) return absl::OkStatus();
    block.data[0] = z->mutable_raw();
    block.column_stride[0] = output_size_;
    if (!op_->attr.empty()) {
      block.data[op_->arity + 1] = attr_;
      block.column_stride[op_->arity + 1] = 0;
    }
    block.rows = 1;
    block.columns = n;
    std::fill_n(block.row_stride, kMaxOperands, 0);
    if (static_cast<double>(n) * op_->cost < kSingleThreadCost || ctx.pool() == nullptr) {
      RunBlock(block);
      return absl::OkStatus();
    }
    ctx.ParallelFor(n, op_->cost, [&](int64_t begin, int64_t end) {
      LoopBlock part = block;
      for (int o = 0; o < num_operands_; ++o) part.data[o] += begin * part.column_stride[o];
      part.columns = end - begin;
      RunBlock(part);
    });
    return absl::OkStatus();
  }

  absl::Status ComputeBroadcast(KernelContext& ctx) {
    Shape shape = ctx.input(0).shape();
    for (int i = 1; i < op_->arity; ++i) {
      if (op_->same_shapes && !ScalarOrSame(shape, ctx.input(i).shape())) return ShapesDiffer(ctx);
      absl::StatusOr<Shape> both = BroadcastShape(shape, ctx.input(i).shape());
      if (!both.ok()) {
        if (fails_if_incompatible_) return both.status();
        ctx.set_output(0, Tensor::Scalar<bool>(*op_->if_incompatible));
        return absl::OkStatus();
      }
      shape = *std::move(both);
    }
    if (op_->check != nullptr && shape.num_elements() > 0) {
      RETURN_IF_ERROR(op_->check(ctx.input(op_->arity - 1)));
    }
    const char* data[kMaxOperands];
    ByteStrides strides[kMaxOperands];
    for (int i = 0; i < op_->arity; ++i) {
      data[i] = ctx.input(i).raw();
      strides[i] = BroadcastByteStrides(ctx.input(i).shape(), shape, input_size_);
    }
    ASSIGN_OR_RETURN(Tensor * z, op_->arity == 2 ? ctx.ForwardOrAllocateOutput({0, 1}, 0, shape)
                                                 : ctx.ForwardOrAllocateOutput({0}, 0, shape));
    StridedLoop loop(shape.dims());
    loop.AddOperand(z->raw(), RowMajorByteStrides(shape, output_size_));
    for (int i = 0; i < op_->arity; ++i) loop.AddOperand(data[i], strides[i]);
    if (!op_->attr.empty()) loop.AddOperand(attr_, ByteStrides(shape.rank(), 0));
    if (as_float_) {
      loop.Run(ctx.pool(), op_->cost, [this](const LoopBlock& block) { RunBlock(block); });
    } else {
      loop.Run(ctx.pool(), op_->cost, *loop_);
    }
    return absl::OkStatus();
  }

  void RunBlock(const LoopBlock& block) const {
    if (as_float_) {
      RunAsFloat(block, absl::MakeConstSpan(dtypes_).first(op_->arity + 1), *loop_);
    } else {
      loop_(block);
    }
  }

  static bool ScalarOrSame(const Shape& a, const Shape& b) {
    return a.IsScalar() || b.IsScalar() || a == b;
  }

  absl::Status ShapesDiffer(const KernelContext& ctx) const {
    std::string shapes;
    for (int i = 0; i < op_->arity; ++i) {
      absl::StrAppend(&shapes, i == 0 ? "" : ", ", ctx.input(i).shape().ToString());
    }
    return absl::InvalidArgumentError(
        absl::StrCat("operands of ", op_->name, " must have equal shapes, not ", shapes));
  }

  const ElementwiseOp* const op_;
  const LoopFn loop_;
  const int64_t input_size_;
  const int64_t output_size_;
  bool as_float_ = false;
  bool fails_if_incompatible_ = true;
  int num_operands_ = 0;
  absl::InlinedVector<DType, kMaxOperands> dtypes_;  // of the operands, the result first
  alignas(8) char attr_[8] = {};                     // the attribute as the loop sees it
};

template <typename T, typename Predicate>
bool AnyElement(const Tensor& tensor, Predicate predicate) {
  const T* const data = reinterpret_cast<const T*>(tensor.raw());
  return std::any_of(data, data + tensor.num_elements(), predicate);
}

}  // namespace

absl::Status DivisorIsZero(const Tensor& divisor) {
  if (!IsInteger(divisor.dtype())) return absl::OkStatus();
  bool any = false;
  switch (DTypeSize(divisor.dtype())) {
    case 1:
      any = AnyElement<uint8_t>(divisor, [](uint8_t v) { return v == 0; });
      break;
    case 2:
      any = AnyElement<uint16_t>(divisor, [](uint16_t v) { return v == 0; });
      break;
    case 4:
      any = AnyElement<uint32_t>(divisor, [](uint32_t v) { return v == 0; });
      break;
    default:
      any = AnyElement<uint64_t>(divisor, [](uint64_t v) { return v == 0; });
  }
  return any ? absl::InvalidArgumentError("division of an integer by zero") : absl::OkStatus();
}

absl::Status ExponentIsNegative(const Tensor& exponent) {
  bool any = false;
  switch (exponent.dtype()) {
    case DType::kInt8:
      any = AnyElement<int8_t>(exponent, [](int8_t v) { return v < 0; });
      break;
    case DType::kInt16:
      any = AnyElement<int16_t>(exponent, [](int16_t v) { return v < 0; });
      break;
    case DType::kInt32:
      any = AnyElement<int32_t>(exponent, [](int32_t v) { return v < 0; });
      break;
    case DType::kInt64:
      any = AnyElement<int64_t>(exponent, [](int64_t v) { return v < 0; });
      break;
    default:
      break;
  }
  return any ? absl::InvalidArgumentError(
                   "an integer cannot be raised to a negative power: cast the operands to float")
             : absl::OkStatus();
}

LoopFn FindElementwiseLoop(absl::string_view op, DType dtype) {
  const auto it = Ops().find(op);
  return it == Ops().end() ? nullptr : it->second.loops[static_cast<int>(dtype)];
}

ElementwiseRegistration::ElementwiseRegistration(ElementwiseOp op) {
  const std::string name = op.name;
  const ElementwiseOp& kept = Ops().try_emplace(name, std::move(op)).first->second;
  KernelBuilder builder(name, kCpu, [](const KernelBuild& build) -> std::unique_ptr<OpKernel> {
    return std::make_unique<ElementwiseKernel>(build, Ops().at(build.op().name));
  });
  // The logical ops have no type attribute.
  if (kept.dtypes != kBool) builder.TypeConstraint("T", DTypeList(kept.dtypes));
  KernelRegistration registration(builder);
}

}  // namespace tessera
