// AnswerCheck: whether a server under load still says what is right.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace tessera::benchmarks {

// Compares an answer with one that is right; empty if they agree, else where they do not.
using CompareAnswers =
    std::function<std::string(absl::string_view answer, absl::string_view right)>;

// Of serialized PredictResponses: outputs by name, dtype and shape, floats within 1e-5 (absolute
// plus relative), all else exactly. A right answer that names a version stands for answers of that
// version only.
std::string ComparePredictResponses(absl::string_view answer, absl::string_view right);
// Of JSON texts: the same values, numbers within 1e-5 (absolute plus relative).
std::string CompareJson(absl::string_view answer, absl::string_view right);

// Holds the right answers of each request. Bytes that were found right once are not decoded again.
// Thread-safe.
class AnswerCheck {
 public:
  // `right[i]`: what may be answered to request i; whatever comes, if there is nothing.
  AnswerCheck(CompareAnswers compare, std::vector<std::vector<std::string>> right);

  // Empty if the answer is one of the right ones, else how it differs from the last of them.
  std::string Difference(size_t request, absl::string_view answer);

 private:
  const CompareAnswers compare_;
  const std::vector<std::vector<std::string>> right_;
  absl::Mutex mu_;
  std::vector<absl::flat_hash_set<std::string>> known_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera::benchmarks
