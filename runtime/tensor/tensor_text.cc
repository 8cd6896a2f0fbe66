// Prints tensors.
#include <charconv>
#include <complex>

#include "Eigen/Core"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tessera {
namespace {

// Returns the shortest text that is read back as the same number.
template <typename T>
std::string FloatText(T value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end);
}

template <typename T>
std::string ComplexText(const std::complex<T>& value) {
  return absl::StrCat("(", FloatText(value.real()), ",", FloatText(value.imag()), ")");
}

// Returns the byte of an element of a float8 type in hexadecimal.
std::string ByteText(const Tensor& tensor, int64_t i) {
  return absl::StrCat("0x", absl::Hex(static_cast<uint8_t>(tensor.raw()[i]), absl::kZeroPad2));
}

// Returns the size of the UTF-8 character (RFC 3629) that `text` begins with; 0 if it begins with
// none.
size_t CharacterSize(absl::string_view text) {
  const auto byte = [&](size_t i) -> uint8_t { return i < text.size() ? text[i] : 0; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // The ranges of the second byte exclude longer forms of a character, surrogates, and what lies
  // beyond U+10FFFF.
  const uint8_t second = byte(1);
  const bool is_excluded = first < 0xc2 || first > 0xf4 || (first == 0xe0 && second < 0xa0) ||
                           (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
                           (first == 0xf4 && second > 0x8f);
  return is_excluded ? 0 : size;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

// Returns the text in quotes, with escapes. Letters of any language stay as they are; the bytes of
// what is no text become octal numbers.
std::string StringText(const std::string& value) {
  return absl::StrCat("\"", IsUtf8(value) ? absl::Utf8SafeCEscape(value) : absl::CEscape(value),
                      "\"");
}

void AppendRows(const Tensor& tensor, int dim, int64_t begin, int64_t limit, std::string* out) {
  if (dim == tensor.rank()) {
    absl::StrAppend(out, ElementToString(tensor, begin));
    return;
  }
  int64_t row_size = 1;
  for (int d = dim + 1; d < tensor.rank(); ++d) row_size *= tensor.dim(d);
  out->push_back('[');
  for (int64_t i = 0; i < tensor.dim(dim); ++i) {
    const int64_t row = begin + i * row_size;
    if (i > 0 && row < limit) out->push_back(' ');
    if (row >= limit) {
      absl::StrAppend(out, "...");
      break;
    }
    AppendRows(tensor, dim + 1, row, limit, out);
  }
  out->push_back(']');
}

}  // namespace

std::string ElementToString(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return FloatText(tensor.data<float>()[i]);
    case DType::kDouble:
      return FloatText(tensor.data<double>()[i]);
    case DType::kHalf:
      return FloatText(static_cast<float>(tensor.data<Eigen::half>()[i]));
    case DType::kBfloat16:
      return FloatText(static_cast<float>(tensor.data<Eigen::bfloat16>()[i]));
    case DType::kInt8:
    case DType::kInt4:
    case DType::kInt2:
    case DType::kQint8:
      return absl::StrCat(static_cast<int>(static_cast<int8_t>(tensor.raw()[i])));
    case DType::kUint8:
    case DType::kUint4:
    case DType::kUint2:
    case DType::kQuint8:
      return absl::StrCat(static_cast<int>(static_cast<uint8_t>(tensor.raw()[i])));
    case DType::kInt16:
      return absl::StrCat(tensor.data<int16_t>()[i]);
    case DType::kQint16:
      return absl::StrCat(tensor.data<qint16>()[i].value);
    case DType::kUint16:
      return absl::StrCat(tensor.data<uint16_t>()[i]);
    case DType::kQuint16:
      return absl::StrCat(tensor.data<quint16>()[i].value);
    case DType::kInt32:
      return absl::StrCat(tensor.data<int32_t>()[i]);
    case DType::kQint32:
      return absl::StrCat(tensor.data<qint32>()[i].value);
    case DType::kUint32:
      return absl::StrCat(tensor.data<uint32_t>()[i]);
    case DType::kInt64:
      return absl::StrCat(tensor.data<int64_t>()[i]);
    case DType::kUint64:
      return absl::StrCat(tensor.data<uint64_t>()[i]);
    case DType::kBool:
      return tensor.data<bool>()[i] ? "true" : "false";
    case DType::kComplex64:
      return ComplexText(tensor.data<std::complex<float>>()[i]);
    case DType::kComplex128:
      return ComplexText(tensor.data<std::complex<double>>()[i]);
    case DType::kString:
      return StringText(tensor.data<std::string>()[i]);
    case DType::kResource: {
      const ResourceHandle& handle = tensor.data<ResourceHandle>()[i];
      return absl::StrCat("<", handle.type_name, " '", handle.container, "/", handle.name, "'>");
    }
    case DType::kVariant: {
      const VariantValue* value = tensor.data<Variant>()[i].value();
      return value == nullptr ? "<empty>" : absl::StrCat("<", value->DebugString(), ">");
    }
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3B11FNUZ:
    case DType::kFloat8E5M2FNUZ:
      return ByteText(tensor, i);
    case DType::kInvalid:
      break;
  }
  return "";
}

std::string Tensor::ToString(int max_elements) const {
  if (!has_value()) return "<no value>";
  std::string text = absl::StrCat(DTypeName(dtype_), shape_.ToString(), " ");
  if (num_elements() == 0) {
    text += "[]";
  } else {
    AppendRows(*this, 0, 0, max_elements, &text);
  }
  return text;
}

}  // namespace tessera
