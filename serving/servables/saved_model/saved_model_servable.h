// SavedModelServable: one loaded version of a model, ready to answer.
//
//   ASSIGN_OR_RETURN(auto servable, SavedModelServable::Create(std::move(bundle), {}));
//   RETURN_IF_ERROR(servable->Predict(request, {}, &result));
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/session/saved_model.h"
#include "serving/core/servable_handle.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

class MultiInferenceRuns;
class SignatureRuns;

// Answers as tensorflow_model_server does, checks in its order and with its codes and texts.
//
// Feeds and fetches of a signature are compiled at the first request that needs them and kept;
// after that a request looks up names, runs, and takes no lock. Dtypes are checked by the run,
// shapes by the ops alone.
//
// Immutable but for its cache of compiled runs. Thread-safe.
class SavedModelServable {
 public:
  struct Options {
    // Refuse signatures whose method_name is not of the call's kind. Off: any signature that fits
    // may be used, as serving clients have come to expect.
    bool check_method_names = false;
    // Wraps each compiled run; how batching comes in. Empty: runs go straight to the session.
    std::function<absl::StatusOr<std::shared_ptr<const Callable>>(std::shared_ptr<const Callable>)>
        wrap_run;
    // True if a run that began now might wait for others. Empty: runs never do.
    std::function<bool()> runs_may_wait;
  };

  static absl::StatusOr<std::unique_ptr<SavedModelServable>> Create(SavedModelBundle bundle,
                                                                    const Options& options);
  ~SavedModelServable();

  // By name; also for typing requests before they are decoded.
  const std::map<std::string, Signature>& signatures() const { return bundle_.signatures; }
  // Null if there is none of this name; empty asks for "serving_default".
  const Signature* FindSignature(absl::string_view name) const;
  // "classify, serving_default", for messages.
  std::string SignatureNames() const;
  // Without its graph. What GetModelMetadata shows.
  const tensorflow::MetaGraphDef& meta_graph() const { return *bundle_.meta_graph; }
  Session& session() const { return *bundle_.session; }
  const std::string& directory() const { return bundle_.directory; }

  // Errors, in the order of the checks: FAILED_PRECONDITION for an unknown signature, INTERNAL for
  // its method name (if checked), INVALID_ARGUMENT for input names, for the tensors the request
  // gives, for the output filter; then whatever the run gives.
  absl::Status Predict(const PredictRequest& request, const CallOptions& options,
                       PredictResult* result) const;

  // Errors: INVALID_ARGUMENT for an unknown or unfit signature, no examples, or results that do not
  // have one row an example; whatever the run gives.
  absl::Status Classify(const ExamplesRequest& request, const CallOptions& options,
                        ClassifyResult* result) const;
  absl::Status Regress(const ExamplesRequest& request, const CallOptions& options,
                       RegressResult* result) const;

  // Runs all tasks at once over the same examples. Results are in the order of the tasks, whose
  // model specs the caller has resolved to this servable already.
  // Errors: INVALID_ARGUMENT for a repeated or unknown signature or no examples; UNIMPLEMENTED for
  // a method other than classify and regress; whatever the run gives.
  absl::Status MultiInference(absl::Span<const InferenceTask> tasks,
                              absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                              const CallOptions& options,
                              std::vector<InferenceResult>* results) const;

  // Some of the requests that were answered, one of each combination of shapes; of signatures alone
  // that leave the model as it was.
  std::vector<SampleRequest> SampleRequests() const;

  // Smoothed time that recent runs of a signature took; infinite before the first one ended, and
  // while runs may have to wait for others. Front ends run short ones on the thread that read the
  // request.
  absl::Duration TypicalRunTime(absl::string_view signature_name) const;

 private:
  SavedModelServable(SavedModelBundle bundle, const Options& options);
  // Null if there is none; empty is "serving_default".
  SignatureRuns* FindRuns(absl::string_view name) const;
  absl::Status NoSignature(absl::string_view name) const;

  const SavedModelBundle bundle_;
  const Options options_;
  // Keys view the names in bundle_.
  absl::flat_hash_map<absl::string_view, std::unique_ptr<SignatureRuns>> runs_;
  std::unique_ptr<MultiInferenceRuns> multi_inference_runs_;
};

// Keeps its version loaded.
using ModelHandle = ServableHandle<const SavedModelServable>;

}  // namespace tessera::serving
