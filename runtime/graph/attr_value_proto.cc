#include "runtime/graph/attr_value_proto.h"

#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace tessera {
namespace {

absl::StatusOr<AttrValue> FromProto(const tensorflow::AttrValue& proto, int depth);

absl::StatusOr<AttrMap> MapFromProto(const AttrMapProto& proto, int depth) {
  AttrMap attrs;
  for (const auto& [name, value] : proto) {
    auto converted = FromProto(value, depth);
    if (!converted.ok()) {
      return Annotate(converted.status(), absl::StrCat("attribute '", name, "': "));
    }
    attrs.emplace(name, *std::move(converted));
  }
  return attrs;
}

absl::StatusOr<DType> DTypeFromNumber(int number) {
  const DType plain = static_cast<DType>(number > kRefOffset ? number - kRefOffset : number);
  if (number == 0 || (number > 0 && number < 2 * kRefOffset && IsKnown(plain))) {
    return static_cast<DType>(number);
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no dtype number ", number));
}

absl::StatusOr<FunctionRef> FunctionFromProto(const tensorflow::NameAttrList& proto, int depth) {
  if (depth >= kMaxFunctionNesting) {
    return absl::InvalidArgumentError(
        absl::StrCat("functions are nested over ", kMaxFunctionNesting, " deep"));
  }
  ASSIGN_OR_RETURN(AttrMap attrs, MapFromProto(proto.attr(), depth + 1));
  return FunctionRef{proto.name(), std::move(attrs)};
}

template <typename T, typename Protos, typename Convert>
absl::StatusOr<AttrValue> ConvertAll(const Protos& protos, Convert convert) {
  std::vector<T> values;
  values.reserve(protos.size());
  for (const auto& proto : protos) {
    ASSIGN_OR_RETURN(T value, convert(proto));
    values.push_back(std::move(value));
  }
  return AttrValue(std::move(values));
}

absl::StatusOr<AttrValue> ListFromProto(const tensorflow::AttrValue::ListValue& list, int depth) {
  if (list.i_size()) return AttrValue(std::vector<int64_t>(list.i().begin(), list.i().end()));
  if (list.f_size()) return AttrValue(std::vector<float>(list.f().begin(), list.f().end()));
  if (list.b_size()) return AttrValue(std::vector<bool>(list.b().begin(), list.b().end()));
  if (list.s_size()) return AttrValue(std::vector<std::string>(list.s().begin(), list.s().end()));
  if (list.type_size()) return ConvertAll<DType>(list.type(), DTypeFromNumber);
  if (list.shape_size()) return ConvertAll<PartialShape>(list.shape(), PartialShapeFromProto);
  if (list.tensor_size()) {
    return ConvertAll<Tensor>(list.tensor(), [](const tensorflow::TensorProto& tensor) {
      return TensorFromProto(tensor);
    });
  }
  if (list.func_size()) {
    return ConvertAll<FunctionRef>(list.func(), [&](const tensorflow::NameAttrList& function) {
      return FunctionFromProto(function, depth);
    });
  }
  return AttrValue(EmptyList{});
}

absl::StatusOr<AttrValue> FromProto(const tensorflow::AttrValue& proto, int depth) {
  using Proto = tensorflow::AttrValue;
  switch (proto.value_case()) {
    case Proto::kS:
      return AttrValue(proto.s());
    case Proto::kI:
      return AttrValue(int64_t{proto.i()});
    case Proto::kF:
      return AttrValue(proto.f());
    case Proto::kB:
      return AttrValue(proto.b());
    case Proto::kType: {
      ASSIGN_OR_RETURN(DType type, DTypeFromNumber(proto.type()));
      return AttrValue(type);
    }
    case Proto::kShape: {
      ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(proto.shape()));
      return AttrValue(std::move(shape));
    }
    case Proto::kTensor: {
      ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto.tensor()));
      return AttrValue(std::move(tensor));
    }
    case Proto::kFunc: {
      ASSIGN_OR_RETURN(FunctionRef function, FunctionFromProto(proto.func(), depth));
      return AttrValue(std::move(function));
    }
    case Proto::kPlaceholder:
      return AttrValue(AttrPlaceholder{proto.placeholder()});
    case Proto::kList:
      return ListFromProto(proto.list(), depth);
    case Proto::VALUE_NOT_SET:
      return AttrValue();
  }
  return AttrValue();
}

void FunctionToProto(const FunctionRef& function, tensorflow::NameAttrList* proto) {
  proto->set_name(function.name);
  AttrMapToProto(function.attrs, proto->mutable_attr());
}

// Whether all elements of a large tensor have the same bits.
bool IsLargeRepetition(const Tensor& tensor) {
  constexpr size_t kMinBytes = size_t{4} << 20;
  if (!IsTriviallyCopyable(tensor.dtype()) || tensor.size_bytes() < kMinBytes) return false;
  const size_t step = DTypeSize(tensor.dtype());
  return std::memcmp(tensor.raw(), tensor.raw() + step, tensor.size_bytes() - step) == 0;
}

void TensorToAttr(const Tensor& tensor, tensorflow::TensorProto* proto) {
  const bool is_repetition = IsLargeRepetition(tensor);
  absl::Status status =
      is_repetition ? TensorToProto(tensor.SubSlice(0), TensorProtoForm::kTypedFields, proto)
                    : TensorToProto(tensor, TensorProtoForm::kTensorContent, proto);
  if (status.ok() && is_repetition) {
    ShapeToProto(PartialShape(tensor.shape()), proto->mutable_tensor_shape());
  }
  if (status.ok()) return;
  LOG(WARNING) << "a constant was exported without its value: " << status.ToString();
  proto->Clear();
  proto->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  ShapeToProto(PartialShape(tensor.shape()), proto->mutable_tensor_shape());
}

// Writes one alternative of AttrValue::Storage.
struct ToProto {
  tensorflow::AttrValue* proto;

  void operator()(std::monostate) const {}
  void operator()(int64_t v) const { proto->set_i(v); }
  void operator()(float v) const { proto->set_f(v); }
  void operator()(bool v) const { proto->set_b(v); }
  void operator()(const std::string& v) const { proto->set_s(v); }
  void operator()(DType v) const { proto->set_type(static_cast<tensorflow::DataType>(v)); }
  void operator()(const PartialShape& v) const { ShapeToProto(v, proto->mutable_shape()); }
  void operator()(const Tensor& v) const { TensorToAttr(v, proto->mutable_tensor()); }
  void operator()(const FunctionRef& v) const { FunctionToProto(v, proto->mutable_func()); }
  void operator()(const AttrPlaceholder& v) const { proto->set_placeholder(v.name); }
  void operator()(EmptyList) const { proto->mutable_list(); }
  void operator()(const std::vector<int64_t>& v) const {
    *proto->mutable_list()->mutable_i() = {v.begin(), v.end()};
  }
  void operator()(const std::vector<float>& v) const {
    *proto->mutable_list()->mutable_f() = {v.begin(), v.end()};
  }
  void operator()(const std::vector<bool>& v) const {
    *proto->mutable_list()->mutable_b() = {v.begin(), v.end()};
  }
  void operator()(const std::vector<std::string>& v) const {
    *proto->mutable_list()->mutable_s() = {v.begin(), v.end()};
  }
  void operator()(const std::vector<DType>& v) const {
    proto->mutable_list();
    for (DType type : v) proto->mutable_list()->add_type(static_cast<tensorflow::DataType>(type));
  }
  void operator()(const std::vector<PartialShape>& v) const {
    proto->mutable_list();
    for (const PartialShape& shape : v) ShapeToProto(shape, proto->mutable_list()->add_shape());
  }
  void operator()(const std::vector<Tensor>& v) const {
    proto->mutable_list();
    for (const Tensor& tensor : v) TensorToAttr(tensor, proto->mutable_list()->add_tensor());
  }
  void operator()(const std::vector<FunctionRef>& v) const {
    proto->mutable_list();
    for (const FunctionRef& f : v) FunctionToProto(f, proto->mutable_list()->add_func());
  }
};

}  // namespace

absl::StatusOr<AttrValue> AttrValueFromProto(const tensorflow::AttrValue& proto) {
  return FromProto(proto, 0);
}

void AttrValueToProto(const AttrValue& value, tensorflow::AttrValue* proto) {
  proto->Clear();
  std::visit(ToProto{proto}, value.storage());
}

absl::StatusOr<AttrMap> AttrMapFromProto(const AttrMapProto& proto) {
  return MapFromProto(proto, 0);
}

void AttrMapToProto(const AttrMap& attrs, AttrMapProto* proto) {
  proto->clear();
  for (const auto& [name, value] : attrs) AttrValueToProto(value, &(*proto)[name]);
}

}  // namespace tessera
