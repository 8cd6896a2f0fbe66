#include "runtime/kernels/dilated_convolution.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// Sizes, strides and paddings beyond this are refused, so that sums and products of two fit.
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

absl::Status CheckLayout(const ConvolutionLayout& layout, int rank, absl::string_view name) {
  std::vector<int64_t> dims = layout.spatial;
  dims.push_back(layout.batch);
  dims.push_back(layout.feature);
  std::sort(dims.begin(), dims.end());
  bool is_permutation = static_cast<int>(dims.size()) == rank;
  for (int d = 0; is_permutation && d < rank; ++d) is_permutation = dims[d] == d;
  if (is_permutation) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the dimension numbers of the ", name, " must name each of ", rank,
                   " dimensions once, are ", absl::StrJoin(dims, ", ")));
}

// Sets *values to `rank` times `standard` if it is empty.
absl::Status FillIn(std::vector<int64_t>* values, size_t rank, int64_t standard, int64_t lowest,
                    absl::string_view name) {
  if (values->empty()) values->resize(rank, standard);
  bool fits = values->size() == rank;
  for (const int64_t value : *values) fits = fits && value >= lowest && value <= kLargest;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must be ", rank, " numbers of at least ",
                                                 lowest, ", are ", absl::StrJoin(*values, ", ")));
}

// The steps of a shape without elements, which might overflow, are 0.
std::vector<int64_t> RowMajorSteps(const Shape& shape) {
  std::vector<int64_t> steps(shape.rank());
  if (shape.num_elements() == 0) return steps;
  int64_t step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    steps[d] = step;
    step *= shape.dim(d);
  }
  return steps;
}

absl::Status CheckDivides(int64_t groups, int64_t size, absl::string_view of) {
  if (groups >= 1 && size % groups == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the number of groups, ", groups, ", does not divide the ", size, " ", of));
}

}  // namespace

ConvolutionLayout ConvolutionLayout::BatchFirst(int64_t spatial_rank) {
  ConvolutionLayout layout;
  for (int64_t d = 0; d < spatial_rank; ++d) layout.spatial.push_back(d + 2);
  return layout;
}

absl::StatusOr<DilatedConvolution> DilatedConvolution::Make(const ConvolutionAttrs& given,
                                                            const Shape& input,
                                                            const Shape& filter) {
  const int rank = input.rank();
  if (rank < 2 || filter.rank() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("input and filter must have the same rank of at least 2, have shapes ",
                     input.ToString(), " and ", filter.ToString()));
  }
  ConvolutionAttrs attrs = given;
  RETURN_IF_ERROR(CheckLayout(attrs.input, rank, "input"));
  RETURN_IF_ERROR(CheckLayout(attrs.filter, rank, "filter"));
  RETURN_IF_ERROR(CheckLayout(attrs.output, rank, "output"));
  const size_t spatial_rank = rank - 2;
  RETURN_IF_ERROR(FillIn(&attrs.strides, spatial_rank, 1, 1, "strides"));
  RETURN_IF_ERROR(FillIn(&attrs.input_dilation, spatial_rank, 1, 1, "dilations of the input"));
  RETURN_IF_ERROR(FillIn(&attrs.filter_dilation, spatial_rank, 1, 1, "dilations of the filter"));
  RETURN_IF_ERROR(FillIn(&attrs.pad_before, spatial_rank, 0, -kLargest, "paddings"));
  RETURN_IF_ERROR(FillIn(&attrs.pad_after, spatial_rank, 0, -kLargest, "paddings"));

  const int64_t in_batch = input.dim(static_cast<int>(attrs.input.batch));
  const int64_t in_features = input.dim(static_cast<int>(attrs.input.feature));
  const int64_t out_features = filter.dim(static_cast<int>(attrs.filter.batch));
  DilatedConvolution made;
  made.group_features_ = filter.dim(static_cast<int>(attrs.filter.feature));
  RETURN_IF_ERROR(CheckDivides(attrs.feature_groups, in_features, "features of the input"));
  RETURN_IF_ERROR(CheckDivides(attrs.feature_groups, out_features, "features of the output"));
  RETURN_IF_ERROR(CheckDivides(attrs.batch_groups, in_batch, "elements of the batch"));
  RETURN_IF_ERROR(CheckDivides(attrs.batch_groups, out_features, "features of the output"));
  if (in_features / attrs.feature_groups != made.group_features_) {
    return absl::InvalidArgumentError(absl::StrCat("the filter is for ", made.group_features_,
                                                   " features, a group of the input ", "has ",
                                                   in_features / attrs.feature_groups));
  }
  made.features_per_group_ = std::max<int64_t>(1, out_features / attrs.feature_groups);
  made.features_per_batch_ = std::max<int64_t>(1, out_features / attrs.batch_groups);

  const std::vector<int64_t> input_steps = RowMajorSteps(input);
  const std::vector<int64_t> filter_steps = RowMajorSteps(filter);
  std::vector<int64_t> sizes(rank);
  sizes[attrs.output.batch] = in_batch / attrs.batch_groups;
  sizes[attrs.output.feature] = out_features;
  made.products_per_output_ = made.group_features_;
  for (size_t i = 0; i < spatial_rank; ++i) {
    const int64_t in_dim = attrs.input.spatial[i], filter_dim = attrs.filter.spatial[i];
    const Spatial s{.stride = attrs.strides[i],
                    .input_dilation = attrs.input_dilation[i],
                    .filter_dilation = attrs.filter_dilation[i],
                    .pad_before = attrs.pad_before[i],
                    .input_size = input.dim(static_cast<int>(in_dim)),
                    .filter_size = filter.dim(static_cast<int>(filter_dim)),
                    .input_step = input_steps[in_dim],
                    .filter_step = filter_steps[filter_dim],
                    .output_dim = attrs.output.spatial[i]};
    if (s.input_size > kLargest || s.filter_size > kLargest) {
      return absl::InvalidArgumentError("spatial dimensions must be below 2^31");
    }
    const int64_t padded =
        DilatedSize(s.input_size, s.input_dilation) + attrs.pad_before[i] + attrs.pad_after[i];
    const int64_t last = padded - DilatedSize(s.filter_size, s.filter_dilation);
    sizes[s.output_dim] = last < 0 ? 0 : last / s.stride + 1;
    made.products_per_output_ *= s.filter_size;
    made.spatial_.push_back(s);
  }
  ASSIGN_OR_RETURN(made.output_shape_, Shape::Make(sizes));
  made.output_steps_ = RowMajorSteps(made.output_shape_);
  made.output_batch_dim_ = attrs.output.batch;
  made.output_feature_dim_ = attrs.output.feature;
  made.input_batch_step_ = input_steps[attrs.input.batch];
  made.input_feature_step_ = input_steps[attrs.input.feature];
  made.filter_output_step_ = filter_steps[attrs.filter.batch];
  made.filter_feature_step_ = filter_steps[attrs.filter.feature];
  return made;
}

void DilatedConvolution::Locate(int64_t position, Output* output) const {
  const auto index = [&](int64_t dim) {
    return position / output_steps_[dim] % output_shape_.dim(static_cast<int>(dim));
  };
  output->position = position;
  output->feature = index(output_feature_dim_);
  output->batch =
      index(output_batch_dim_) + output->feature / features_per_batch_ *
                                     output_shape_.dim(static_cast<int>(output_batch_dim_));
  output->origin_.clear();
  for (const Spatial& s : spatial_) {
    output->origin_.push_back(index(s.output_dim) * s.stride - s.pad_before);
  }
  output->input_start_ = output->batch * input_batch_step_ + output->feature / features_per_group_ *
                                                                 group_features_ *
                                                                 input_feature_step_;
  output->filter_start_ = output->feature * filter_output_step_;
}

}  // namespace tessera
