#include "runtime/kernels/primitives/cpu/reduction_table.h"

#include "runtime/base/logging.h"
#include "runtime/kernels/primitives/cpu/typed_reduction.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/reducers.h"

namespace tessera {
namespace {

template <typename R, DTypeSet kTypes>
ReductionLoops LoopsOf(DType dtype) {
  ReductionLoops loops{};
  ForEachType<kTypes & ~kBool>([&]<typename T>(TypeTag<T>) {
    if (DTypeOf<T> == dtype) loops = MakeReductionLoops<R, T>();
  });
  if constexpr ((kTypes & kNarrowFloat) != 0) {
    if (dtype == DType::kHalf) loops = MakeReductionLoops<R, float, Eigen::half>();
    if (dtype == DType::kBfloat16) loops = MakeReductionLoops<R, float, Eigen::bfloat16>();
  }
  // A bool is reduced as a byte, because there are no vectors of bool.
  if constexpr (kTypes == kBool) loops = MakeReductionLoops<R, uint8_t>();
  CHECK(loops.init != nullptr) << "no reduction of " << DTypeName(dtype);
  return loops;
}

}  // namespace

ReductionLoops FindReductionLoops(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kBiasGradient:
      return LoopsOf<reduce::Sum, kNumeric>(dtype);
    case ReduceKind::kMean:
      return LoopsOf<reduce::Mean, kNumeric>(dtype);
    case ReduceKind::kProd:
      return LoopsOf<reduce::Prod, kNumeric>(dtype);
    case ReduceKind::kEuclideanNorm:
      return LoopsOf<reduce::EuclideanNorm, kNumeric>(dtype);
    case ReduceKind::kHalfSumOfSquares:
      return LoopsOf<reduce::HalfSumOfSquares, kFloating>(dtype);
    case ReduceKind::kMax:
      return LoopsOf<reduce::Max, kReal>(dtype);
    case ReduceKind::kMin:
      return LoopsOf<reduce::Min, kReal>(dtype);
    case ReduceKind::kAll:
      return LoopsOf<reduce::All, kBool>(dtype);
    case ReduceKind::kAny:
      break;
  }
  return LoopsOf<reduce::Any, kBool>(dtype);
}

}  // namespace tessera
