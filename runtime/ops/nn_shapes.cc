#include "runtime/ops/nn_shapes.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/status.h"

namespace tessera {
namespace shape {
namespace {

// The size of the dimension that `data_format` calls channels; -1 if it is unknown.
absl::StatusOr<int64_t> Channels(const ShapeContext& c, const PartialShape& shape) {
  ASSIGN_OR_RETURN(const std::string format, c.attr<std::string>("data_format"));
  if (!shape.known_rank()) return -1;
  const bool first = absl::StartsWith(format, "NC");
  if (shape.rank() < 2) return absl::InvalidArgumentError("the input has no dimension of channels");
  return shape.dim(first ? 1 : shape.rank() - 1);
}

absl::Status SetFft(ShapeContext& c, bool inverse) {
  PartialShape out = c.input(0);
  const PartialShape& lengths = c.input(1);
  if (!out.known_rank() || !lengths.known_rank() || lengths.rank() != 1 || lengths.dim(0) < 0) {
    return absl::OkStatus();
  }
  const int count = static_cast<int>(lengths.dim(0));
  if (out.rank() < count) return absl::InvalidArgumentError("the input has too few dimensions");
  std::vector<int64_t> sizes(count, -1);
  if (c.input_value(1) != nullptr) {
    ASSIGN_OR_RETURN(sizes, c.IntInput(1));
    if (!inverse && count > 0 && sizes[count - 1] > 0) sizes[count - 1] = sizes[count - 1] / 2 + 1;
  }
  for (int i = 0; i < count; ++i) out.set_dim(out.rank() - count + i, std::max<int64_t>(sizes[i], -1));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace

absl::Status BatchNorm(ShapeContext& c) {
  ASSIGN_OR_RETURN(int64_t channels, Channels(c, c.input(0)));
  ASSIGN_OR_RETURN(const PartialShape scale, c.WithRank(1, 1));
  if (channels < 0) channels = scale.dim(0);
  c.set_output(0, c.input(0));
  for (int i = 1; i < 5; ++i) c.set_output(i, PartialShape({channels}));
  // Scratch memory, whose size is the kernel's affair.
  if (c.num_outputs() > 5) c.set_output(5, PartialShape({-1}));
  return absl::OkStatus();
}

absl::Status BiasAddGrad(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t channels, Channels(c, c.input(0)));
  c.set_output(0, PartialShape({channels}));
  return absl::OkStatus();
}

absl::Status CrossEntropy(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(c.input(0), c.input(1)));
  if (!shape.known_rank()) shape = PartialShape::UnknownOfRank(2);
  if (shape.rank() != 2) return absl::InvalidArgumentError("logits and labels must be matrices");
  c.set_output(0, PartialShape({shape.dim(0)}));
  c.set_output(1, std::move(shape));
  return absl::OkStatus();
}

absl::Status ApproxTopK(ShapeContext& c) {
  PartialShape out = c.input(0);
  if (!out.known_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(int64_t axis, c.attr<int64_t>("reduction_dimension"));
  ASSIGN_OR_RETURN(const int64_t k, c.attr<int64_t>("k"));
  ASSIGN_OR_RETURN(const bool aggregate, c.attr<bool>("aggregate_to_topk"));
  if (axis < 0) axis += out.rank();
  if (axis < 0 || axis >= out.rank()) {
    return absl::InvalidArgumentError("reduction_dimension is out of range");
  }
  out.set_dim(static_cast<int>(axis), aggregate ? k : -1);
  c.set_output(1, out);
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status CtcBeamSearchDecoder(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape inputs, c.WithRank(0, 3));
  ASSIGN_OR_RETURN(const int64_t paths, c.attr<int64_t>("top_paths"));
  for (int i = 0; i < paths; ++i) {
    c.set_output(i, PartialShape({-1, 2}));
    c.set_output(static_cast<int>(paths) + i, PartialShape({-1}));
    c.set_output(static_cast<int>(2 * paths) + i, PartialShape({2}));
  }
  c.set_output(static_cast<int>(3 * paths), PartialShape({inputs.dim(1), paths}));
  return absl::OkStatus();
}

absl::Status AudioSpectrogram(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape input, c.WithRank(0, 2));
  ASSIGN_OR_RETURN(const int64_t window, c.attr<int64_t>("window_size"));
  ASSIGN_OR_RETURN(const int64_t stride, c.attr<int64_t>("stride"));
  if (stride < 1 || window < 1) return absl::InvalidArgumentError("no window or stride");
  const int64_t samples = input.dim(0);
  const int64_t windows = samples < 0 ? -1 : samples < window ? 0 : 1 + (samples - window) / stride;
  int64_t fft_length = 1;
  while (fft_length < window && fft_length < (int64_t{1} << 40)) fft_length *= 2;
  c.set_output(0, PartialShape({input.dim(1), windows, 1 + fft_length / 2}));
  return absl::OkStatus();
}

absl::Status RealFft(ShapeContext& c) { return SetFft(c, /*inverse=*/false); }
absl::Status InverseRealFft(ShapeContext& c) { return SetFft(c, /*inverse=*/true); }

}  // namespace shape
}  // namespace tessera
