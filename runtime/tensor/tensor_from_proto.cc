#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/tensor/buffer.h"
#include "runtime/tensor/encoded_variant.h"
#include "runtime/tensor/raw_elements.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/resource_handle.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace tessera {
namespace {

using tensorflow::TensorProto;

// Writes convert(values[i]) to out[i]. The last value is repeated for missing ones; if there is no
// value, all elements are `empty`.
template <typename T, typename Field, typename Convert>
void FillFrom(const Field& values, absl::Span<T> out, const T& empty, Convert convert) {
  const auto given = std::min<int64_t>(values.size(), static_cast<int64_t>(out.size()));
  for (int64_t i = 0; i < given; ++i) out[i] = convert(values.Get(static_cast<int>(i)));
  std::fill(out.begin() + given, out.end(), given > 0 ? out[given - 1] : empty);
}

// Copies a field whose elements are those of the tensor.
template <typename T, typename Field>
void CopyFrom(const Field& values, Tensor& tensor) {
  absl::Span<T> out = tensor.flat<T>();
  const size_t given = std::min<size_t>(values.size(), out.size());
  std::copy_n(values.data(), given, out.begin());
  std::fill(out.begin() + given, out.end(), given > 0 ? out[given - 1] : T());
}

template <typename T>
void FillInts(const TensorProto& proto, Tensor& tensor) {
  FillFrom(proto.int_val(), tensor.flat<T>(), T(), [](int32_t v) { return static_cast<T>(v); });
}

template <typename T>
void FillQuantized(const TensorProto& proto, Tensor& tensor) {
  FillFrom(proto.int_val(), tensor.flat<T>(), T{},
           [](int32_t v) { return T{static_cast<decltype(T::value)>(v)}; });
}

void FillNarrowInts(const TensorProto& proto, Tensor& tensor) {
  FillFrom(proto.int_val(),
           absl::MakeSpan(reinterpret_cast<int8_t*>(tensor.mutable_raw()), tensor.size_bytes()),
           int8_t{0}, [&tensor](int32_t v) { return NarrowInt(tensor.dtype(), v); });
}

// Reads half and bfloat16, which the field holds as bits.
template <typename T>
void FillHalves(const TensorProto& proto, Tensor& tensor) {
  FillFrom(proto.half_val(), tensor.flat<T>(), T(0), [](int32_t v) {
    const auto bits = static_cast<uint16_t>(v);
    T half;
    static_assert(sizeof(half) == sizeof(bits));
    std::memcpy(static_cast<void*>(&half), &bits, sizeof(bits));
    return half;
  });
}

// Reads pairs of real and imaginary parts. An incomplete pair at the end is ignored.
template <typename T, typename Field>
void FillComplex(const Field& parts, Tensor& tensor) {
  absl::Span<std::complex<T>> out = tensor.flat<std::complex<T>>();
  const size_t given = std::min<size_t>(parts.size() / 2, out.size());
  for (size_t i = 0; i < given; ++i) {
    out[i] = {parts.Get(static_cast<int>(2 * i)), parts.Get(static_cast<int>(2 * i + 1))};
  }
  std::fill(out.begin() + given, out.end(), given > 0 ? out[given - 1] : std::complex<T>());
}

void FillFloat8(const TensorProto& proto, Tensor& tensor) {
  const std::string& values = proto.float8_val();
  const size_t given = std::min(values.size(), tensor.size_bytes());
  char* out = tensor.mutable_raw();
  std::memcpy(out, values.data(), given);
  std::memset(out + given, given > 0 ? out[given - 1] : 0, tensor.size_bytes() - given);
}

absl::StatusOr<ResourceHandle> HandleFromProto(const tensorflow::ResourceHandleProto& proto) {
  ResourceHandle handle;
  handle.device = proto.device();
  handle.container = proto.container();
  handle.name = proto.name();
  handle.type_name = proto.maybe_type_name();
  if (proto.dtypes_and_shapes_size() == 1) {
    handle.dtype = static_cast<DType>(proto.dtypes_and_shapes(0).dtype());
    ASSIGN_OR_RETURN(handle.shape, PartialShapeFromProto(proto.dtypes_and_shapes(0).shape()));
  }
  return handle;
}

// Subtracts the bytes that its tensors need from *bytes_left.
absl::StatusOr<Variant> VariantFromProto(const tensorflow::VariantTensorDataProto& proto,
                                         int64_t* bytes_left) {
  if (proto.type_name().empty()) return Variant();
  std::vector<Tensor> tensors;
  tensors.reserve(static_cast<size_t>(proto.tensors_size()));
  for (const TensorProto& part : proto.tensors()) {
    ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(part, *bytes_left));
    *bytes_left -= static_cast<int64_t>(tensor.total_bytes());
    tensors.push_back(std::move(tensor));
  }
  return Variant(
      std::make_shared<EncodedVariant>(proto.type_name(), proto.metadata(), std::move(tensors)));
}

absl::Status FillVariants(const TensorProto& proto, int64_t max_bytes, Tensor& tensor) {
  absl::Span<Variant> out = tensor.flat<Variant>();
  const size_t given = std::min<size_t>(proto.variant_val_size(), out.size());
  for (size_t i = 0; i < given; ++i) {
    ASSIGN_OR_RETURN(out[i], VariantFromProto(proto.variant_val(static_cast<int>(i)), &max_bytes));
  }
  if (given > 0) std::fill(out.begin() + given, out.end(), out[given - 1]);
  return absl::OkStatus();
}

absl::Status FillHandles(const TensorProto& proto, Tensor& tensor) {
  absl::Span<ResourceHandle> out = tensor.flat<ResourceHandle>();
  const size_t given = std::min<size_t>(proto.resource_handle_val_size(), out.size());
  for (size_t i = 0; i < given; ++i) {
    ASSIGN_OR_RETURN(out[i], HandleFromProto(proto.resource_handle_val(static_cast<int>(i))));
  }
  if (given > 0) std::fill(out.begin() + given, out.end(), out[given - 1]);
  return absl::OkStatus();
}

absl::Status FillFromFields(const TensorProto& proto, int64_t max_bytes, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      CopyFrom<float>(proto.float_val(), tensor);
      break;
    case DType::kDouble:
      CopyFrom<double>(proto.double_val(), tensor);
      break;
    case DType::kInt32:
      CopyFrom<int32_t>(proto.int_val(), tensor);
      break;
    case DType::kInt64:
      CopyFrom<int64_t>(proto.int64_val(), tensor);
      break;
    case DType::kUint32:
      CopyFrom<uint32_t>(proto.uint32_val(), tensor);
      break;
    case DType::kUint64:
      CopyFrom<uint64_t>(proto.uint64_val(), tensor);
      break;
    case DType::kBool:
      CopyFrom<bool>(proto.bool_val(), tensor);
      break;
    case DType::kInt16:
      FillInts<int16_t>(proto, tensor);
      break;
    case DType::kUint16:
      FillInts<uint16_t>(proto, tensor);
      break;
    case DType::kInt8:
      FillInts<int8_t>(proto, tensor);
      break;
    case DType::kUint8:
      FillInts<uint8_t>(proto, tensor);
      break;
    case DType::kInt4:
    case DType::kUint4:
    case DType::kInt2:
    case DType::kUint2:
      FillNarrowInts(proto, tensor);
      break;
    case DType::kQint8:
      FillQuantized<qint8>(proto, tensor);
      break;
    case DType::kQuint8:
      FillQuantized<quint8>(proto, tensor);
      break;
    case DType::kQint16:
      FillQuantized<qint16>(proto, tensor);
      break;
    case DType::kQuint16:
      FillQuantized<quint16>(proto, tensor);
      break;
    case DType::kQint32:
      FillQuantized<qint32>(proto, tensor);
      break;
    case DType::kHalf:
      FillHalves<Eigen::half>(proto, tensor);
      break;
    case DType::kBfloat16:
      FillHalves<Eigen::bfloat16>(proto, tensor);
      break;
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3B11FNUZ:
    case DType::kFloat8E5M2FNUZ:
      FillFloat8(proto, tensor);
      break;
    case DType::kComplex64:
      FillComplex<float>(proto.scomplex_val(), tensor);
      break;
    case DType::kComplex128:
      FillComplex<double>(proto.dcomplex_val(), tensor);
      break;
    case DType::kString:
      FillFrom(proto.string_val(), tensor.flat<std::string>(), std::string(),
               [](const std::string& s) -> const std::string& { return s; });
      break;
    case DType::kResource:
      return FillHandles(proto, tensor);
    case DType::kVariant:
      return FillVariants(proto, max_bytes, tensor);
    case DType::kInvalid:
      break;
  }
  return absl::OkStatus();
}

// Reads all lengths as varints, then the bytes of all strings.
absl::Status FillStringsFromContent(absl::string_view content, Tensor& tensor) {
  absl::Span<std::string> out = tensor.flat<std::string>();
  std::vector<uint64_t> lengths(out.size());
  for (uint64_t& length : lengths) {
    length = 0;
    for (int shift = 0;; shift += 7) {
      if (content.empty() || shift > 63) {
        return absl::InvalidArgumentError("tensor_content of strings ends within their lengths");
      }
      const auto byte = static_cast<uint8_t>(content.front());
      content.remove_prefix(1);
      length |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (lengths[i] > content.size()) {
      return absl::InvalidArgumentError(absl::StrCat("tensor_content of strings has ",
                                                     content.size(), " bytes left for element ", i,
                                                     ", which has ", lengths[i]));
    }
    out[i].assign(content.data(), lengths[i]);
    content.remove_prefix(lengths[i]);
  }
  if (!content.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor_content of strings has ", content.size(), " bytes too many"));
  }
  return absl::OkStatus();
}

// Requires what CheckLayout() accepts.
absl::Status FillFromContent(const std::string& content, Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return FillStringsFromContent(content, tensor);
  CopyElements(tensor.dtype(), content, tensor.mutable_raw());
  return absl::OkStatus();
}

// Returns the heap bytes of the copies of the last value, which stand for missing values; a
// negative number if they do not fit in 64 bits.
int64_t BytesOfRepeats(const TensorProto& proto, DType dtype, int64_t num_elements) {
  int64_t given = 0;
  int64_t bytes = 0;
  if (dtype == DType::kString && proto.string_val_size() > 0) {
    given = proto.string_val_size();
    bytes = static_cast<int64_t>(proto.string_val().rbegin()->size());
  } else if (dtype == DType::kResource && proto.resource_handle_val_size() > 0) {
    const tensorflow::ResourceHandleProto& last = *proto.resource_handle_val().rbegin();
    given = proto.resource_handle_val_size();
    bytes = static_cast<int64_t>(last.ByteSizeLong());
  }
  return given < num_elements ? MultiplyWithoutOverflow(num_elements - given, bytes) : 0;
}

// A tensor has a rank. TensorFlow takes no notice of a note that it is unknown.
absl::StatusOr<Shape> ShapeOfTensor(const tensorflow::TensorShapeProto& proto) {
  if (!proto.unknown_rank()) return ShapeFromProto(proto);
  tensorflow::TensorShapeProto known = proto;
  known.clear_unknown_rank();
  return ShapeFromProto(known);
}

// Checks the size of a tensor before memory is allocated, because a small message may have a huge
// shape.
struct Layout {
  DType dtype;
  Shape shape;
  int64_t bytes;
};
absl::StatusOr<Layout> CheckLayout(const TensorProto& proto, int64_t max_bytes) {
  const auto dtype = static_cast<DType>(proto.dtype());
  if (proto.dtype() < 0 || proto.dtype() > 255 || !IsKnown(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a TensorProto has no usable dtype: ", static_cast<int>(proto.dtype())));
  }
  ASSIGN_OR_RETURN(Shape shape, ShapeOfTensor(proto.tensor_shape()));
  const int64_t bytes =
      MultiplyWithoutOverflow(shape.num_elements(), static_cast<int64_t>(DTypeSize(dtype)));
  const int64_t repeats = BytesOfRepeats(proto, dtype, shape.num_elements());
  if (bytes < 0 || bytes > max_bytes || repeats < 0 || repeats > max_bytes - bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a TensorProto of type ", DTypeName(dtype), " and shape ", shape.ToString(),
                     " asks for more than the ", max_bytes, " bytes allowed"));
  }
  const std::string& content = proto.tensor_content();
  if (!content.empty() && shape.num_elements() > 0) {
    // Each string takes at least one byte, that of its length.
    const bool fits = IsTriviallyCopyable(dtype)
                          ? static_cast<uint64_t>(bytes) == content.size()
                          : dtype == DType::kString &&
                                static_cast<uint64_t>(shape.num_elements()) <= content.size();
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor_content has ", content.size(), " bytes, which do not make a ",
                       DTypeName(dtype), " tensor of shape ", shape.ToString()));
    }
  }
  return Layout{dtype, std::move(shape), bytes};
}

absl::StatusOr<Tensor> CopyOut(const TensorProto& proto, const Layout& layout, int64_t max_bytes,
                               Allocator* allocator) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(layout.dtype, layout.shape, allocator));
  if (tensor.num_elements() == 0) return tensor;
  if (!proto.tensor_content().empty()) {
    RETURN_IF_ERROR(FillFromContent(proto.tensor_content(), tensor));
  } else {
    RETURN_IF_ERROR(FillFromFields(proto, max_bytes - layout.bytes, tensor));
  }
  return tensor;
}

}  // namespace

absl::StatusOr<Tensor> TensorFromProto(const TensorProto& proto, int64_t max_bytes,
                                       Allocator* allocator) {
  ASSIGN_OR_RETURN(const Layout layout, CheckLayout(proto, max_bytes));
  return CopyOut(proto, layout, max_bytes, allocator);
}

absl::StatusOr<Tensor> TensorFromProto(TensorProto&& proto, int64_t max_bytes) {
  // A copy of fewer bytes costs less than two small allocations.
  constexpr size_t kMinContentToKeep = 4096;
  ASSIGN_OR_RETURN(const Layout layout, CheckLayout(proto, max_bytes));
  if (layout.bytes > 0 && IsTriviallyCopyable(layout.dtype) &&
      proto.tensor_content().size() >= kMinContentToKeep &&
      AreElements(layout.dtype, proto.tensor_content())) {
    std::shared_ptr<std::string> content(proto.release_tensor_content());
    char* data = content->data();
    const size_t size = content->size();
    if (reinterpret_cast<uintptr_t>(data) % std::min<size_t>(DTypeSize(layout.dtype), 16) == 0) {
      return Tensor::View(layout.dtype, layout.shape,
                          WrapBuffer(std::move(content), data, size, /*writable=*/true));
    }
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(layout.dtype, layout.shape));
    std::memcpy(tensor.mutable_raw(), data, size);
    return tensor;
  }
  if (layout.dtype == DType::kString && proto.tensor_content().empty() &&
      proto.string_val_size() == layout.shape.num_elements()) {
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(layout.dtype, layout.shape));
    std::move(proto.mutable_string_val()->begin(), proto.mutable_string_val()->end(),
              tensor.flat<std::string>().begin());
    return tensor;
  }
  return CopyOut(proto, layout, max_bytes, HeapAllocator());
}

absl::StatusOr<PartialShape> PartialShapeFromProto(const tensorflow::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return PartialShape();
  if (proto.dim_size() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat("a shape of ", proto.dim_size(),
                                                   " dimensions is too large: at most ", kMaxRank,
                                                   " are supported"));
  }
  absl::InlinedVector<int64_t, 6> dims;
  int64_t count = 1;
  for (const auto& dim : proto.dim()) {
    if (dim.size() < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a shape has dimension ", dim.size(), ": the least is -1, for unknown"));
    }
    dims.push_back(dim.size());
    if (dim.size() >= 0) count = MultiplyWithoutOverflow(count, dim.size());
    if (count < 0) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", PartialShape(dims).ToString(),
                                                     " has more elements than fit in 64 bits"));
    }
  }
  return PartialShape(dims);
}

absl::StatusOr<Shape> ShapeFromProto(const tensorflow::TensorShapeProto& proto) {
  ASSIGN_OR_RETURN(const PartialShape shape, PartialShapeFromProto(proto));
  if (!shape.IsFullyDefined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", shape.ToString(), " is not fully defined"));
  }
  return shape.AsShape();
}

}  // namespace tessera
