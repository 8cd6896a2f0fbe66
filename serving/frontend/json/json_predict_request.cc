#include "serving/frontend/json/json_predict_request.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_document.h"
#include "serving/frontend/json/json_numeric_body.h"

namespace tessera::serving {
namespace {

using Dims = absl::Span<const int64_t>;

// Reads one value as an element of type T. Returns false if it is of another kind.
template <typename T>
bool ReadNumber(const JsonValue& value, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!value.IsNumber()) return false;
    *out = static_cast<T>(value.GetDouble());
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.IsBool()) return false;
    *out = value.GetBool();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    if (!value.IsInt64()) return false;
    *out = value.GetInt64();
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    if (!value.IsUint64()) return false;
    *out = value.GetUint64();
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    if (!value.IsUint()) return false;
    *out = value.GetUint();
  } else {
    // Narrow integers are the low bits of an int32, as in a TensorProto.
    if (!value.IsInt()) return false;
    *out = static_cast<T>(value.GetInt());
  }
  return true;
}

template <typename T>
absl::Status WrongType(const JsonValue& value) {
  return absl::InvalidArgumentError(
      absl::StrCat("JSON Value: ", QuoteJson(value), " Type: ", JsonTypeName(value),
                   " is not of expected type: ", DTypeName(DTypeOf<T>)));
}

template <typename T>
absl::Status ReadElement(const JsonValue& value, T* out) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (value.IsObject()) return DecodeBase64Object(value, out);
    if (!value.IsString()) return WrongType<T>(value);
    out->assign(value.GetString(), value.GetStringLength());
  } else {
    if (!ReadNumber(value, out)) [[unlikely]]
      return WrongType<T>(value);
  }
  return absl::OkStatus();
}

// Reads nested lists of dimensions `dims` from `level` on. Moves *out behind the elements; a null
// *out only checks them.
template <typename T>
absl::Status ReadElements(const JsonValue& value, Dims dims, size_t level, T** out) {
  if (!value.IsArray()) {
    if (level != dims.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("JSON Value: ", QuoteJson(value), " found at incorrect level: ", level + 1,
                       " in the JSON DOM. Expected at level: ", dims.size()));
    }
    if (*out != nullptr) return ReadElement(value, (*out)++);
    T unused;
    return ReadElement(value, &unused);
  }
  if (level >= dims.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Encountered list at unexpected level: ", level, " expected < ", dims.size()));
  }
  if (value.Size() != dims[level]) {
    return absl::InvalidArgumentError(
        absl::StrCat("Encountered list at unexpected size: ", value.Size(), " at level: ", level,
                     " expected size: ", dims[level]));
  }
  for (const JsonValue& element : value.GetArray()) {
    RETURN_IF_ERROR(ReadElements(element, dims, level + 1, out));
  }
  return absl::OkStatus();
}

// Returns an error for the first value, if there is one, of a type that JSON cannot express.
absl::Status RefuseElements(const JsonValue& value, DType dtype) {
  const JsonValue* first = &value;
  while (first->IsArray()) {
    if (first->Empty()) return absl::OkStatus();
    first = first->Begin();
  }
  return absl::UnimplementedError(absl::StrCat("Conversion of JSON Value: ", QuoteJson(*first),
                                               " to type: ", DTypeName(dtype),
                                               " is not supported; gRPC takes it"));
}

// Returns the shape that the first element of each list indicates.
absl::StatusOr<Shape> ShapeOf(const JsonValue& value, int max_rank) {
  std::vector<int64_t> dims;
  for (const JsonValue* level = &value; level->IsArray(); level = level->Begin()) {
    if (dims.size() == max_rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("lists are nested deeper than the ", max_rank, " levels there may be"));
    }
    dims.push_back(level->Size());
    if (level->Empty()) break;
  }
  return Shape::Make(dims);
}

// Collects the tensor of one input.
class InputReader {
 public:
  // `max_elements` is the length of the text, because each element takes at least a byte.
  InputReader(const InputType& type, int64_t max_elements)
      : type_(type), max_elements_(max_elements) {}

  absl::string_view name() const { return type_.name; }
  int64_t num_rows() const { return num_rows_; }
  bool has_default() const { return type_.has_default; }
  // Whether the body has the input.
  bool was_read() const { return storage_.has_value(); }

  // Reads the whole tensor.
  absl::Status Read(const JsonValue& value) {
    ASSIGN_OR_RETURN(shape_, ShapeOf(value, kMaxRank));
    RETURN_IF_ERROR(Allocate(shape_.num_elements()));
    return Add(value, shape_, /*keep=*/true);
  }

  // Reads the next of `count` rows, which all have one shape.
  absl::Status ReadRow(const JsonValue& value, int64_t count) {
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(value, kMaxRank - 1));
    if (num_rows_ == 0) {
      shape_ = shape;
      // A text cannot hold as many elements as overflow int64.
      const int64_t total = MultiplyWithoutOverflow(shape.num_elements(), count);
      RETURN_IF_ERROR(Allocate(total < 0 ? max_elements_ : total));
    }
    RETURN_IF_ERROR(Add(value, shape, /*keep=*/shape == shape_));
    if (shape.num_elements() != shape_.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expecting tensor size: ", shape_.num_elements(), " but got: ", shape.num_elements()));
    }
    if (shape != shape_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expecting shape ", shape_.ToString(), " but got: ", shape.ToString()));
    }
    ++num_rows_;
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Take() { return std::move(storage_).Reshaped(shape_); }
  absl::StatusOr<Tensor> TakeRows() {
    shape_.InsertDim(0, num_rows_);
    return Take();
  }

 private:
  absl::Status Allocate(int64_t num_elements) {
    ASSIGN_OR_RETURN(storage_,
                     Tensor::Allocate(type_.dtype, {std::min(num_elements, max_elements_)}));
    return absl::OkStatus();
  }

  absl::Status Add(const JsonValue& value, const Shape& shape, bool keep) {
    switch (type_.dtype) {
      case DType::kFloat:
        return AddOf<float>(value, shape, keep);
      case DType::kDouble:
        return AddOf<double>(value, shape, keep);
      case DType::kInt8:
        return AddOf<int8_t>(value, shape, keep);
      case DType::kInt16:
        return AddOf<int16_t>(value, shape, keep);
      case DType::kInt32:
        return AddOf<int32_t>(value, shape, keep);
      case DType::kInt64:
        return AddOf<int64_t>(value, shape, keep);
      case DType::kUint8:
        return AddOf<uint8_t>(value, shape, keep);
      case DType::kUint32:
        return AddOf<uint32_t>(value, shape, keep);
      case DType::kUint64:
        return AddOf<uint64_t>(value, shape, keep);
      case DType::kBool:
        return AddOf<bool>(value, shape, keep);
      case DType::kString:
        return AddOf<std::string>(value, shape, keep);
      default:
        return RefuseElements(value, type_.dtype);
    }
  }

  template <typename T>
  absl::Status AddOf(const JsonValue& value, const Shape& shape, bool keep) {
    T* out = keep ? storage_.data<T>() + num_rows_ * shape_.num_elements() : nullptr;
    return ReadElements(value, shape.dims(), 0, &out);
  }

  const InputType type_;
  const int64_t max_elements_;
  Tensor storage_;  // of rank 1
  Shape shape_;     // of the tensor, or of a row
  int64_t num_rows_ = 0;
};

using InputReaders = std::vector<InputReader>;

// Returns null if there is no input of this name.
InputReader* FindReader(InputReaders& readers, absl::string_view name) {
  auto it = std::lower_bound(
      readers.begin(), readers.end(), name,
      [](const InputReader& reader, absl::string_view wanted) { return reader.name() < wanted; });
  return it != readers.end() && it->name() == name ? &*it : nullptr;
}

absl::Status InRow(rapidjson::SizeType row, absl::string_view key, const absl::Status& status) {
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("Failed to process element: ", row, key.empty() ? "" : " key: ", key,
                   " of 'instances' list. Error: ", absl::StatusCodeToString(status.code()), ": ",
                   status.message()));
}

absl::Status ReadPlainRows(const JsonValue& instances, InputReaders& readers) {
  for (rapidjson::SizeType i = 0; i < instances.Size(); ++i) {
    const JsonValue& row = instances[i];
    if (row.IsObject() && !IsBase64Object(row)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expecting value/list but got object at item ", i, " of input list"));
    }
    if (readers.size() > 1) {
      const absl::Status status = absl::InvalidArgumentError(
          "instances is a plain list, but expecting list of objects as there are several inputs");
      return row.IsObject() ? InRow(i, "", status) : status;
    }
    RETURN_IF_ERROR(InRow(i, "", readers[0].ReadRow(row, instances.Size())));
  }
  return absl::OkStatus();
}

absl::Status ReadNamedRow(const JsonValue& row, rapidjson::SizeType i, int64_t count,
                          InputReaders& readers) {
  if (!row.IsObject()) {
    return absl::InvalidArgumentError(absl::StrCat("Expecting object but got ",
                                                   row.IsArray() ? "list" : "value", " at item ", i,
                                                   " of input list"));
  }
  for (const auto& member : row.GetObject()) {
    const absl::string_view name = TextOf(member.name);
    InputReader* reader = FindReader(readers, name);
    if (reader == nullptr) {
      return InRow(i, "",
                   absl::InvalidArgumentError(
                       absl::StrCat("JSON object: does not have named input: ", name)));
    }
    if (reader->num_rows() > i) continue;  // given twice; the first counts
    RETURN_IF_ERROR(InRow(i, name, reader->ReadRow(member.value, count)));
  }
  const bool is_complete = std::all_of(readers.begin(), readers.end(), [i](const auto& reader) {
    return reader.num_rows() == i + 1 || (reader.has_default() && !reader.was_read());
  });
  if (is_complete) return absl::OkStatus();
  const auto append_name = [](std::string* out, const InputReader& reader) {
    out->append(reader.name().data(), reader.name().size());
  };
  return absl::InvalidArgumentError(absl::StrCat(
      "Failed to process element: ", i, " of 'instances' list. JSON object: ", QuoteJson(row),
      " keys must be equal to: ", absl::StrJoin(readers, ",", append_name)));
}

absl::Status ReadRows(const JsonValue& instances, InputReaders& readers) {
  if (!instances.IsArray()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expecting 'instances' to be an list/array, but got: ", QuoteJson(instances)));
  }
  if (instances.Empty()) {
    return absl::InvalidArgumentError("No values in 'instances' array.");
  }
  if (!instances[0].IsObject() || IsBase64Object(instances[0])) {
    return ReadPlainRows(instances, readers);
  }
  for (rapidjson::SizeType i = 0; i < instances.Size(); ++i) {
    RETURN_IF_ERROR(ReadNamedRow(instances[i], i, instances.Size(), readers));
  }
  return absl::OkStatus();
}

absl::Status ReadColumns(const JsonValue& inputs, InputReaders& readers) {
  if (!inputs.IsObject() || IsBase64Object(inputs)) {
    if (readers.size() > 1) {
      return absl::InvalidArgumentError(
          "inputs is a plain value/list, but expecting an object as there are several inputs");
    }
    return readers[0].Read(inputs);
  }
  for (InputReader& reader : readers) {
    const JsonValue* value = FindMember(inputs, reader.name());
    if (value == nullptr && reader.has_default()) continue;
    if (value == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("Missing named input: ", reader.name(), " in 'inputs' object."));
    }
    RETURN_IF_ERROR(reader.Read(*value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodePredictBodyByDocument(absl::string_view json, FindInputTypes find_inputs,
                                         PredictBody* body) {
  JsonDocument document;
  RETURN_IF_ERROR(ParseJsonObject(json, &document));
  RETURN_IF_ERROR(ReadSignatureName(document, &body->signature_name));
  ASSIGN_OR_RETURN(const absl::Span<const InputType> types, find_inputs(body->signature_name));
  if (types.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Failed to get input map for signature: ",
        body->signature_name.empty() ? "DEFAULT" : body->signature_name, ": it has no inputs"));
  }
  InputReaders readers;
  readers.reserve(types.size());
  for (const InputType& type : types) readers.emplace_back(type, json.size());

  const JsonValue* instances = FindMember(document, "instances");
  const JsonValue* inputs = FindMember(document, "inputs");
  if (instances != nullptr && inputs != nullptr) {
    return absl::InvalidArgumentError(
        "Not expecting JSON value with both 'inputs' and 'instances' keys");
  }
  if (instances == nullptr && inputs == nullptr) {
    return absl::InvalidArgumentError("Missing 'inputs' or 'instances' key");
  }
  body->layout = inputs == nullptr ? PredictLayout::kRow : PredictLayout::kColumnar;
  body->inputs.clear();
  RETURN_IF_ERROR(inputs == nullptr ? ReadRows(*instances, readers)
                                    : ReadColumns(*inputs, readers));
  for (InputReader& reader : readers) {
    if (!reader.was_read()) continue;
    ASSIGN_OR_RETURN(Tensor tensor, inputs == nullptr ? reader.TakeRows() : reader.Take());
    body->inputs.emplace_back(reader.name(), std::move(tensor));
  }
  return absl::OkStatus();
}

absl::Status DecodePredictBody(absl::string_view json, FindInputTypes find_inputs,
                               PredictBody* body) {
  if (DecodeNumericBody(json, find_inputs, body)) return absl::OkStatus();
  return DecodePredictBodyByDocument(json, find_inputs, body);
}

}  // namespace tessera::serving
