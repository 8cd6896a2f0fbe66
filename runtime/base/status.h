// Error handling: absl::Status and absl::StatusOr, whose codes are those of gRPC.
//
//   absl::StatusOr<Tensor> Load(const std::string& path) {
//     RETURN_IF_ERROR(CheckPath(path));
//     ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
//     ...
//   }
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)

// Returns from the enclosing function if `expr` is not OK.
#define RETURN_IF_ERROR(expr)                                      \
  do {                                                             \
    if (absl::Status status_ = (expr); !status_.ok()) [[unlikely]] \
      return status_;                                              \
  } while (false)

// Evaluates `expr`, a StatusOr. Returns its status from the enclosing function if it is not OK;
// otherwise moves its value into `lhs`.
#define ASSIGN_OR_RETURN(lhs, expr) \
  TESSERA_ASSIGN_OR_RETURN(TESSERA_CONCAT(status_or_, __LINE__), lhs, expr)
#define TESSERA_ASSIGN_OR_RETURN(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) [[unlikely]]                    \
    return std::move(tmp).status();              \
  lhs = std::move(tmp).value()

namespace tessera {

// Returns a status of the same code and payloads with `prefix` in front of the message. An OK status
// stays OK.
inline absl::Status Annotate(const absl::Status& status, absl::string_view prefix) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(prefix, status.message()));
  status.ForEachPayload([&annotated](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

}  // namespace tessera
