#include "serving/frontend/wire/wire_tensor_field.h"

namespace tessera::serving {

using Kind = WireTensorField::Kind;

WireTensorField WireTensorFieldOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return {5, Kind::kFixed32};
    case DType::kDouble:
      return {6, Kind::kFixed64};
    case DType::kInt32:
    case DType::kInt16:
    case DType::kUint16:
    case DType::kInt8:
    case DType::kUint8:
    case DType::kQint8:
    case DType::kQuint8:
    case DType::kQint16:
    case DType::kQuint16:
    case DType::kQint32:
      return {7, Kind::kVarint};
    case DType::kInt4:
    case DType::kUint4:
    case DType::kInt2:
    case DType::kUint2:
      return {7, Kind::kNarrow};
    case DType::kString:
      return {8, Kind::kString};
    case DType::kComplex64:
      return {9, Kind::kFixed32};
    case DType::kInt64:
      return {10, Kind::kVarint};
    case DType::kBool:
      return {11, Kind::kBool};
    case DType::kComplex128:
      return {12, Kind::kFixed64};
    case DType::kHalf:
    case DType::kBfloat16:
      return {13, Kind::kVarint};
    case DType::kResource:
      return {kResourceField, Kind::kMessage};
    case DType::kVariant:
      return {kVariantField, Kind::kMessage};
    case DType::kUint32:
      return {16, Kind::kVarint};
    case DType::kUint64:
      return {17, Kind::kVarint};
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3B11FNUZ:
    case DType::kFloat8E5M2FNUZ:
      return {18, Kind::kByte};
    case DType::kInvalid:
      break;
  }
  return {};
}

Kind WireKindOfNumbers(uint32_t field_number) {
  switch (field_number) {
    case 5:
    case 9:
      return Kind::kFixed32;
    case 6:
    case 12:
      return Kind::kFixed64;
    case 7:
    case 10:
    case 11:
    case 13:
    case 16:
    case 17:
      return Kind::kVarint;
    default:
      return Kind::kNone;
  }
}

}  // namespace tessera::serving
