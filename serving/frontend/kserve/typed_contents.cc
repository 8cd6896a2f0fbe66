#include "serving/frontend/kserve/typed_contents.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/kserve/datatype.h"

namespace tessera::serving {
namespace {

using Contents = inference::InferTensorContents;

int64_t CountOfAllFields(const Contents& contents) {
  return int64_t{contents.bool_contents_size()} + contents.int_contents_size() +
         contents.int64_contents_size() + contents.uint_contents_size() +
         contents.uint64_contents_size() + contents.fp32_contents_size() +
         contents.fp64_contents_size() + contents.bytes_contents_size();
}

// Copies a field to a tensor of elements T.
template <typename T, typename Field>
absl::StatusOr<Tensor> Copied(const Shape& shape, const Contents& contents, const Field& field) {
  const int64_t all = CountOfAllFields(contents);
  if (all != field.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its contents are in a field that is not that of ", DatatypeOf(DTypeOf<T>)));
  }
  if (all == 0) {
    return absl::InvalidArgumentError(
        "it has no contents; an empty tensor is sent with raw_input_contents");
  }
  if (all != shape.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat("it has ", all, " elements, the shape ",
                                                   shape.ToString(), " needs ",
                                                   shape.num_elements()));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DTypeOf<T>, shape));
  T* out = tensor.data<T>();
  for (const auto& value : field) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!std::in_range<T>(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the element ", value, " does not fit ", DatatypeOf(DTypeOf<T>)));
      }
    }
    *out++ = static_cast<T>(value);
  }
  return tensor;
}

}  // namespace

absl::StatusOr<Tensor> TensorFromTyped(DType dtype, const Shape& shape, const Contents& contents) {
  switch (dtype) {
    case DType::kBool:
      return Copied<bool>(shape, contents, contents.bool_contents());
    case DType::kInt8:
      return Copied<int8_t>(shape, contents, contents.int_contents());
    case DType::kInt16:
      return Copied<int16_t>(shape, contents, contents.int_contents());
    case DType::kInt32:
      return Copied<int32_t>(shape, contents, contents.int_contents());
    case DType::kInt64:
      return Copied<int64_t>(shape, contents, contents.int64_contents());
    case DType::kUint8:
      return Copied<uint8_t>(shape, contents, contents.uint_contents());
    case DType::kUint16:
      return Copied<uint16_t>(shape, contents, contents.uint_contents());
    case DType::kUint32:
      return Copied<uint32_t>(shape, contents, contents.uint_contents());
    case DType::kUint64:
      return Copied<uint64_t>(shape, contents, contents.uint64_contents());
    case DType::kFloat:
      return Copied<float>(shape, contents, contents.fp32_contents());
    case DType::kDouble:
      return Copied<double>(shape, contents, contents.fp64_contents());
    case DType::kString:
      return Copied<std::string>(shape, contents, contents.bytes_contents());
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(DatatypeOf(dtype), " has no typed field; send raw_input_contents"));
  }
}

}  // namespace tessera::serving
