// Measures Acquire() and release on one thread, on several threads, and while versions switch.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "benchmark/benchmark.h"
#include "runtime/base/logging.h"
#include "serving/core/manager.h"

namespace tessera::serving {
namespace {

struct Model {
  int64_t version;
};

class ModelLoader : public Loader {
 public:
  absl::Status Load() override { return absl::OkStatus(); }
  void Unload() override {}
  AnyServable servable() override { return AnyServable(&model_); }

 private:
  Model model_{1};
};

void Aspire(AspiredVersionsManager& manager, const std::string& name, int64_t version) {
  AspiredVersions<std::unique_ptr<Loader>> data;
  data.push_back({{name, version}, std::make_unique<ModelLoader>()});
  manager.SetAspiredVersions(name, std::move(data));
  while (!manager.Acquire<Model>({name, version}).ok()) absl::SleepFor(absl::Microseconds(50));
}

AspiredVersionsManager& SharedManager() {
  static AspiredVersionsManager* const manager = [] {
    auto* m = new AspiredVersionsManager({});
    Aspire(*m, "resnet", 1);
    return m;
  }();
  return *manager;
}

void BM_AcquireLatest(benchmark::State& state) {
  AspiredVersionsManager& manager = SharedManager();
  for (auto _ : state) {
    auto handle = manager.Acquire<Model>({"resnet"});
    benchmark::DoNotOptimize(handle->get());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AcquireLatest)->Threads(1)->Threads(2)->Threads(4);

void BM_AcquireSpecific(benchmark::State& state) {
  AspiredVersionsManager& manager = SharedManager();
  for (auto _ : state) {
    auto handle = manager.Acquire<Model>({"resnet", 1});
    benchmark::DoNotOptimize(handle->get());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AcquireSpecific);

// A manager in which one model gets a new version a thousand times a second.
class SwitchingManager {
 public:
  SwitchingManager() : manager_({}) {
    Aspire(manager_, "resnet", 1);
    switcher_ = std::thread([this] {
      for (int64_t version = 2; !stop_; ++version) {
        Aspire(manager_, "resnet", version);
        ++switches_;
        absl::SleepFor(absl::Milliseconds(1));
      }
    });
  }
  ~SwitchingManager() {
    stop_ = true;
    switcher_.join();
  }
  AspiredVersionsManager& manager() { return manager_; }
  int64_t switches() const { return switches_; }

 private:
  AspiredVersionsManager manager_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> switches_{0};
  std::thread switcher_;
};

std::unique_ptr<SwitchingManager> switching;

void BM_AcquireDuringSwitches(benchmark::State& state) {
  AspiredVersionsManager& manager = switching->manager();
  const int64_t before = switching->switches();
  for (auto _ : state) {
    auto handle = manager.Acquire<Model>({"resnet"});
    benchmark::DoNotOptimize(handle->get());
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) {
    state.SetLabel(std::to_string(switching->switches() - before) + " switches");
  }
}
BENCHMARK(BM_AcquireDuringSwitches)
    ->Setup([](const benchmark::State&) { switching = std::make_unique<SwitchingManager>(); })
    ->Teardown([](const benchmark::State&) { switching.reset(); })
    ->Threads(1)
    ->Threads(2);

}  // namespace
}  // namespace tessera::serving

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as the server does
  tessera::SetMinLogSeverity(tessera::LogSeverity::kError);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
