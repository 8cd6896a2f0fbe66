#include "tests/conformance/large_case.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor_proto.h"
#include "tests/conformance/generated.h"

namespace tessera {
namespace {

using tensorflow::NodeDef;

absl::StatusOr<Tensor> Generate(const NodeDef& node) {
  const auto& attrs = node.attr();
  Shape shape;
  for (const auto& dim : attrs.at("shape").shape().dim()) shape.AddDim(dim.size());
  const bool is_integer = attrs.count("_limit") > 0;
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(is_integer ? DType::kInt32 : DType::kFloat, shape));
  const auto seed = static_cast<uint64_t>(attrs.at("_seed").i());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (is_integer) {
      tensor.data<int32_t>()[i] =
          static_cast<int32_t>(GeneratedInteger(seed, i, attrs.at("_limit").i()));
    } else {
      tensor.data<float>()[i] =
          GeneratedReal(seed, i, attrs.at("_offset").f(), attrs.at("_scale").f());
    }
  }
  return tensor;
}

absl::Status ReadExact(const NodeDef& node, LargeCase* large) {
  ASSIGN_OR_RETURN(large->exact, TensorFromProto(node.attr().at("value").tensor()));
  large->output = node.attr().at("_of").s();
  large->largest = node.attr().at("_largest").f();
  large->tolerance = node.attr().at("_tolerance").f();
  large->tensorflow_error = node.attr().at("_tensorflow_error").f();
  for (const auto& dim : node.attr().at("_shape").shape().dim()) large->shape.AddDim(dim.size());
  for (const std::string& op : node.attr().at("_ran").list().s()) large->ran.push_back(op);
  const int64_t size = large->shape.num_elements();
  const auto seed = static_cast<uint64_t>(node.attr().at("_sample_seed").i());
  large->positions = {0, size - 1};
  for (int64_t i = 0; i < large->exact.num_elements() - 2; ++i) {
    large->positions.push_back(GeneratedInteger(seed, i, size));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LargeCase> ReadLargeCase(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  LargeCase large;
  if (!large.graph.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a GraphDef"));
  }
  for (const NodeDef& node : large.graph.node()) {
    if (node.op() == "Placeholder") {
      ASSIGN_OR_RETURN(Tensor value, Generate(node));
      (absl::StartsWith(node.name(), "initial/") ? large.initial_values : large.inputs)
          .emplace_back(absl::StrCat(node.name(), ":0"), std::move(value));
    } else if (node.name() == "expect/exact") {
      RETURN_IF_ERROR(ReadExact(node, &large));
    } else if (node.name() == "expect/tensorflow") {
      ASSIGN_OR_RETURN(large.tensorflow, TensorFromProto(node.attr().at("value").tensor()));
    } else if (node.name() == "expect/signed_sums") {
      ASSIGN_OR_RETURN(large.signed_sums, TensorFromProto(node.attr().at("value").tensor()));
      large.sign_seed = static_cast<uint64_t>(node.attr().at("_sign_seed").i());
      large.stretch = node.attr().at("_length").i();
    }
  }
  const auto samples = static_cast<int64_t>(large.positions.size());
  const int64_t size = large.shape.num_elements();
  if (large.output.empty() || large.exact.dtype() != DType::kDouble ||
      large.tensorflow.dtype() != DType::kFloat || large.tensorflow.num_elements() != samples ||
      large.exact.num_elements() != samples || large.signed_sums.dtype() != DType::kDouble ||
      large.stretch < 1 ||
      large.signed_sums.num_elements() != (size + large.stretch - 1) / large.stretch) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a recorded large case"));
  }
  return large;
}

std::string FirstDifference(const Tensor& output, const LargeCase& large) {
  if (output.dtype() != DType::kFloat || !(output.shape() == large.shape)) {
    return absl::StrCat("is ", output.ToString(), ", want float of shape ", large.shape.ToString());
  }
  const float* const got = output.data<float>();
  const double most = large.tolerance * large.largest;
  const auto error = [&](double difference) { return difference / large.largest; };
  for (size_t i = 0; i < large.positions.size(); ++i) {
    const int64_t at = large.positions[i];
    const double exact = large.exact.data<double>()[i], peer = large.tensorflow.data<float>()[i];
    // Written so that a NaN differs.
    if (!(std::abs(got[at] - exact) <= most)) {
      return absl::StrCat("element ", at, " is ", got[at], ", want ", exact, ": ",
                          error(std::abs(got[at] - exact)), " of the largest output off");
    }
    if (!(std::abs(got[at] - peer) <= most + large.tensorflow_error * large.largest)) {
      return absl::StrCat("element ", at, " is ", got[at], ", TensorFlow has ", peer);
    }
  }
  // Errors of random signs add up to less than six times the root of their number, nearly always;
  // the cases' numbers never change.
  const double most_of_sum = 6 * std::sqrt(static_cast<double>(large.stretch)) * most;
  for (int64_t s = 0; s < large.signed_sums.num_elements(); ++s) {
    const int64_t begin = s * large.stretch;
    const int64_t end = std::min(begin + large.stretch, output.num_elements());
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += GeneratedSign(large.sign_seed, i) * got[i];
    const double difference = std::abs(sum - large.signed_sums.data<double>()[s]);
    if (!(difference <= most_of_sum)) {
      return absl::StrCat("some of the elements [", begin, ", ", end, ") are wrong: their signed ",
                          "sum is ", error(difference), " of the largest output off");
    }
  }
  return "";
}

}  // namespace tessera
