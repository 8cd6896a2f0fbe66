// The choice of the algorithm for a matrix product or a convolution.
//
// All choices are made here, from the shapes, the speeds of the processor (machine_speeds.h) and
// the wanted accuracy. docs/performance.md describes the algorithms.
#pragma once

#include <cstdint>

#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/activation.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/matmul.h"

namespace tessera {

enum class ProductAlgorithm {
  kLoops,       // plain loops, for small products and for dtypes other than float
  kOneDnn,      // oneDNN's matrix product or convolution
  kGemv,        // gemv.h: few rows
  kFmaGemm,     // blocked_gemm.h or implicit_gemm.h, with fma_micro_kernel.h
  kAmxGemm,     // likewise, with amx_micro_kernel.h
  kStrassen,    // strassen_gemm.h
  kDepthwise,   // depthwise_convolution.h
  kWinograd2,   // winograd.h, with tiles of 2 x 2 outputs
  kWinograd4,   // winograd.h, with tiles of 4 x 4 outputs
  kTransposed,  // transposed_gemm.h: gradients of weights, which are sums over many rows, and some
                // products by weights that compete for few sets of the cache
  kOrdered,     // ordered_gemm.h: the same order of additions for every row
};

// The conditions of a choice beside the product itself.
struct PlannerContext {
  const MachineSpeeds& speeds;
  int threads = 1;
  Numerics numerics = Numerics::kFast;
};

// Returns true if a matrix product with this number of multiplications is computed by kLoops,
// whatever its weights are.
inline bool TakesLoops(DType dtype, int64_t multiplications, Numerics numerics) {
  // Up to this many multiplications a call of oneDNN costs more than the product.
  constexpr int64_t kSmallProduct = 4096;
  return dtype != DType::kFloat || multiplications == 0 ||
         (numerics == Numerics::kFast && multiplications <= kSmallProduct);
}

struct MatMulProblem {
  DType dtype = DType::kFloat;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;  // products
  // One product whose left-hand side is not transposed.
  bool is_single = true;
  bool transpose_b = false;
  // One product whose left-hand side alone is transposed, and whose only post-op is an addition.
  bool is_transposed = false;
  bool has_constant_weights = false;
  // The weights are packed in panels already, so that kFmaGemm needs no more memory.
  bool has_panels = false;
};
ProductAlgorithm PlanMatMul(const MatMulProblem& problem, const PlannerContext& context);

// Returns kFmaGemm if constant k x n weights are to be packed for it as soon as they are known,
// because products with any number of rows gain by it; otherwise kOneDnn.
ProductAlgorithm PlanMatMulWeights(int64_t n, int64_t k, WeightUse use,
                                   const PlannerContext& context);

// Returns the number of chunks of columns in which oneDNN computes the product of an m x k and a
// k x n matrix, or an n x k matrix if `transpose_b`, neither of which is packed; 1 if the product
// is not cut into columns.
int64_t PlanColumnChunks(int64_t m, int64_t n, int64_t k, bool transpose_b,
                         const PlannerContext& context);

struct ConvolutionProblem {
  DType dtype = DType::kFloat;
  const ConvolutionShape& shape;
  Activation activation = Activation::kNone;
  bool has_constant_filter = false;
};
ProductAlgorithm PlanConvolution(const ConvolutionProblem& problem, const PlannerContext& context);

}  // namespace tessera
