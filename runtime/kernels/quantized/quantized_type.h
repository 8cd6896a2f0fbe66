// The integers that store quantised numbers.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/tensor/dtype.h"

namespace tessera {

// Calls visit.template operator()<T>() -> absl::Status with the integer that stores `dtype`.
// Errors: UNIMPLEMENTED for a dtype that is not quantised.
template <typename Visitor>
absl::Status VisitQuantizedType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kQint8:
      return visit.template operator()<int8_t>();
    case DType::kQuint8:
      return visit.template operator()<uint8_t>();
    case DType::kQint16:
      return visit.template operator()<int16_t>();
    case DType::kQuint16:
      return visit.template operator()<uint16_t>();
    case DType::kQint32:
      return visit.template operator()<int32_t>();
    default:
      return absl::UnimplementedError(
          absl::StrCat("elements of ", DTypeName(dtype), " are not quantised"));
  }
}

}  // namespace tessera
