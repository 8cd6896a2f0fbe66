#include "runtime/stablehlo/attribute_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/status.h"
#include "runtime/tensor/raw_elements.h"

namespace tessera::stablehlo {
namespace {

// Attributes refer to others; what nests deeper than this is no module that anybody wrote.
constexpr int kMaxDepth = 64;
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr int64_t kMaxDecodedBytes = 1 << 24;  // running out of memory is not a finding
#else
constexpr int64_t kMaxDecodedBytes = int64_t{1} << 31;
#endif

// Codes of the VHLO dialect.
enum VhloAttribute {
  kArray = 1,
  kBoolean = 2,
  kComparisonDirection = 3,
  kComparisonType = 4,
  kApiVersion = 5,
  kDictionary = 6,
  kFftType = 7,
  kFloat = 8,
  kInteger = 9,
  kPrecision = 11,
  kRngAlgorithm = 12,
  kRngDistribution = 13,
  kString = 14,
  kTensor = 15,
  kTranspose = 16,
};

// Codes of MLIR's builtin dialect.
enum BuiltinAttribute { kBuiltinDictionary = 1, kBuiltinString = 2 };

enum VhloType {
  kFunctionType = 8,
  kRankedTensor = 20,
  kRankedTensorWithEncoding = 21,
  kTokenType = 22,
  kTupleType = 23,
  kQuantizedType = 24,
  kUnrankedTensor = 25,
  kQuantizedPerAxisType = 33,
};

struct ElementType {
  int code;
  absl::string_view name;
  DType dtype;
};

constexpr int kComplexElement = 1;
constexpr ElementType kElementTypes[] = {
    {0, "i1", DType::kBool},           {2, "bf16", DType::kBfloat16},
    {3, "f16", DType::kHalf},          {4, "f32", DType::kFloat},
    {5, "f64", DType::kDouble},        {6, "f8E4M3FN", DType::kFloat8E4M3FN},
    {7, "f8E5M2", DType::kFloat8E5M2}, {10, "i4", DType::kInt4},
    {11, "i8", DType::kInt8},          {12, "i16", DType::kInt16},
    {13, "i32", DType::kInt32},        {14, "i64", DType::kInt64},
    {15, "ui4", DType::kUint4},        {16, "ui8", DType::kUint8},
    {17, "ui16", DType::kUint16},      {18, "ui32", DType::kUint32},
    {19, "ui64", DType::kUint64},
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the MLIR bytecode is malformed: ", what));
}

absl::string_view NameOf(uint64_t type_code) {
  switch (type_code) {
    case kFunctionType:
      return "function";
    case kTokenType:
      return "token";
    case kTupleType:
      return "tuple";
    case kQuantizedType:
    case kQuantizedPerAxisType:
      return "quantized";
    case kUnrankedTensor:
      return "unranked tensor";
    default:
      return "unknown";
  }
}

// Writes the elements of a constant: all of them, or one for a splat. Elements of i1 are bits.
absl::StatusOr<Tensor> MakeTensor(const Type& type, const Shape& shape, absl::string_view bytes) {
  const int64_t count = shape.num_elements();
  const size_t size = DTypeSize(type.dtype);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type.dtype, shape));
  if (count == 0) return tensor;
  char* const out = tensor.mutable_raw();
  if (type.dtype == DType::kBool) {
    const bool is_splat =
        bytes.size() == 1 && (bytes[0] == '\0' || static_cast<uint8_t>(bytes[0]) == 0xff);
    if (!is_splat && bytes.size() != static_cast<size_t>((count + 7) / 8)) {
      return Malformed("a constant has another size than its type");
    }
    for (int64_t i = 0; i < count; ++i) {
      out[i] = is_splat ? bytes[0] != 0 : (bytes[i / 8] >> (i % 8)) & 1;
    }
    return tensor;
  }
  if (bytes.size() == tensor.size_bytes()) {
    CopyElements(type.dtype, bytes, out);
  } else if (bytes.size() == size) {
    for (int64_t i = 0; i < count; ++i) CopyElements(type.dtype, bytes, out + i * size);
  } else {
    return Malformed("a constant has another size than its type");
  }
  return tensor;
}

}  // namespace

AttributeReader::AttributeReader(const Bytecode& bytecode)
    : bytecode_(bytecode), attributes_(bytecode.attributes.size()), types_(bytecode.types.size()) {}

absl::Status AttributeReader::Charge(int64_t bytes) {
  if (bytes > kMaxDecodedBytes - charged_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the constants and attributes of the module "
                     "take more than ",
                     kMaxDecodedBytes, " bytes"));
  }
  charged_bytes_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<AttributePtr> AttributeReader::Attribute(uint64_t index) {
  if (index >= attributes_.size()) return Malformed("it lacks an attribute that it refers to");
  if (attributes_[index] != nullptr) return attributes_[index];
  if (depth_ >= kMaxDepth) return Malformed("its attributes nest without end");
  ++depth_;
  auto attribute = Decode(bytecode_.attributes[index]);
  --depth_;
  if (!attribute.ok()) return attribute.status();
  attributes_[index] = std::make_shared<const stablehlo::Attribute>(*std::move(attribute));
  return attributes_[index];
}

absl::StatusOr<stablehlo::Attribute> AttributeReader::Decode(const Bytecode::Entry& entry) {
  if (!entry.is_binary) return stablehlo::Attribute();
  if (entry.dialect == "vhlo") return DecodeVhlo(entry.bytes);
  if (entry.dialect == "builtin") return DecodeBuiltin(entry.bytes);
  return stablehlo::Attribute();
}

absl::StatusOr<stablehlo::Attribute> AttributeReader::DecodeVhlo(ByteCursor in) {
  stablehlo::Attribute result;
  switch (in.Varint()) {
    case kArray: {
      stablehlo::Attribute::Array elements(in.Count());
      for (AttributePtr& element : elements) {
        ASSIGN_OR_RETURN(element, Attribute(in.Varint()));
      }
      result.value = std::move(elements);
      break;
    }
    case kBoolean:
      result.value = in.Varint() != 0;
      break;
    case kComparisonDirection:
    case kComparisonType:
    case kApiVersion:
    case kFftType:
    case kPrecision:
    case kRngAlgorithm:
    case kRngDistribution:
    case kTranspose:
      result.value = static_cast<int64_t>(in.Varint());
      break;
    case kDictionary:
      return DecodeDictionary(in);
    case kFloat:
      return DecodeFloat(in);
    case kInteger:
      return DecodeInteger(in);
    case kString: {
      ASSIGN_OR_RETURN(result.value, DecodeString(in.Varint()));
      break;
    }
    case kTensor:
      return DecodeTensor(in);
    default:
      break;
  }
  if (in.failed()) return Malformed("an attribute ends early");
  return result;
}

absl::StatusOr<stablehlo::Attribute> AttributeReader::DecodeBuiltin(ByteCursor in) {
  stablehlo::Attribute result;
  switch (in.Varint()) {
    case kBuiltinDictionary:
      return DecodeDictionary(in);
    case kBuiltinString: {
      ASSIGN_OR_RETURN(result.value, DecodeString(in.Varint()));
      break;
    }
    default:
      break;
  }
  return result;
}

absl::StatusOr<std::string> AttributeReader::DecodeString(uint64_t index) {
  if (index >= bytecode_.strings.size()) return Malformed("it lacks a string");
  RETURN_IF_ERROR(Charge(static_cast<int64_t>(bytecode_.strings[index].size())));
  return std::string(bytecode_.strings[index]);
}

absl::StatusOr<stablehlo::Attribute> AttributeReader::DecodeDictionary(ByteCursor in) {
  stablehlo::Attribute::Dictionary entries(in.Count());
  for (auto& [name, value] : entries) {
    ASSIGN_OR_RETURN(const AttributePtr key, Attribute(in.Varint()));
    const std::string* text = key->get<std::string>();
    if (text == nullptr) return Malformed("a key of a dictionary is no string");
    RETURN_IF_ERROR(Charge(static_cast<int64_t>(text->size())));
    name = *text;
    ASSIGN_OR_RETURN(value, Attribute(in.Varint()));
  }
  if (in.failed()) return Malformed("a dictionary ends early");
  stablehlo::Attribute result;
  result.value = std::move(entries);
  return result;
}

absl::StatusOr<stablehlo::Attribute> AttributeReader::DecodeTensor(ByteCursor in) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Type> type, TypeOf(in.Varint()));
  const absl::string_view bytes = in.Bytes(in.Count());
  if (in.failed()) return Malformed("a constant ends early");
  stablehlo::Attribute result;
  // A constant of a type that nothing here can hold fails where an op uses it, which names the op.
  if (!type->is_ranked_tensor || type->dtype == DType::kInvalid) return result;
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(type->dimensions));
  const int64_t size = static_cast<int64_t>(DTypeSize(type->dtype));
  RETURN_IF_ERROR(Charge(std::min(shape.num_elements(), kMaxDecodedBytes) * size));
  ASSIGN_OR_RETURN(result.value, MakeTensor(*type, shape, bytes));
  return result;
}

absl::StatusOr<stablehlo::Attribute> AttributeReader::DecodeInteger(ByteCursor in) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Type> type, TypeOf(in.Varint()));
  const size_t size = DTypeSize(type->dtype);
  stablehlo::Attribute result;
  // Integers of up to 8 bits are a byte, others a signed number.
  result.value =
      size == 1 ? int64_t{static_cast<int8_t>(in.Byte())} : static_cast<int64_t>(in.SignedVarint());
  if (in.failed()) return Malformed("an integer ends early");
  return result;
}

absl::StatusOr<stablehlo::Attribute> AttributeReader::DecodeFloat(ByteCursor in) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Type> type, TypeOf(in.Varint()));
  stablehlo::Attribute result;
  const int64_t bits = in.SignedVarint();
  if (in.failed()) return Malformed("a float ends early");
  if (type->dtype == DType::kFloat) {
    result.value = double{std::bit_cast<float>(static_cast<uint32_t>(bits))};
  } else if (type->dtype == DType::kDouble) {
    result.value = std::bit_cast<double>(bits);
  }
  return result;
}

absl::StatusOr<std::shared_ptr<const Type>> AttributeReader::TypeOf(uint64_t index) {
  if (index >= types_.size()) return Malformed("it lacks a type that it refers to");
  if (types_[index] != nullptr) return types_[index];
  if (depth_ >= kMaxDepth) return Malformed("its types nest without end");
  ++depth_;
  auto type = DecodeType(bytecode_.types[index]);
  --depth_;
  if (!type.ok()) return type.status();
  types_[index] = std::make_shared<const Type>(*std::move(type));
  return types_[index];
}

absl::StatusOr<Type> AttributeReader::DecodeType(const Bytecode::Entry& entry) {
  Type type;
  if (!entry.is_binary || entry.dialect != "vhlo") {
    type.name = std::string(entry.dialect);
    return type;
  }
  ByteCursor in = entry.bytes;
  const uint64_t code = in.Varint();
  for (const ElementType& element : kElementTypes) {
    if (static_cast<uint64_t>(element.code) != code) continue;
    type.name = type.element = std::string(element.name);
    type.dtype = element.dtype;
    return type;
  }
  if (code == kComplexElement) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Type> part, TypeOf(in.Varint()));
    type.name = type.element = absl::StrCat("complex<", part->element, ">");
    if (part->dtype == DType::kFloat) type.dtype = DType::kComplex64;
    if (part->dtype == DType::kDouble) type.dtype = DType::kComplex128;
    return type;
  }
  if (code != kRankedTensor && code != kRankedTensorWithEncoding) {
    type.name = type.element = std::string(NameOf(code));
    return type;
  }
  if (code == kRankedTensorWithEncoding) in.Varint();  // bounds of dynamic dimensions
  type.name = "tensor";
  type.is_ranked_tensor = true;
  type.dimensions.resize(in.Count());
  for (int64_t& dimension : type.dimensions) {
    dimension = in.SignedVarint();
    if (dimension < 0) dimension = kDynamic;
  }
  if (type.rank() > kMaxRank) return Malformed("a tensor has too many dimensions");
  ASSIGN_OR_RETURN(const std::shared_ptr<const Type> element, TypeOf(in.Varint()));
  if (in.failed()) return Malformed("a type ends early");
  type.dtype = element->dtype;
  type.element = element->element;
  return type;
}

}  // namespace tessera::stablehlo
