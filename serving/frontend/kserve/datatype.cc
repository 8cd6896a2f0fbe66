#include "serving/frontend/kserve/datatype.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera::serving {
namespace {

constexpr std::array<std::pair<absl::string_view, DType>, 14> kDatatypes = {{
    {"BOOL", DType::kBool},
    {"UINT8", DType::kUint8},
    {"UINT16", DType::kUint16},
    {"UINT32", DType::kUint32},
    {"UINT64", DType::kUint64},
    {"INT8", DType::kInt8},
    {"INT16", DType::kInt16},
    {"INT32", DType::kInt32},
    {"INT64", DType::kInt64},
    {"FP16", DType::kHalf},
    {"FP32", DType::kFloat},
    {"FP64", DType::kDouble},
    {"BF16", DType::kBfloat16},
    {"BYTES", DType::kString},
}};

}  // namespace

absl::string_view DatatypeOf(DType dtype) {
  for (const auto& [name, of] : kDatatypes) {
    if (of == dtype) return name;
  }
  return {};
}

DType DTypeOfDatatype(absl::string_view datatype) {
  for (const auto& [name, of] : kDatatypes) {
    if (name == datatype) return of;
  }
  return DType::kInvalid;
}

std::vector<int64_t> DescribedDims(const PartialShape& shape) {
  if (!shape.known_rank()) return {-1};
  return std::vector<int64_t>(shape.dims().begin(), shape.dims().end());
}

std::string DimsText(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
}

}  // namespace tessera::serving
