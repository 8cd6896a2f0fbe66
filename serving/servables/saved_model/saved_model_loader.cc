#include "serving/servables/saved_model/saved_model_loader.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/exception_status.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/device/health/device_health.h"
#include "runtime/host/host.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/session/traced_callable.h"
#include "runtime/session/unused_variables.h"
#include "serving/servables/saved_model/intact_callable.h"
#include "serving/servables/saved_model/version_files.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {

SavedModelLoader::SavedModelLoader(ServableId id, std::string path,
                                   std::shared_ptr<const Options> options)
    : id_(std::move(id)), path_(std::move(path)), options_(std::move(options)) {}

SavedModelLoader::~SavedModelLoader() = default;

absl::StatusOr<MemoryEstimate> SavedModelLoader::EstimateMemory() {
  return EstimateVersionMemory(path_);
}

absl::Status SavedModelLoader::Load() {
  const absl::Status status = CatchExceptions("the load", [this] { return LoadServable(); });
  if (!status.ok()) servable_.reset();
  return status;
}

absl::Status SavedModelLoader::LoadServable() {
  stages_.clear();
  if (options_->metrics != nullptr) shown_ = options_->metrics->Show(path_);
  const absl::Time start = absl::Now();
  absl::StatusOr<SavedModelBundle> bundle = LoadBundle();
  if (options_->metrics != nullptr) {
    options_->metrics->RecordLoad(path_, bundle, absl::Now() - start);
  }
  RETURN_IF_ERROR(bundle.status());
  stages_ = bundle->stages;
  // Returns the directory that has a file which belongs to this version.
  const auto directory_of = [&, graph = bundle->graph](const char* file) {
    return FileExists(JoinPath(path_, file)) ? path_ : graph->directory;
  };
  if (options_->make_run_wrapper != nullptr) {
    ASSIGN_OR_RETURN(run_wrapper_,
                     options_->make_run_wrapper(id_, directory_of("batching_params.pbtxt")));
  }
  ASSIGN_OR_RETURN(servable_, MakeServable(*std::move(bundle)));
  absl::Status status;
  if (options_->warm_up != nullptr) {
    std::vector<int64_t> likely_rows;
    if (run_wrapper_ != nullptr) likely_rows = run_wrapper_->LikelyRows();
    const absl::Time warm_up_start = absl::Now();
    status = options_->warm_up(directory_of("assets.extra"), *servable_, likely_rows);
    stages_.emplace_back("warm_up", absl::Now() - warm_up_start);
  }
  // The model is warm, and its runs hold what they read.
  ReleaseUnusedVariables(servable_->session().resources());
  if (status.ok()) status = Health();
  RETURN_IF_ERROR(status);
  if (run_wrapper_ != nullptr) run_wrapper_->StartServing();
  return absl::OkStatus();
}

absl::Status SavedModelLoader::Health() const {
  if (servable_ != nullptr) RETURN_IF_ERROR(CheckHealth(servable_->session().ListDevices()));
  return CheckMappings(path_);
}

absl::StatusOr<SavedModelBundle> SavedModelLoader::LoadBundle() const {
  ASSIGN_OR_RETURN(const VersionFiles files, FindVersionFiles(path_));
  LoadStages import_stages;
  ASSIGN_OR_RETURN(GraphCache::Graph graph,
                   files.has_graph() ? options_->graphs->Get(path_, options_->tags, &import_stages)
                                     : options_->graphs->GetForWeights(
                                           path_, id_.version, options_->tags, &import_stages));
  SessionOptions session = options_->session;
  if (session.host != nullptr) session.share = session.host->shares().Get(id_.name);
  ASSIGN_OR_RETURN(SavedModelBundle bundle,
                   files.has_graph() ? LoadSavedModel(std::move(graph), session)
                                     : LoadWeights(std::move(graph), files.weights, session));
  bundle.stages.insert(bundle.stages.begin(), import_stages.begin(), import_stages.end());
  return bundle;
}

absl::StatusOr<std::unique_ptr<const SavedModelServable>> SavedModelLoader::MakeServable(
    SavedModelBundle bundle) const {
  SavedModelServable::Options servable_options;
  servable_options.id = id_;
  servable_options.check_method_names = options_->check_method_names;
  // Traces and metrics are within batching, so that they show a merged run of many requests as one.
  servable_options.wrap_run = [id = id_, tracer = options_->tracer, metrics = options_->metrics,
                               run_wrapper = run_wrapper_, path = path_](
                                  std::shared_ptr<const Callable> callable,
                                  RunRows rows) -> absl::StatusOr<std::shared_ptr<const Callable>> {
    if (tracer != nullptr) {
      callable = MakeTracedCallable(absl::StrCat("run ", id.name, "/", id.version), tracer,
                                    std::move(callable));
    }
    callable = MakeIntactCallable(path, std::move(callable));
    if (metrics != nullptr) callable = metrics->Meter(std::move(callable));
    if (run_wrapper != nullptr) return run_wrapper->Wrap(std::move(callable), rows);
    return callable;
  };
  if (run_wrapper_ != nullptr) {
    servable_options.runs_may_wait = [run_wrapper = run_wrapper_] {
      return run_wrapper->MayWait();
    };
  }
  return SavedModelServable::Create(std::move(bundle), servable_options);
}

void SavedModelLoader::BeginDraining() {
  if (run_wrapper_ != nullptr) run_wrapper_->BeginDraining();
}

void SavedModelLoader::Unload() {
  servable_.reset();
  shown_.reset();
}

AnyServable SavedModelLoader::servable() {
  return AnyServable(static_cast<const Servable*>(servable_.get()));
}

}  // namespace tessera::serving
