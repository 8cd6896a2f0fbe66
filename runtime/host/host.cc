#include "runtime/host/host.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "runtime/base/cpu_count.h"
#include "runtime/base/flushed_denormals.h"
#include "runtime/base/logging.h"
#include "runtime/host/mapping_guard.h"

namespace tessera {
namespace {

int NumThreads(int asked) { return asked > 0 ? asked : AvailableCores(); }

}  // namespace

// A pool that paces the background work that is redirected to it.
class Host::PacedPool final : public ThreadPool {
 public:
  PacedPool(ThreadPool::Options options, Pacer* pacer)
      : ThreadPool(WithPace(std::move(options))), pacer_(pacer) {}

 private:
  static ThreadPool::Options WithPace(ThreadPool::Options options) {
    options.around_redirected = [](absl::FunctionRef<void()> closure) {
      // The calling pool is the one that the work was redirected to.
      const PacedScope scope(static_cast<PacedPool*>(BackgroundPool())->pacer_);
      closure();
    };
    return options;
  }

  Pacer* const pacer_;
};

Host::Host(const Options& options)
    : run_slots_(AvailableCores()), yielding_slots_(AvailableCores()) {
  // Threads inherit the rounding of the thread that starts them, which kernels need on each.
  const FlushedDenormals flushed;
  if (options.intra_op_threads != 1) {
    intra_op_pool_ = std::make_unique<ThreadPool>(ThreadPool::Options{
        .name = "intra_op", .num_threads = NumThreads(options.intra_op_threads)});
    if (intra_op_pool_->num_threads() == 1) intra_op_pool_ = nullptr;
  }
  inter_op_pool_ = std::make_unique<ThreadPool>(
      ThreadPool::Options{.name = "inter_op", .num_threads = NumThreads(options.inter_op_threads)});
  if (!options.background.has_value()) return;

  yielding_pool_ =
      std::make_unique<YieldingPool>(NumThreads(options.intra_op_threads), AvailableCores());

  // Background work maps files; whoever then writes to one waits for the guard, which must
  // therefore not have the priority of that work.
  StartMappingGuard();
  background_cores_ = CoreSet::OfThisThread().Share(options.background->cpu_share);
  // The threads of a pool inherit priority and cores from the thread that starts them. Their nice
  // value makes them sleep instead of spin while there is nothing to do.
  std::thread([&] {
    SetThreadPriority(options.background->priority);
    if (const absl::Status bound = background_cores_.BindThisThread(); !bound.ok()) {
      LOG(WARNING)
          << "the share of the cores for background work bounds no more than the number of "
             "its threads: "
          << bound.message();
    }
    background_pool_ = std::make_unique<PacedPool>(
        ThreadPool::Options{
            .name = "background", .num_threads = std::max(1, background_cores_.size()), .nice = 1},
        &pacer_);
  }).join();
}

Host::~Host() = default;

ThreadPool* Host::background_pool() const { return background_pool_.get(); }

}  // namespace tessera
