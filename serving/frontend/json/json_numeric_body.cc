#include "serving/frontend/json/json_numeric_body.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "serving/frontend/json/json_document.h"
#include "serving/frontend/json/json_number_scanner.h"

namespace tessera::serving {
namespace {

// The nesting limit of lists that are read here. Deeper ones are rare and take the general path.
constexpr int kMaxDepth = 8;

// Reads from the front of the text. After a failure `p` is unspecified.
struct Scanner {
  const char* p;
  const char* end;

  void SkipSpace() {
    if (p != end && static_cast<unsigned char>(*p) > ' ') return;
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p;
  }
  // Reads `c` and the white space around it.
  bool Consume(char c) {
    SkipSpace();
    if (p == end || *p != c) return false;
    ++p;
    SkipSpace();
    return true;
  }
  // Reads a string without escapes.
  std::optional<absl::string_view> String() {
    if (p == end || *p != '"') return std::nullopt;
    const char* const begin = ++p;
    while (p < end && *p != '"') {
      if (*p == '\\' || static_cast<unsigned char>(*p) < ' ') return std::nullopt;
      ++p;
    }
    if (p == end) return std::nullopt;
    return absl::string_view(begin, p++ - begin);
  }
};

int64_t CountCommas(const char* p, const char* end) {
  int64_t count = 0;
  for (; end - p >= 64; p += 64) count += std::popcount(json_scanner::Matches(p, ','));
  return count + std::count(p, end, ',');
}

template <typename T>
const char* ScanElement(const char* p, const char* end, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    double value;
    p = json_scanner::ScanFloating(p, end, &value);
    if (p != nullptr) *out = static_cast<T>(value);
    return p;
  } else {
    int64_t value;
    p = json_scanner::ScanInteger(p, end, &value);
    return p != nullptr && json_scanner::StoreInteger(value, out) ? p : nullptr;
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

template <typename T>
bool ReadNumbers(Scanner& in, Tensor* tensor) {
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
      } else {
        const auto scanned = json_scanner::ScanShortNumbers(in.p, in.end, out);
        if (scanned.out == out) long_numbers = kLongNumbers;
        in.p = scanned.p;
        out = scanned.out;
        if (scanned.at_end) break;
        in.SkipSpace();
      }
      in.p = ScanElement(in.p, in.end, out);
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

bool ReadTensor(Scanner& in, DType dtype, Tensor* tensor) {
  switch (dtype) {
    case DType::kFloat:
      return ReadNumbers<float>(in, tensor);
    case DType::kDouble:
      return ReadNumbers<double>(in, tensor);
    case DType::kInt8:
      return ReadNumbers<int8_t>(in, tensor);
    case DType::kInt16:
      return ReadNumbers<int16_t>(in, tensor);
    case DType::kInt32:
      return ReadNumbers<int32_t>(in, tensor);
    case DType::kInt64:
      return ReadNumbers<int64_t>(in, tensor);
    case DType::kUint8:
      return ReadNumbers<uint8_t>(in, tensor);
    case DType::kUint32:
      return ReadNumbers<uint32_t>(in, tensor);
    case DType::kUint64:
      return ReadNumbers<uint64_t>(in, tensor);
    default:
      return false;
  }
}

using Types = absl::Span<const InputType>;

// Reads {"a": NUMBERS, ...} with each input once and nothing else.
bool ReadNamedTensors(Scanner& in, Types types, PredictBody* body) {
  std::vector<Tensor> tensors(types.size());
  if (!in.Consume('{')) return false;
  do {
    const std::optional<absl::string_view> name = in.String();
    if (!name || !in.Consume(':')) return false;
    const auto type = std::find_if(types.begin(), types.end(),
                                   [&](const InputType& t) { return t.name == *name; });
    if (type == types.end()) return false;
    Tensor& tensor = tensors[type - types.begin()];
    if (tensor.has_value() || !ReadTensor(in, type->dtype, &tensor)) return false;
  } while (in.Consume(','));
  if (!in.Consume('}')) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!tensors[i].has_value()) return false;
    body->inputs.emplace_back(types[i].name, std::move(tensors[i]));
  }
  return true;
}

// Returns the name in a body that ends with `"signature_name": "..."}`. Clients often send it last,
// but types must be known first. This is a guess, which the name that is read later corrects.
absl::string_view SignatureNameAtEnd(absl::string_view json) {
  constexpr absl::string_view kKey = "\"signature_name\"";
  constexpr size_t kTail = 256;
  const absl::string_view tail = json.substr(json.size() - std::min(json.size(), kTail));
  const size_t key = tail.rfind(kKey);
  if (key == absl::string_view::npos) return {};
  Scanner in{tail.data() + key + kKey.size(), tail.data() + tail.size()};
  if (!in.Consume(':')) return {};
  return in.String().value_or(absl::string_view());
}

}  // namespace

bool DecodeNumericBody(absl::string_view json, FindInputTypes find_inputs, PredictBody* body) {
  if (json.size() > kMaxJsonBytes) return false;
  Scanner in{json.data(), json.data() + json.size()};
  body->inputs.clear();
  std::optional<absl::string_view> signature_name;
  std::optional<absl::string_view> assumed_name;  // set once the tensors are read
  if (!in.Consume('{')) return false;
  do {
    const std::optional<absl::string_view> key = in.String();
    if (!key || !in.Consume(':')) return false;
    if (*key == "signature_name") {
      if (signature_name) return false;
      signature_name = in.String();
      if (!signature_name) return false;
    } else if (*key == "instances" || *key == "inputs") {
      if (assumed_name) return false;
      body->layout = *key == "instances" ? PredictLayout::kRow : PredictLayout::kColumnar;
      assumed_name = signature_name ? *signature_name : SignatureNameAtEnd(json);
      const absl::StatusOr<Types> types = find_inputs(*assumed_name);
      if (!types.ok() || in.p == in.end) return false;
      if (*in.p == '{' && body->layout == PredictLayout::kColumnar) {
        if (!ReadNamedTensors(in, *types, body)) return false;
      } else {
        if (types->size() != 1) return false;
        body->inputs.emplace_back((*types)[0].name, Tensor());
        if (!ReadTensor(in, (*types)[0].dtype, &body->inputs[0].second)) return false;
      }
    } else {
      return false;
    }
  } while (in.Consume(','));
  if (!in.Consume('}') || !assumed_name) return false;
  if (*assumed_name != signature_name.value_or(absl::string_view())) return false;
  body->signature_name = std::string(signature_name.value_or(absl::string_view()));
  return true;
}

}  // namespace tessera::serving
