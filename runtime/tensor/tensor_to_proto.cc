#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/tensor/encoded_variant.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/resource_handle.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace tessera {
namespace {

using tensorflow::TensorProto;

template <typename T, typename Field>
void CopyTo(const Tensor& tensor, Field* field) {
  const absl::Span<const T> values = tensor.flat<T>();
  field->Resize(static_cast<int>(values.size()), {});
  std::copy(values.begin(), values.end(), field->mutable_data());
}

template <typename T>
void AddInts(const Tensor& tensor, TensorProto* proto) {
  proto->mutable_int_val()->Reserve(static_cast<int>(tensor.num_elements()));
  for (const T v : tensor.flat<T>()) proto->mutable_int_val()->AddAlreadyReserved(v);
}

template <typename T>
void AddQuantized(const Tensor& tensor, TensorProto* proto) {
  proto->mutable_int_val()->Reserve(static_cast<int>(tensor.num_elements()));
  for (const T v : tensor.flat<T>()) proto->mutable_int_val()->AddAlreadyReserved(v.value);
}

template <typename Byte>
void AddBytes(const Tensor& tensor, TensorProto* proto) {
  proto->mutable_int_val()->Reserve(static_cast<int>(tensor.num_elements()));
  for (size_t i = 0; i < tensor.size_bytes(); ++i) {
    proto->mutable_int_val()->AddAlreadyReserved(static_cast<Byte>(tensor.raw()[i]));
  }
}

void AddHalves(const Tensor& tensor, TensorProto* proto) {
  proto->mutable_half_val()->Reserve(static_cast<int>(tensor.num_elements()));
  for (size_t at = 0; at < tensor.size_bytes(); at += sizeof(uint16_t)) {
    uint16_t bits;
    std::memcpy(&bits, tensor.raw() + at, sizeof(bits));
    proto->mutable_half_val()->AddAlreadyReserved(bits);
  }
}

template <typename T, typename Field>
void AddComplex(const Tensor& tensor, Field* field) {
  field->Reserve(static_cast<int>(2 * tensor.num_elements()));
  for (const std::complex<T>& v : tensor.flat<std::complex<T>>()) {
    field->AddAlreadyReserved(v.real());
    field->AddAlreadyReserved(v.imag());
  }
}

void AddStrings(const Tensor& tensor, TensorProto* proto) {
  proto->mutable_string_val()->Reserve(static_cast<int>(tensor.num_elements()));
  for (const std::string& s : tensor.flat<std::string>()) proto->add_string_val(s);
}

void AddHandles(const Tensor& tensor, TensorProto* proto) {
  for (const ResourceHandle& handle : tensor.flat<ResourceHandle>()) {
    tensorflow::ResourceHandleProto* out = proto->add_resource_handle_val();
    out->set_device(handle.device);
    out->set_container(handle.container);
    out->set_name(handle.name);
    out->set_maybe_type_name(handle.type_name);
  }
}

absl::Status AddVariants(const Tensor& tensor, TensorProtoForm form, TensorProto* proto) {
  for (const Variant& variant : tensor.flat<Variant>()) {
    tensorflow::VariantTensorDataProto* out = proto->add_variant_val();
    if (!variant.has_value()) continue;
    const std::shared_ptr<const EncodedVariant> encoded = variant.value()->Encode();
    if (!encoded) {
      return absl::UnimplementedError(absl::StrCat("a variant of type ",
                                                   variant.value()->TypeName(),
                                                   " cannot be written to a TensorProto"));
    }
    out->set_type_name(encoded->TypeName());
    out->set_metadata(encoded->metadata());
    for (const Tensor& part : encoded->tensors()) {
      RETURN_IF_ERROR(TensorToProto(part, form, out->add_tensors()));
    }
  }
  return absl::OkStatus();
}

absl::Status AddToFields(const Tensor& tensor, TensorProtoForm form, TensorProto* proto) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      CopyTo<float>(tensor, proto->mutable_float_val());
      break;
    case DType::kDouble:
      CopyTo<double>(tensor, proto->mutable_double_val());
      break;
    case DType::kInt32:
      CopyTo<int32_t>(tensor, proto->mutable_int_val());
      break;
    case DType::kInt64:
      CopyTo<int64_t>(tensor, proto->mutable_int64_val());
      break;
    case DType::kUint32:
      CopyTo<uint32_t>(tensor, proto->mutable_uint32_val());
      break;
    case DType::kUint64:
      CopyTo<uint64_t>(tensor, proto->mutable_uint64_val());
      break;
    case DType::kBool:
      CopyTo<bool>(tensor, proto->mutable_bool_val());
      break;
    case DType::kInt16:
      AddInts<int16_t>(tensor, proto);
      break;
    case DType::kUint16:
      AddInts<uint16_t>(tensor, proto);
      break;
    case DType::kInt8:
    case DType::kQint8:
    case DType::kInt4:
    case DType::kInt2:
      AddBytes<int8_t>(tensor, proto);
      break;
    case DType::kUint8:
    case DType::kQuint8:
    case DType::kUint4:
    case DType::kUint2:
      AddBytes<uint8_t>(tensor, proto);
      break;
    case DType::kQint16:
      AddQuantized<qint16>(tensor, proto);
      break;
    case DType::kQuint16:
      AddQuantized<quint16>(tensor, proto);
      break;
    case DType::kQint32:
      AddQuantized<qint32>(tensor, proto);
      break;
    case DType::kHalf:
    case DType::kBfloat16:
      AddHalves(tensor, proto);
      break;
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3B11FNUZ:
    case DType::kFloat8E5M2FNUZ:
      proto->mutable_float8_val()->assign(tensor.raw(), tensor.size_bytes());
      break;
    case DType::kComplex64:
      AddComplex<float>(tensor, proto->mutable_scomplex_val());
      break;
    case DType::kComplex128:
      AddComplex<double>(tensor, proto->mutable_dcomplex_val());
      break;
    case DType::kString:
      AddStrings(tensor, proto);
      break;
    case DType::kResource:
      AddHandles(tensor, proto);
      break;
    case DType::kVariant:
      return AddVariants(tensor, form, proto);
    case DType::kInvalid:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TensorToProto(const Tensor& tensor, TensorProtoForm form, TensorProto* proto) {
  proto->Clear();
  proto->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  if (!tensor.has_value()) return absl::OkStatus();
  ShapeToProto(PartialShape(tensor.shape()), proto->mutable_tensor_shape());
  if (form == TensorProtoForm::kTensorContent && IsTriviallyCopyable(tensor.dtype())) {
    proto->mutable_tensor_content()->assign(tensor.raw(), tensor.size_bytes());
    return absl::OkStatus();
  }
  if (tensor.num_elements() > std::numeric_limits<int>::max() / 2) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor of shape ", tensor.shape().ToString(),
                     " has more elements than a TensorProto can list"));
  }
  return AddToFields(tensor, form, proto);
}

void ShapeToProto(const PartialShape& shape, tensorflow::TensorShapeProto* proto) {
  proto->Clear();
  if (!shape.known_rank()) {
    proto->set_unknown_rank(true);
    return;
  }
  for (const int64_t dim : shape.dims()) proto->add_dim()->set_size(dim);
}

}  // namespace tessera
