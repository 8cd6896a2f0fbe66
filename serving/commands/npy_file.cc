#include "serving/commands/npy_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a .npy file: ", what));
}

// Returns the text after "'key':" in the header, which is a Python dictionary in one line.
absl::StatusOr<absl::string_view> FindValue(absl::string_view header, absl::string_view key) {
  const size_t at = header.find(absl::StrCat("'", key, "':"));
  if (at == header.npos) return Malformed(absl::StrCat("its header has no '", key, "'"));
  absl::string_view value = header.substr(at + key.size() + 3);
  while (absl::ConsumePrefix(&value, " ")) {
  }
  return value;
}

constexpr int kBytesPerCodePoint = 4;

struct Header {
  char kind = 0;  // of the element type: 'f', 'i', 'u', 'b', 'c', 'S', 'U', 'V'
  int size = 0;   // of an element, in bytes
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

absl::StatusOr<Header> ParseHeader(absl::string_view text) {
  Header header;
  ASSIGN_OR_RETURN(absl::string_view descr, FindValue(text, "descr"));
  if (descr.size() < 4 || descr[0] != '\'') {
    return absl::UnimplementedError("the array's elements are records");
  }
  descr.remove_prefix(1);
  descr = descr.substr(0, descr.find('\''));
  if (absl::StartsWith(descr, "|O")) {
    return absl::UnimplementedError(
        "the array's elements are Python objects; save strings by array.astype(str), and numbers "
        "with a dtype of their own");
  }
  if (descr.size() < 3) return Malformed("its element type is cut short");
  header.big_endian = descr[0] == '>';
  header.kind = descr[1];
  constexpr int kMaxSize = std::numeric_limits<int>::max() / kBytesPerCodePoint;
  // Elements without bytes, which numpy does not save, could be any number in a file of no size.
  if (!absl::SimpleAtoi(descr.substr(2), &header.size) || header.size <= 0 ||
      header.size > kMaxSize) {
    return Malformed("its element type has no size");
  }
  if (header.kind == 'U') header.size *= kBytesPerCodePoint;  // numpy counts characters
  ASSIGN_OR_RETURN(const absl::string_view order, FindValue(text, "fortran_order"));
  header.fortran_order = absl::StartsWith(order, "True");
  ASSIGN_OR_RETURN(absl::string_view shape, FindValue(text, "shape"));
  if (!absl::ConsumePrefix(&shape, "(")) return Malformed("its shape is no tuple");
  shape = shape.substr(0, shape.find(')'));
  for (absl::string_view dim : absl::StrSplit(shape, ',', absl::SkipWhitespace())) {
    int64_t size;
    if (!absl::SimpleAtoi(dim, &size)) return Malformed("its shape is no tuple of numbers");
    header.shape.push_back(size);
  }
  return header;
}

absl::StatusOr<DType> TypeOf(const Header& header) {
  const std::string type = absl::StrCat(std::string(1, header.kind), header.size);
  struct Known {
    const char* type;
    DType dtype;
  };
  constexpr Known kKnown[] = {
      {"f2", DType::kHalf},
      {"f4", DType::kFloat},
      {"f8", DType::kDouble},
      {"i1", DType::kInt8},
      {"i2", DType::kInt16},
      {"i4", DType::kInt32},
      {"i8", DType::kInt64},
      {"u1", DType::kUint8},
      {"u2", DType::kUint16},
      {"u4", DType::kUint32},
      {"u8", DType::kUint64},
      {"b1", DType::kBool},
      {"c8", DType::kComplex64},
      {"c16", DType::kComplex128},
      // numpy has no name for it, and saves the bytes of ml_dtypes.bfloat16.
      {"V2", DType::kBfloat16},
  };
  for (const Known& known : kKnown) {
    if (type == known.type) return known.dtype;
  }
  if (header.kind == 'S' || header.kind == 'U') return DType::kString;
  return absl::UnimplementedError(
      absl::StrCat("arrays with elements of type '", type, "' cannot be read"));
}

// Returns the position in the file of element `index`, counted in row-major order.
int64_t FileIndex(const Header& header, int64_t index) {
  if (!header.fortran_order) return index;
  int64_t result = 0;
  std::vector<int64_t> strides(header.shape.size(), 1);
  for (size_t d = 1; d < strides.size(); ++d) strides[d] = strides[d - 1] * header.shape[d - 1];
  for (size_t d = header.shape.size(); d-- > 0;) {
    result += index % header.shape[d] * strides[d];
    index /= header.shape[d];
  }
  return result;
}

void AppendUtf8(uint32_t code_point, std::string* text) {
  if (code_point < 0x80) {
    text->push_back(static_cast<char>(code_point));
    return;
  }
  const int following = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr uint8_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  text->push_back(static_cast<char>(kFirst[following] | code_point >> (6 * following)));
  for (int i = following; i-- > 0;) {
    text->push_back(static_cast<char>(0x80 | (code_point >> (6 * i) & 0x3f)));
  }
}

// Returns the text of an element of kind 'S', or 'U', which is UTF-32, without its padding.
absl::StatusOr<std::string> TextOf(const Header& header, absl::string_view element) {
  if (header.kind == 'S') {
    while (!element.empty() && element.back() == '\0') element.remove_suffix(1);
    return std::string(element);
  }
  std::string text;
  size_t size = 0;  // up to the last character that is no padding
  for (; !element.empty(); element.remove_prefix(kBytesPerCodePoint)) {
    uint32_t code_point = 0;
    for (int i = 0; i < kBytesPerCodePoint; ++i) {
      const int at = header.big_endian ? i : kBytesPerCodePoint - 1 - i;
      code_point = code_point << 8 | static_cast<uint8_t>(element[at]);
    }
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "an element of the array has the character U+%04X, which is none of UTF-8", code_point));
    }
    AppendUtf8(code_point, &text);
    if (code_point != 0) size = text.size();
  }
  text.resize(size);
  return text;
}

absl::Status CopyElements(const Header& header, absl::string_view data, Tensor* tensor) {
  const int64_t n = tensor->num_elements();
  if (tensor->dtype() == DType::kString) {
    for (int64_t i = 0; i < n; ++i) {
      const absl::string_view element =
          data.substr(FileIndex(header, i) * header.size, header.size);
      ASSIGN_OR_RETURN(tensor->flat<std::string>()[i], TextOf(header, element));
    }
    return absl::OkStatus();
  }
  // A complex number is two numbers, each with its own byte order.
  const int part = header.kind == 'c' ? header.size / 2 : header.size;
  for (int64_t i = 0; i < n; ++i) {
    char* const to = tensor->mutable_raw() + i * header.size;
    std::memcpy(to, data.data() + FileIndex(header, i) * header.size, header.size);
    if (header.big_endian) {
      for (int at = 0; at < header.size; at += part) std::reverse(to + at, to + at + part);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes) {
  constexpr absl::string_view kMagic = "\x93NUMPY";
  if (!absl::ConsumePrefix(&bytes, kMagic) || bytes.size() < 6) {
    return Malformed("it does not start as one");
  }
  const int version = bytes[0];
  const auto* const length = reinterpret_cast<const unsigned char*>(bytes.data()) + 2;
  const size_t length_bytes = version == 1 ? 2 : 4;
  size_t header_size = length[0] | length[1] << 8;
  if (length_bytes == 4) {
    header_size |= static_cast<size_t>(length[2]) << 16 | static_cast<size_t>(length[3]) << 24;
  }
  bytes.remove_prefix(2 + length_bytes);
  if (bytes.size() < header_size) return Malformed("its header is cut short");
  ASSIGN_OR_RETURN(const Header header, ParseHeader(bytes.substr(0, header_size)));
  bytes.remove_prefix(header_size);
  ASSIGN_OR_RETURN(const DType dtype, TypeOf(header));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(header.shape));
  const int64_t size = MultiplyWithoutOverflow(shape.num_elements(), header.size);
  if (size < 0 || static_cast<size_t>(size) > bytes.size()) {
    return Malformed(absl::StrCat("it has ", bytes.size(), " bytes of elements, its shape ",
                                  shape.ToString(), " needs ", size));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, shape));
  RETURN_IF_ERROR(CopyElements(header, bytes, &tensor));
  return tensor;
}

}  // namespace tessera::serving
