#include "runtime/kernels/tensor_summary.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "Eigen/Core"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

std::string ElementText(const Tensor& tensor, int64_t i, bool quoted) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return NumberText(tensor.data<float>()[i]);
    case DType::kDouble:
      return NumberText(tensor.data<double>()[i]);
    case DType::kHalf:
      return NumberText(static_cast<float>(tensor.data<Eigen::half>()[i]));
    case DType::kBfloat16:
      return NumberText(static_cast<float>(tensor.data<Eigen::bfloat16>()[i]));
    case DType::kBool:
      return tensor.data<bool>()[i] ? "1" : "0";
    case DType::kComplex64:
    case DType::kComplex128:
      return "?";  // as TensorFlow prints them
    case DType::kString: {
      // Bytes beyond ASCII stay as they are: most are of UTF-8.
      const std::string text = absl::Utf8SafeCEscape(tensor.data<std::string>()[i]);
      return quoted ? absl::StrCat("\"", text, "\"") : text;
    }
    default:
      return ElementToString(tensor, i);
  }
}

// Appends the part of the tensor that begins at element `begin`, from dimension `dim` on.
void AppendPart(const Tensor& tensor, int dim, int64_t begin, int64_t edge, std::string* out) {
  const int rank = tensor.rank();
  if (dim == rank) {
    *out += ElementText(tensor, begin, /*quoted=*/true);
    return;
  }
  int64_t step = 1;
  for (int d = dim + 1; d < rank; ++d) step *= tensor.dim(d);
  // Entries of the last dimension stand on a line; those of others on lines of their own, indented
  // below the opening brackets.
  const std::string separator =
      dim == rank - 1 ? " " : std::string(rank - dim - 1, '\n') + std::string(dim + 1, ' ');
  const int64_t size = tensor.dim(dim);
  const bool cut = size - edge > edge;
  *out += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i > 0 || (cut && edge == 0)) *out += separator;
    if (cut && i == edge) {
      *out += "...";
      i = size - edge - 1;
      continue;
    }
    AppendPart(tensor, dim + 1, begin + i * step, edge, out);
  }
  *out += ']';
}

// Appends the elements of dimension `dim` from number *next on, and stops before number `limit`.
void AppendFirst(const Tensor& tensor, int dim, int64_t limit, int64_t* next, std::string* out) {
  const bool is_last = dim == tensor.rank() - 1;
  for (int64_t i = 0; i < tensor.dim(dim); ++i) {
    if (*next >= limit) {
      if (is_last && dim != 0) *out += "...";
      return;
    }
    if (is_last) {
      if (i > 0) *out += ' ';
      *out += ElementText(tensor, (*next)++, /*quoted=*/false);
    } else {
      *out += '[';
      AppendFirst(tensor, dim + 1, limit, next, out);
      *out += ']';
    }
  }
}

}  // namespace

std::string NumberText(float value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  if (std::strtof(text, nullptr) != value) std::snprintf(text, sizeof(text), "%.9g", value);
  return value != value ? "nan" : text;
}
std::string NumberText(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.15g", value);
  if (std::strtod(text, nullptr) != value) std::snprintf(text, sizeof(text), "%.17g", value);
  return value != value ? "nan" : text;
}

std::string SummarizeFirst(const Tensor& tensor, int64_t max_elements) {
  const int64_t count = tensor.num_elements();
  const int64_t limit = max_elements < 0 ? count : std::min(max_elements, count);
  std::string text;
  int64_t next = 0;
  if (tensor.rank() > 0) {
    AppendFirst(tensor, 0, limit, &next, &text);
  } else if (limit > 0) {
    text = ElementText(tensor, 0, /*quoted=*/false);
  }
  return count > limit ? text + "..." : text;
}

std::string SummarizeTensor(const Tensor& tensor, int64_t edge_items) {
  const int64_t count = tensor.num_elements();
  std::string text;
  AppendPart(tensor, 0, 0, edge_items < 0 ? count : std::min(edge_items, count), &text);
  return text;
}

}  // namespace tessera
