// Kernels of TensorList ops between lists and whole tensors: stack, gather, concat and their
// inverses.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/list_shape.h"
#include "runtime/kernels/element_memory.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/tensor_list.h"

namespace tessera {
namespace {

// Rows [begin, end) of `tensor`, under the shape of one row if `single`, sharing the memory where
// they stay aligned.
absl::StatusOr<Tensor> TakeRows(KernelContext& ctx, const Tensor& tensor, int64_t begin,
                                int64_t end, bool single) {
  Tensor rows = single ? tensor.SubSlice(begin) : tensor.Slice(begin, end);
  if (rows.IsAligned() || !IsTriviallyCopyable(rows.dtype())) return rows;
  return ctx.CopyOf(rows);
}

// The shape of the elements at `indices`, as far as these, the list and `hint` tell it.
// Errors: INVALID_ARGUMENT if it is not known in full, or they contradict each other.
absl::StatusOr<Shape> ShapeToStack(const TensorList& list, absl::Span<const int64_t> indices,
                                   const PartialShape& hint) {
  ASSIGN_OR_RETURN(PartialShape shape, hint.MergeWith(list.element_shape));
  for (size_t i = 0; i < indices.size() && !shape.IsFullyDefined(); ++i) {
    RETURN_IF_ERROR(list.CheckIndex(indices[i]));
    const Tensor& element = list.elements[indices[i]];
    if (!element.has_value()) continue;
    ASSIGN_OR_RETURN(shape, shape.MergeWith(PartialShape(element.shape())));
  }
  if (shape.IsFullyDefined()) return shape.AsShape();
  return absl::InvalidArgumentError(
      absl::StrCat("the elements' shape is only known as ", shape.ToString(),
                   ", and none of those to stack has a value: set the list's element_shape"));
}

// Writes the elements at `indices`, one after the other, as a tensor of one more dimension; zeros
// for those without a value.
absl::Status SetStacked(KernelContext& ctx, const TensorList& list,
                        absl::Span<const int64_t> indices, const PartialShape& hint) {
  ASSIGN_OR_RETURN(const Shape element_shape, ShapeToStack(list, indices, hint));
  IndexVector dims(element_shape.dims().begin(), element_shape.dims().end());
  dims.insert(dims.begin(), static_cast<int64_t>(indices.size()));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  for (int64_t index : indices) {
    RETURN_IF_ERROR(list.CheckIndex(index));
    const Tensor& element = list.elements[index];
    if (element.has_value() && !(element.shape() == element_shape)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "element ", index, " has shape ", element.shape().ToString(),
          ", the elements must have shape ", element_shape.ToString(), " to be stacked"));
    }
  }
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
  const auto copy_rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Tensor& element = list.elements[indices[i]];
      if (element.has_value()) {
        CopyToRows(ctx, element, i, output);
      } else {
        ZeroRows(ctx, i, 1, output);
      }
    }
  };
  const int64_t count = static_cast<int64_t>(indices.size());
  if (ctx.stream() != nullptr) {
    copy_rows(0, count);  // enqueued, in order
    return absl::OkStatus();
  }
  const double bytes = static_cast<double>(element_shape.num_elements()) *
                       static_cast<double>(DTypeSize(list.element_dtype));
  ctx.ParallelFor(count, 10 + 0.2 * bytes, copy_rows);
  return absl::OkStatus();
}

// All elements (TensorListStack: input 1 is their shape) or those at given indices
// (TensorListGather: inputs 1 and 2) as one tensor.
class ListStackKernel : public OpKernel {
 public:
  explicit ListStackKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")),
        gather_(build.op().name == "TensorListGather"),
        count_(gather_ ? -1 : build.attr<int64_t>("num_elements")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto list, TensorListInput(ctx, 0));
    RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    ASSIGN_OR_RETURN(const PartialShape hint, ReadElementShape(ctx.input(gather_ ? 2 : 1)));
    IndexVector indices;
    if (gather_) {
      ASSIGN_OR_RETURN(indices, ReadIndexVector(ctx.input(1), "indices"));
    } else {
      for (int64_t i = 0; i < list->size(); ++i) indices.push_back(i);
    }
    if (count_ != -1 && list->size() != count_) {
      return absl::InvalidArgumentError(
          absl::StrCat("the list has ", list->size(), " elements, the op expects ", count_));
    }
    return SetStacked(ctx, *list, indices, hint);
  }

 private:
  const DType dtype_;
  const bool gather_;
  const int64_t count_;
};
REGISTER_KERNEL("TensorListStack", kDevicesOfElements, ListStackKernel).HostMemory("element_shape");
REGISTER_KERNEL("TensorListGather", kDevicesOfElements, ListStackKernel)
    .HostMemory("indices")
    .HostMemory("element_shape");

// Elements, which differ at most in their first dimension, one after the other. Outputs: the joined
// tensor, and the first dimension of each element.
class ListConcatKernel : public OpKernel {
 public:
  explicit ListConcatKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")), v2_(build.op().name == "TensorListConcatV2") {
    if (!v2_) shape_ = build.attr<PartialShape>("element_shape");
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto list, TensorListInput(ctx, 0));
    RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    PartialShape shape = shape_;
    IndexVector leading;
    if (v2_) {
      ASSIGN_OR_RETURN(shape, ReadElementShape(ctx.input(1)));
      ASSIGN_OR_RETURN(leading, ReadIndexVector(ctx.input(2), "leading_dims"));
    }
    ASSIGN_OR_RETURN(shape, shape.MergeWith(list->element_shape));
    if (shape.known_rank() && shape.rank() < 1) {
      return absl::InvalidArgumentError("scalars cannot be concatenated; use TensorListStack");
    }
    PartialShape row;  // an element's shape without its first dimension
    if (shape.known_rank()) row = PartialShape(shape.dims().subspan(1));
    ASSIGN_OR_RETURN(const int64_t common_length, CommonLength(*list, shape));
    ASSIGN_OR_RETURN(Tensor* const lengths, ctx.AllocateOutput(1, Shape{list->size()}));
    int64_t total = 0;
    for (int64_t i = 0; i < list->size(); ++i) {
      const Tensor& element = list->elements[i];
      int64_t& length = lengths->data<int64_t>()[i];
      if (element.has_value()) {
        if (element.rank() < 1) {
          return absl::InvalidArgumentError("scalars cannot be concatenated; use TensorListStack");
        }
        length = element.dim(0);
        ASSIGN_OR_RETURN(row, row.MergeWith(PartialShape(element.shape().dims().subspan(1))));
      } else if (i < static_cast<int64_t>(leading.size())) {
        length = leading[i];
      } else if (common_length >= 0) {
        length = common_length;
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("element ", i, " has no value, and nothing says its length"));
      }
      if (length < 0) return absl::InvalidArgumentError("leading_dims must be non-negative");
      if (__builtin_add_overflow(total, length, &total)) {
        return absl::InvalidArgumentError("the joined tensor is too large");
      }
    }
    if (!row.IsFullyDefined()) {
      return absl::InvalidArgumentError(
          absl::StrCat("all dimensions but the first must be known "
                       "to concatenate, are ",
                       row.ToString()));
    }
    return Join(ctx, *list, row, total, *lengths);
  }

 private:
  // The length that elements without a value take: what the shape says of it, or what the elements
  // with a value agree in. -1 if there is no such length. As in TensorFlow, TensorListConcat does
  // not look at what the shape says, and takes no missing elements whose whole shape is known.
  // Errors: INVALID_ARGUMENT if an element has another length than the shape says.
  absl::StatusOr<int64_t> CommonLength(const TensorList& list, const PartialShape& shape) const {
    if (!v2_ && list.element_shape.IsFullyDefined()) return -1;
    const int64_t said = v2_ && shape.known_rank() ? shape.dim(0) : -1;
    int64_t common = said;
    for (const Tensor& element : list.elements) {
      if (!element.has_value() || element.rank() < 1 || element.dim(0) == common) continue;
      if (said >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("an element of shape ", element.shape().ToString(),
                         " is not of the element_shape ", shape.ToString()));
      }
      if (common >= 0) return -1;
      common = element.dim(0);
    }
    return common;
  }

  absl::Status Join(KernelContext& ctx, const TensorList& list, const PartialShape& row,
                    int64_t total, const Tensor& lengths) const {
    IndexVector dims(row.dims().begin(), row.dims().end());
    dims.insert(dims.begin(), total);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    int64_t at = 0;
    for (int64_t i = 0; i < list.size(); ++i) {
      const int64_t length = lengths.flat<int64_t>()[i];
      if (list.elements[i].has_value()) {
        CopyToRows(ctx, list.elements[i], at, output);
      } else {
        ZeroRows(ctx, at, length, output);
      }
      at += length;
    }
    return absl::OkStatus();
  }

  const DType dtype_;
  const bool v2_;
  PartialShape shape_;
};
REGISTER_KERNEL("TensorListConcat", kDevicesOfElements, ListConcatKernel).HostMemory("lengths");
REGISTER_KERNEL("TensorListConcatV2", kDevicesOfElements, ListConcatKernel)
    .HostMemory("element_shape")
    .HostMemory("leading_dims")
    .HostMemory("lengths");

// The rows of a tensor as a list.
class ListFromTensorKernel : public OpKernel {
 public:
  explicit ListFromTensorKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    ASSIGN_OR_RETURN(PartialShape shape, ReadElementShape(ctx.input(1)));
    if (tensor.rank() < 1) return absl::InvalidArgumentError("a scalar has no rows to list");
    if (!shape.IsCompatibleWith(PartialShape(tensor.shape().dims().subspan(1)))) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows of a tensor of shape ", tensor.shape().ToString(),
                       " do not fit element_shape ", shape.ToString()));
    }
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape));
    RETURN_IF_ERROR(list->Resize(tensor.dim(0)));
    for (int64_t i = 0; i < tensor.dim(0); ++i) {
      ASSIGN_OR_RETURN(list->elements[i], TakeRows(ctx, tensor, i, i + 1, /*single=*/true));
    }
    SetTensorListOutput(ctx, 0, std::move(list));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("TensorListFromTensor", kDevicesOfElements, ListFromTensorKernel)
    .HostMemory("element_shape");

// Sets rows of `tensor` at `indices`; the list has grown to hold them.
absl::Status ScatterRows(KernelContext& ctx, const Tensor& tensor, const IndexVector& indices,
                         TensorList* list) {
  for (size_t i = 0; i < indices.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor row, TakeRows(ctx, tensor, static_cast<int64_t>(i),
                                          static_cast<int64_t>(i) + 1, /*single=*/true));
    RETURN_IF_ERROR(list->CheckFits(row));
    list->elements[indices[i]] = std::move(row);
  }
  return absl::OkStatus();
}

// Errors: INVALID_ARGUMENT unless there is one non-negative index a row.
absl::StatusOr<IndexVector> ReadScatterIndices(const Tensor& tensor, const Tensor& indices) {
  ASSIGN_OR_RETURN(IndexVector result, ReadIndexVector(indices, "indices"));
  if (tensor.rank() < 1 || indices.rank() != 1 ||
      static_cast<int64_t>(result.size()) != tensor.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices of shape ", indices.shape().ToString(),
        " must name a place for each row of a tensor of shape ", tensor.shape().ToString()));
  }
  for (int64_t index : result) {
    if (index < 0) {
      return absl::InvalidArgumentError(absl::StrCat("index ", index, " is negative"));
    }
  }
  return result;
}

// A new list with the rows of a tensor at given indices.
class ListScatterKernel : public OpKernel {
 public:
  explicit ListScatterKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    ASSIGN_OR_RETURN(const IndexVector indices, ReadScatterIndices(tensor, ctx.input(1)));
    ASSIGN_OR_RETURN(PartialShape shape, ReadElementShape(ctx.input(2)));
    int64_t size = -1;
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(size, ReadIntegerOfScalar(ctx.input(3), "num_elements"));
      if (size < -1) return absl::InvalidArgumentError("num_elements must be at least -1");
    }
    int64_t needed = 0;
    for (int64_t index : indices) needed = std::max(needed, index + 1);
    if (size != -1 && needed > size) {
      return absl::InvalidArgumentError(
          absl::StrCat("index ", needed - 1, " is out of range of a list of ", size));
    }
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape));
    RETURN_IF_ERROR(list->Resize(std::max(size, needed)));
    RETURN_IF_ERROR(ScatterRows(ctx, tensor, indices, list.get()));
    SetTensorListOutput(ctx, 0, std::move(list));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("TensorListScatter", kDevicesOfElements, ListScatterKernel)
    .HostMemory("indices")
    .HostMemory("element_shape");
REGISTER_KERNEL("TensorListScatterV2", kDevicesOfElements, ListScatterKernel)
    .HostMemory("indices")
    .HostMemory("element_shape")
    .HostMemory("num_elements");

// A given list with the rows of a tensor put at given indices.
class ListScatterIntoKernel : public OpKernel {
 public:
  explicit ListScatterIntoKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& tensor = ctx.input(1);
    ASSIGN_OR_RETURN(const IndexVector indices, ReadScatterIndices(tensor, ctx.input(2)));
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeTensorListInput(ctx, 0));
    RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    int64_t needed = list->size();
    for (int64_t index : indices) needed = std::max(needed, index + 1);
    RETURN_IF_ERROR(list->Resize(needed));
    RETURN_IF_ERROR(ScatterRows(ctx, tensor, indices, list.get()));
    SetTensorListOutput(ctx, 0, std::move(list));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("TensorListScatterIntoExistingList", kDevicesOfElements, ListScatterIntoKernel)
    .HostMemory("indices");

// A tensor cut into a list of pieces of given lengths.
class ListSplitKernel : public OpKernel {
 public:
  explicit ListSplitKernel(const KernelBuild& build) : dtype_(build.attr<DType>("element_dtype")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    ASSIGN_OR_RETURN(PartialShape shape, ReadElementShape(ctx.input(1)));
    ASSIGN_OR_RETURN(const IndexVector lengths, ReadIndexVector(ctx.input(2), "lengths"));
    if (tensor.rank() < 1) return absl::InvalidArgumentError("a scalar cannot be split");
    if (ctx.input(2).rank() != 1) return absl::InvalidArgumentError("lengths must be a vector");
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape));
    int64_t begin = 0;
    for (int64_t length : lengths) {
      if (length < 0 || length > tensor.dim(0) - begin) {
        return absl::InvalidArgumentError(absl::StrCat("a piece of ", length, " rows from row ",
                                                       begin, " on does not lie within the ",
                                                       tensor.dim(0), " there are"));
      }
      ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, tensor, begin, begin + length, false));
      RETURN_IF_ERROR(list->CheckFits(piece));
      list->elements.push_back(std::move(piece));
      begin += length;
    }
    if (begin != tensor.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("lengths add up to ", begin, ", the tensor has ", tensor.dim(0), " rows"));
    }
    SetTensorListOutput(ctx, 0, std::move(list));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("TensorListSplit", kDevicesOfElements, ListSplitKernel)
    .HostMemory("element_shape")
    .HostMemory("lengths");

}  // namespace
}  // namespace tessera
