#include "runtime/kernels/primitives/cast.h"

#include <cstring>

#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/typed_loop.h"
#include "runtime/kernels/primitives/elementwise/convert.h"

namespace tessera {
namespace {

constexpr DTypeSet kReals = (kReal | kBool) & ~kNarrowFloat;

// The loops[from][to] for real numbers and bool. Narrow floats are converted to float before and
// from float after them. Complex numbers are converted as pairs of real ones.
using LoopTable = std::array<std::array<LoopFn, kNumDTypes>, kNumDTypes>;
constexpr LoopTable kLoops = [] {
  LoopTable loops{};
  ForEachType<kReals>([&loops]<typename From>(TypeTag<From>) {
    // A bool is read as a byte of 0 or 1, because loops over bytes vectorise.
    using Read = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
    ForEachType<kReals>([&loops]<typename To>(TypeTag<To>) {
      loops[static_cast<int>(DTypeOf<From>)][static_cast<int>(DTypeOf<To>)] =
          &UnaryLoop<functors::Convert<To>, To, Read>;
    });
  });
  return loops;
}();

DType RealPart(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat;
  return dtype == DType::kComplex128 ? DType::kDouble : dtype;
}
DType Widened(DType dtype) { return IsNarrowFloat(dtype) ? DType::kFloat : dtype; }

LoopFn FindLoop(DType from, DType to) {
  return kLoops[static_cast<int>(Widened(RealPart(from)))][static_cast<int>(Widened(RealPart(to)))];
}

// Converts contiguous floats to a narrow type or back. Returns false for any other block.
bool ConvertNarrow(DType from_type, DType to_type, const LoopBlock& block) {
  const bool widens = IsNarrowFloat(from_type) && to_type == DType::kFloat;
  const bool narrows = from_type == DType::kFloat && IsNarrowFloat(to_type);
  if (!widens && !narrows) return false;
  const int64_t narrow = sizeof(Eigen::half), wide = sizeof(float);
  if (block.column_stride[0] != (narrows ? narrow : wide) ||
      block.column_stride[1] != (narrows ? wide : narrow)) {
    return false;
  }
  const auto convert = [&]<typename Narrow>(Narrow*) {
    if (narrows) {
      FromFloat(reinterpret_cast<const float*>(block.data[1]),
                reinterpret_cast<Narrow*>(block.data[0]), block.columns);
    } else {
      ToFloat(reinterpret_cast<const Narrow*>(block.data[1]),
              reinterpret_cast<float*>(block.data[0]), block.columns);
    }
  };
  if ((narrows ? to_type : from_type) == DType::kHalf) {
    convert(static_cast<Eigen::half*>(nullptr));
  } else {
    convert(static_cast<Eigen::bfloat16*>(nullptr));
  }
  return true;
}

// Converts real numbers that lie `from_stride` bytes apart.
void Convert(KernelContext& ctx, DType from_type, const char* from, int64_t from_stride,
             DType to_type, char* to, int64_t to_stride, int64_t count) {
  const LoopFn loop = FindLoop(from_type, to_type);
  ctx.ParallelFor(count, 0.4, [&](int64_t begin, int64_t end) {
    LoopBlock block;
    block.rows = 1;
    block.columns = end - begin;
    block.data[0] = to + begin * to_stride;
    block.data[1] = const_cast<char*>(from) + begin * from_stride;
    block.column_stride[0] = to_stride;
    block.column_stride[1] = from_stride;
    block.row_stride[0] = block.row_stride[1] = 0;
    if (ConvertNarrow(from_type, to_type, block)) return;
    if (IsNarrowFloat(from_type) || IsNarrowFloat(to_type)) {
      RunAsFloat(block, {to_type, from_type}, *loop);
    } else {
      loop(block);
    }
  });
}

// Clears the `bits` lowest bits of each number.
template <typename Bits>
void ClearLowBits(const Tensor& from, int bits, Tensor* to) {
  const Bits mask = ~((Bits{1} << bits) - 1);
  const Bits* const in = reinterpret_cast<const Bits*>(from.raw());
  Bits* const out = reinterpret_cast<Bits*>(to->mutable_raw());
  const int64_t count = static_cast<int64_t>(from.size_bytes() / sizeof(Bits));
  for (int64_t i = 0; i < count; ++i) out[i] = in[i] & mask;
}

absl::Status RunCast(KernelContext& ctx, const Tensor& given, int cleared_bits, Tensor* to) {
  Tensor from = given;
  if (cleared_bits > 0) {
    ASSIGN_OR_RETURN(Tensor cleared, ctx.AllocateTemp(given.dtype(), given.shape()));
    if (RealPart(given.dtype()) == DType::kDouble) {
      ClearLowBits<uint64_t>(given, cleared_bits, &cleared);
    } else {
      ClearLowBits<uint32_t>(given, cleared_bits, &cleared);
    }
    from = std::move(cleared);
  }
  const int64_t from_size = DTypeSize(from.dtype()), to_size = DTypeSize(to->dtype());
  const auto convert_part = [&](int64_t from_offset, int64_t to_offset) {
    Convert(ctx, RealPart(from.dtype()), from.raw() + from_offset, from_size, RealPart(to->dtype()),
            to->mutable_raw() + to_offset, to_size, from.num_elements());
  };
  const bool has_imaginary = IsComplex(from.dtype()) && IsComplex(to->dtype());
  if (IsComplex(to->dtype()) && !has_imaginary) {
    std::memset(to->mutable_raw(), 0, to->size_bytes());
  }
  convert_part(0, 0);
  if (has_imaginary) convert_part(from_size / 2, to_size / 2);
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(Cast, kCpu, RunCast);

}  // namespace
}  // namespace tessera
