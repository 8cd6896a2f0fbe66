// SavedModelServable: one loaded version of a SavedModel, ready to answer.
//
//   ASSIGN_OR_RETURN(auto servable, SavedModelServable::Create(std::move(bundle), {}));
//   RETURN_IF_ERROR(servable->Predict(request, {}, &result));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/session/saved_model.h"
#include "serving/batching/run_wrapper.h"
#include "serving/core/servable_id.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

class MultiInferenceRuns;
class SignatureRuns;

// Answers as tensorflow_model_server does: the same checks in the same order, with the same codes
// and messages.
//
// The feeds and fetches of a signature are compiled at the first request that needs them, and kept.
// After that a request looks up names and runs, and takes no lock. Dtypes are checked by the run,
// shapes by the ops alone.
//
// Immutable but for its cache of compiled runs. Thread-safe.
class SavedModelServable final : public Servable {
 public:
  struct Options {
    // The name and number of this version; part of info().
    ServableId id;
    // Refuses signatures whose method_name is not of the call's kind. When it is false, any
    // signature that fits may be used, as serving clients have come to expect.
    bool check_method_names = false;
    // Wraps each compiled run, which is how batching comes in. When it is empty, runs go straight
    // to the session.
    std::function<absl::StatusOr<std::shared_ptr<const Callable>>(
        std::shared_ptr<const Callable> callable, RunRows rows)>
        wrap_run;
    // Returns true if a run that began now might wait for others. When it is empty, runs never do.
    std::function<bool()> runs_may_wait;
  };

  static absl::StatusOr<std::unique_ptr<SavedModelServable>> Create(SavedModelBundle bundle,
                                                                    const Options& options);
  ~SavedModelServable() override;

  const SavedModelBundle& bundle() const { return bundle_; }
  Session& session() const { return *bundle_.session; }

  absl::Status Predict(const PredictRequest& request, const CallOptions& options,
                       PredictResult* result) const override;
  absl::Status Classify(const ExamplesRequest& request, const CallOptions& options,
                        ClassifyResult* result) const override;
  absl::Status Regress(const ExamplesRequest& request, const CallOptions& options,
                       RegressResult* result) const override;
  absl::Status MultiInference(absl::Span<const InferenceTask> tasks,
                              absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                              const CallOptions& options,
                              std::vector<InferenceResult>* results) const override;
  std::vector<SampleRequest> SampleRequests() const override;
  absl::Duration TypicalRunTime(absl::string_view signature_name) const override;
  // The signatures as they stand in the model's own meta graph.
  void FillSignatureDefs(tensorflow::serving::SignatureDefMap* map) const override;

 private:
  SavedModelServable(SavedModelBundle bundle, const Options& options);
  // Returns null if there is no such signature. An empty name asks for kDefaultSignature.
  SignatureRuns* FindRuns(absl::string_view name) const;
  absl::Status NoSignature(absl::string_view name) const;

  const SavedModelBundle bundle_;
  const Options options_;
  // Keys view the names in bundle_.
  absl::flat_hash_map<absl::string_view, std::unique_ptr<SignatureRuns>> runs_;
  std::unique_ptr<MultiInferenceRuns> multi_inference_runs_;
};

}  // namespace tessera::serving
