// Einsum of one or two tensors: as one batched matrix product between two rearrangements.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/einsum_equation.h"
#include "runtime/kernels/primitives/cpu/strided_copy.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

using Strides = absl::InlinedVector<int64_t, 8>;

// Size of each label. A dimension of 1 broadcasts against another size only through an ellipsis,
// whose labels are `first_broadcast` and above.
absl::StatusOr<Strides> LabelSizes(const std::vector<Tensor>& inputs,
                                   const std::vector<Labels>& labels, int num_labels,
                                   int first_broadcast) {
  Strides sizes(num_labels, -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < labels[i].size(); ++d) {
      int64_t& size = sizes[labels[i][d]];
      const int64_t dim = inputs[i].dim(static_cast<int>(d));
      if (size == -1 || (labels[i][d] >= first_broadcast && size == 1)) {
        size = dim;
      } else if (size != dim && !(labels[i][d] >= first_broadcast && dim == 1)) {
        return absl::InvalidArgumentError(absl::StrCat("einsum: dimension ", d, " of input ", i,
                                                       " is ", dim, ", the same label has size ",
                                                       size, " elsewhere"));
      }
    }
  }
  return sizes;
}

// Element strides of `tensor` by label: a label that occurs twice walks the diagonal, one that is
// broadcast stands still.
Strides LabelStrides(const Tensor& tensor, const Labels& labels, const Strides& sizes) {
  Strides strides(sizes.size(), 0);
  const auto own = RowMajorStrides(tensor.shape().dims());
  for (size_t d = 0; d < labels.size(); ++d) {
    if (tensor.dim(static_cast<int>(d)) == 1 && sizes[labels[d]] != 1) continue;
    strides[labels[d]] += own[d];
  }
  return strides;
}

// `tensor` as a contiguous array of the labels in `order`, without a copy where it is one already.
absl::StatusOr<Tensor> Arrange(KernelContext& ctx, const Tensor& tensor, const Labels& labels,
                               const Labels& order, const Strides& sizes) {
  const Strides by_label = LabelStrides(tensor, labels, sizes);
  Strides dims, strides;
  for (int label : order) {
    dims.push_back(sizes[label]);
    strides.push_back(by_label[label]);
  }
  const auto contiguous = RowMajorStrides(dims);
  bool in_place = true;
  int64_t elements = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    in_place = in_place && (dims[d] == 1 || strides[d] == contiguous[d]);
    elements *= dims[d];
  }
  if (in_place && elements == tensor.num_elements()) return tensor;
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor result, ctx.AllocateTemp(tensor.dtype(), shape));
  if (elements > 0) {
    CopyStrided(tensor.dtype(), dims, tensor.raw(), strides, result.mutable_raw(), contiguous,
                ctx.pool());
  }
  return result;
}

// Sums out the labels that neither the other input nor the output has: they come last in `order`.
absl::StatusOr<Tensor> SumLast(KernelContext& ctx, const Tensor& tensor, int64_t kept,
                               int64_t summed) {
  ASSIGN_OR_RETURN(Tensor result, ctx.AllocateTemp(tensor.dtype(), {kept}));
  RETURN_IF_ERROR(VisitNumericType(tensor.dtype(), [&]<typename T>() {
    using Sum =
        std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>,
                           float, T>;
    const T* in = tensor.data<T>();
    for (int64_t i = 0; i < kept; ++i) {
      Sum sum(0);
      for (int64_t j = 0; j < summed; ++j) sum += static_cast<Sum>(*in++);
      result.data<T>()[i] = static_cast<T>(sum);
    }
    return absl::OkStatus();
  }));
  return result;
}

bool Contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int64_t SizeOf(const Labels& labels, const Strides& sizes) {
  int64_t size = 1;
  for (int label : labels) size *= sizes[label];
  return size;
}

Labels Join(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

class EinsumKernel : public OpKernel {
 public:
  explicit EinsumKernel(const KernelBuild& build)
      : product_(Primitive<MatMul>(build)(build, /*b_input=*/1)) {
    auto equation = EinsumEquation::Parse(build.attr<std::string>("equation"), build.num_inputs());
    if (equation.ok()) {
      equation_ = *std::move(equation);
    } else {
      build.Fail(equation.status());
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    std::vector<Tensor> inputs;
    std::vector<int> ranks;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      inputs.push_back(ctx.input(i));
      ranks.push_back(inputs.back().rank());
    }
    std::vector<Labels> labels;
    Labels output;
    int num_labels = 0;
    RETURN_IF_ERROR(equation_.Resolve(ranks, &labels, &output, &num_labels));
    ASSIGN_OR_RETURN(const Strides sizes,
                     LabelSizes(inputs, labels, num_labels, equation_.num_named()));

    Labels kept;  // labels of the result before the final rearrangement
    Tensor result;
    const std::vector<Labels> given = labels;
    for (size_t i = 0; i < inputs.size(); ++i) {
      RETURN_IF_ERROR(SumOwnLabels(ctx, i, given, output, sizes, &inputs[i], &labels[i]));
    }
    if (inputs.size() == 1) {
      result = inputs[0];
      kept = labels[0];
    } else {
      ASSIGN_OR_RETURN(result, Multiply(ctx, inputs, labels, output, sizes, &kept));
    }
    return WriteOutput(ctx, result, kept, output, sizes);
  }

 private:
  // Removes from input i the labels nobody else has, by summing, and repeated ones, by taking the
  // diagonal.
  static absl::Status SumOwnLabels(KernelContext& ctx, size_t i, const std::vector<Labels>& all,
                                   const Labels& output, const Strides& sizes, Tensor* tensor,
                                   Labels* labels) {
    Labels kept, summed;
    for (int label : *labels) {
      if (Contains(kept, label) || Contains(summed, label)) continue;
      bool needed = Contains(output, label);
      for (size_t j = 0; j < all.size(); ++j)
        needed = needed || (j != i && Contains(all[j], label));
      (needed ? kept : summed).push_back(label);
    }
    if (kept.size() == labels->size()) return absl::OkStatus();
    // A broadcast dimension of size 1 stays one, so its size here is the tensor's own.
    Strides own(sizes.begin(), sizes.end());
    for (size_t d = 0; d < labels->size(); ++d) {
      own[(*labels)[d]] = tensor->dim(static_cast<int>(d));
    }
    ASSIGN_OR_RETURN(Tensor arranged, Arrange(ctx, *tensor, *labels, Join({kept, summed}), own));
    if (!summed.empty()) {
      ASSIGN_OR_RETURN(arranged, SumLast(ctx, arranged, SizeOf(kept, own), SizeOf(summed, own)));
    }
    Strides dims;
    for (int label : kept) dims.push_back(own[label]);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(*tensor, arranged.Reshaped(shape));
    *labels = kept;
    return absl::OkStatus();
  }

  // The product over shared labels: batch (in the output), then m of a, n of b; k is summed.
  absl::StatusOr<Tensor> Multiply(KernelContext& ctx, const std::vector<Tensor>& inputs,
                                  const std::vector<Labels>& labels, const Labels& output,
                                  const Strides& sizes, Labels* kept) {
    Labels batch, m, n, k;
    for (int label : labels[0]) {
      if (!Contains(labels[1], label)) {
        m.push_back(label);
      } else {
        (Contains(output, label) ? batch : k).push_back(label);
      }
    }
    for (int label : labels[1]) {
      if (!Contains(labels[0], label)) n.push_back(label);
    }
    MatMulShape shape;
    shape.m = SizeOf(m, sizes);
    shape.n = SizeOf(n, sizes);
    shape.k = SizeOf(k, sizes);
    shape.batch = {SizeOf(batch, sizes)};
    shape.a_stride = shape.b_stride = {1};
    ASSIGN_OR_RETURN(const Tensor a,
                     Arrange(ctx, inputs[0], labels[0], Join({batch, m, k}), sizes));
    // Both orders of b multiply as fast: take the one that needs no copy.
    const Labels straight = Join({batch, k, n}), transposed = Join({batch, n, k});
    shape.transpose_b = labels[1] == transposed;
    ASSIGN_OR_RETURN(const Tensor b, Arrange(ctx, inputs[1], labels[1],
                                             shape.transpose_b ? transposed : straight, sizes));
    ASSIGN_OR_RETURN(Tensor result,
                     ctx.AllocateTemp(a.dtype(), {shape.batch[0], shape.m, shape.n}));
    RETURN_IF_ERROR(product_->Run(ctx, shape, PostOps(), a, b, {}, &result));
    *kept = Join({batch, m, n});
    return result;
  }

  // The result in the output's order; an output label that occurs twice makes a diagonal.
  static absl::Status WriteOutput(KernelContext& ctx, const Tensor& result, const Labels& kept,
                                  const Labels& output, const Strides& sizes) {
    Strides dims;
    for (int label : output) dims.push_back(sizes[label]);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (kept == output && result.num_elements() == shape.num_elements()) {
      ASSIGN_OR_RETURN(Tensor reshaped, result.Reshaped(shape));
      ctx.set_output(0, std::move(reshaped));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(result.dtype(), shape));
    Strides own_dims;
    for (int label : kept) own_dims.push_back(sizes[label]);
    ASSIGN_OR_RETURN(const Tensor source, WithBroadcast(result, own_dims));
    const Strides to = LabelStrides(out, output, sizes);
    const Strides from = LabelStrides(source, kept, sizes);
    Strides copy_dims, from_strides, to_strides;
    for (size_t i = 0; i < output.size(); ++i) {
      if (std::find(output.begin(), output.begin() + i, output[i]) != output.begin() + i) continue;
      copy_dims.push_back(sizes[output[i]]);
      from_strides.push_back(from[output[i]]);
      to_strides.push_back(to[output[i]]);
    }
    if (shape.num_elements() > 0) {
      CopyStrided(out.dtype(), copy_dims, source.raw(), from_strides, out.mutable_raw(), to_strides,
                  ctx.pool());
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

  // `result` under its label sizes, or, for a single broadcast input, under its own shape.
  static absl::StatusOr<Tensor> WithBroadcast(const Tensor& result, const Strides& dims) {
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (shape.num_elements() == result.num_elements()) return result.Reshaped(shape);
    return result;
  }

  EinsumEquation equation_;
  const std::unique_ptr<MatMul> product_;
};
REGISTER_KERNEL("Einsum", kCpu, EinsumKernel);

}  // namespace
}  // namespace tessera
