// Cost of Acquire() and release, alone, from several threads, and beside loads.
#include <thread>

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

void BM_AcquireDuringSwitches(benchmark::State& state) {
  AspiredVersionsManager manager({});
  Aspire(manager, "resnet", 1);
  std::atomic<bool> stop{false};
  std::thread switcher([&] {
    for (int64_t version = 2; !stop; ++version) Aspire(manager, "resnet", version);
  });
  for (auto _ : state) {
    auto handle = manager.Acquire<Model>({"resnet"});
    benchmark::DoNotOptimize(handle->get());
  }
  stop = true;
  switcher.join();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AcquireDuringSwitches);

}  // namespace
}  // namespace tessera::serving

int main(int argc, char** argv) {
  tessera::SetMinLogSeverity(tessera::LogSeverity::kError);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
