// Running totals along an axis.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

enum class ScanKind {
  kSum,
  kProd,
  kLogSumExp,  // log of the running sum of exp(x), without overflow; for floating point
};

struct ScanOptions {
  ScanKind kind = ScanKind::kSum;
  int axis = 0;
  // True if the total of an element excludes the element itself. The first total is then 0 (kSum),
  // 1 (kProd) or minus infinity (kLogSumExp).
  bool exclusive = false;
  // True if the scan begins at the last element.
  bool reverse = false;
};

struct Scan {
  // Sets each element of `y` to the total of the elements of `x` along the axis up to there. `x`
  // holds numbers; `y` has the shape of `x` and memory of its own. half and bfloat16 accumulate in
  // float. A NaN makes all totals from there on NaN, but kLogSumExp takes it for the total before
  // it, as TensorFlow does. On a CPU the elements are added one after the other; another device may
  // associate them otherwise, in an order that depends on the shape only.
  using Function = absl::Status(KernelContext& ctx, const ScanOptions& options, const Tensor& x,
                                Tensor* y);
};

}  // namespace tessera
