#include "runtime/training/job/failure.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

constexpr char kPayload[] = "tessera/run_failure";

}  // namespace

absl::Status WithFailure(const absl::Status& status, RunFailure failure) {
  if (status.ok() || status.GetPayload(kPayload)) return status;
  absl::Status with = status;
  with.SetPayload(kPayload, absl::Cord(absl::StrCat(static_cast<int>(failure))));
  return with;
}

std::optional<RunFailure> FailureOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  int number;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &number)) return std::nullopt;
  return static_cast<RunFailure>(number);
}

}  // namespace tessera
