// Kernels of TensorList ops that handle elements one by one. See list_stack.cc for the others.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/list_shape.h"
#include "runtime/kernels/element_memory.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/kernels/tensor_list.h"

namespace tessera {
namespace {

// An empty list (EmptyTensorList: input 1 bounds its length), or one of input 1 elements without a
// value (TensorListReserve).
class MakeListKernel : public OpKernel {
 public:
  explicit MakeListKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")),
        reserve_(build.op().name == "TensorListReserve") {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(PartialShape shape, ReadElementShape(ctx.input(0)));
    ASSIGN_OR_RETURN(
        const int64_t count,
        ReadIntegerOfScalar(ctx.input(1), reserve_ ? "num_elements" : "max_num_elements"));
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape));
    if (reserve_) {
      RETURN_IF_ERROR(list->Resize(count));
    } else {
      list->max_elements = count;
    }
    SetTensorListOutput(ctx, 0, std::move(list));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
  const bool reserve_;
};
REGISTER_KERNEL("EmptyTensorList", kDevicesOfElements, MakeListKernel)
    .HostMemory("element_shape")
    .HostMemory("max_num_elements");
REGISTER_KERNEL("TensorListReserve", kDevicesOfElements, MakeListKernel)
    .HostMemory("element_shape")
    .HostMemory("num_elements");

class ListLengthKernel : public OpKernel {
 public:
  explicit ListLengthKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto list, TensorListInput(ctx, 0));
    return SetScalarOutput(ctx, 0, static_cast<int32_t>(list->size()));
  }
};
REGISTER_KERNEL("TensorListLength", kDevicesOfElements, ListLengthKernel).HostMemory("length");

// The element shape as a vector with -1 for what is unknown; -1 as a scalar for an unknown rank.
class ListElementShapeKernel : public OpKernel {
 public:
  explicit ListElementShapeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto list, TensorListInput(ctx, 0));
    const PartialShape& shape = list->element_shape;
    IndexVector dims(1, -1);
    if (shape.known_rank()) dims.assign(shape.dims().begin(), shape.dims().end());
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.AllocateOutput(0, shape.known_rank() ? Shape{shape.rank()} : Shape{}));
    if (output->dtype() == DType::kInt64) {
      std::copy(dims.begin(), dims.end(), output->data<int64_t>());
    } else {
      std::copy(dims.begin(), dims.end(), output->data<int32_t>());
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorListElementShape", kDevicesOfElements, ListElementShapeKernel)
    .HostMemory("element_shape");

class ListResizeKernel : public OpKernel {
 public:
  explicit ListResizeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t size, ReadIntegerOfScalar(ctx.input(1), "size"));
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeTensorListInput(ctx, 0));
    RETURN_IF_ERROR(list->Resize(size));
    SetTensorListOutput(ctx, 0, std::move(list));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorListResize", kDevicesOfElements, ListResizeKernel).HostMemory("size");

// The element, which shares its memory; zeros if it has no value.
class ListGetItemKernel : public OpKernel {
 public:
  explicit ListGetItemKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto list, TensorListInput(ctx, 0));
    ASSIGN_OR_RETURN(const int64_t index, ReadIndexScalar(ctx.input(1), "index"));
    RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    RETURN_IF_ERROR(list->CheckIndex(index));
    const Tensor& element = list->elements[index];
    if (element.has_value()) {
      ASSIGN_OR_RETURN(Tensor here, OnDevice(ctx, element));
      ctx.set_output(0, std::move(here));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const PartialShape hint, ReadElementShape(ctx.input(2)));
    ASSIGN_OR_RETURN(const Shape shape, FullElementShape(*list, hint));
    ASSIGN_OR_RETURN(Tensor zeros, ZerosOf(ctx, dtype_, shape));
    ctx.set_output(0, std::move(zeros));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("TensorListGetItem", kDevicesOfElements, ListGetItemKernel)
    .HostMemory("index")
    .HostMemory("element_shape");

class ListSetItemKernel : public OpKernel {
 public:
  explicit ListSetItemKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")),
        resize_(build.attr<bool>("resize_if_index_out_of_bounds")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t index, ReadIntegerOfScalar(ctx.input(1), "index"));
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeTensorListInput(ctx, 0));
    RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    if (resize_ && index >= list->size()) RETURN_IF_ERROR(list->Resize(index + 1));
    RETURN_IF_ERROR(list->CheckIndex(index));
    RETURN_IF_ERROR(list->CheckFits(ctx.input(2)));
    list->elements[index] = ctx.TakeInput(2);
    SetTensorListOutput(ctx, 0, std::move(list));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
  const bool resize_;
};
REGISTER_KERNEL("TensorListSetItem", kDevicesOfElements, ListSetItemKernel).HostMemory("index");

absl::Status CheckRoom(const TensorList& list) {
  if (list.max_elements == -1 || list.size() < list.max_elements) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the list is full: it may hold ", list.max_elements, " elements"));
}

class ListPushBackKernel : public OpKernel {
 public:
  explicit ListPushBackKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeTensorListInput(ctx, 0));
    RETURN_IF_ERROR(list->CheckFits(ctx.input(1)));
    RETURN_IF_ERROR(CheckRoom(*list));
    list->elements.push_back(ctx.TakeInput(1));
    SetTensorListOutput(ctx, 0, std::move(list));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorListPushBack", kDevicesOfElements, ListPushBackKernel);

// Outputs: the list without its last element, and the element.
class ListPopBackKernel : public OpKernel {
 public:
  explicit ListPopBackKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<TensorList> list, TakeTensorListInput(ctx, 0));
    RETURN_IF_ERROR(CheckListDType(*list, dtype_));
    if (list->elements.empty()) {
      return absl::InvalidArgumentError("cannot pop from an empty list");
    }
    Tensor element = list->elements.back();
    if (element.has_value()) {
      ASSIGN_OR_RETURN(element, OnDevice(ctx, element));
    } else {
      ASSIGN_OR_RETURN(element, MissingElement(ctx, *list));
    }
    list->elements.pop_back();
    SetTensorListOutput(ctx, 0, std::move(list));
    ctx.set_output(1, std::move(element));
    return absl::OkStatus();
  }

 private:
  // Zeros of the shape that the list and the op say. Unlike TensorListGetItem, TensorFlow's kernel
  // does not look at the other elements.
  absl::StatusOr<Tensor> MissingElement(KernelContext& ctx, const TensorList& list) const {
    ASSIGN_OR_RETURN(const PartialShape said, ReadElementShape(ctx.input(1)));
    ASSIGN_OR_RETURN(const PartialShape shape, said.MergeWith(list.element_shape));
    if (!shape.IsFullyDefined()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the last element has no value, and its shape is only known as ", shape.ToString()));
    }
    ASSIGN_OR_RETURN(const Shape known, shape.AsShape());
    return ZerosOf(ctx, dtype_, known);
  }

  const DType dtype_;
};
REGISTER_KERNEL("TensorListPopBack", kDevicesOfElements, ListPopBackKernel)
    .HostMemory("element_shape");

// A vector of lists, each with a row of the tensor pushed back.
class ListPushBackBatchKernel : public OpKernel {
 public:
  explicit ListPushBackBatchKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& handles = ctx.input(0);
    const Tensor& rows = ctx.input(1);
    if (rows.rank() < 1 || handles.rank() != 1 || handles.dim(0) != rows.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a vector of lists of shape ", handles.shape().ToString(),
                       " needs a tensor of as many rows, not of shape ", rows.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, handles.shape()));
    for (int64_t i = 0; i < handles.dim(0); ++i) {
      ASSIGN_OR_RETURN(const auto list, GetTensorList(handles.flat<Variant>()[i]));
      auto longer = std::make_shared<TensorList>(*list);
      ASSIGN_OR_RETURN(Tensor row, ctx.CopyOf(rows.SubSlice(i)));
      RETURN_IF_ERROR(longer->CheckFits(row));
      RETURN_IF_ERROR(CheckRoom(*longer));
      longer->elements.push_back(std::move(row));
      output->flat<Variant>()[i] = Variant(std::move(longer));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorListPushBackBatch", kDevicesOfElements, ListPushBackBatchKernel);

// Pairs of lists joined, for tensors of lists of one shape.
class ListConcatListsKernel : public OpKernel {
 public:
  explicit ListConcatListsKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("element_dtype")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& first = ctx.input(0);
    const Tensor& second = ctx.input(1);
    if (!(first.shape() == second.shape())) {
      return absl::InvalidArgumentError(absl::StrCat("the two tensors of lists have shapes ",
                                                     first.shape().ToString(), " and ",
                                                     second.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, first.shape()));
    for (int64_t i = 0; i < first.num_elements(); ++i) {
      ASSIGN_OR_RETURN(const auto a, GetTensorList(first.flat<Variant>()[i]));
      ASSIGN_OR_RETURN(const auto b, GetTensorList(second.flat<Variant>()[i]));
      RETURN_IF_ERROR(CheckListDType(*a, dtype_));
      RETURN_IF_ERROR(CheckListDType(*b, dtype_));
      auto joined = std::make_shared<TensorList>(*a);
      ASSIGN_OR_RETURN(joined->element_shape, a->element_shape.MergeWith(b->element_shape));
      joined->elements.insert(joined->elements.end(), b->elements.begin(), b->elements.end());
      output->flat<Variant>()[i] = Variant(std::move(joined));
    }
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("TensorListConcatLists", kDevicesOfElements, ListConcatListsKernel);

}  // namespace
}  // namespace tessera
