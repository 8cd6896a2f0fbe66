// Requests to a model and its results, in the runtime's terms: names and Tensors. Front ends
// translate their wire formats to and from these; no protocol buffer appears here.
//
// Names and specs in requests are views of the caller's message. Names in results are views of the
// model, which the caller's handle keeps loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/cancellation.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

inline constexpr absl::string_view kDefaultSignature = "serving_default";
inline constexpr absl::string_view kPredictMethod = "tensorflow/serving/predict";
inline constexpr absl::string_view kClassifyMethod = "tensorflow/serving/classify";
inline constexpr absl::string_view kRegressMethod = "tensorflow/serving/regress";

// Names a version of a model: by number, by label, or, without either, the highest available one.
struct ModelSpec {
  absl::string_view name;
  std::optional<int64_t> version;
  std::optional<absl::string_view> label;  // ignored if there is a version
  absl::string_view signature_name;        // empty: "serving_default"
};

struct RequestTimes;  // request_stats.h

// Options of one call.
struct CallOptions {
  // After this time the call fails with DEADLINE_EXCEEDED.
  absl::Time deadline = absl::InfiniteFuture();
  // Lets the caller cancel the run. Null: the call cannot be cancelled.
  CancellationManager* cancellation = nullptr;
  // If not null, the servable notes here when the run began and ended.
  RequestTimes* times = nullptr;
  // Whether the inputs may be kept as a sample of the model's requests.
  bool may_be_sampled = true;
};

struct PredictRequest {
  absl::string_view signature_name;
  absl::Span<const absl::string_view> input_names;
  // Returns the tensor of input_names[i]. Called at most once for each input, after all names were
  // checked, so that a request with wrong names costs no decoding. Its errors fail the request.
  absl::FunctionRef<absl::StatusOr<Tensor>(size_t i)> input;
  // Empty: all outputs.
  absl::Span<const absl::string_view> output_filter;
};

// A request with its tensors: one that a version has answered, or a made-up one.
struct SampleRequest {
  std::string signature_name;
  std::vector<std::string> input_names;
  std::vector<Tensor> inputs;  // in the order of input_names
  std::vector<std::string> output_filter;
};

struct NamedOutput {
  absl::string_view name;  // owned by the model
  Tensor tensor;
};

struct PredictResult {
  absl::string_view signature_name;  // the one that ran; owned by the model
  // In the order of the filter, or by name if there was none.
  std::vector<NamedOutput> outputs;
};

// Examples for Classify and Regress: a string tensor [N] of serialized tensorflow.Example. A
// context that all examples share is put in front of each one. Serialized messages merge when they
// are concatenated, and then the features of the later message win.
struct ExamplesRequest {
  absl::string_view signature_name;
  // Called at most once, after the signature was checked. N = 0 is refused with "Input is empty.".
  absl::FunctionRef<absl::StatusOr<Tensor>()> examples;
};

// The classes of N examples, C for each. At least one of the tensors has a value.
struct ClassifyResult {
  absl::string_view signature_name;
  Tensor labels;  // string [N, C]; labels are empty if it has no value
  Tensor scores;  // float [N, C]; scores are 0 if it has no value
  int64_t num_examples = 0;
  int64_t num_classes = 0;

  absl::string_view label(int64_t example, int64_t i) const {
    if (!labels.has_value()) return {};
    return labels.flat<std::string>()[example * num_classes + i];
  }
  float score(int64_t example, int64_t i) const {
    return scores.has_value() ? scores.flat<float>()[example * num_classes + i] : 0.0f;
  }
};

// One value for each example.
struct RegressResult {
  absl::string_view signature_name;
  Tensor values;  // float, N elements
};

struct InferenceTask {
  ModelSpec model;
  absl::string_view method_name;  // kClassifyMethod or kRegressMethod
};

using InferenceResult = std::variant<ClassifyResult, RegressResult>;

}  // namespace tessera::serving
