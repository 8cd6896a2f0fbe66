// Cast: between all numbers and bool.
#include <cstring>
#include <type_traits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"

namespace tessera {
namespace {

// As the processor converts: what does not fit in a signed integer of 32 or 64 bits gives the least
// one, and smaller integers take the low bits of that.
template <typename To>
struct Convert {
  using Result = To;
  template <typename From>
  To operator()(From x) const {
    if constexpr (std::is_same_v<To, bool>) {
      return x != From{0};
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      if constexpr (sizeof(To) < 4) return static_cast<To>(static_cast<int32_t>(x));
      if constexpr (std::is_same_v<To, uint32_t>) return static_cast<To>(static_cast<int64_t>(x));
      return static_cast<To>(x);
    } else {
      return static_cast<To>(x);
    }
  }
};

constexpr DTypeSet kReals = (kReal | kBool) & ~kNarrowFloat;

// loops[from][to] for real numbers and bool. Narrow floats are converted to and from float around
// these, complex numbers are pairs of reals.
struct CastLoops {
  CastLoops() {
    ForEachType<kReals>([this]<typename From>(TypeTag<From>) {
      ForEachType<kReals>([this]<typename To>(TypeTag<To>) {
        loops[static_cast<int>(DTypeOf<From>)][static_cast<int>(DTypeOf<To>)] =
            &UnaryLoop<Convert<To>, To, From>;
      });
    });
  }
  LoopTable loops[kNumDTypes] = {};
};

DType RealPart(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat;
  return dtype == DType::kComplex128 ? DType::kDouble : dtype;
}
DType Widened(DType dtype) { return IsNarrowFloat(dtype) ? DType::kFloat : dtype; }

LoopFn FindLoop(DType from, DType to) {
  static const CastLoops* const table = new CastLoops;
  return table
      ->loops[static_cast<int>(Widened(RealPart(from)))][static_cast<int>(Widened(RealPart(to)))];
}

// Mantissa bits as stored; 0 for what is no floating point number.
int MantissaBits(DType dtype) {
  switch (RealPart(dtype)) {
    case DType::kDouble:
      return 52;
    case DType::kFloat:
      return 23;
    case DType::kHalf:
      return 10;
    case DType::kBfloat16:
      return 7;
    default:
      return 0;
  }
}

// Clears the `bits` lowest bits of each number, so that rounding has nothing left to do.
template <typename Bits>
void ClearLowBits(const Tensor& from, int bits, Tensor* to) {
  const Bits mask = ~((Bits{1} << bits) - 1);
  const Bits* const in = reinterpret_cast<const Bits*>(from.raw());
  Bits* const out = reinterpret_cast<Bits*>(to->mutable_raw());
  const int64_t count = static_cast<int64_t>(from.size_bytes() / sizeof(Bits));
  for (int64_t i = 0; i < count; ++i) out[i] = in[i] & mask;
}

// Errors: UNIMPLEMENTED at creation for strings, handles and other dtypes that are no numbers.
class CastKernel : public OpKernel {
 public:
  explicit CastKernel(const KernelBuild& build)
      : from_(build.attr<DType>("SrcT")),
        to_(build.attr<DType>("DstT")),
        loop_(FindLoop(from_, to_)) {
    if (loop_ == nullptr && from_ != to_) {
      build.Fail(absl::UnimplementedError(
          absl::StrCat("cannot cast ", DTypeName(from_), " to ", DTypeName(to_))));
    }
    // TensorFlow rounds doubles to bfloat16 whatever is asked for.
    const bool truncates = to_ != DType::kBfloat16 || from_ == DType::kFloat;
    if (truncates && build.attr<bool>("Truncate") && MantissaBits(to_) > 0) {
      truncated_bits_ = MantissaBits(from_) - MantissaBits(to_);
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    if (from_ == to_) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    Tensor x = ctx.input(0);
    if (truncated_bits_ > 0 && MantissaBits(from_) >= 23) {
      ASSIGN_OR_RETURN(Tensor truncated, ctx.AllocateTemp(from_, x.shape()));
      if (MantissaBits(from_) == 52) {
        ClearLowBits<uint64_t>(x, truncated_bits_, &truncated);
      } else {
        ClearLowBits<uint32_t>(x, truncated_bits_, &truncated);
      }
      x = std::move(truncated);
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    if (IsComplex(to_)) {
      ToComplex(ctx, x, y, IsComplex(from_));
      return absl::OkStatus();
    }
    Run(ctx, x.raw(), y->mutable_raw(), x.num_elements());
    return absl::OkStatus();
  }

 private:
  // One part of a complex result after the other; a real number has no imaginary part.
  void ToComplex(KernelContext& ctx, const Tensor& x, Tensor* y, bool from_complex) const {
    const int64_t n = x.num_elements();
    if (!from_complex) std::memset(y->mutable_raw(), 0, y->size_bytes());
    Run(ctx, x.raw(), y->mutable_raw(), n);
    if (from_complex) {
      Run(ctx, x.raw() + DTypeSize(from_) / 2, y->mutable_raw() + DTypeSize(to_) / 2, n);
    }
  }

  void Run(KernelContext& ctx, const char* x, char* y, int64_t count) const {
    const int64_t x_size = DTypeSize(from_), y_size = DTypeSize(to_);
    ctx.ParallelFor(count, 0.4, [&](int64_t begin, int64_t end) {
      LoopBlock block;
      block.rows = 1;
      block.columns = end - begin;
      block.data[0] = y + begin * y_size;
      block.data[1] = const_cast<char*>(x) + begin * x_size;
      block.column_stride[0] = y_size;
      block.column_stride[1] = x_size;
      block.row_stride[0] = block.row_stride[1] = 0;
      if (IsNarrowFloat(from_) || IsNarrowFloat(to_)) {
        RunAsFloat(block, {to_, from_}, *loop_);
      } else {
        loop_(block);
      }
    });
  }

  const DType from_, to_;
  const LoopFn loop_;
  int truncated_bits_ = 0;
};
REGISTER_KERNEL("Cast", kCpu, CastKernel);

}  // namespace
}  // namespace tessera
