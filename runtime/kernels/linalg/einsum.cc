// Einsum of one or two tensors: as one batched matrix product between two rearrangements.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/einsum_equation.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/reduce.h"
#include "runtime/kernels/primitives/strided_copy.h"

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

bool Has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Only sizes of what has no elements have a product that overflows; it is 0 then.
int64_t SizeOf(const Labels& labels, const Strides& sizes) {
  int64_t size = 1;
  for (int label : labels) {
    if (__builtin_mul_overflow(size, sizes[label], &size)) return 0;
  }
  return size;
}

Labels Join(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Operands are arranged as matrices in each run, which then packs constant ones if that pays: only
// the ranks of the inputs tell what an ellipsis stands for.
class EinsumKernel : public OpKernel {
 public:
  explicit EinsumKernel(const KernelBuild& build)
      : copy_(build), product_(Primitive<MatMul>(build)(build, /*b_input=*/1)) {
    const DType dtype = build.output_types()[0];
    if (Contains(kNumeric, dtype)) sum_ = Primitive<Reduce>(build)(ReduceKind::kSum, dtype);
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
  // `tensor` as a contiguous array of the labels in `order`, without a copy where it is one
  // already.
  absl::StatusOr<Tensor> Arrange(KernelContext& ctx, const Tensor& tensor, const Labels& labels,
                                 const Labels& order, const Strides& sizes) const {
    const Strides by_label = LabelStrides(tensor, labels, sizes);
    Strides dims, strides;
    for (int label : order) {
      dims.push_back(sizes[label]);
      strides.push_back(by_label[label]);
    }
    const auto contiguous = RowMajorStrides(dims);
    bool in_place = true;
    for (size_t d = 0; d < dims.size(); ++d) {
      in_place = in_place && (dims[d] == 1 || strides[d] == contiguous[d]);
    }
    if (in_place && SizeOf(order, sizes) == tensor.num_elements()) return tensor;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor result, ctx.AllocateTemp(tensor.dtype(), shape));
    RETURN_IF_ERROR(
        copy_(ctx, dims, tensor, StridedView{strides}, &result, StridedView{contiguous}));
    return result;
  }

  // Removes from input i the labels nobody else has, by summing, and repeated ones, by taking the
  // diagonal.
  absl::Status SumOwnLabels(KernelContext& ctx, size_t i, const std::vector<Labels>& all,
                            const Labels& output, const Strides& sizes, Tensor* tensor,
                            Labels* labels) const {
    Labels kept, summed;
    for (int label : *labels) {
      if (Has(kept, label) || Has(summed, label)) continue;
      bool needed = Has(output, label);
      for (size_t j = 0; j < all.size(); ++j) needed = needed || (j != i && Has(all[j], label));
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
      if (sum_ == nullptr) {
        return absl::UnimplementedError(absl::StrCat("sums of ", DTypeName(tensor->dtype())));
      }
      const int64_t rows = SizeOf(kept, own), columns = SizeOf(summed, own);
      ASSIGN_OR_RETURN(const Tensor matrix, arranged.Reshaped({rows, columns}));
      ASSIGN_OR_RETURN(arranged, ctx.AllocateTemp(tensor->dtype(), {rows}));
      RETURN_IF_ERROR(sum_->Run(ctx, matrix, {false, true}, &arranged));
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
      if (!Has(labels[1], label)) {
        m.push_back(label);
      } else {
        (Has(output, label) ? batch : k).push_back(label);
      }
    }
    for (int label : labels[1]) {
      if (!Has(labels[0], label)) n.push_back(label);
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
  absl::Status WriteOutput(KernelContext& ctx, const Tensor& result, const Labels& kept,
                           const Labels& output, const Strides& sizes) const {
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
    RETURN_IF_ERROR(
        copy_(ctx, copy_dims, source, StridedView{from_strides}, &out, StridedView{to_strides}));
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
  const Primitive<StridedCopy> copy_;
  std::unique_ptr<Reduce> sum_;  // null for what is no number
  const std::unique_ptr<MatMul> product_;
};
constexpr auto kDevices = DevicesOf<MatMul, StridedCopy, Reduce>;
REGISTER_KERNEL("Einsum", kDevices, EinsumKernel);
REGISTER_KERNEL("XlaEinsum", kDevices, EinsumKernel);

}  // namespace
}  // namespace tessera
