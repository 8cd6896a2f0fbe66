#include "serving/frontend/json/json_number_lists.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>
#include <type_traits>
#include <utility>

#include "serving/frontend/json/json_number_scanner.h"

namespace tessera::serving {
namespace {

// The nesting limit of lists that are read here. Deeper ones are rare and take the general path.
constexpr int kMaxDepth = 8;

int64_t CountCommas(const char* p, const char* end) {
  int64_t count = 0;
  for (; end - p >= 64; p += 64) count += std::popcount(json_scanner::Matches(p, ','));
  return count + std::count(p, end, ',');
}

// Reads a number as the nearest double. Returns its end, or null if it is unusual or no number.
const char* ScanNearest(const char* p, const char* end, double* value) {
  const char* const first = p + (p < end && *p == '-');
  // What the standard library reads beyond JSON: names, zeros in front, points without digits.
  if (first == end || !json_scanner::IsDigit(*first)) return nullptr;
  if (*first == '0' && end - first > 1 && json_scanner::IsDigit(first[1])) return nullptr;
  const auto [stop, error] = std::from_chars(p, end, *value);
  if (error != std::errc()) return nullptr;
  const void* const point = std::memchr(first, '.', static_cast<size_t>(stop - first));
  if (point != nullptr) {
    const char* const fraction = static_cast<const char*>(point) + 1;
    if (fraction == stop || !json_scanner::IsDigit(*fraction)) return nullptr;
  }
  if (stop - p == 2 && *value == 0) *value = 0;  // "-0" is an integer, whose zero has no sign
  return stop;
}

template <JsonDialect kDialect, typename T>
const char* ScanElement(const char* p, const char* end, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    double value;
    if constexpr (kDialect == JsonDialect::kUpstream) {
      p = json_scanner::ScanFloating(p, end, &value);
      if (p != nullptr) *out = static_cast<T>(value);
      return p;
    } else {
      p = ScanNearest(p, end, &value);
      if (p != nullptr) *out = static_cast<T>(value);
      return p != nullptr && std::isfinite(*out) ? p : nullptr;
    }
  } else {
    int64_t value;
    p = json_scanner::ScanInteger(p, end, &value);
    if (p == nullptr) return nullptr;
    if constexpr (kDialect == JsonDialect::kUpstream) {
      return json_scanner::StoreInteger(value, out) ? p : nullptr;
    } else {
      *out = static_cast<T>(value);
      return std::in_range<T>(value) ? p : nullptr;
    }
  }
}

// The open lists while numbers are read, and the dimensions that are known so far.
class ListShape {
 public:
  int depth() const { return depth_; }
  bool Open() {
    // The list stands among numbers, or is nested too deeply.
    if (depth_ == (rank_ > 0 ? rank_ : kMaxDepth)) return false;
    counts_[depth_++] = 0;
    return true;
  }
  // Returns whether a number may stand here: only at the depth of the first one.
  bool IsAtNumbers() {
    if (rank_ == 0) rank_ = depth_;
    return depth_ == rank_;
  }
  // Adds `n` numbers to the innermost list.
  void Add(int64_t n) { counts_[depth_ - 1] += n; }
  bool Close() {
    --depth_;
    if (counts_[depth_] == 0) return false;
    if (dims_[depth_] == 0) dims_[depth_] = counts_[depth_];
    if (dims_[depth_] != counts_[depth_]) return false;
    if (depth_ > 0) ++counts_[depth_ - 1];
    return true;
  }
  Shape shape() const { return Shape(absl::MakeConstSpan(dims_.data(), rank_)); }

 private:
  int depth_ = 0;
  int rank_ = 0;                             // known from the first number on
  std::array<int64_t, kMaxDepth> dims_{};    // known from the first closed list on
  std::array<int64_t, kMaxDepth> counts_{};  // of the lists that are open
};

template <JsonDialect kDialect, typename T>
bool ReadNumbers(JsonTextScanner& in, Tensor* tensor) {
  if (in.p == in.end || *in.p != '[') return false;
  // There is one number more than commas if nothing but these lists follows.
  const int64_t capacity = CountCommas(in.p, in.end) + 1;
  absl::StatusOr<Tensor> storage = Tensor::Allocate(DTypeOf<T>, {capacity});
  if (!storage.ok()) return false;
  T* const begin = storage->template data<T>();
  T* out = begin;
  ListShape lists;
  // Most texts have numbers of one kind. After a number that is not short, this many are read as
  // long ones before short ones are tried again.
  constexpr int kLongNumbers = 32;
  int long_numbers = 0;
  // The short ones of narrow types have upstream's range.
  constexpr bool kHasShortNumbers = kDialect == JsonDialect::kUpstream || sizeof(T) >= 4;
  do {
    in.SkipSpace();
    if (in.p == in.end) return false;
    if (*in.p == '[') {
      ++in.p;
      if (!lists.Open()) return false;
      continue;
    }
    if (!lists.IsAtNumbers()) return false;
    T* const first = out;
    while (true) {
      if (long_numbers > 0) {
        --long_numbers;
      } else if constexpr (kHasShortNumbers) {
        const auto scanned = json_scanner::ScanShortNumbers(in.p, in.end, out);
        if (scanned.out == out) long_numbers = kLongNumbers;
        in.p = scanned.p;
        out = scanned.out;
        if (scanned.at_end) break;
        in.SkipSpace();
      }
      in.p = ScanElement<kDialect>(in.p, in.end, out);
      if (in.p == nullptr) return false;
      ++out;
      in.SkipSpace();
      if (in.p == in.end) return false;
      if (*in.p != ',') break;
      ++in.p;
      in.SkipSpace();
    }
    lists.Add(out - first);
    // Reads the ends of lists and the comma before the next one.
    while (lists.depth() > 0) {
      in.SkipSpace();
      if (in.p == in.end) return false;
      if (*in.p == ',') {
        ++in.p;
        break;
      }
      if (*in.p != ']' || !lists.Close()) return false;
      ++in.p;
    }
  } while (lists.depth() > 0);

  const int64_t count = out - begin;
  Tensor elements = std::move(*storage);
  if (count != capacity) {
    elements = elements.Slice(0, count);
    if (count < capacity / 2) {  // not worth holding all of it
      absl::StatusOr<Tensor> copy = elements.DeepCopy();
      if (!copy.ok()) return false;
      elements = std::move(*copy);
    }
  }
  absl::StatusOr<Tensor> reshaped = elements.Reshaped(lists.shape());
  if (!reshaped.ok()) return false;
  *tensor = std::move(*reshaped);
  return true;
}

template <JsonDialect kDialect>
bool ReadTensor(JsonTextScanner& in, DType dtype, Tensor* tensor) {
  switch (dtype) {
    case DType::kFloat:
      return ReadNumbers<kDialect, float>(in, tensor);
    case DType::kDouble:
      return ReadNumbers<kDialect, double>(in, tensor);
    case DType::kInt8:
      return ReadNumbers<kDialect, int8_t>(in, tensor);
    case DType::kInt16:
      return ReadNumbers<kDialect, int16_t>(in, tensor);
    case DType::kInt32:
      return ReadNumbers<kDialect, int32_t>(in, tensor);
    case DType::kInt64:
      return ReadNumbers<kDialect, int64_t>(in, tensor);
    case DType::kUint16:
      // Upstream's JSON has no such numbers.
      return kDialect == JsonDialect::kExact && ReadNumbers<kDialect, uint16_t>(in, tensor);
    case DType::kUint8:
      return ReadNumbers<kDialect, uint8_t>(in, tensor);
    case DType::kUint32:
      return ReadNumbers<kDialect, uint32_t>(in, tensor);
    case DType::kUint64:
      return ReadNumbers<kDialect, uint64_t>(in, tensor);
    default:
      return false;
  }
}

}  // namespace

bool ReadNumberLists(JsonTextScanner& in, DType dtype, JsonDialect dialect, Tensor* tensor) {
  return dialect == JsonDialect::kUpstream ? ReadTensor<JsonDialect::kUpstream>(in, dtype, tensor)
                                           : ReadTensor<JsonDialect::kExact>(in, dtype, tensor);
}

std::optional<absl::string_view> SkipNumberLists(JsonTextScanner& in) {
  const char* const begin = in.p;
  if (in.p == in.end || *in.p != '[') return std::nullopt;
  int depth = 0;
  // Returns whether the lists go on after a character.
  const auto goes_on = [&](char c) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    return depth > 0 && c != '"';
  };
  while (in.p < in.end) {
    if (in.end - in.p >= 64) {
      uint64_t marks = json_scanner::Matches(in.p, '[') | json_scanner::Matches(in.p, ']') |
                       json_scanner::Matches(in.p, '"');
      const char* const block = in.p;
      for (; marks != 0; marks &= marks - 1) {
        in.p = block + std::countr_zero(marks);
        if (!goes_on(*in.p)) break;
      }
      if (marks == 0) {
        in.p = block + 64;
        continue;
      }
    } else if (goes_on(*in.p)) {
      ++in.p;
      continue;
    }
    if (*in.p != ']') return std::nullopt;
    ++in.p;
    return absl::string_view(begin, in.p - begin);
  }
  return std::nullopt;
}

}  // namespace tessera::serving
