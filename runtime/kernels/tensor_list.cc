#include "runtime/kernels/tensor_list.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/element_memory.h"
#include "runtime/kernels/tensor_list_encoding.h"

namespace tessera {
namespace {

// More than any loop collects; what asks for more is a mistake or an attack.
constexpr int64_t kMaxListSize = int64_t{1} << 25;

}  // namespace

std::string TensorList::DebugString() const {
  return absl::StrCat("list of ", size(), " tensors, ", DTypeName(element_dtype),
                      element_shape.ToString());
}

std::shared_ptr<const EncodedVariant> TensorList::Encode() const { return EncodeTensorList(*this); }

absl::StatusOr<std::shared_ptr<VariantValue>> TensorList::Moved(Move move) const {
  auto moved = std::make_shared<TensorList>(*this);
  for (Tensor& element : moved->elements) {
    if (!element.has_value()) continue;
    ASSIGN_OR_RETURN(element, move(element));
  }
  return moved;
}

absl::Status TensorList::Resize(int64_t size) {
  if (size < 0) {
    return absl::InvalidArgumentError(absl::StrCat("a list cannot have ", size, " elements"));
  }
  if (size > kMaxListSize) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a list of ", size, " elements is more than the limit of ", kMaxListSize));
  }
  elements.resize(size);
  return absl::OkStatus();
}

absl::Status TensorList::CheckFits(const Tensor& tensor) const {
  if (tensor.dtype() == element_dtype && element_shape.IsCompatibleWith(tensor.shape())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("a ", DTypeName(tensor.dtype()),
                                                 tensor.shape().ToString(), " does not fit into a ",
                                                 DebugString()));
}

absl::Status TensorList::CheckIndex(int64_t index) const {
  if (index >= 0 && index < size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("index ", index, " is out of range: the list has ", size(), " elements"));
}

absl::StatusOr<PartialShape> TensorList::InferShape(const PartialShape& hint) const {
  ASSIGN_OR_RETURN(PartialShape shape, element_shape.MergeWith(hint));
  if (shape.IsFullyDefined()) return shape;
  for (const Tensor& element : elements) {
    if (!element.has_value()) continue;
    ASSIGN_OR_RETURN(shape, shape.MergeWith(PartialShape(element.shape())));
    if (shape.IsFullyDefined()) break;
  }
  return shape;
}

absl::StatusOr<std::shared_ptr<const TensorList>> GetTensorList(const Variant& variant) {
  if (std::shared_ptr<const TensorList> list = variant.share<TensorList>()) return list;
  if (const EncodedVariant* encoded = variant.get<EncodedVariant>()) {
    return DecodeTensorList(*encoded);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the handle is not a tensor list but ",
                   variant.has_value() ? variant.value()->DebugString() : "an empty variant"));
}

absl::StatusOr<std::shared_ptr<const TensorList>> TensorListInput(const KernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (input.dtype() != DType::kVariant || input.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a tensor list, is ",
                                                   DTypeName(input.dtype()), " of shape ",
                                                   input.shape().ToString()));
  }
  return GetTensorList(input.scalar<Variant>());
}

absl::StatusOr<std::shared_ptr<TensorList>> TakeTensorListInput(KernelContext& ctx, int i) {
  RETURN_IF_ERROR(TensorListInput(ctx, i).status());
  Tensor input = ctx.TakeInput(i);
  // The variant's own reference is given up, so that ours is the only one if nobody else has any.
  if (input.CanWriteInPlace()) return TakeTensorList(std::move(input.scalar<Variant>()));
  return TakeTensorList(input.scalar<Variant>());
}

absl::StatusOr<std::shared_ptr<TensorList>> TakeTensorList(Variant variant) {
  ASSIGN_OR_RETURN(std::shared_ptr<const TensorList> list, GetTensorList(variant));
  variant = Variant();
  if (list.use_count() == 1) return std::const_pointer_cast<TensorList>(std::move(list));
  return std::make_shared<TensorList>(*list);
}

void SetTensorListOutput(KernelContext& ctx, int i, std::shared_ptr<TensorList> list) {
  ctx.set_output(i, Tensor::Scalar<Variant>(Variant(std::move(list))));
}

absl::StatusOr<Variant> ZerosLikeTensorList(KernelContext& ctx, const TensorList& list) {
  auto zeros = std::make_shared<TensorList>(list);
  zeros->max_elements = -1;  // as in TensorFlow
  for (Tensor& element : zeros->elements) {
    if (!element.has_value()) continue;
    if (list.element_shape.IsFullyDefined()) {
      element = Tensor();
      continue;
    }
    ASSIGN_OR_RETURN(element, ZerosOf(ctx, element.dtype(), element.shape()));
  }
  return Variant(std::move(zeros));
}

absl::Status AddToTensorList(
    const TensorList& addend,
    absl::FunctionRef<absl::StatusOr<Tensor>(Tensor to, const Tensor& from)> add, TensorList* sum) {
  if (sum->size() != addend.size() || sum->element_dtype != addend.element_dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add a ", sum->DebugString(), " and a ", addend.DebugString()));
  }
  ASSIGN_OR_RETURN(sum->element_shape, sum->element_shape.MergeWith(addend.element_shape));
  for (size_t i = 0; i < sum->elements.size(); ++i) {
    Tensor& to = sum->elements[i];
    const Tensor& from = addend.elements[i];
    if (!from.has_value()) continue;
    if (!to.has_value()) {
      to = from;
      continue;
    }
    if (!(to.shape() == from.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot add elements ", i, " of two lists: their shapes are ",
                       to.shape().ToString(), " and ", from.shape().ToString()));
    }
    ASSIGN_OR_RETURN(to, add(std::exchange(to, Tensor()), from));
  }
  return absl::OkStatus();
}

}  // namespace tessera
