#include "serving/servables/saved_model/classify_regress.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

// Returns a text for messages: "inputs {x: float[?,1]} outputs {y: float[?]} method_name
// tensorflow/...".
std::string Describe(const Signature& signature) {
  auto append = [](std::string* out, const std::pair<const std::string, SignatureTensor>& item) {
    absl::StrAppend(out, item.first, ": ", DTypeName(item.second.dtype),
                    item.second.shape.ToString());
  };
  return absl::StrCat("inputs {", absl::StrJoin(signature.inputs, ", ", append), "} outputs {",
                      absl::StrJoin(signature.outputs, ", ", append), "} method_name ",
                      signature.method_name);
}

absl::Status CheckExamplesInput(const Signature& signature, absl::string_view kind) {
  if (signature.inputs.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("Expected one input Tensor. Signature has ",
                                                   signature.inputs.size(), ": ",
                                                   Describe(signature)));
  }
  if (signature.inputs.begin()->first != kExamplesInput) {
    return absl::InvalidArgumentError(
        absl::StrCat("No ", kind, " inputs found in SignatureDef: ", Describe(signature)));
  }
  return absl::OkStatus();
}

int PositionOf(const Signature& signature, const char* output) {
  auto it = signature.outputs.find(output);
  return it == signature.outputs.end()
             ? -1
             : static_cast<int>(std::distance(signature.outputs.begin(), it));
}

absl::Status CheckClassTensor(const char* name, const Tensor& tensor, DType dtype,
                              int64_t num_examples) {
  if (tensor.dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected ", name, " Tensor of ", DTypeName(dtype), ". Got: ", DTypeName(tensor.dtype())));
  }
  if (tensor.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected Tensor shape: [batch_size num_classes] but got ", name, " of shape ",
                     tensor.shape().ToString()));
  }
  if (tensor.dim(0) != num_examples) {
    return absl::InvalidArgumentError(absl::StrCat("Expected ", name, " output batch size of ",
                                                   num_examples, ". Got: ", tensor.dim(0)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMethodName(const Signature& signature, absl::string_view kind,
                             absl::string_view method_name) {
  if (signature.method_name == method_name) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Expected ", kind, " signature method_name to be ",
                                                 method_name, ". Was: ", signature.method_name));
}

SignatureRuns::Positions ClassifyOutputs::Positions() const {
  // "classes" < "scores", so this order is ascending.
  SignatureRuns::Positions positions;
  if (classes >= 0) positions.push_back(classes);
  if (scores >= 0) positions.push_back(scores);
  return positions;
}

absl::StatusOr<ClassifyOutputs> FindClassifyOutputs(const Signature& signature) {
  RETURN_IF_ERROR(CheckExamplesInput(signature, "classification"));
  if (signature.outputs.empty() || signature.outputs.size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat("Expected one or two output Tensors, found ",
                                                   signature.outputs.size(), ": ",
                                                   Describe(signature)));
  }
  ClassifyOutputs outputs{.classes = PositionOf(signature, kClassesOutput),
                          .scores = PositionOf(signature, kScoresOutput)};
  if (outputs.classes < 0 && outputs.scores < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected classification signature outputs to contain at least one of \"", kClassesOutput,
        "\" or \"", kScoresOutput, "\". Signature was: ", Describe(signature)));
  }
  return outputs;
}

absl::Status CheckRegressSignature(const Signature& signature) {
  RETURN_IF_ERROR(CheckExamplesInput(signature, "regression"));
  if (signature.outputs.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("Expected one output Tensor. Signature has ",
                                                   signature.outputs.size(), ": ",
                                                   Describe(signature)));
  }
  if (PositionOf(signature, kRegressOutput) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("No regression outputs found in SignatureDef: ", Describe(signature)));
  }
  return absl::OkStatus();
}

absl::Status CheckExamples(const Tensor& examples) {
  if (examples.num_elements() == 0) return absl::InvalidArgumentError("Input is empty.");
  return absl::OkStatus();
}

absl::Status MakeClassifyResult(const ClassifyOutputs& outputs, int64_t num_examples,
                                absl::Span<const Tensor> fetches, ClassifyResult* result) {
  size_t next = 0;
  if (outputs.classes >= 0) {
    result->labels = fetches[next++];
    RETURN_IF_ERROR(CheckClassTensor(kClassesOutput, result->labels, DType::kString, num_examples));
    result->num_classes = result->labels.dim(1);
  }
  if (outputs.scores >= 0) {
    result->scores = fetches[next++];
    RETURN_IF_ERROR(CheckClassTensor(kScoresOutput, result->scores, DType::kFloat, num_examples));
    if (outputs.classes >= 0 && result->scores.dim(1) != result->num_classes) {
      return absl::InvalidArgumentError(
          absl::StrCat("Tensors class and score should match in num_classes. Got ",
                       result->num_classes, " vs. ", result->scores.dim(1)));
    }
    result->num_classes = result->scores.dim(1);
  }
  result->num_examples = num_examples;
  return absl::OkStatus();
}

absl::Status MakeRegressResult(int64_t num_examples, Tensor values, RegressResult* result) {
  const bool fits = values.rank() == 1 || (values.rank() == 2 && values.dim(1) == 1);
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected Tensor shape: [batch_size] or [batch_size, 1] but got ",
                     values.shape().ToString()));
  }
  if (values.dim(0) != num_examples) {
    return absl::InvalidArgumentError(absl::StrCat("Expected regression output batch size of ",
                                                   num_examples, ". Got: ", values.dim(0)));
  }
  if (values.dtype() != DType::kFloat) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected output Tensor of float. Got: ", DTypeName(values.dtype())));
  }
  result->values = std::move(values);
  return absl::OkStatus();
}

}  // namespace tessera::serving
