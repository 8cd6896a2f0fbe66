// What a model can be asked, in the runtime's terms: names and Tensors. Front ends translate their
// wire formats to and from these; no protocol buffer appears here.
//
// All of these are views: names and specs point into the caller's message, and result names into
// the model, which the caller's handle keeps loaded.
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

// Which version of which model. Neither version nor label: the highest one that is available.
struct ModelSpec {
  absl::string_view name;
  std::optional<int64_t> version;
  std::optional<absl::string_view> label;  // counts only without a version
  absl::string_view signature_name;        // empty: "serving_default"
};

// How a call runs.
struct CallOptions {
  // Until when the answer is of use; DEADLINE_EXCEEDED after.
  absl::Time deadline = absl::InfiniteFuture();
  // The caller's own; may cancel the run. Null: the call cannot be cancelled.
  CancellationManager* cancellation = nullptr;
  // The inputs may be kept as a sample of what the model is asked.
  bool may_be_sampled = true;
};

struct PredictRequest {
  absl::string_view signature_name;
  absl::Span<const absl::string_view> input_names;
  // The tensor of input_names[i]. Called at most once for each, after all names were found good, so
  // that a request with wrong names costs no decoding. Errors are passed on as they are.
  absl::FunctionRef<absl::StatusOr<Tensor>(size_t i)> input;
  // Empty: all outputs.
  absl::Span<const absl::string_view> output_filter;
};

// A request with its tensors: of those that a version answered, or made up.
struct SampleRequest {
  std::string signature_name;
  std::vector<std::string> input_names;
  std::vector<Tensor> inputs;  // by position of input_names
  std::vector<std::string> output_filter;
};

struct NamedOutput {
  absl::string_view name;  // owned by the model
  Tensor tensor;
};

struct PredictResult {
  absl::string_view signature_name;  // the one that ran; owned by the model
  // In the filter's order, or in the signature's (by name).
  std::vector<NamedOutput> outputs;
};

// Examples for Classify, Regress and MultiInference: a string tensor [N] of serialized
// tensorflow.Example. A context that all share is put in front of each: serialized messages merge
// when concatenated, and the later ones' features win.
struct ExamplesRequest {
  absl::string_view signature_name;
  // Called at most once, after the signature was found good. N = 0 is refused: "Input is empty.".
  absl::FunctionRef<absl::StatusOr<Tensor>()> examples;
};

// Classes of N examples with C classes each. At least one of the tensors has a value.
struct ClassifyResult {
  absl::string_view signature_name;
  Tensor labels;  // string [N, C], or no value: labels are empty
  Tensor scores;  // float [N, C], or no value: scores are 0
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

// One value an example.
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
