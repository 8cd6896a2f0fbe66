#include "tests/conformance/planned_products.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

// The names by which the linker knows the planner's functions, as in BUILD.
#define PLAN_MATMUL "_ZN7tessera10PlanMatMulERKNS_13MatMulProblemERKNS_14PlannerContextE"
#define PLAN_CONVOLUTION \
  "_ZN7tessera15PlanConvolutionERKNS_18ConvolutionProblemERKNS_14PlannerContextE"

namespace tessera {
namespace {

struct Planned {
  absl::Mutex mu;
  std::set<ProductAlgorithm> algorithms ABSL_GUARDED_BY(mu);
};

Planned& ThePlanned() {
  static auto* const planned = new Planned;
  return *planned;
}

ProductAlgorithm Note(ProductAlgorithm algorithm) {
  Planned& planned = ThePlanned();
  absl::MutexLock lock(&planned.mu);
  planned.algorithms.insert(algorithm);
  return algorithm;
}

}  // namespace

// The planner's own functions, and those that are called instead.
ProductAlgorithm RealPlanMatMul(const MatMulProblem& problem,
                                const PlannerContext& context) asm("__real_" PLAN_MATMUL);
ProductAlgorithm RealPlanConvolution(const ConvolutionProblem& problem,
                                     const PlannerContext& context) asm("__real_" PLAN_CONVOLUTION);
ProductAlgorithm NotedPlanMatMul(const MatMulProblem& problem,
                                 const PlannerContext& context) asm("__wrap_" PLAN_MATMUL);
ProductAlgorithm NotedPlanConvolution(
    const ConvolutionProblem& problem,
    const PlannerContext& context) asm("__wrap_" PLAN_CONVOLUTION);

ProductAlgorithm NotedPlanMatMul(const MatMulProblem& problem, const PlannerContext& context) {
  return Note(RealPlanMatMul(problem, context));
}

ProductAlgorithm NotedPlanConvolution(const ConvolutionProblem& problem,
                                      const PlannerContext& context) {
  return Note(RealPlanConvolution(problem, context));
}

std::set<ProductAlgorithm> TakePlannedProducts() {
  Planned& planned = ThePlanned();
  absl::MutexLock lock(&planned.mu);
  return std::exchange(planned.algorithms, {});
}

absl::string_view NameOf(ProductAlgorithm algorithm) {
  switch (algorithm) {
    case ProductAlgorithm::kLoops:
      return "loops";
    case ProductAlgorithm::kOneDnn:
      return "oneDNN";
    case ProductAlgorithm::kGemv:
      return "GEMV";
    case ProductAlgorithm::kFmaGemm:
      return "GEMM by FMA";
    case ProductAlgorithm::kAmxGemm:
      return "GEMM by AMX";
    case ProductAlgorithm::kStrassen:
      return "Strassen";
    case ProductAlgorithm::kDepthwise:
      return "depthwise";
    case ProductAlgorithm::kWinograd2:
      return "Winograd F(2x2)";
    case ProductAlgorithm::kWinograd4:
      return "Winograd F(4x4)";
    case ProductAlgorithm::kTransposed:
      return "transposed GEMM";
    case ProductAlgorithm::kOrdered:
      return "ordered GEMM";
  }
  return "";
}

}  // namespace tessera
