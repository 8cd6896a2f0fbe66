// Convolutions as XLA describes them: any roles of the dimensions, paddings that may be negative,
// dilated inputs and filters, groups of features and of batches.
//
//   ASSIGN_OR_RETURN(const auto convolution, DilatedConvolution::Make(attrs, x.shape(),
//   w.shape()));
//   // allocate an output of convolution.output_shape()
//   convolution.ForEachOutput(begin, end, [&](const auto& output) {
//     float sum = 0;
//     output.ForEachProduct([&](int64_t in, int64_t weight) { sum += x[in] * w[weight]; });
//     y[output.position] = sum;
//   });
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/tensor/shape.h"

namespace tessera {

// The roles of a tensor's dimensions. For a filter, `batch` is its output feature.
struct ConvolutionLayout {
  int64_t batch = 0, feature = 1;
  std::vector<int64_t> spatial;

  // Batch, feature, and then `spatial_rank` spatial dimensions.
  static ConvolutionLayout BatchFirst(int64_t spatial_rank);
};

// A size or number for each spatial dimension; all 1, or 0 for paddings, if the vector is empty.
struct ConvolutionAttrs {
  ConvolutionLayout input, filter, output;
  std::vector<int64_t> strides, input_dilation, filter_dilation;
  std::vector<int64_t> pad_before, pad_after;
  int64_t feature_groups = 1, batch_groups = 1;
};

// Reads the layouts from the attribute `dimension_numbers`, a serialised message of the type
// Numbers. Fails the build if it cannot be parsed.
template <typename Numbers>
void ReadDimensionNumbers(const KernelBuild& build, ConvolutionAttrs* attrs) {
  Numbers numbers;
  if (!numbers.ParseFromString(build.attr<std::string>("dimension_numbers"))) {
    build.Fail(absl::InvalidArgumentError("dimension_numbers cannot be parsed"));
  }
  const auto copy = [](const auto& dims) { return std::vector<int64_t>(dims.begin(), dims.end()); };
  attrs->input = {numbers.input_batch_dimension(), numbers.input_feature_dimension(),
                  copy(numbers.input_spatial_dimensions())};
  attrs->filter = {numbers.kernel_output_feature_dimension(),
                   numbers.kernel_input_feature_dimension(),
                   copy(numbers.kernel_spatial_dimensions())};
  attrs->output = {numbers.output_batch_dimension(), numbers.output_feature_dimension(),
                   copy(numbers.output_spatial_dimensions())};
}

// The extent of `size` elements that lie `dilation` apart.
inline int64_t DilatedSize(int64_t size, int64_t dilation) {
  return size == 0 ? 0 : (size - 1) * dilation + 1;
}

// Immutable, thread-safe.
class DilatedConvolution {
 public:
  // Errors: INVALID_ARGUMENT for attributes and shapes that do not fit together.
  static absl::StatusOr<DilatedConvolution> Make(const ConvolutionAttrs& attrs, const Shape& input,
                                                 const Shape& filter);

  const Shape& output_shape() const { return output_shape_; }
  // The number of products that each output sums at most.
  int64_t products_per_output() const { return products_per_output_; }

  // An element of the output.
  class Output {
   public:
    int64_t position;        // in the output, row-major
    int64_t batch, feature;  // of the input, and of the output

    // Calls visit(position in the input, position in the filter) for each product of the sum.
    // Positions in the padding, and between dilated elements, are left out.
    template <typename Visit>
    void ForEachProduct(Visit visit) const {
      VisitSpatial(0, input_start_, filter_start_, visit);
    }

   private:
    friend class DilatedConvolution;
    explicit Output(const DilatedConvolution& convolution) : convolution_(convolution) {}

    template <typename Visit>
    void VisitSpatial(size_t dim, int64_t in, int64_t weight, Visit& visit) const;

    const DilatedConvolution& convolution_;
    absl::InlinedVector<int64_t, 4> origin_;  // of the window, in the dilated input
    int64_t input_start_ = 0, filter_start_ = 0;
  };

  // Calls visit(const Output&) for the elements of the output in [begin, end), in order.
  template <typename Visit>
  void ForEachOutput(int64_t begin, int64_t end, Visit visit) const {
    Output output(*this);
    for (int64_t i = begin; i < end; ++i) {
      Locate(i, &output);
      visit(output);
    }
  }

 private:
  struct Spatial {
    int64_t stride, input_dilation, filter_dilation, pad_before;
    int64_t input_size, filter_size;
    int64_t input_step, filter_step;  // between neighbours, in elements
    int64_t output_dim;
  };

  void Locate(int64_t position, Output* output) const;

  Shape output_shape_;
  std::vector<int64_t> output_steps_;
  absl::InlinedVector<Spatial, 4> spatial_;
  int64_t output_batch_dim_, output_feature_dim_;
  int64_t group_features_;      // features of the filter, which are those of a group
  int64_t features_per_group_;  // of the output, in a feature group
  int64_t features_per_batch_;  // of the output, in a batch group
  int64_t input_batch_step_, input_feature_step_;
  int64_t filter_output_step_, filter_feature_step_;
  int64_t products_per_output_;
};

template <typename Visit>
void DilatedConvolution::Output::VisitSpatial(size_t dim, int64_t in, int64_t weight,
                                              Visit& visit) const {
  if (dim == convolution_.spatial_.size()) {
    for (int64_t i = 0; i < convolution_.group_features_; ++i) {
      visit(in + i * convolution_.input_feature_step_,
            weight + i * convolution_.filter_feature_step_);
    }
    return;
  }
  const Spatial& s = convolution_.spatial_[dim];
  int64_t dilated = origin_[dim];
  for (int64_t tap = 0; tap < s.filter_size; ++tap, dilated += s.filter_dilation) {
    if (dilated < 0 || dilated % s.input_dilation != 0) continue;
    const int64_t at = dilated / s.input_dilation;
    if (at >= s.input_size) break;
    VisitSpatial(dim + 1, in + at * s.input_step, weight + tap * s.filter_step, visit);
  }
}

}  // namespace tessera
