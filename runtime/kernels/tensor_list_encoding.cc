#include "runtime/kernels/tensor_list_encoding.h"

#include <optional>

#include "runtime/base/status.h"
#include "runtime/kernels/tensor_list.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace tessera {
namespace {

void PutVarint(uint64_t value, std::string* to) {
  for (; value >= 0x80; value >>= 7) to->push_back(static_cast<char>(value | 0x80));
  to->push_back(static_cast<char>(value));
}

std::optional<uint64_t> GetVarint(absl::string_view* from) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !from->empty(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(from->front());
    from->remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const EncodedVariant> EncodeTensorList(const TensorList& list) {
  std::vector<Tensor> tensors;
  std::string empty, metadata;
  int64_t num_empty = 0;
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list.elements[i].has_value()) {
      tensors.push_back(list.elements[i]);
    } else {
      ++num_empty;
      PutVarint(i, &empty);
    }
  }
  PutVarint(num_empty, &metadata);
  metadata += empty;
  PutVarint(static_cast<uint64_t>(list.element_dtype), &metadata);
  PutVarint(static_cast<uint64_t>(list.max_elements), &metadata);
  tensorflow::TensorShapeProto shape;
  ShapeToProto(list.element_shape, &shape);
  shape.AppendToString(&metadata);
  return std::make_shared<EncodedVariant>(list.TypeName(), std::move(metadata), std::move(tensors));
}

absl::StatusOr<std::shared_ptr<const TensorList>> DecodeTensorList(const EncodedVariant& encoded) {
  auto damaged = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("not a tensor list, or a damaged one: ", encoded.DebugString()));
  };
  if (encoded.TypeName() != "tensorflow::TensorList") return damaged();
  absl::string_view bytes = encoded.metadata();
  const std::optional<uint64_t> num_empty = GetVarint(&bytes);
  // Each index takes a byte at least, which bounds what a hostile count can make us allocate.
  if (!num_empty || *num_empty > bytes.size()) return damaged();
  std::vector<uint64_t> empty;
  for (uint64_t i = 0; i < *num_empty; ++i) {
    const std::optional<uint64_t> index = GetVarint(&bytes);
    if (!index) return damaged();
    empty.push_back(*index);
  }
  const std::optional<uint64_t> dtype = GetVarint(&bytes);
  const std::optional<uint64_t> max_elements = GetVarint(&bytes);
  tensorflow::TensorShapeProto shape_proto;
  if (!dtype || *dtype > 255 || !IsKnown(static_cast<DType>(*dtype)) || !max_elements ||
      !shape_proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return damaged();
  }
  ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(shape_proto));
  auto list = std::make_shared<TensorList>(static_cast<DType>(*dtype), std::move(shape));
  list->max_elements = static_cast<int64_t>(*max_elements);
  size_t next_empty = 0, next_tensor = 0;
  const size_t size = empty.size() + encoded.tensors().size();
  for (size_t i = 0; i < size; ++i) {
    if (next_empty < empty.size() && empty[next_empty] == i) {
      list->elements.emplace_back();
      ++next_empty;
    } else if (next_tensor < encoded.tensors().size()) {
      const Tensor& tensor = encoded.tensors()[next_tensor++];
      RETURN_IF_ERROR(list->CheckFits(tensor));
      list->elements.push_back(tensor);
    } else {
      return damaged();
    }
  }
  return std::shared_ptr<const TensorList>(std::move(list));
}

}  // namespace tessera
