// The fields of TensorProto that hold the elements of each dtype.
#pragma once

#include <cstdint>

#include "runtime/tensor/dtype.h"

namespace tessera::serving {

// Numbers of the fields of tensorflow.TensorProto that all dtypes use.
inline constexpr uint32_t kDtypeField = 1;
inline constexpr uint32_t kShapeField = 2;
inline constexpr uint32_t kContentField = 4;
inline constexpr uint32_t kResourceField = 14;
inline constexpr uint32_t kVariantField = 15;

// The field that holds the elements of a dtype.
struct WireTensorField {
  enum class Kind {
    kFixed32,  // the elements' own bytes: floats, and pairs of them
    kFixed64,
    kVarint,   // an integer, or the bits of a half
    kBool,     // a varint that is 0 or 1; written, the elements' own bytes
    kNarrow,   // an integer that holds an int4 and the like
    kByte,     // all elements' own bytes in one value
    kString,   // a value each
    kMessage,  // a message each: resources and variants
    kNone,     // kInvalid
  };
  uint32_t number = 0;
  Kind kind = Kind::kNone;
};
WireTensorField WireTensorFieldOf(DType dtype);

// Returns the encoding of the values of a field of TensorProto by its number. kNone for a field
// that is no list of numbers.
WireTensorField::Kind WireKindOfNumbers(uint32_t field_number);

}  // namespace tessera::serving
