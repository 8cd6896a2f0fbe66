#include "runtime/kernels/primitives/cpu/packed_weights.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/host/mapping_guard.h"

namespace tessera {
namespace {

using Kind = PackedFormat::Kind;

// The largest number of oneDNN's layouts that are kept. They depend on the batch size and on the
// number of threads, and more than a few are not worth their memory.
constexpr int64_t kMaxOneDnnLayouts = 3;
constexpr int kMinTimesNeeded = 2;
constexpr int kMaxTimesNeeded = 1 << 16;

// Releases the resident pages of weights that runs read in packed form from now on.
void PageOut(const Tensor& weights) { ReleaseMappedPages({weights.raw(), weights.total_bytes()}); }

bool IsSame(const Tensor& a, const Tensor& b) {
  return a.raw() == b.raw() && a.shape() == b.shape();
}

}  // namespace

PackedWeights::PackedWeights(const KernelBuild& build, int input)
    : input_(input),
      numerics_(build.numerics()),
      constant_(build.constant_input(input) == nullptr ? Tensor() : *build.constant_input(input)) {}

PackedWeights* PackedWeights::UseFor(const KernelContext& ctx, const Tensor& weights) {
  if (ctx.IsLastUse(input_) || !weights.SharesBufferWith(ctx.input(input_))) return nullptr;
  if (constant_.has_value()) return this;
  if (numerics_ == Numerics::kStrict) return nullptr;
  const char* const held = held_.load(std::memory_order_relaxed);
  if (held != nullptr && held == weights.raw()) return this;
  const int64_t step = ctx.step().step_id;
  if (last_step_.exchange(step, std::memory_order_relaxed) != step) {
    last_seen_.store(nullptr, std::memory_order_relaxed);
    times_needed_.store(kMinTimesNeeded, std::memory_order_relaxed);
    holds_of_this_step_.store(false, std::memory_order_relaxed);
  }
  const char* const before = last_seen_.exchange(weights.raw(), std::memory_order_relaxed);
  if (before != weights.raw()) {
    times_seen_.store(1, std::memory_order_relaxed);
    return nullptr;
  }
  const int needed = times_needed_.load(std::memory_order_relaxed);
  if (times_seen_.load(std::memory_order_relaxed) >= needed) return this;
  return times_seen_.fetch_add(1, std::memory_order_relaxed) + 1 >= needed ? this : nullptr;
}

void PackedWeights::Hold(const ScaledWeights& weights) {
  const Tensor scale = weights.scale == nullptr ? Tensor() : *weights.scale;
  const bool held_before = holds_of_this_step_.exchange(true, std::memory_order_relaxed);
  if (values_.has_value()) {
    if (IsSame(values_, weights.values) && IsSame(scale_, scale)) return;
    // The weights vary after all. Other weights must come more often before they are packed.
    if (held_before) times_needed_ = std::min(2 * times_needed_, kMaxTimesNeeded);
  }
  entries_.clear();
  panels_from_.store(nullptr, std::memory_order_relaxed);
  values_ = weights.values;
  scale_ = scale;
  held_.store(values_.raw(), std::memory_order_relaxed);
}

const Tensor* PackedWeights::Find(const PackedFormat& format) const {
  const auto found = std::ranges::find(entries_, format, &Entry::format);
  return found == entries_.end() ? nullptr : &found->packed;
}

void PackedWeights::Insert(Entry entry) {
  const auto is_onednn = [](const Entry& e) { return e.format.kind == Kind::kOneDnn; };
  if (entry.format.kind != Kind::kOneDnn) {
    // The format replaces oneDNN's layouts, unless the weights have no such format.
    if (entry.packed.num_elements() > 0) std::erase_if(entries_, is_onednn);
  } else if (std::ranges::count_if(entries_, is_onednn) == kMaxOneDnnLayouts) {
    entries_.erase(std::ranges::find_if(entries_, is_onednn));
  }
  entries_.push_back(std::move(entry));
}

absl::StatusOr<Tensor> PackedWeights::Get(
    KernelContext& ctx, const ScaledWeights& weights, const PackedFormat& format,
    absl::FunctionRef<absl::StatusOr<Tensor>(const Tensor& values)> pack) {
  absl::MutexLock lock(&mu_);
  Hold(weights);
  if (const Tensor* const packed = Find(format)) return *packed;
  ASSIGN_OR_RETURN(const Tensor values, ApplyScale(ctx, weights, ctx.host_allocator()));
  ASSIGN_OR_RETURN(const Tensor packed, pack(values));
  Insert({format, packed});
  if (packed.num_elements() > 0) {
    if (format.kind == Kind::kPanels) {
      panels_from_.store(weights.values.raw(), std::memory_order_relaxed);
    }
    PageOut(weights.values);
  }
  return packed;
}

absl::StatusOr<Tensor> PackedWeights::GetDerived(
    const ScaledWeights& weights, const PackedFormat& format,
    absl::FunctionRef<absl::StatusOr<Tensor>()> derive) {
  absl::MutexLock lock(&mu_);
  Hold(weights);
  if (const Tensor* const packed = Find(format)) return *packed;
  ASSIGN_OR_RETURN(const Tensor packed, derive());
  Insert({format, packed});
  return packed;
}

}  // namespace tessera
