#include "runtime/device/testing/output_shapes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace output_shapes {
namespace {

absl::Status Mismatch(const ShapeContext& c) {
  std::string shapes;
  for (int i = 0; i < c.num_inputs(); ++i) {
    absl::StrAppend(&shapes, i == 0 ? "" : ", ", c.input(i).ToString());
  }
  return absl::InvalidArgumentError(
      absl::StrCat(c.op().name, " cannot take inputs of the shapes ", shapes));
}

// The product of two stacks of matrices, whose leading dimensions broadcast.
absl::Status Product(ShapeContext& c, bool transpose_a, bool transpose_b) {
  const PartialShape &a = c.input(0), &b = c.input(1);
  if (a.rank() < 2 || b.rank() < 2) return Mismatch(c);
  const int64_t inner_a = a.dim(a.rank() - (transpose_a ? 2 : 1));
  const int64_t inner_b = b.dim(b.rank() - (transpose_b ? 1 : 2));
  if (inner_a != inner_b) return Mismatch(c);
  ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(PartialShape(a.dims().first(a.rank() - 2)),
                                                       PartialShape(b.dims().first(b.rank() - 2))));
  shape.AddDim(a.dim(a.rank() - (transpose_a ? 1 : 2)));
  shape.AddDim(b.dim(b.rank() - (transpose_b ? 2 : 1)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// What a window of `height` by `width` that slides over input 0 gives in `channels` channels;
// -1 for as many as the input has.
absl::Status Slide(ShapeContext& c, int64_t height, int64_t width, int64_t channels) {
  ASSIGN_OR_RETURN(const PartialShape in, c.WithRank(0, 4));
  const KernelBuild build(c.op(), c.op().name, c.attrs(), {}, {}, /*device=*/nullptr,
                          /*functions=*/nullptr);
  const WindowAttrs window(build, /*spatial_rank=*/2);
  RETURN_IF_ERROR(build.status());
  ASSIGN_OR_RETURN(const WindowExtent rows,
                   window.Extent(0, in.dim(window.spatial_dim(0)), height));
  ASSIGN_OR_RETURN(const WindowExtent columns,
                   window.Extent(1, in.dim(window.spatial_dim(1)), width));
  if (channels < 0) channels = in.dim(window.channel_dim());
  c.set_output(0,
               PartialShape(window.MakeShape(in.dim(0), {rows.output, columns.output}, channels)));
  return absl::OkStatus();
}

// The dimension that `data_format` calls channels.
absl::StatusOr<int64_t> Channels(const ShapeContext& c, const PartialShape& shape) {
  ASSIGN_OR_RETURN(const std::string format, c.attr<std::string>("data_format"));
  if (shape.rank() < 2) return Mismatch(c);
  return shape.dim(format == "NCHW" ? 1 : shape.rank() - 1);
}

// The axis in host input i. Errors: INVALID_ARGUMENT unless it is one number of [-rank, rank).
absl::StatusOr<int> AxisInput(const ShapeContext& c, int i, int rank) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.IntInput(i));
  const int64_t axis = axes.empty() ? 0 : axes[0] < 0 ? axes[0] + rank : axes[0];
  if (axes.size() != 1 || axis < 0 || axis >= rank) return Mismatch(c);
  return static_cast<int>(axis);
}

absl::Status GivenByInput(ShapeContext& c, int i) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeInput(i));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

absl::Status LikeSecondInput(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status Select(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(c.input(0), c.input(1)));
  ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, c.input(2)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status MatMul(ShapeContext& c) {
  RETURN_IF_ERROR(c.WithRank(0, 2).status());
  RETURN_IF_ERROR(c.WithRank(1, 2).status());
  ASSIGN_OR_RETURN(const bool transpose_a, c.attr<bool>("transpose_a"));
  ASSIGN_OR_RETURN(const bool transpose_b, c.attr<bool>("transpose_b"));
  return Product(c, transpose_a, transpose_b);
}

absl::Status BatchMatMul(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool transpose_x, c.attr<bool>("adj_x"));
  ASSIGN_OR_RETURN(const bool transpose_y, c.attr<bool>("adj_y"));
  return Product(c, transpose_x, transpose_y);
}

absl::Status BiasAddGrad(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t channels, Channels(c, c.input(0)));
  c.set_output(0, PartialShape({channels}));
  return absl::OkStatus();
}

absl::Status ArgMax(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int axis, AxisInput(c, 1, c.input(0).rank()));
  std::vector<int64_t> dims(c.input(0).dims().begin(), c.input(0).dims().end());
  dims.erase(dims.begin() + axis);
  c.set_output(0, PartialShape(dims));
  return absl::OkStatus();
}

absl::Status BatchNorm(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t channels, Channels(c, c.input(0)));
  c.set_output(0, c.input(0));
  for (int i = 1; i < 5; ++i) c.set_output(i, PartialShape({channels}));
  // Scratch memory for cuDNN, of which there is none.
  if (c.num_outputs() > 5) c.set_output(5, PartialShape({0}));
  return absl::OkStatus();
}

absl::Status Conv2D(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape filter, c.WithRank(1, 4));
  return Slide(c, filter.dim(0), filter.dim(1), filter.dim(3));
}

absl::Status DepthwiseConv2D(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape filter, c.WithRank(1, 4));
  return Slide(c, filter.dim(0), filter.dim(1), filter.dim(2) * filter.dim(3));
}

absl::Status Pool(ShapeContext& c) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> size, c.attr<std::vector<int64_t>>("ksize"));
  ASSIGN_OR_RETURN(const std::string format, c.attr<std::string>("data_format"));
  if (size.size() != 4) return absl::InvalidArgumentError("ksize must have 4 elements");
  const int rows = format == "NCHW" ? 2 : 1;
  return Slide(c, size[rows], size[rows + 1], /*channels=*/-1);
}

absl::Status CrossEntropy(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(c.input(0), c.input(1)));
  if (shape.rank() != 2) return Mismatch(c);
  c.set_output(0, PartialShape({shape.dim(0)}));
  c.set_output(1, std::move(shape));
  return absl::OkStatus();
}

absl::Status SparseCrossEntropy(ShapeContext& c) {
  c.set_output(0, c.input(1));
  c.set_output(1, c.input(0));
  return absl::OkStatus();
}

absl::Status GivenByInput0(ShapeContext& c) { return GivenByInput(c, 0); }
absl::Status GivenByInput1(ShapeContext& c) { return GivenByInput(c, 1); }

}  // namespace output_shapes
}  // namespace tessera
