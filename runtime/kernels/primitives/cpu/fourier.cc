#include "runtime/kernels/primitives/fourier.h"

#include <algorithm>
#include <memory>

#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/fourier_block.h"
#include "runtime/kernels/primitives/plan_cache.h"

namespace tessera {
namespace {

// The length up to which lines are transformed in vectors of several lines. Longer lines are
// transformed one by one, because several would leave the cache with every pass. A shorter line
// always goes through the vector loops, even a single line, since the two kinds of loops may differ
// in the last bits.
constexpr int64_t kMaxLanesLength = 1 << 15;

// The bytes that the two buffers of a block may take to stay in the first-level cache.
constexpr int64_t kFirstLevelBytes = 1 << 15;

const FourierLoops<float>& WideLoops(float) { return avx512::kFourierLoopsOfFloat; }
const FourierLoops<double>& WideLoops(double) { return avx512::kFourierLoopsOfDouble; }
const FourierLoops<float>& NarrowLoops(float) { return avx2::kFourierLoopsOfFloat; }
const FourierLoops<double>& NarrowLoops(double) { return avx2::kFourierLoopsOfDouble; }

// Returns the loops for buffers of so many complex numbers a line. Wide vectors hold twice as many
// lines, whose buffers leave the first-level cache at half the length; then the passes wait for
// the second-level one. The choice goes by the length alone, as the last bits may depend on it.
template <typename T>
const FourierLoops<T>& LoopsFor(int64_t buffer_length) {
  const FourierLoops<T>& wide = WideLoops(T{});
  const int64_t bytes = 4 * buffer_length * wide.lanes * static_cast<int64_t>(sizeof(T));
  static const bool has_avx512 = HasAvx512();
  return has_avx512 && bytes <= kFirstLevelBytes ? wide : NarrowLoops(T{});
}

// A plan in the form that PlanCache keeps.
template <typename T>
struct SharedPlan {
  std::shared_ptr<const FourierLinePlan<T>> plan;
  bool IsFor(int64_t length, bool is_real) const { return plan->IsFor(length, is_real); }
};

class CpuFourierTransform : public FourierTransform {
 public:
  absl::Status Run(KernelContext& ctx, const FourierLines<float>& lines) override {
    return RunLines(ctx, lines, &float_plans_);
  }
  absl::Status Run(KernelContext& ctx, const FourierLines<double>& lines) override {
    return RunLines(ctx, lines, &double_plans_);
  }

 private:
  template <typename T>
  absl::Status RunLines(KernelContext& ctx, const FourierLines<T>& lines,
                        PlanCache<SharedPlan<T>>* plans) {
    const std::shared_ptr<const FourierLinePlan<T>> plan =
        PlanFor(lines.length, lines.kind != FourierKind::kComplex, plans);
    const FourierLoops<T>& loops = LoopsFor<T>(plan->complex.buffer_length);
    const bool one_by_one = lines.length > kMaxLanesLength;
    const int64_t lanes = one_by_one ? 1 : loops.lanes;
    const int64_t blocks_of_run = (lines.adjacent + lanes - 1) / lanes;
    const int64_t blocks = lines.adjacent == 1 ? (lines.count + lanes - 1) / lanes
                                               : lines.count / lines.adjacent * blocks_of_run;

    // The scratch memory of each chunk of the loop.
    const int64_t scratch_size = 4 * (plan->complex.buffer_length + 1) * lanes;
    const int64_t chunks = std::min<int64_t>(blocks, 64);
    const double cost = 4.0 * static_cast<double>(lines.length * lanes) * blocks / chunks;
    absl::Status status;
    absl::Mutex mu;
    ctx.ParallelFor(chunks, cost, [&](int64_t begin, int64_t end) {
      absl::StatusOr<Tensor> scratch = ctx.AllocateTemp(DTypeOf<T>, Shape{scratch_size});
      if (!scratch.ok()) {
        absl::MutexLock lock(&mu);
        status = scratch.status();
        return;
      }
      FourierBlock<T> block{.kind = lines.kind, .inverse = lines.inverse, .stride = lines.stride};
      block.scratch = scratch->template data<T>();
      for (int64_t b = begin * blocks / chunks; b < end * blocks / chunks; ++b) {
        int64_t first = b * lanes, last = std::min(first + lanes, lines.count);
        if (lines.adjacent > 1) {
          const int64_t run = b / blocks_of_run * lines.adjacent;
          first = run + b % blocks_of_run * lanes;
          last = std::min(first + lanes, run + lines.adjacent);
        }
        SetLines(lines, first, last, &block);
        (one_by_one ? loops.transform_one : loops.transform)(*plan, block);
      }
    });
    return status;
  }

  template <typename T>
  static void SetLines(const FourierLines<T>& lines, int64_t first, int64_t last,
                       FourierBlock<T>* block) {
    const int64_t from_size = lines.kind == FourierKind::kRealToComplex ? 1 : 2;
    const int64_t to_size = lines.kind == FourierKind::kComplexToReal ? 1 : 2;
    block->lines = static_cast<int>(last - first);
    const int starts = lines.stride == 1 ? block->lines : 1;
    for (int i = 0; i < starts; ++i) {
      block->from[i] = lines.from + from_size * lines.from_offset(first + i);
      block->to[i] = lines.to + to_size * lines.to_offset(first + i);
    }
  }

  template <typename T>
  static std::shared_ptr<const FourierLinePlan<T>> PlanFor(int64_t length, bool is_real,
                                                           PlanCache<SharedPlan<T>>* plans) {
    if (const SharedPlan<T>* kept = plans->Find(length, is_real)) return kept->plan;
    SharedPlan<T> made{std::make_shared<const FourierLinePlan<T>>(length, is_real)};
    plans->Insert(made);
    return made.plan;
  }

  PlanCache<SharedPlan<float>> float_plans_;
  PlanCache<SharedPlan<double>> double_plans_;
};

std::unique_ptr<FourierTransform> MakeFourierTransform() {
  return std::make_unique<CpuFourierTransform>();
}
REGISTER_PRIMITIVE(FourierTransform, kCpu, MakeFourierTransform);

}  // namespace
}  // namespace tessera
