#include "runtime/checkpoint/tensor_slice.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

absl::Status BadText(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a tensor slice: ", why));
}

// ---- Keys whose bytes sort as their values do ----

// The count of bytes, then the bytes, the highest first.
void AppendOrdered(uint64_t value, std::string* out) {
  char bytes[8];
  int size = 0;
  for (; value > 0; value >>= 8) bytes[size++] = static_cast<char>(value);
  out->push_back(static_cast<char>(size));
  while (size > 0) out->push_back(bytes[--size]);
}

// Zero bytes and 0xff are escaped, since the end is marked by one of each kind of escape.
void AppendOrdered(absl::string_view text, std::string* out) {
  for (const char c : text) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
    if (c == '\xff') out->push_back('\0');
  }
  out->append("\0\1", 2);
}

// A number of n bytes has n high bits set (all inverted below zero), then the number's own bits,
// the highest first.
void AppendOrderedSigned(int64_t value, std::string* out) {
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  // Seven bits a byte, one of which is the sign.
  int size = 1;
  while (size < 10 && magnitude >> (7 * size - 1) != 0) ++size;
  unsigned char bytes[10];
  std::memset(bytes, value < 0 ? 0xff : 0, sizeof(bytes));
  for (int i = 0; i < 8; ++i) {
    bytes[9 - i] = static_cast<unsigned char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  unsigned char* const begin = bytes + 10 - size;
  for (int bit = 0; bit < size; ++bit)
    begin[bit / 8] ^= static_cast<unsigned char>(0x80 >> bit % 8);
  out->append(reinterpret_cast<const char*>(begin), static_cast<size_t>(size));
}

template <typename T>
void CopyElements(const Tensor& from, int64_t at, Tensor& to, int64_t to_at, int64_t count) {
  std::copy_n(from.data<T>() + at, count, to.data<T>() + to_at);
}

// Copies `count` elements that follow each other in both tensors.
void CopyRun(const Tensor& from, int64_t at, Tensor& to, int64_t to_at, int64_t count) {
  if (from.dtype() == DType::kString) return CopyElements<std::string>(from, at, to, to_at, count);
  const auto size = static_cast<int64_t>(DTypeSize(from.dtype()));
  std::memcpy(to.mutable_raw() + to_at * size, from.raw() + at * size,
              static_cast<size_t>(count * size));
}

// Position of the element `at` (coordinates of the whole tensor) in a tensor that holds `box`.
int64_t Position(const std::vector<int64_t>& at, const TensorSlice& box) {
  int64_t position = 0;
  for (int d = 0; d < box.rank(); ++d) {
    position = position * box.length[d] + (at[d] - box.start[d]);
  }
  return position;
}

}  // namespace

absl::StatusOr<TensorSlice> TensorSlice::Parse(absl::string_view text) {
  TensorSlice slice;
  if (text.empty()) return slice;
  for (const absl::string_view part : absl::StrSplit(text, ':')) {
    int64_t start = 0, length = -1;
    if (part != "-") {
      const std::vector<absl::string_view> numbers = absl::StrSplit(part, ',');
      if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &start) ||
          !absl::SimpleAtoi(numbers[1], &length)) {
        return BadText(text, absl::StrCat("'", part, "' is neither '-' nor 'start,length'"));
      }
      if (start < 0 || length <= 0) {
        return BadText(text, "starts must not be negative, and lengths must be positive");
      }
    }
    slice.start.push_back(start);
    slice.length.push_back(length);
  }
  if (slice.rank() > kMaxRank) return BadText(text, "it has too many dimensions");
  return slice;
}

std::string TensorSlice::ToString() const {
  std::string text;
  for (int d = 0; d < rank(); ++d) {
    if (d > 0) text += ':';
    absl::StrAppend(&text, length[d] < 0 ? "-" : absl::StrCat(start[d], ",", length[d]));
  }
  return text;
}

absl::StatusOr<TensorSlice> TensorSlice::Within(const Shape& shape) const {
  TensorSlice box = *this;
  bool fits = rank() == shape.rank() && length.size() == start.size();
  for (int d = 0; fits && d < rank(); ++d) {
    if (box.length[d] < 0) {
      box.start[d] = 0;
      box.length[d] = shape.dim(d);
    }
    fits = box.start[d] >= 0 && box.start[d] <= shape.dim(d) &&
           box.length[d] <= shape.dim(d) - box.start[d];
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("slice '", ToString(), "' does not fit shape ", shape.ToString()));
  }
  return box;
}

absl::StatusOr<ShapeAndSlice> ShapeAndSlice::Parse(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ' ');
  std::vector<int64_t> dims(parts.size() - 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!absl::SimpleAtoi(parts[i], &dims[i])) {
      return BadText(text, absl::StrCat("'", parts[i], "' is not a dimension"));
    }
  }
  if (dims.empty()) return BadText(text, "it must start with the whole tensor's shape");
  ShapeAndSlice result;
  ASSIGN_OR_RETURN(result.shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(const TensorSlice slice, TensorSlice::Parse(parts.back()));
  ASSIGN_OR_RETURN(result.slice, slice.Within(result.shape));
  return result;
}

bool Intersect(const TensorSlice& a, const TensorSlice& b, TensorSlice* common) {
  const int rank = a.rank();
  common->start.resize(static_cast<size_t>(rank));
  common->length.resize(static_cast<size_t>(rank));
  for (int d = 0; d < rank; ++d) {
    const int64_t begin = std::max(a.start[d], b.start[d]);
    const int64_t end = std::min(a.start[d] + a.length[d], b.start[d] + b.length[d]);
    if (begin >= end) return false;
    common->start[d] = begin;
    common->length[d] = end - begin;
  }
  return true;
}

bool AnyOverlap(std::vector<TensorSlice> boxes) {
  if (boxes.size() < 2) return false;
  const int rank = boxes[0].rank();
  if (rank == 0) return true;
  // A sweep along the dimension with the most different starts compares the fewest pairs.
  int along = 0;
  size_t most_starts = 0;
  for (int d = 0; d < rank; ++d) {
    absl::flat_hash_set<int64_t> starts;
    for (const TensorSlice& box : boxes) starts.insert(box.start[d]);
    if (starts.size() > most_starts) {
      most_starts = starts.size();
      along = d;
    }
  }
  std::sort(boxes.begin(), boxes.end(), [along](const TensorSlice& a, const TensorSlice& b) {
    return a.start[along] < b.start[along];
  });
  TensorSlice common;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const int64_t end = boxes[i].start[along] + boxes[i].length[along];
    for (size_t j = i + 1; j < boxes.size() && boxes[j].start[along] < end; ++j) {
      if (Intersect(boxes[i], boxes[j], &common)) return true;
    }
  }
  return false;
}

void CopyBox(const TensorSlice& box, const Tensor& from, const TensorSlice& from_box, Tensor& to,
             const TensorSlice& to_box) {
  const int rank = box.rank();
  if (box.shape().num_elements() == 0) return;
  const int64_t run = rank == 0 ? 1 : box.length[rank - 1];
  std::vector<int64_t> at = box.start;
  while (true) {
    CopyRun(from, Position(at, from_box), to, Position(at, to_box), run);
    int d = rank - 2;
    while (d >= 0 && ++at[d] == box.start[d] + box.length[d]) {
      at[d] = box.start[d];
      --d;
    }
    if (d < 0) return;
  }
}

std::string SliceKey(absl::string_view name, const TensorSlice& slice) {
  std::string key;
  AppendOrdered(uint64_t{0}, &key);
  AppendOrdered(name, &key);
  AppendOrdered(static_cast<uint64_t>(slice.rank()), &key);
  for (int d = 0; d < slice.rank(); ++d) {
    AppendOrderedSigned(slice.start[d], &key);
    AppendOrderedSigned(slice.length[d], &key);
  }
  return key;
}

}  // namespace tessera
