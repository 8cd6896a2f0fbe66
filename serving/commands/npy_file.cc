#include "serving/commands/npy_file.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

struct Header {
  char kind = 0;  // of the element type: 'f', 'i', 'u', 'b', 'c', 'S'
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
  if (descr.size() < 3) return Malformed("its element type is cut short");
  header.big_endian = descr[0] == '>';
  header.kind = descr[1];
  if (!absl::SimpleAtoi(descr.substr(2), &header.size) || header.size < 0) {
    return Malformed("its element type has no size");
  }
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
      {"f2", DType::kHalf},      {"f4", DType::kFloat},       {"f8", DType::kDouble},
      {"i1", DType::kInt8},      {"i2", DType::kInt16},       {"i4", DType::kInt32},
      {"i8", DType::kInt64},     {"u1", DType::kUint8},       {"u2", DType::kUint16},
      {"u4", DType::kUint32},    {"u8", DType::kUint64},      {"b1", DType::kBool},
      {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
  };
  for (const Known& known : kKnown) {
    if (type == known.type) return known.dtype;
  }
  if (header.kind == 'S') return DType::kString;
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

void CopyElements(const Header& header, absl::string_view data, Tensor* tensor) {
  const int64_t n = tensor->num_elements();
  if (tensor->dtype() == DType::kString) {
    for (int64_t i = 0; i < n; ++i) {
      absl::string_view text = data.substr(FileIndex(header, i) * header.size, header.size);
      while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
      tensor->flat<std::string>()[i] = std::string(text);
    }
    return;
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
  CopyElements(header, bytes, &tensor);
  return tensor;
}

}  // namespace tessera::serving
