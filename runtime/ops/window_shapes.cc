#include "runtime/ops/window_shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/status.h"

namespace tessera {
namespace shape {
namespace {

using Sizes = std::vector<int64_t>;

// How a window slides, by the dimensions of the input.
struct Window {
  int batch_dims = 1;
  bool channels_first = false;
  bool same_padding = false;
  Sizes strides;
  Sizes dilations;          // empty: all 1
  Sizes explicit_paddings;  // two for each dimension, or empty

  int channel_dim(int rank) const { return channels_first ? batch_dims : rank - 1; }
  int spatial_dim(int i) const { return batch_dims + i + (channels_first ? 1 : 0); }
};

bool HasAttr(const ShapeContext& c, absl::string_view name) { return c.attrs().contains(name); }

// An op without the attribute has the value `missing`.
absl::StatusOr<Sizes> ListAttr(const ShapeContext& c, absl::string_view name, Sizes missing = {}) {
  if (!HasAttr(c, name)) return missing;
  return c.attr<Sizes>(name);
}

absl::StatusOr<Window> ReadWindow(const ShapeContext& c) {
  Window window;
  if (HasAttr(c, "data_format")) {
    ASSIGN_OR_RETURN(const std::string format, c.attr<std::string>("data_format"));
    window.channels_first = absl::StartsWith(format, "NC") || format == "CHANNELS_FIRST";
  }
  if (HasAttr(c, "batch_dims")) {
    ASSIGN_OR_RETURN(const int64_t batch_dims, c.attr<int64_t>("batch_dims"));
    if (batch_dims < 0 || batch_dims > kMaxRank) {
      return absl::InvalidArgumentError(
          absl::StrCat("batch_dims must be from 0 to ", kMaxRank, ", is ", batch_dims));
    }
    window.batch_dims = static_cast<int>(batch_dims);
  }
  ASSIGN_OR_RETURN(const std::string padding, c.attr<std::string>("padding"));
  window.same_padding = padding == "SAME";
  ASSIGN_OR_RETURN(window.strides, ListAttr(c, "strides"));
  ASSIGN_OR_RETURN(window.dilations,
                   ListAttr(c, HasAttr(c, "rates") ? "rates" : "dilations"));
  ASSIGN_OR_RETURN(window.explicit_paddings, ListAttr(c, "explicit_paddings"));
  return window;
}

// What a window of `size` elements gives along dimension `dim` of `input` elements. Errors:
// INVALID_ARGUMENT if the attributes have no positive stride for the dimension.
absl::StatusOr<int64_t> Slide(const Window& window, int dim, int64_t input, int64_t size) {
  if (dim >= static_cast<int>(window.strides.size()) || window.strides[dim] <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("no positive stride for dimension ", dim));
  }
  const int64_t stride = window.strides[dim];
  if (input < 0) return -1;
  if (window.same_padding) return input == 0 ? 0 : (input - 1) / stride + 1;
  if (size < 0) return -1;
  const int64_t dilation =
      dim < static_cast<int>(window.dilations.size()) ? window.dilations[dim] : 1;
  __int128 padded = input;  // attributes can be any numbers of 64 bits
  if (2 * dim + 1 < static_cast<int>(window.explicit_paddings.size())) {
    padded += window.explicit_paddings[2 * dim];
    padded += window.explicit_paddings[2 * dim + 1];
  }
  const __int128 covered = static_cast<__int128>(size - 1) * dilation + 1;
  const __int128 output = (padded - covered + stride) / stride;
  if (output > std::numeric_limits<int64_t>::max()) return -1;
  return output < 0 ? 0 : static_cast<int64_t>(output);
}

// The shape of `in` after a window, with so many channels; -1 for an unknown number of them. `sizes`
// are those of the spatial dimensions; -1 where they are unknown.
absl::StatusOr<PartialShape> Slid(const Window& window, const PartialShape& in, const Sizes& sizes,
                                  int64_t channels) {
  PartialShape out = in;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int dim = window.spatial_dim(static_cast<int>(i));
    ASSIGN_OR_RETURN(const int64_t size, Slide(window, dim, in.dim(dim), sizes[i]));
    out.set_dim(dim, size);
  }
  out.set_dim(window.channel_dim(in.rank()), channels);
  return out;
}

int64_t Product(int64_t a, int64_t b) {
  return a < 0 || b < 0 ? -1 : MultiplyWithoutOverflow(a, b);
}

// The rank of a window op's input by what is known of input or filter; -1 if nothing is.
int WindowRank(const ShapeContext& c, const Window& window) {
  if (c.input(0).known_rank()) return c.input(0).rank();
  return c.input(1).known_rank() ? c.input(1).rank() + window.batch_dims - 1 : -1;
}

absl::Status SetConvolution(ShapeContext& c, bool depthwise) {
  ASSIGN_OR_RETURN(const Window window, ReadWindow(c));
  const int rank = WindowRank(c, window);
  if (rank < 0) return absl::OkStatus();
  const int spatial_rank = rank - window.batch_dims - 1;
  if (spatial_rank < 0) return absl::InvalidArgumentError("the input has too few dimensions");
  ASSIGN_OR_RETURN(const PartialShape in, c.WithRank(0, rank));
  ASSIGN_OR_RETURN(const PartialShape filter, c.WithRank(1, spatial_rank + 2));
  const Sizes sizes(filter.dims().begin(), filter.dims().begin() + spatial_rank);
  const int64_t last = filter.dim(spatial_rank + 1);
  const int64_t channels = depthwise ? Product(filter.dim(spatial_rank), last) : last;
  ASSIGN_OR_RETURN(PartialShape out, Slid(window, in, sizes, channels));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status SetPool(ShapeContext& c, const Window& window, const Sizes& ksize, int num_outputs) {
  const int rank = static_cast<int>(ksize.size());
  // Channels in vectors of four have a dimension more.
  if (c.input(0).known_rank() && c.input(0).rank() != rank) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialShape in, c.WithRank(0, rank));
  Sizes sizes;
  for (int i = 0; i < rank - 2; ++i) sizes.push_back(ksize[window.spatial_dim(i)]);
  const int channel_dim = window.channel_dim(rank);
  PartialShape out = in;
  if (ksize[channel_dim] == 1) {  // a stride over channels is ignored then
    ASSIGN_OR_RETURN(out, Slid(window, in, sizes, in.dim(channel_dim)));
  } else {  // and strides over points here
    ASSIGN_OR_RETURN(const int64_t channels, Slide(window, channel_dim, in.dim(channel_dim),
                                                   ksize[channel_dim]));
    out.set_dim(channel_dim, channels);
  }
  for (int i = 0; i < num_outputs; ++i) c.set_output(i, out);
  return absl::OkStatus();
}

absl::Status SetPoolByAttributes(ShapeContext& c, int num_outputs) {
  ASSIGN_OR_RETURN(const Window window, ReadWindow(c));
  ASSIGN_OR_RETURN(const Sizes ksize, c.attr<Sizes>("ksize"));
  if (ksize.size() < 3) return absl::InvalidArgumentError("ksize has too few elements");
  return SetPool(c, window, ksize, num_outputs);
}

}  // namespace

absl::Status Convolution(ShapeContext& c) { return SetConvolution(c, /*depthwise=*/false); }
absl::Status DepthwiseConvolution(ShapeContext& c) { return SetConvolution(c, /*depthwise=*/true); }

absl::Status ConvolutionInputGradient(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeInput(0));
  if (!shape.known_rank() || shape.rank() != 2) {
    c.set_output(0, std::move(shape));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Window window, ReadWindow(c));
  const int64_t batch = c.input(2).known_rank() && c.input(2).rank() == 4 ? c.input(2).dim(0) : -1;
  const int64_t height = shape.dim(0), width = shape.dim(1);
  c.set_output(0, window.channels_first ? PartialShape{batch, -1, height, width}
                                        : PartialShape{batch, height, width, -1});
  return absl::OkStatus();
}

absl::Status QuantizedConvolution(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarsAfterFirst(c));  // the minimum and the maximum
  return Convolution(c);
}

absl::Status PaddedConvolution(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape in, c.WithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape filter, c.WithRank(c.num_inputs() - 1, 4));
  c.set_output(0, PartialShape({in.dim(0), -1, -1, filter.dim(3)}));
  return absl::OkStatus();
}

absl::Status Pool(ShapeContext& c) { return SetPoolByAttributes(c, c.num_outputs()); }

absl::Status PoolWithArgmax(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Window window, ReadWindow(c));
  ASSIGN_OR_RETURN(Sizes ksize, c.attr<Sizes>("ksize"));
  if (ksize.size() < 3) return absl::InvalidArgumentError("ksize has too few elements");
  ksize[window.channel_dim(static_cast<int>(ksize.size()))] = 1;
  return SetPool(c, window, ksize, c.num_outputs());
}

absl::Status QuantizedPool(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarsAfterFirst(c));  // the minimum and the maximum
  return SetPoolByAttributes(c, 1);
}

absl::Status PoolV2(ShapeContext& c) {
  ASSIGN_OR_RETURN(Window window, ReadWindow(c));
  if (c.input_value(1) == nullptr || c.input_value(2) == nullptr) {
    if (c.input(0).known_rank()) c.set_output(0, PartialShape::UnknownOfRank(c.input(0).rank()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Sizes ksize, c.IntInput(1));
  ASSIGN_OR_RETURN(window.strides, c.IntInput(2));
  if (ksize.size() < 3) return absl::InvalidArgumentError("ksize has too few elements");
  return SetPool(c, window, ksize, 1);
}

absl::Status FractionalPool(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape out, c.WithRank(0, 4));
  ASSIGN_OR_RETURN(const std::vector<float> ratios, c.attr<std::vector<float>>("pooling_ratio"));
  for (int i = 0; i < 4 && i < static_cast<int>(ratios.size()); ++i) {
    if (out.dim(i) < 0) continue;
    // Ratios that kernels refuse, NaN among them, and sizes that round to 2^63 leave the size
    // unknown.
    const float size = std::floor(static_cast<float>(out.dim(i)) / ratios[i]);
    const bool is_valid = ratios[i] >= 1 && size < 0x1p63F;
    out.set_dim(i, is_valid ? static_cast<int64_t>(size) : -1);
  }
  // There is one boundary more than there are cells.
  for (int i = 1; i < 3; ++i) {
    c.set_output(i, PartialShape({out.dim(i) < 0 ? -1 : out.dim(i) + 1}));
  }
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status Dilation(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Window window, ReadWindow(c));
  ASSIGN_OR_RETURN(const PartialShape in, c.WithRank(0, 4));
  ASSIGN_OR_RETURN(const PartialShape filter, c.WithRank(1, 3));
  ASSIGN_OR_RETURN(PartialShape out,
                   Slid(window, in, {filter.dim(0), filter.dim(1)}, filter.dim(2)));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ExtractPatches(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Window window, ReadWindow(c));
  ASSIGN_OR_RETURN(const Sizes ksizes, c.attr<Sizes>("ksizes"));
  const int rank = static_cast<int>(ksizes.size());
  ASSIGN_OR_RETURN(const PartialShape in, c.WithRank(0, rank));
  int64_t depth = in.dim(rank - 1);
  for (int i = 1; i < rank - 1; ++i) depth = Product(depth, ksizes[i]);
  ASSIGN_OR_RETURN(PartialShape out,
                   Slid(window, in, Sizes(ksizes.begin() + 1, ksizes.end() - 1), depth));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace shape
}  // namespace tessera
