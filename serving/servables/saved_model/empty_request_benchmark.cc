// Measures the cost of a request without that of its graph: finding the model, starting a run, and
// handing over the answer. The graph only passes its input on.
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "benchmark/benchmark.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/session/traced_callable.h"
#include "serving/core/manager.h"
#include "serving/servables/request_trace.h"
#include "serving/servables/saved_model/saved_model_servable.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {
namespace {

constexpr char kGraph[] = R"(
  versions { producer: 1395 }
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape { dim { size: -1 } } } } }
  node { name: "y" op: "Identity" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";

class EmptyLoader : public Loader {
 public:
  // `tracer` may record its runs; null: nobody does.
  explicit EmptyLoader(Tracer* tracer) : tracer_(tracer) {}
  absl::Status Load() override {
    tensorflow::GraphDef graph;
    if (!google::protobuf::TextFormat::ParseFromString(kGraph, &graph)) {
      return absl::InternalError("the graph does not parse");
    }
    SavedModelBundle bundle;
    ASSIGN_OR_RETURN(bundle.session, Session::Create({}));
    RETURN_IF_ERROR(bundle.session->Extend(graph));
    Signature& signature = bundle.signatures["serving_default"];
    signature.inputs["x"] = {
        .tensor_name = "x:0", .run_name = "x:0", .dtype = DType::kFloat, .shape = {}};
    signature.outputs["y"] = {
        .tensor_name = "y:0", .run_name = "y:0", .dtype = DType::kFloat, .shape = {}};
    signature.method_name = std::string(kPredictMethod);
    bundle.meta_graph = std::make_unique<tensorflow::MetaGraphDef>();
    SavedModelServable::Options options;
    if (tracer_ != nullptr) {
      options.wrap_run = [this](std::shared_ptr<const Callable> callable, RunRows) {
        return MakeTracedCallable("run traceable/1", tracer_, std::move(callable));
      };
    }
    ASSIGN_OR_RETURN(servable_, SavedModelServable::Create(std::move(bundle), options));
    return absl::OkStatus();
  }
  void Unload() override { servable_.reset(); }
  AnyServable servable() override {
    return AnyServable(static_cast<const Servable*>(servable_.get()));
  }

 private:
  Tracer* const tracer_;
  std::unique_ptr<const SavedModelServable> servable_;
};

Tracer& SharedTracer() {
  static Tracer* const tracer = new Tracer;
  return *tracer;
}

AspiredVersionsManager& SharedManager() {
  static AspiredVersionsManager* const manager = [] {
    auto* m = new AspiredVersionsManager({.max_load_retries = 0});
    const auto load = [m](const char* name, Tracer* tracer) {
      AspiredVersions<std::unique_ptr<Loader>> versions;
      versions.push_back({{name, 1}, std::make_unique<EmptyLoader>(tracer)});
      m->SetAspiredVersions(name, std::move(versions));
      while (m->AvailableVersions(name).empty()) absl::SleepFor(absl::Milliseconds(1));
    };
    load("empty", nullptr);
    load("traceable", &SharedTracer());
    return m;
  }();
  return *manager;
}

// Asks a model, and then does `after`.
template <typename After>
void AskModel(benchmark::State& state, const char* name, After after) {
  AspiredVersionsManager& manager = SharedManager();
  const Tensor x = Tensor::Vector<float>({1, 2, 3});
  const std::vector<absl::string_view> names = {"x"};
  const auto input = [&](size_t) -> absl::StatusOr<Tensor> { return x; };
  for (auto _ : state) {
    auto model = manager.Acquire<const Servable>({name});
    PredictResult result;
    const absl::Status status =
        (*model)->Predict({.input_names = names, .input = input}, {}, &result);
    if (!status.ok() || result.outputs.size() != 1) {
      state.SkipWithError(status.ToString().c_str());
      break;
    }
    after();
  }
  state.SetItemsProcessed(state.iterations());
}

void BM_EmptyRequest(benchmark::State& state) {
  AskModel(state, "empty", [] {});
}
BENCHMARK(BM_EmptyRequest)->Threads(1)->Threads(2);

// The same in a server whose profiler is there and does not record.
void BM_TraceableRequest(benchmark::State& state) {
  const absl::Time now = absl::Now();
  AskModel(state, "traceable", [now] {
    TraceRequest({.method = "Predict",
                  .model = "traceable",
                  .entrypoint = Entrypoint::kGrpc,
                  .status = absl::OkStatus(),
                  .ended = now},
                 {.arrived = now}, &SharedTracer());
  });
}
BENCHMARK(BM_TraceableRequest)->Threads(1)->Threads(2);

}  // namespace
}  // namespace tessera::serving

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as the server does
  tessera::SetMinLogSeverity(tessera::LogSeverity::kError);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
