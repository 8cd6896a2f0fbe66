// Checks signatures for Classify and Regress, and makes results of their output tensors.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/session/saved_model.h"
#include "serving/servables/inference_request.h"
#include "serving/servables/saved_model/signature_runs.h"

namespace tessera::serving {

// Names that classification and regression signatures use.
inline constexpr char kExamplesInput[] = "inputs";
inline constexpr char kClassesOutput[] = "classes";
inline constexpr char kScoresOutput[] = "scores";
inline constexpr char kRegressOutput[] = "outputs";

// Errors: INVALID_ARGUMENT if the signature's method name is another one. `kind` is for the
// message.
absl::Status CheckMethodName(const Signature& signature, absl::string_view kind,
                             absl::string_view method_name);

// Positions of the outputs of a classification signature; -1 for one that it does not have.
struct ClassifyOutputs {
  int classes = -1;
  int scores = -1;
  SignatureRuns::Positions Positions() const;
};

// Errors: INVALID_ARGUMENT if the signature has not exactly one input, "inputs", and one or two
// outputs of "classes" and "scores".
absl::StatusOr<ClassifyOutputs> FindClassifyOutputs(const Signature& signature);
// Errors: INVALID_ARGUMENT if the signature has not exactly one input, "inputs", and one output,
// "outputs".
absl::Status CheckRegressSignature(const Signature& signature);

// Errors: INVALID_ARGUMENT "Input is empty." if there are no examples.
absl::Status CheckExamples(const Tensor& examples);

// `fetches` are the outputs at Positions(), in that order.
// Errors: INVALID_ARGUMENT unless classes are strings and scores floats, both [num_examples, C].
absl::Status MakeClassifyResult(const ClassifyOutputs& outputs, int64_t num_examples,
                                absl::Span<const Tensor> fetches, ClassifyResult* result);
// Errors: INVALID_ARGUMENT unless `values` is float [num_examples] or [num_examples, 1].
absl::Status MakeRegressResult(int64_t num_examples, Tensor values, RegressResult* result);

}  // namespace tessera::serving
