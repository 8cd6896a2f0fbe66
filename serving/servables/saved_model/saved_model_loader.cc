#include "serving/servables/saved_model/saved_model_loader.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/session/unused_variables.h"
#include "serving/servables/saved_model/intact_callable.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera::serving {
namespace {

// The memory that a model takes beyond its files, for each byte of them. Packed weights replace
// mapped ones, but may take one and a half times their size; the rest is for buffers.
constexpr double kMemoryBeyondFiles = 0.6;

absl::Status CheckFormat(const std::string& directory) {
  if (FileExists(JoinPath(directory, "saved_model.pb")) ||
      FileExists(JoinPath(directory, "saved_model.pbtxt"))) {
    return absl::OkStatus();
  }
  if (FileExists(JoinPath(directory, "export.meta"))) {
    return absl::UnimplementedError(
        absl::StrCat(directory,
                     " holds a SessionBundle, the format before SavedModel, which is "
                     "not supported; export the model as a SavedModel"));
  }
  return absl::NotFoundError(absl::StrCat(
      "Specified file path does not appear to contain a SavedModel bundle (should have a file "
      "called `saved_model.pb`)\nSpecified file path: ",
      directory));
}

}  // namespace

SavedModelLoader::SavedModelLoader(ServableId id, std::string directory,
                                   std::shared_ptr<const Options> options)
    : id_(std::move(id)), directory_(std::move(directory)), options_(std::move(options)) {}

SavedModelLoader::~SavedModelLoader() = default;

absl::StatusOr<MemoryEstimate> SavedModelLoader::EstimateMemory() {
  namespace fs = std::filesystem;
  if (!FileExists(directory_)) {
    return absl::NotFoundError(absl::StrCat(directory_, "; No such file or directory"));
  }
  if (!IsDirectory(directory_)) {
    return absl::FailedPreconditionError(absl::StrCat(directory_, "; Not a directory"));
  }
  MemoryEstimate estimate;
  std::error_code error;
  fs::recursive_directory_iterator it(directory_, error);
  if (error) {
    return absl::Status(absl::ErrnoToStatusCode(error.value()),
                        absl::StrCat(directory_, "; ", error.message()));
  }
  for (const fs::recursive_directory_iterator end; it != end && !error; it.increment(error)) {
    std::error_code size_error;
    if (!it->is_regular_file(size_error)) continue;
    const auto size = it->file_size(size_error);
    if (size_error) continue;
    const bool is_mapped = absl::StartsWith(it->path().filename().string(), "variables.data-");
    (is_mapped ? estimate.mapped : estimate.heap) += static_cast<int64_t>(size);
  }
  estimate.heap += static_cast<int64_t>(kMemoryBeyondFiles * static_cast<double>(estimate.total()));
  return estimate;
}

absl::Status SavedModelLoader::Load() {
  stages_.clear();
  if (options_->metrics != nullptr) shown_ = options_->metrics->Show(directory_);
  RETURN_IF_ERROR(CheckFormat(directory_));
  if (options_->make_run_wrapper != nullptr) {
    ASSIGN_OR_RETURN(run_wrapper_, options_->make_run_wrapper(directory_));
  }
  ASSIGN_OR_RETURN(servable_, LoadServable());
  absl::Status status;
  if (options_->warm_up != nullptr) {
    std::vector<int64_t> likely_rows;
    if (run_wrapper_ != nullptr) likely_rows = run_wrapper_->LikelyRows();
    const absl::Time start = absl::Now();
    status = options_->warm_up(directory_, *servable_, likely_rows);
    stages_.emplace_back("warm_up", absl::Now() - start);
  }
  // The model is warm, and its runs hold what they read.
  ReleaseUnusedVariables(servable_->session().resources());
  if (status.ok()) status = Health();
  if (!status.ok()) {
    servable_.reset();
    return status;
  }
  if (run_wrapper_ != nullptr) run_wrapper_->StartServing();
  return absl::OkStatus();
}

absl::Status SavedModelLoader::Health() const { return CheckMappings(directory_); }

absl::StatusOr<std::unique_ptr<const SavedModelServable>> SavedModelLoader::LoadServable() {
  const absl::Time start = absl::Now();
  absl::StatusOr<SavedModelBundle> bundle =
      LoadSavedModel(directory_, options_->tags, options_->session);
  if (options_->metrics != nullptr) {
    options_->metrics->RecordLoad(directory_, bundle, absl::Now() - start);
  }
  RETURN_IF_ERROR(bundle.status());
  stages_ = bundle->stages;

  SavedModelServable::Options servable_options;
  servable_options.id = id_;
  servable_options.check_method_names = options_->check_method_names;
  // The metrics are innermost, so that they count a merged run of many requests as one run.
  servable_options.wrap_run = [metrics = options_->metrics, run_wrapper = run_wrapper_,
                               directory = directory_](std::shared_ptr<const Callable> callable)
      -> absl::StatusOr<std::shared_ptr<const Callable>> {
    callable = MakeIntactCallable(directory, std::move(callable));
    if (metrics != nullptr) callable = metrics->Meter(std::move(callable));
    if (run_wrapper != nullptr) return run_wrapper->Wrap(std::move(callable));
    return callable;
  };
  if (run_wrapper_ != nullptr) {
    servable_options.runs_may_wait = [run_wrapper = run_wrapper_] {
      return run_wrapper->MayWait();
    };
  }
  return SavedModelServable::Create(*std::move(bundle), servable_options);
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
