// Cast: between all numbers and bool.
#include "runtime/kernels/primitives/cast.h"

#include <utility>

#include "runtime/framework/kernel_registry.h"
#include "runtime/tensor/raw_elements.h"

namespace tessera {
namespace {

// Mantissa bits as stored; 0 for what is no floating point number.
int MantissaBits(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
    case DType::kComplex128:
      return 52;
    case DType::kFloat:
    case DType::kComplex64:
      return 23;
    case DType::kHalf:
      return 10;
    case DType::kBfloat16:
      return 7;
    default:
      return 0;
  }
}

bool IsInt4(DType dtype) { return dtype == DType::kInt4 || dtype == DType::kUint4; }

// Whether int4 and uint4 are converted to and from `dtype`. TensorFlow takes integers alone.
bool ConvertsInt4(DType dtype) {
  return (IsInteger(dtype) || IsQuantized(dtype)) && dtype != DType::kInt2 &&
         dtype != DType::kUint2;
}

// The integers as which quantised numbers are stored: these are converted, whatever their scale is.
// Integers of 4 bits are stored in bytes, sign-extended if they have a sign.
DType StoredAs(DType dtype) {
  switch (dtype) {
    case DType::kInt4:
    case DType::kQint8:
      return DType::kInt8;
    case DType::kUint4:
    case DType::kQuint8:
      return DType::kUint8;
    case DType::kQint16:
      return DType::kInt16;
    case DType::kQuint16:
      return DType::kUint16;
    case DType::kQint32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

// Errors: UNIMPLEMENTED at creation for strings, handles and other dtypes that are no numbers.
class CastKernel : public OpKernel {
 public:
  explicit CastKernel(const KernelBuild& build)
      : from_(StoredAs(build.attr<DType>("SrcT"))),
        to_(StoredAs(build.attr<DType>("DstT"))),
        cast_(build) {
    const DType from = build.attr<DType>("SrcT"), to = build.attr<DType>("DstT");
    const bool has_int4 =
        (!IsInt4(from) || ConvertsInt4(to)) && (!IsInt4(to) || ConvertsInt4(from));
    if ((!Cast::Supports(from_, to_) && from_ != to_) || !has_int4) {
      build.Fail(absl::UnimplementedError(
          absl::StrCat("cannot cast ", DTypeName(from), " to ", DTypeName(to))));
    }
    // TensorFlow rounds doubles to bfloat16 whatever is asked for, and the mantissa of a half or
    // bfloat16 fits into all that is wider.
    const bool truncates = to_ != DType::kBfloat16 || from_ == DType::kFloat;
    if (truncates && build.attr<bool>("Truncate") && MantissaBits(to_) > 0 &&
        MantissaBits(from_) >= 23) {
      cleared_bits_ = std::max(MantissaBits(from_) - MantissaBits(to_), 0);
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const DType to = ctx.output_type(0);
    if (IsInt4(to) && to != ctx.input(0).dtype()) return CastToInt4(ctx);
    if (from_ == to_) {
      Tensor x = ctx.TakeInput(0);
      if (x.dtype() != to) x = x.Bitcast(to, x.shape());
      ctx.set_output(0, std::move(x));
      return absl::OkStatus();
    }
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    if (x.dtype() == from_ && to == to_) return cast_(ctx, x, cleared_bits_, y);
    Tensor stored = y->Bitcast(to_, y->shape());
    return cast_(ctx, x.Bitcast(from_, x.shape()), cleared_bits_, &stored);
  }

 private:
  // Keeps the low 4 bits of each element.
  absl::Status CastToInt4(KernelContext& ctx) {
    const Tensor x = ctx.input(0).Bitcast(from_, ctx.input(0).shape());
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    Tensor stored = y->Bitcast(to_, y->shape());
    if (from_ != to_) RETURN_IF_ERROR(cast_(ctx, x, 0, &stored));
    const Tensor& bytes = from_ == to_ ? x : stored;
    CopyElements(y->dtype(), {bytes.raw(), bytes.size_bytes()}, y->mutable_raw());
    return absl::OkStatus();
  }

  const DType from_, to_;  // as they are stored
  const Primitive<Cast> cast_;
  int cleared_bits_ = 0;
};
REGISTER_KERNEL("Cast", DevicesOf<Cast>, CastKernel)
    .TypeConstraint("SrcT", DTypeList(kNumeric | kBool))
    .TypeConstraint("DstT", DTypeList(kNumeric | kBool));
// Whatever no other kernel takes: equal dtypes, or an error that names both.
REGISTER_KERNEL("Cast", kCpu, CastKernel).Priority(-1);

}  // namespace
}  // namespace tessera
