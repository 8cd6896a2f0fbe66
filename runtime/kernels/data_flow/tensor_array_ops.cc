// Kernels of TensorArray ops. In version 3 an array belongs to its handle. In versions 1 and 2 the
// handle is a pair of strings, or a reference to one, that names an array of the step. The float
// `flow` only orders reads after writes.
//
// An array of version 3 is on one device with all that works on it, since resource edges stay on
// one. Others are on the CPU.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/tensor_array.h"
#include "runtime/kernels/element_memory.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/add_n.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

constexpr absl::string_view kContainer = "_tensor_arrays";

// The name of the array at input 0 within its step. Errors: INVALID_ARGUMENT if there is none.
absl::StatusOr<std::string> NameInput(const KernelContext& ctx) {
  const Tensor pair = ctx.has_ref(0) ? ctx.ref_input(0)->Read() : ctx.input(0);
  if (pair.dtype() != DType::kString || pair.num_elements() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 must be the handle of a tensor array, is ", pair.ToString()));
  }
  return pair.flat<std::string>()[1];
}

bool IsResourceInput(const KernelContext& ctx) {
  return !ctx.has_ref(0) && ctx.input(0).dtype() == DType::kResource;
}

// The array at input 0.
absl::StatusOr<IntrusivePtr<TensorArray>> ArrayInput(const KernelContext& ctx) {
  if (IsResourceInput(ctx)) return ctx.Resource<TensorArray>(0);
  ASSIGN_OR_RETURN(const std::string name, NameInput(ctx));
  ASSIGN_OR_RETURN(const IntrusivePtr<Resource> resource,
                   ctx.step().step_resources->Lookup(kContainer, TensorArray::kTypeName, name));
  return IntrusivePtr<TensorArray>(static_cast<TensorArray*>(resource.get()));
}

// Makes output 0 a handle of the array and output 1, if there is one, the flow. An array whose
// handle is a string is kept by the step under `name`, which is its own.
absl::Status GiveHandle(KernelContext& ctx, IntrusivePtr<TensorArray> array,
                        const std::string& name) {
  if (ctx.num_outputs() > 1) {
    ASSIGN_OR_RETURN(Tensor flow, ctx.AllocateZeros(DType::kFloat, Shape(), ctx.output_kind(1)));
    ctx.set_output(1, std::move(flow));
  }
  if (ctx.output_type(0) == DType::kResource) {
    ResourceHandle handle;
    handle.name = name;
    handle.type_name = std::string(TensorArray::kTypeName);
    handle.resource = std::move(array);
    return SetScalarOutput(ctx, 0, std::move(handle));
  }
  RETURN_IF_ERROR(ctx.step()
                      .step_resources
                      ->LookupOrCreate(kContainer, TensorArray::kTypeName, name,
                                       [&] { return IntrusivePtr<Resource>(std::move(array)); })
                      .status());
  Tensor pair = Tensor::Vector<std::string>({std::string(kContainer), name});
  if (IsRef(ctx.output_type(0))) {
    auto reference = MakeRefCounted<Variable>(DType::kString, PartialShape{2});
    reference->Assign(std::move(pair));
    ctx.set_ref_output(0, std::move(reference));
  } else {
    ctx.set_output(0, std::move(pair));
  }
  return absl::OkStatus();
}

class TensorArrayKernel : public OpKernel {
 public:
  explicit TensorArrayKernel(const KernelBuild& build)
      : name_(build.attr<std::string>("tensor_array_name").empty()
                  ? build.node_name()
                  : build.attr<std::string>("tensor_array_name")) {
    options_.dtype = build.attr<DType>("dtype");
    options_.element_shape = build.attr<PartialShape>("element_shape");
    options_.dynamic_size = build.attr<bool>("dynamic_size");
    options_.clear_after_read = build.attr<bool>("clear_after_read");
    options_.identical_element_shapes =
        build.has_attr("identical_element_shapes") && build.attr<bool>("identical_element_shapes");
  }
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t size, ReadIntegerOfScalar(ctx.input(0), "size"));
    ASSIGN_OR_RETURN(IntrusivePtr<TensorArray> array, TensorArray::Make(options_, size));
    return GiveHandle(ctx, std::move(array), absl::StrCat(name_, "_", next_.fetch_add(1)));
  }

 private:
  const std::string name_;
  std::atomic<int64_t> next_{0};  // a loop makes several arrays in one step
  TensorArray::Options options_;
};
REGISTER_KERNEL("TensorArray", kCpu, TensorArrayKernel).HostMemory("size");
REGISTER_KERNEL("TensorArrayV2", kCpu, TensorArrayKernel).HostMemory("size");
REGISTER_KERNEL("TensorArrayV3", kDevicesOfElements, TensorArrayKernel)
    .HostMemory("size")
    .HostMemory("handle");

class TensorArrayGradKernel : public OpKernel {
 public:
  explicit TensorArrayGradKernel(const KernelBuild& build)
      : source_(build.attr<std::string>("source")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    Shape outer;
    if (ctx.num_inputs() > 2) {
      ASSIGN_OR_RETURN(const IndexVector dims, ReadIndexVector(ctx.input(2), "shape_to_prepend"));
      ASSIGN_OR_RETURN(outer, Shape::Make(dims));
    }
    ASSIGN_OR_RETURN(auto gradient, array->Gradient(source_, outer));
    std::string name = source_;
    if (!IsResourceInput(ctx)) {
      ASSIGN_OR_RETURN(const std::string arrays, NameInput(ctx));
      name = absl::StrCat(arrays, "@", source_);
    }
    return GiveHandle(ctx, std::move(gradient), name);
  }

 private:
  const std::string source_;
};
REGISTER_KERNEL("TensorArrayGrad", kCpu, TensorArrayGradKernel);
REGISTER_KERNEL("TensorArrayGradV2", kCpu, TensorArrayGradKernel);
REGISTER_KERNEL("TensorArrayGradV3", kDevicesOfElements, TensorArrayGradKernel)
    .HostMemory("handle")
    .HostMemory("grad_handle");
REGISTER_KERNEL("TensorArrayGradWithShape", kDevicesOfElements, TensorArrayGradKernel)
    .HostMemory("handle")
    .HostMemory("shape_to_prepend")
    .HostMemory("grad_handle");

class TensorArrayWriteKernel : public OpKernel {
 public:
  explicit TensorArrayWriteKernel(const KernelBuild& build) : add_n_(build) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    ASSIGN_OR_RETURN(const int64_t index, ReadIntegerOfScalar(ctx.input(1), "index"));
    RETURN_IF_ERROR(array->Write(ctx, add_n_, index, ctx.TakeInput(2)));
    ctx.set_output(0, ctx.TakeInput(3));
    return absl::OkStatus();
  }

 private:
  const Primitive<AddN> add_n_;
};
REGISTER_KERNEL("TensorArrayWrite", kCpu, TensorArrayWriteKernel).HostMemory("index");
REGISTER_KERNEL("TensorArrayWriteV2", kCpu, TensorArrayWriteKernel).HostMemory("index");
REGISTER_KERNEL("TensorArrayWriteV3", kDevicesOfElements, TensorArrayWriteKernel)
    .HostMemory("handle")
    .HostMemory("index");

absl::Status CheckReadType(const TensorArray& array, DType dtype) {
  if (array.dtype() == dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the tensor array holds ", DTypeName(array.dtype()), ", the op expects ", DTypeName(dtype)));
}

class TensorArrayReadKernel : public OpKernel {
 public:
  explicit TensorArrayReadKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    RETURN_IF_ERROR(CheckReadType(*array, ctx.output_type(0)));
    ASSIGN_OR_RETURN(const int64_t index, ReadIntegerOfScalar(ctx.input(1), "index"));
    ASSIGN_OR_RETURN(Tensor value, array->Read(ctx, index));
    ctx.set_output(0, std::move(value));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorArrayRead", kCpu, TensorArrayReadKernel).HostMemory("index");
REGISTER_KERNEL("TensorArrayReadV2", kCpu, TensorArrayReadKernel).HostMemory("index");
REGISTER_KERNEL("TensorArrayReadV3", kDevicesOfElements, TensorArrayReadKernel)
    .HostMemory("handle")
    .HostMemory("index");

// The elements at given indices, or all of them (TensorArrayPack), as one tensor of one more
// dimension.
class TensorArrayGatherKernel : public OpKernel {
 public:
  explicit TensorArrayGatherKernel(const KernelBuild& build)
      : all_(build.num_inputs() == 2), shape_(build.attr<PartialShape>("element_shape")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    RETURN_IF_ERROR(CheckReadType(*array, ctx.output_type(0)));
    IndexVector indices;
    if (all_) {
      ASSIGN_OR_RETURN(const int64_t size, array->size());
      indices.resize(size);
      std::iota(indices.begin(), indices.end(), 0);
    } else {
      ASSIGN_OR_RETURN(indices, ReadIndexVector(ctx.input(1), "indices"));
    }
    ASSIGN_OR_RETURN(PartialShape known, array->NarrowElementShape(shape_));
    std::vector<Tensor> elements;
    for (int64_t index : indices) {
      ASSIGN_OR_RETURN(Tensor element, array->Read(ctx, index));
      ASSIGN_OR_RETURN(known, known.MergeWith(PartialShape(element.shape())));
      elements.push_back(std::move(element));
    }
    if (!known.IsFullyDefined()) {
      return absl::UnimplementedError(
          absl::StrCat("to gather no elements their shape must be known, is ", known.ToString()));
    }
    IndexVector dims(known.dims().begin(), known.dims().end());
    dims.insert(dims.begin(), static_cast<int64_t>(indices.size()));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    for (size_t i = 0; i < elements.size(); ++i) {
      CopyToRows(ctx, elements[i], static_cast<int64_t>(i), output);
    }
    return absl::OkStatus();
  }

 private:
  const bool all_;
  const PartialShape shape_;
};
REGISTER_KERNEL("TensorArrayGather", kCpu, TensorArrayGatherKernel).HostMemory("indices");
REGISTER_KERNEL("TensorArrayGatherV2", kCpu, TensorArrayGatherKernel).HostMemory("indices");
REGISTER_KERNEL("TensorArrayGatherV3", kDevicesOfElements, TensorArrayGatherKernel)
    .HostMemory("handle")
    .HostMemory("indices");
REGISTER_KERNEL("TensorArrayPack", kCpu, TensorArrayGatherKernel);

// All elements, joined along their first dimension, and their lengths.
class TensorArrayConcatKernel : public OpKernel {
 public:
  explicit TensorArrayConcatKernel(const KernelBuild& build)
      : row_(build.attr<PartialShape>("element_shape_except0")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    RETURN_IF_ERROR(CheckReadType(*array, ctx.output_type(0)));
    ASSIGN_OR_RETURN(const int64_t size, array->size());
    ASSIGN_OR_RETURN(Tensor* const lengths, ctx.AllocateOutput(1, Shape{size}));
    PartialShape row = row_;
    std::vector<Tensor> elements;
    int64_t total = 0;
    for (int64_t i = 0; i < size; ++i) {
      ASSIGN_OR_RETURN(Tensor element, array->Read(ctx, i));
      if (element.rank() < 1) {
        return absl::InvalidArgumentError("scalars cannot be concatenated; gather them");
      }
      ASSIGN_OR_RETURN(row, row.MergeWith(PartialShape(element.shape().dims().subspan(1))));
      lengths->flat<int64_t>()[i] = element.dim(0);
      if (__builtin_add_overflow(total, element.dim(0), &total)) {
        return absl::InvalidArgumentError("the joined tensor is too large");
      }
      elements.push_back(std::move(element));
    }
    if (!row.IsFullyDefined()) {
      return absl::UnimplementedError(absl::StrCat(
          "to concatenate no elements their shape must be known, is ", row.ToString()));
    }
    IndexVector dims(row.dims().begin(), row.dims().end());
    dims.insert(dims.begin(), total);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    int64_t at = 0;
    for (const Tensor& element : elements) {
      CopyToRows(ctx, element, at, output);
      at += element.dim(0);
    }
    return absl::OkStatus();
  }

 private:
  const PartialShape row_;
};
REGISTER_KERNEL("TensorArrayConcat", kCpu, TensorArrayConcatKernel).HostMemory("lengths");
REGISTER_KERNEL("TensorArrayConcatV2", kCpu, TensorArrayConcatKernel).HostMemory("lengths");
REGISTER_KERNEL("TensorArrayConcatV3", kDevicesOfElements, TensorArrayConcatKernel)
    .HostMemory("handle")
    .HostMemory("lengths");

// Rows [begin, end) of a tensor, in memory of their own where they would not be aligned.
absl::StatusOr<Tensor> TakeRows(KernelContext& ctx, const Tensor& rows) {
  if (rows.IsAligned() || !IsTriviallyCopyable(rows.dtype())) return rows;
  return ctx.CopyOf(rows);
}

// Writes row i of a tensor to the i-th of given indices, or to index i of as many (Unpack).
class TensorArrayScatterKernel : public OpKernel {
 public:
  explicit TensorArrayScatterKernel(const KernelBuild& build)
      : add_n_(build), all_(build.num_inputs() == 3) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    const Tensor& value = ctx.input(all_ ? 1 : 2);
    IndexVector indices;
    int64_t count = 0;
    if (all_) {
      ASSIGN_OR_RETURN(const int64_t size, array->size());
      // An array that grows may get more.
      count = value.rank() < 1 ? size : std::max(size, value.dim(0));
    } else {
      ASSIGN_OR_RETURN(indices, ReadIndexVector(ctx.input(1), "indices"));
      count = static_cast<int64_t>(indices.size());
    }
    if (value.rank() < 1 || value.dim(0) != count) {
      return absl::InvalidArgumentError(
          absl::StrCat(count, " indices need a tensor of as many rows, not of shape ",
                       value.shape().ToString()));
    }
    for (int64_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(Tensor row, TakeRows(ctx, value.SubSlice(i)));
      RETURN_IF_ERROR(array->Write(ctx, add_n_, all_ ? i : indices[i], std::move(row)));
    }
    ctx.set_output(0, ctx.TakeInput(all_ ? 2 : 3));
    return absl::OkStatus();
  }

 private:
  const Primitive<AddN> add_n_;
  const bool all_;
};
REGISTER_KERNEL("TensorArrayScatter", kCpu, TensorArrayScatterKernel).HostMemory("indices");
REGISTER_KERNEL("TensorArrayScatterV2", kCpu, TensorArrayScatterKernel).HostMemory("indices");
REGISTER_KERNEL("TensorArrayScatterV3", kDevicesOfElements, TensorArrayScatterKernel)
    .HostMemory("handle")
    .HostMemory("indices");
REGISTER_KERNEL("TensorArrayUnpack", kCpu, TensorArrayScatterKernel);

// Writes pieces of given lengths of a tensor to indices 0, 1, ...
class TensorArraySplitKernel : public OpKernel {
 public:
  explicit TensorArraySplitKernel(const KernelBuild& build) : add_n_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    const Tensor& value = ctx.input(1);
    ASSIGN_OR_RETURN(const IndexVector lengths, ReadIndexVector(ctx.input(2), "lengths"));
    if (value.rank() < 1) return absl::InvalidArgumentError("a scalar cannot be split");
    ASSIGN_OR_RETURN(const int64_t size, array->size());
    // An array that grows may get more.
    if (ctx.input(2).rank() != 1 || static_cast<int64_t>(lengths.size()) < size) {
      return absl::InvalidArgumentError(absl::StrCat("an array of ", size,
                                                     " elements needs a vector of as many "
                                                     "lengths, not one of shape ",
                                                     ctx.input(2).shape().ToString()));
    }
    int64_t begin = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] < 0 || lengths[i] > value.dim(0) - begin) {
        return absl::InvalidArgumentError(absl::StrCat("lengths[", i, "] = ", lengths[i],
                                                       " does not fit into the ",
                                                       value.dim(0) - begin, " rows left"));
      }
      ASSIGN_OR_RETURN(Tensor rows, TakeRows(ctx, value.Slice(begin, begin + lengths[i])));
      RETURN_IF_ERROR(array->Write(ctx, add_n_, static_cast<int64_t>(i), std::move(rows)));
      begin += lengths[i];
    }
    if (begin != value.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("lengths add up to ", begin, ", the tensor has ", value.dim(0), " rows"));
    }
    ctx.set_output(0, ctx.TakeInput(3));
    return absl::OkStatus();
  }

 private:
  const Primitive<AddN> add_n_;
};
REGISTER_KERNEL("TensorArraySplit", kCpu, TensorArraySplitKernel).HostMemory("lengths");
REGISTER_KERNEL("TensorArraySplitV2", kCpu, TensorArraySplitKernel).HostMemory("lengths");
REGISTER_KERNEL("TensorArraySplitV3", kDevicesOfElements, TensorArraySplitKernel)
    .HostMemory("handle")
    .HostMemory("lengths");

class TensorArraySizeKernel : public OpKernel {
 public:
  explicit TensorArraySizeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    ASSIGN_OR_RETURN(const int64_t size, array->size());
    return SetScalarOutput(ctx, 0, static_cast<int32_t>(size));
  }
};
REGISTER_KERNEL("TensorArraySize", kCpu, TensorArraySizeKernel).HostMemory("size");
REGISTER_KERNEL("TensorArraySizeV2", kCpu, TensorArraySizeKernel).HostMemory("size");
REGISTER_KERNEL("TensorArraySizeV3", kDevicesOfElements, TensorArraySizeKernel)
    .HostMemory("handle")
    .HostMemory("size");

class TensorArrayCloseKernel : public OpKernel {
 public:
  explicit TensorArrayCloseKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto array, ArrayInput(ctx));
    array->Close();
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorArrayClose", kCpu, TensorArrayCloseKernel);
REGISTER_KERNEL("TensorArrayCloseV2", kCpu, TensorArrayCloseKernel);
REGISTER_KERNEL("TensorArrayCloseV3", kDevicesOfElements, TensorArrayCloseKernel)
    .HostMemory("handle");

}  // namespace
}  // namespace tessera
