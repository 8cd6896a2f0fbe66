// Ragged tensors in variants and out of them: RaggedTensorToVariant, RaggedTensorFromVariant,
// RaggedTensorToVariantGradient.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/ragged_variant.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

// Rows [begin, end) of `values` in memory of their own, so that a row does not keep all alive.
absl::StatusOr<Tensor> CopyRows(KernelContext& ctx, const Tensor& values, int64_t begin,
                                int64_t end) {
  return values.Slice(begin, end).DeepCopy(ctx.host_allocator());
}

// One variant for the whole ragged tensor, or with `batched_input` one for each row.
class RaggedToVariantKernel : public OpKernel {
 public:
  explicit RaggedToVariantKernel(const KernelBuild& build)
      : splits_(build.inputs("rt_nested_splits")),
        splits_dtype_(build.attr<DType>("Tsplits")),
        batched_(build.attr<bool>("batched_input")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(splits_.end);
    if (values.rank() == 0 && (batched_ || splits_.size() > 0)) {
      return absl::InvalidArgumentError(
          "rt_dense_values is a scalar, which has no rows: it needs a rank of at least 1");
    }
    std::vector<std::vector<int64_t>> nested;
    for (int i = splits_.begin; i < splits_.end; ++i) {
      const int64_t below =
          i + 1 < splits_.end ? ctx.input(i + 1).num_elements() - 1 : values.dim(0);
      ASSIGN_OR_RETURN(nested.emplace_back(), ReadRowSplits(ctx.input(i), below, "row splits"));
    }
    if (!batched_) {
      std::vector<Tensor> splits;
      for (int i = splits_.begin; i < splits_.end; ++i) splits.push_back(ctx.input(i));
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape()));
      output->scalar<Variant>() =
          Variant(std::make_shared<RaggedVariant>(std::move(splits), values));
      return absl::OkStatus();
    }
    const int64_t rows =
        nested.empty() ? values.dim(0) : static_cast<int64_t>(nested[0].size()) - 1;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{rows}));
    for (int64_t row = 0; row < rows; ++row) {
      ASSIGN_OR_RETURN(output->flat<Variant>()[row], Row(ctx, values, nested, row));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Variant> Row(KernelContext& ctx, const Tensor& values,
                              absl::Span<const std::vector<int64_t>> nested, int64_t row) const {
    std::vector<Tensor> splits;
    int64_t begin = row, end = row + 1;
    for (size_t level = 0; level < nested.size(); ++level) {
      if (level > 0) {
        std::vector<int64_t> own(nested[level].begin() + begin, nested[level].begin() + end + 1);
        const int64_t first = own[0];
        for (int64_t& split : own) split -= first;
        ASSIGN_OR_RETURN(Tensor tensor, ctx.AllocateTemp(splits_dtype_, Shape{end - begin + 1}));
        RETURN_IF_ERROR(WriteRowSplits(own, &tensor));
        splits.push_back(std::move(tensor));
      }
      begin = nested[level][begin];
      end = nested[level][end];
    }
    ASSIGN_OR_RETURN(Tensor own, CopyRows(ctx, values, begin, end));
    if (nested.empty()) {
      const auto dims = values.shape().dims();
      own.Reshape(Shape(dims.subspan(1)));
    }
    return Variant(std::make_shared<RaggedVariant>(std::move(splits), std::move(own)));
  }

  const ArgRange splits_;
  const DType splits_dtype_;
  const bool batched_;
};
REGISTER_KERNEL("RaggedTensorToVariant", kCpu, RaggedToVariantKernel);

// Stacks values of one shape but for the first dimension, along the first; with `add_dimension`
// along a new one. Without values, the result is a vector without elements.
absl::Status StackValues(KernelContext& ctx, int output,
                         absl::Span<const std::shared_ptr<const RaggedVariant>> parts,
                         bool add_dimension) {
  if (parts.empty()) return ctx.AllocateOutput(output, Shape{0}).status();
  IndexVector dims(parts[0]->values.shape().dims().begin(), parts[0]->values.shape().dims().end());
  if (add_dimension) dims.insert(dims.begin(), 1);
  if (dims.empty()) return absl::InvalidArgumentError("the values of a ragged tensor are a scalar");
  dims[0] = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Shape& first = parts[0]->values.shape();
    const Shape& shape = parts[i]->values.shape();
    const int skip = add_dimension ? 0 : 1;
    if (shape.rank() != first.rank() || shape.dims().subspan(skip) != first.dims().subspan(skip)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "All flat_values must have compatible shapes.  Shape at index 0: ", first.ToString(),
          ".  Shape at index ", i, ": ", shape.ToString(),
          ".  If you are using tf.map_fn, then you may need to specify an explicit "
          "fn_output_signature with appropriate ragged_rank, and/or convert output tensors to "
          "RaggedTensors."));
    }
    dims[0] += add_dimension ? 1 : shape.dim(0);
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor* const stacked, ctx.AllocateOutput(output, shape));
  char* to = stacked->mutable_raw();
  for (const auto& part : parts) {
    CopyElements(stacked->dtype(), part->values.raw(), to, part->values.num_elements());
    to += part->values.size_bytes();
  }
  return absl::OkStatus();
}

// One ragged tensor from a tensor of them, whose dimensions become the outermost ones.
class RaggedFromVariantKernel : public OpKernel {
 public:
  explicit RaggedFromVariantKernel(const KernelBuild& build)
      : input_ragged_rank_(build.attr<int64_t>("input_ragged_rank")),
        splits_(build.outputs("output_nested_splits")),
        splits_dtype_(build.attr<DType>("Tsplits")),
        dtype_(build.attr<DType>("Tvalues")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& encoded = ctx.input(0);
    // Rows that are all dense may be stacked to a dense tensor.
    const bool dense = splits_.size() == 0 && encoded.rank() > 0;
    ASSIGN_OR_RETURN(const int ragged_rank, ComponentRaggedRank(encoded.rank(), dense));
    std::vector<std::shared_ptr<const RaggedVariant>> parts;
    for (const Variant& variant : encoded.flat<Variant>()) {
      ASSIGN_OR_RETURN(parts.emplace_back(), Component(variant, ragged_rank));
    }
    if (encoded.rank() == 0) {
      for (int i = 0; i < ragged_rank; ++i) ctx.set_output(i, parts[0]->splits[i]);
      ctx.set_output(splits_.end, parts[0]->values);
      return absl::OkStatus();
    }
    if (!dense) {
      RETURN_IF_ERROR(SetUniformSplits(ctx, encoded.shape()));
      for (int level = 0; level <= ragged_rank; ++level) {
        RETURN_IF_ERROR(JoinSplits(ctx, parts, level, splits_.end - 1 - ragged_rank + level));
      }
    }
    return StackValues(ctx, splits_.end, parts, dense);
  }

 private:
  absl::StatusOr<int> ComponentRaggedRank(int dims, bool dense) const {
    const int inferred = splits_.size() - dims;
    if (dense) {
      return input_ragged_rank_ <= 0
                 ? absl::StatusOr<int>(0)
                 : absl::InvalidArgumentError(absl::StrCat(
                       "output_ragged_rank is 0, input_ragged_rank is ", input_ragged_rank_));
    }
    if (input_ragged_rank_ == -1 && inferred < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, "
          "found output_ragged_rank: ",
          splits_.size(), ", encoded_variant.dims(): ", dims,
          ", inferred input_ragged_rank: ", inferred));
    }
    if (input_ragged_rank_ != -1 && input_ragged_rank_ != inferred) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
          "output_ragged_rank: ",
          splits_.size(), ", input_ragged_rank: ", input_ragged_rank_,
          ", encoded_variant.dims(): ", dims, "."));
    }
    return inferred;
  }

  absl::StatusOr<std::shared_ptr<const RaggedVariant>> Component(const Variant& variant,
                                                                 int ragged_rank) const {
    std::shared_ptr<const RaggedVariant> ragged = GetRaggedVariant(variant);
    if (ragged == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ragged tensor was expected, not ",
                       variant.has_value() ? variant.value()->DebugString() : "an empty variant"));
    }
    if (static_cast<int>(ragged->splits.size()) != ragged_rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Encoded input RaggedTensorVariant has ragged_rank=", ragged->splits.size(),
                       ".  Expected ragged_rank=", ragged_rank, "."));
    }
    if (ragged->values.dtype() != dtype_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected values Tensor dtype: ", DTypeName(dtype_),
                       ", found: ", DTypeName(ragged->values.dtype())));
    }
    if (ragged_rank > 0 && ragged->values.rank() == 0) {
      return absl::InvalidArgumentError("the values of a ragged tensor are a scalar");
    }
    for (int i = 0; i < ragged_rank; ++i) {
      const Tensor& splits = ragged->splits[i];
      if (splits.dtype() != splits_dtype_) {
        return absl::InvalidArgumentError(
            absl::StrCat("Expected row_splits Tensor dtype: ", DTypeName(splits_dtype_),
                         ", found: ", DTypeName(splits.dtype())));
      }
      const int64_t below =
          i + 1 < ragged_rank ? ragged->splits[i + 1].num_elements() - 1 : ragged->values.dim(0);
      RETURN_IF_ERROR(ReadRowSplits(splits, below, "row splits").status());
    }
    return ragged;
  }

  // The dimensions of the variants after the first become ragged ones of equal rows.
  absl::Status SetUniformSplits(KernelContext& ctx, const Shape& shape) const {
    int64_t rows = 1;
    for (int d = 0; d + 1 < shape.rank(); ++d) {
      rows *= shape.dim(d);
      constexpr int64_t kMostRows = int64_t{1} << 27;
      if (rows > kMostRows) {
        return absl::ResourceExhaustedError(absl::StrCat("a ragged tensor of ", rows, " rows"));
      }
      std::vector<int64_t> splits(rows + 1);
      for (int64_t i = 0; i <= rows; ++i) splits[i] = i * shape.dim(d + 1);
      RETURN_IF_ERROR(SetSplits(ctx, d, splits));
    }
    return absl::OkStatus();
  }

  // Level 0 has the rows of each part as a row, level n the n-th splits of the parts behind each
  // other.
  absl::Status JoinSplits(KernelContext& ctx,
                          absl::Span<const std::shared_ptr<const RaggedVariant>> parts, int level,
                          int output) const {
    std::vector<int64_t> joined = {0};
    for (const auto& part : parts) {
      if (level == 0) {
        if (part->splits.empty() && part->values.rank() == 0) {
          return absl::InvalidArgumentError("the values of a ragged tensor are a scalar");
        }
        joined.push_back(joined.back() + (part->splits.empty()
                                              ? part->values.dim(0)
                                              : part->splits[0].num_elements() - 1));
        continue;
      }
      const int64_t offset = joined.back();
      VisitIndexType(splits_dtype_, [&]<typename I>() {
        for (const I split : part->splits[level - 1].template flat<I>().subspan(1)) {
          joined.push_back(offset + static_cast<int64_t>(split));
        }
      });
    }
    return SetSplits(ctx, output, joined);
  }

  static absl::Status SetSplits(KernelContext& ctx, int i, const std::vector<int64_t>& splits) {
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.AllocateOutput(i, Shape{static_cast<int64_t>(splits.size())}));
    return WriteRowSplits(splits, output);
  }

  const int64_t input_ragged_rank_;
  const ArgRange splits_;
  const DType splits_dtype_, dtype_;
};
REGISTER_KERNEL("RaggedTensorFromVariant", kCpu, RaggedFromVariantKernel);

// The gradient of the values from that of the variants, whose rows lie behind each other in the
// values. An empty variant is that of a row on which nothing depends: its elements, of which the
// row splits tell, are zeros.
class RaggedToVariantGradientKernel : public OpKernel {
 public:
  explicit RaggedToVariantGradientKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("Tvalues")) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(2), "dense_values_shape"));
    ASSIGN_OR_RETURN(Tensor* const gradient, ctx.AllocateOutput(0, shape));
    const absl::Span<const Variant> variants = ctx.input(0).flat<Variant>();
    char* to = gradient->mutable_raw();
    int64_t left = shape.num_elements();
    for (size_t i = 0; i < variants.size(); ++i) {
      Tensor piece;
      if (variants[i].has_value()) {
        const auto ragged = GetRaggedVariant(variants[i]);
        if (ragged != nullptr && ragged->values.dtype() == dtype_) piece = ragged->values;
      } else {
        ASSIGN_OR_RETURN(piece, ZerosOfRow(ctx, static_cast<int64_t>(i), shape));
      }
      if (!piece.has_value() || piece.num_elements() > left) {
        return absl::InvalidArgumentError(absl::StrCat("encoded_ragged_grad does not fit ",
                                                       DTypeName(dtype_), " values of shape ",
                                                       shape.ToString()));
      }
      CopyElements(dtype_, piece.raw(), to, piece.num_elements());
      to += piece.size_bytes();
      left -= piece.num_elements();
    }
    if (left == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("encoded_ragged_grad has ", left,
                                                   " elements less than values of shape ",
                                                   shape.ToString()));
  }

 private:
  // Zeros for row i of values of this shape.
  absl::StatusOr<Tensor> ZerosOfRow(KernelContext& ctx, int64_t i, const Shape& shape) const {
    if (shape.rank() == 0) {
      return absl::InvalidArgumentError(
          "dense_values_shape is that of a scalar, which has no rows");
    }
    ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                     ReadRowSplits(ctx.input(1), shape.dim(0), "row_splits"));
    if (i + 1 >= static_cast<int64_t>(splits.size())) {
      return absl::InvalidArgumentError(absl::StrCat("encoded_ragged_grad has more rows than the ",
                                                     splits.size() - 1, " of row_splits"));
    }
    absl::InlinedVector<int64_t, 6> dims(shape.dims().begin(), shape.dims().end());
    dims[0] = splits[i + 1] - splits[i];
    return ctx.AllocateZeros(dtype_, Shape(dims));
  }

  const DType dtype_;
};
REGISTER_KERNEL("RaggedTensorToVariantGradient", kCpu, RaggedToVariantGradientKernel)
    .HostMemory("dense_values_shape");

}  // namespace
}  // namespace tessera
