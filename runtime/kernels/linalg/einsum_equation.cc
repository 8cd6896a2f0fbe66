#include "runtime/kernels/linalg/einsum_equation.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

absl::Status Malformed(const std::string& text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("einsum equation '", text, "': ", why));
}

}  // namespace

absl::StatusOr<EinsumEquation> EinsumEquation::Parse(const std::string& text, int num_inputs) {
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  if (sides.size() != 2) return Malformed(text, "it must have exactly one '->'");
  std::vector<std::string> operands = absl::StrSplit(sides[0], ',');
  if (static_cast<int>(operands.size()) != num_inputs) {
    return Malformed(text,
                     absl::StrCat("it names ", operands.size(), " inputs, there are ", num_inputs));
  }
  if (num_inputs > 2) return Malformed(text, "at most two inputs are supported");
  operands.push_back(sides[1]);

  EinsumEquation equation;
  std::map<char, int> numbers;
  for (size_t i = 0; i < operands.size(); ++i) {
    Labels labels;
    const std::string& operand = operands[i];
    for (size_t at = 0; at < operand.size(); ++at) {
      const char c = operand[at];
      if (c == ' ') continue;
      if (c == '.') {
        if (operand.compare(at, 3, "...") != 0) return Malformed(text, "'.' must come as '...'");
        if (std::find(labels.begin(), labels.end(), kEllipsis) != labels.end()) {
          return Malformed(text, "an operand has two ellipses");
        }
        labels.push_back(kEllipsis);
        at += 2;
        continue;
      }
      if (!absl::ascii_isalpha(c)) {
        return Malformed(text, absl::StrCat("'", std::string(1, c), "' is no letter"));
      }
      auto [entry, added] = numbers.emplace(c, static_cast<int>(numbers.size()));
      if (added && i + 1 == operands.size()) {
        return Malformed(text,
                         absl::StrCat("output label '", std::string(1, c), "' is in no input"));
      }
      labels.push_back(entry->second);
    }
    if (i + 1 < operands.size()) {
      equation.inputs_.push_back(labels);
    } else {
      equation.output_ = labels;
    }
  }
  equation.num_named_ = static_cast<int>(numbers.size());
  return equation;
}

absl::Status EinsumEquation::Resolve(const std::vector<int>& ranks, std::vector<Labels>* inputs,
                                     Labels* output, int* num_labels) const {
  int broadcast_rank = 0;
  std::vector<int> own(inputs_.size(), 0);  // broadcast dimensions of each input
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Labels& labels = inputs_[i];
    const bool has = std::find(labels.begin(), labels.end(), kEllipsis) != labels.end();
    const int named = static_cast<int>(labels.size()) - (has ? 1 : 0);
    own[i] = ranks[i] - named;
    if (own[i] < 0 || (own[i] > 0 && !has)) {
      return absl::InvalidArgumentError(absl::StrCat("einsum: input ", i, " has rank ", ranks[i],
                                                     ", its subscript ", has ? "at least " : "",
                                                     named, " dimensions"));
    }
    broadcast_rank = std::max(broadcast_rank, own[i]);
  }
  const auto expand = [&](const Labels& labels, int count) {
    Labels result;
    for (int label : labels) {
      if (label != kEllipsis) {
        result.push_back(label);
        continue;
      }
      for (int d = broadcast_rank - count; d < broadcast_rank; ++d) {
        result.push_back(num_named_ + d);
      }
    }
    return result;
  };
  inputs->clear();
  for (size_t i = 0; i < inputs_.size(); ++i) inputs->push_back(expand(inputs_[i], own[i]));
  *output = expand(output_, broadcast_rank);
  *num_labels = num_named_ + broadcast_rank;
  return absl::OkStatus();
}

}  // namespace tessera
