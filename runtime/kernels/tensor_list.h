// The value behind TensorList ops: what loops and map functions collect their results in.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/tensor/tensor_holder.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// A list of tensors of one dtype, some of which may have no value yet. All fit `element_shape`.
// Held by a Variant: whoever changes a list that others hold copies it first (the tensors stay
// shared).
//
// The elements of a list on a device lie in the memory of the device, or in that of the host if
// they were put in there; OnDevice() (element_memory.h) tells them apart. On the host all elements
// lie in host memory: a list that leaves its device is copied by a `_CopyToHost` node.
class TensorList : public VariantValue, public TensorHolder {
 public:
  TensorList(DType dtype, PartialShape shape)
      : element_dtype(dtype), element_shape(std::move(shape)) {}

  std::string TypeName() const override { return "tensorflow::TensorList"; }
  std::string DebugString() const override;
  std::shared_ptr<const EncodedVariant> Encode() const override;
  absl::StatusOr<std::shared_ptr<VariantValue>> Moved(Move move) const override;

  int64_t size() const { return static_cast<int64_t>(elements.size()); }
  // Grows with elements without a value, or shrinks.
  // Errors: INVALID_ARGUMENT for a negative size; RESOURCE_EXHAUSTED for an absurd one.
  absl::Status Resize(int64_t size);
  // Errors: INVALID_ARGUMENT unless the tensor has the list's dtype and fits its shape.
  absl::Status CheckFits(const Tensor& tensor) const;
  // Errors: INVALID_ARGUMENT unless 0 <= index < size().
  absl::Status CheckIndex(int64_t index) const;
  // Returns what is known of the elements' shape: from the list, `hint`, and the elements. Errors:
  // INVALID_ARGUMENT if they clash.
  absl::StatusOr<PartialShape> InferShape(const PartialShape& hint) const;

  DType element_dtype;
  PartialShape element_shape;
  int64_t max_elements = -1;  // for PushBack; -1: no limit
  std::vector<Tensor> elements;
};

// The list in a scalar variant tensor, decoded if it came in a proto.
// Errors: INVALID_ARGUMENT if there is none.
absl::StatusOr<std::shared_ptr<const TensorList>> GetTensorList(const Variant& variant);
// Returns the list at input i. Errors: as above, and INVALID_ARGUMENT unless the input is a scalar.
absl::StatusOr<std::shared_ptr<const TensorList>> TensorListInput(const KernelContext& ctx, int i);

// Input i as a list to change: the list itself if nobody else holds it, else a copy. Put it back
// with SetTensorListOutput(). The input is unspecified afterwards.
absl::StatusOr<std::shared_ptr<TensorList>> TakeTensorListInput(KernelContext& ctx, int i);
// The list in a variant in the same way. Errors: those of GetTensorList().
absl::StatusOr<std::shared_ptr<TensorList>> TakeTensorList(Variant variant);
void SetTensorListOutput(KernelContext& ctx, int i, std::shared_ptr<TensorList> list);

// A list of zeros of the same shapes as one of numbers, in memory of the kernel's device. Elements
// have no value, which stands for zeros, where the list knows their shape.
absl::StatusOr<Variant> ZerosLikeTensorList(KernelContext& ctx, const TensorList& list);
// Adds a list to another one element by element, by `add`, which gets two tensors of one shape, the
// first from *sum. An element without a value counts as zeros.
// Errors: INVALID_ARGUMENT for different lengths, dtypes or shapes; those of `add`. *sum is
// unspecified then.
absl::Status AddToTensorList(
    const TensorList& addend,
    absl::FunctionRef<absl::StatusOr<Tensor>(Tensor to, const Tensor& from)> add, TensorList* sum);

}  // namespace tessera
