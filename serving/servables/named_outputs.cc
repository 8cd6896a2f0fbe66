#include "serving/servables/named_outputs.h"

#include <utility>
#include <variant>

namespace tessera::serving {

std::vector<NamedOutput> OutputsOf(const ClassifyResult& result) {
  std::vector<NamedOutput> outputs;
  if (result.labels.has_value()) outputs.push_back({"classes", result.labels});
  if (result.scores.has_value()) outputs.push_back({"scores", result.scores});
  return outputs;
}

std::vector<NamedOutput> OutputsOf(const RegressResult& result) {
  return {{"outputs", result.values}};
}

std::vector<NamedOutput> OutputsOf(absl::Span<const InferenceResult> results) {
  std::vector<NamedOutput> outputs;
  for (const InferenceResult& result : results) {
    for (NamedOutput& output : std::visit([](const auto& r) { return OutputsOf(r); }, result)) {
      outputs.push_back(std::move(output));
    }
  }
  return outputs;
}

}  // namespace tessera::serving
