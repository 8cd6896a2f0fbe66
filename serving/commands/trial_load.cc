#include "serving/commands/trial_load.h"

#include "runtime/base/logging.h"
#include "serving/core/metrics.h"
#include "serving/servables/saved_model/saved_model_loader.h"
#include "serving/servables/saved_model/serving_session.h"
#include "serving/servables/warm_up.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"  // SavedModelBundle owns one

namespace tessera::serving {

absl::Status TrialLoad(const std::string& directory, const std::set<std::string>& tags,
                       const TrialLoadOptions& options) {
  SetMinLogSeverity(LogSeverity::kWarning);  // what warm-up did is of interest to servers alone
  MetricsRegistry metrics;
  const WarmUp warm_up(options.warm_up_runs, &metrics);
  auto loading = std::make_shared<SavedModelLoader::Options>();
  loading->tags = tags;
  loading->session = ServingSessionOptions();
  if (options.wrapper != nullptr) {
    loading->make_run_wrapper = [&](const ServableId&, const std::string&) {
      return absl::StatusOr<std::shared_ptr<RunWrapper>>(options.wrapper);
    };
  }
  loading->warm_up = [&](const std::string& files, const Servable& servable,
                         absl::Span<const int64_t> likely_rows) {
    return warm_up.Run(files, servable, {}, likely_rows);
  };
  return SavedModelLoader({.name = "model", .version = 1}, directory, loading).Load();
}

}  // namespace tessera::serving
