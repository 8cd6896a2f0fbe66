// Servable: one loaded version of a model, whatever platform it was made for.
//
//   ASSIGN_OR_RETURN(ModelHandle model, served_models.Acquire({.name = "resnet"}));
//   const SignatureInfo* signature = model->info().FindSignature("serving_default");
//   RETURN_IF_ERROR(model->Predict(request, {}, &result));
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/shape.h"
#include "serving/core/servable_handle.h"
#include "serving/core/servable_id.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/request_stats.h"

namespace tensorflow::serving {
class SignatureDefMap;
}  // namespace tensorflow::serving

namespace tessera::serving {

// An input or output of a signature.
struct TensorInfo {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  bool has_default = false;  // an input that requests may leave out
};

// A signature: a named way to call the model.
struct SignatureInfo {
  std::map<std::string, TensorInfo> inputs;   // by the name that requests use
  std::map<std::string, TensorInfo> outputs;  // by the name that replies use
  std::string method_name;                    // kPredictMethod, kClassifyMethod, ...
  // True if a call leaves the model as it was, so that warm-up may make one.
  bool is_pure = false;
  // Key of the computation that a call runs. Signatures with equal keys run the same one, so that
  // warming up one of them warms up all. Empty if that is not known.
  std::string computation;
};

using SignatureMap = std::map<std::string, SignatureInfo, std::less<>>;  // by name

// A version of a model as clients are told of it.
struct ModelInfo {
  ServableId id;
  std::string platform;  // "tensorflow" for a SavedModel
  SignatureMap signatures;

  // Returns null if there is no such signature. An empty name asks for kDefaultSignature.
  const SignatureInfo* FindSignature(absl::string_view name) const;
  // "classify, serving_default": the names of all signatures, for error messages.
  std::string SignatureNames() const;
};

// Answers requests to one version of a model. Front ends, warm-up and ServedModels know this
// interface alone; each platform implements it in a folder of its own and has a Loader whose
// servable() is a `const Servable`.
//
// Thread-safe.
class Servable {
 public:
  virtual ~Servable() = default;
  Servable(const Servable&) = delete;
  Servable& operator=(const Servable&) = delete;

  const ModelInfo& info() const { return info_; }
  // Returns the statistics of the requests to this version. Front ends record them; a servable
  // notes in CallOptions::times, if it can, when the run of a request began and ended.
  RequestStats& request_stats() const { return request_stats_; }

  // Errors, in the order of the checks: FAILED_PRECONDITION for an unknown signature; INTERNAL for
  // a signature with an unfit method name, if these are checked; INVALID_ARGUMENT for input names,
  // for the tensors that the request gives, for the output filter; then those of the run.
  virtual absl::Status Predict(const PredictRequest& request, const CallOptions& options,
                               PredictResult* result) const = 0;

  // Errors: INVALID_ARGUMENT for an unknown or unfit signature, for no examples, or for results
  // that do not have one row for each example; then those of the run. UNIMPLEMENTED unless the
  // platform overrides the method, because most have no notion of a tensorflow.Example.
  virtual absl::Status Classify(const ExamplesRequest& request, const CallOptions& options,
                                ClassifyResult* result) const;
  virtual absl::Status Regress(const ExamplesRequest& request, const CallOptions& options,
                               RegressResult* result) const;

  // Runs all tasks in one run over the same examples. Results are in the order of the tasks. The
  // model specs of the tasks have been resolved to this servable already; they are not read.
  // Errors: INVALID_ARGUMENT for a repeated or unknown signature or no examples; UNIMPLEMENTED for
  // a method other than classify and regress; then those of the run.
  virtual absl::Status MultiInference(absl::Span<const InferenceTask> tasks,
                                      absl::FunctionRef<absl::StatusOr<Tensor>()> examples,
                                      const CallOptions& options,
                                      std::vector<InferenceResult>* results) const;

  // Returns some of the requests that were answered, one for each combination of shapes, from
  // signatures that are pure. The next version is warmed up with them.
  virtual std::vector<SampleRequest> SampleRequests() const { return {}; }

  // Returns the smoothed time that recent runs of a signature took. It is infinite before the first
  // run has ended, and while runs may have to wait for others. Front ends run short requests on the
  // thread that read them.
  virtual absl::Duration TypicalRunTime(absl::string_view /*signature_name*/) const {
    return absl::InfiniteDuration();
  }

  // Fills an empty map with the signatures as TensorFlow's messages, which GetModelMetadata answers
  // with. Unless the platform overrides the method they are made from info(), and each tensor is
  // called by its name in the signature.
  virtual void FillSignatureDefs(tensorflow::serving::SignatureDefMap* map) const;

 protected:
  explicit Servable(ModelInfo info) : info_(std::move(info)) {}

 private:
  const ModelInfo info_;
  mutable RequestStats request_stats_;
};

// Asks a request that was kept or made up. Errors: those of Servable::Predict().
absl::Status AskSample(const Servable& servable, const SampleRequest& request,
                       const CallOptions& options, PredictResult* result);

// Keeps its version loaded.
using ModelHandle = ServableHandle<const Servable>;

}  // namespace tessera::serving
