#include "runtime/kernels/primitives/cpu/lockstep.h"

#include <immintrin.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tessera {
namespace {

class Lockstep {
 public:
  using Run = absl::FunctionRef<void(int64_t step, int64_t share)>;

  Lockstep(int64_t steps, int64_t shares, Run run)
      : steps_(steps), num_shares_(shares), run_(run), shares_(static_cast<size_t>(shares)) {}

  // Takes part until all steps are done. Takes share `mine` of each step before any other one.
  void Join(int64_t mine) {
    for (int64_t step = NextStep(); step < steps_; step = NextStep()) {
      for (int64_t i = 0; i < num_shares_; ++i) {
        const int64_t share = (mine + i) % num_shares_;
        if (!Claim(share, step)) continue;
        run_(step, share);
        finished_.fetch_add(1, std::memory_order_acq_rel);
      }
      WaitForEndOf(step);
    }
  }

 private:
  // Shares lie in cache lines of their own.
  struct alignas(64) Share {
    std::atomic<int64_t> claimed{0};  // the number of steps whose share a thread has taken
  };

  // Returns the first step that is not done.
  int64_t NextStep() const { return finished_.load(std::memory_order_acquire) / num_shares_; }

  // Returns true if the share of this step is the caller's. All steps before are done.
  bool Claim(int64_t share, int64_t step) {
    std::atomic<int64_t>& claimed = shares_[share].claimed;
    return claimed.load(std::memory_order_relaxed) == step &&
           claimed.compare_exchange_strong(step, step + 1, std::memory_order_relaxed);
  }

  // Waits for shares that other threads are computing. They seldom take longer than the caller's.
  // If one does, its thread may have lost its core, perhaps to this one.
  void WaitForEndOf(int64_t step) const {
    constexpr int kTurnsBeforeYielding = 1000;
    for (int turn = 0; NextStep() <= step; ++turn) {
      if (turn < kTurnsBeforeYielding) {
        _mm_pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

  const int64_t steps_, num_shares_;
  const Run run_;
  std::vector<Share> shares_;
  alignas(64) std::atomic<int64_t> finished_{0};  // shares of all steps
};

}  // namespace

void RunInLockstep(KernelContext& ctx, int64_t steps, int64_t shares, double nanoseconds,
                   absl::FunctionRef<void(int64_t step, int64_t share)> run) {
  if (shares == 1) {
    for (int64_t step = 0; step < steps; ++step) run(step, 0);
    return;
  }
  Lockstep loop(steps, shares, run);
  ctx.ParallelFor(shares, static_cast<double>(steps) * nanoseconds,
                  [&](int64_t begin, int64_t /*end*/) { loop.Join(begin); });
}

}  // namespace tessera
