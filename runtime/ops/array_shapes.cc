#include "runtime/ops/array_shapes.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/status.h"
#include "runtime/ops/strided_slice_spec.h"

namespace tessera {
namespace shape {
namespace {

using Dims = absl::InlinedVector<int64_t, 6>;

PartialShape ShapeOf(const Dims& dims) { return PartialShape(absl::Span<const int64_t>(dims)); }
Dims DimsOf(const PartialShape& shape) { return Dims(shape.dims().begin(), shape.dims().end()); }

// Errors: INVALID_ARGUMENT unless -rank <= axis < rank.
absl::StatusOr<int> Axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is out of range of ", rank, " dimensions"));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// The constant scalar at input i; NOT_FOUND if it is not constant.
absl::StatusOr<int64_t> ScalarInput(const ShapeContext& c, int i) {
  const Tensor* const value = c.input_value(i);
  if (value != nullptr && value->num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be one number"));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, c.IntInput(i));
  return values[0];
}

// Product of the dimensions, -1 if one is unknown. Zero wins over unknown.
int64_t NumElements(const PartialShape& shape) {
  int64_t count = 1;
  for (int64_t dim : shape.dims()) {
    if (dim == 0) return 0;
    count = count < 0 || dim < 0 ? -1 : MultiplyWithoutOverflow(count, dim);
  }
  return count;
}

// Sum of two dimensions, -1 if one is unknown or the sum is too large.
int64_t Add(int64_t a, int64_t b) {
  int64_t sum;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

absl::Status SetUnknownOfRank(ShapeContext& c, int rank) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape::UnknownOfRank(rank));
  return absl::OkStatus();
}

absl::Status SetFromShapeInput(ShapeContext& c, int i) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeInput(i));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

absl::Status Const(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Tensor value, c.attr<Tensor>("value"));
  c.set_output(0, PartialShape(value.shape()));
  return absl::OkStatus();
}

absl::Status Reshape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ShapeInput(1));
  if (!shape.known_rank()) return absl::OkStatus();
  // In a constant, -1 is what is left of the input's elements.
  if (c.input_value(1) != nullptr && c.input(0).known_rank()) {
    const int64_t total = NumElements(c.input(0));
    int open = -1;
    int64_t known = 1;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape.dim(d) >= 0) {
        known = MultiplyWithoutOverflow(known, shape.dim(d));
      } else if (open >= 0) {
        return absl::InvalidArgumentError("only one size may be -1");
      } else {
        open = d;
      }
    }
    if (total >= 0 && open >= 0 && known > 0) {
      if (total % known != 0) {
        return absl::InvalidArgumentError(absl::StrCat("a tensor of shape ", c.input(0).ToString(),
                                                       " cannot take shape ", shape.ToString()));
      }
      shape.set_dim(open, total / known);
    }
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status ExpandDims(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank()) return absl::OkStatus();
  const absl::StatusOr<int64_t> given = ScalarInput(c, 1);
  if (absl::IsNotFound(given.status())) return SetUnknownOfRank(c, in.rank() + 1);
  if (!given.ok()) return given.status();
  ASSIGN_OR_RETURN(const int axis, Axis(*given, in.rank() + 1));
  Dims dims = DimsOf(in);
  dims.insert(dims.begin() + axis, 1);
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status Squeeze(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.attr<std::vector<int64_t>>("squeeze_dims"));
  if (!in.known_rank()) return absl::OkStatus();
  absl::InlinedVector<bool, 6> removed(in.rank(), false);
  for (int64_t named : axes) {
    ASSIGN_OR_RETURN(const int axis, Axis(named, in.rank()));
    if (in.dim(axis) > 1 || in.dim(axis) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("cannot squeeze dimension ", axis,
                                                     " of shape ", in.ToString()));
    }
    removed[axis] = true;
  }
  Dims kept;
  for (int d = 0; d < in.rank(); ++d) {
    // Without names, an unknown dimension may turn out to be 1: even the rank is open then.
    if (axes.empty() && in.dim(d) < 0) return absl::OkStatus();
    if (axes.empty() ? in.dim(d) != 1 : !removed[d]) kept.push_back(in.dim(d));
  }
  c.set_output(0, ShapeOf(kept));
  return absl::OkStatus();
}

absl::Status Transpose(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  const absl::StatusOr<std::vector<int64_t>> perm = c.IntInput(1);
  if (!perm.ok() || !in.known_rank()) {
    if (in.known_rank()) return SetUnknownOfRank(c, in.rank());
    if (perm.ok()) return SetUnknownOfRank(c, static_cast<int>(perm->size()));
    return absl::OkStatus();
  }
  if (static_cast<int>(perm->size()) != in.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("perm has ", perm->size(), " axes, the input shape ", in.ToString()));
  }
  Dims dims;
  for (int64_t named : *perm) {
    ASSIGN_OR_RETURN(const int axis, Axis(named, in.rank()));
    dims.push_back(in.dim(axis));
  }
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status EnsureShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape promised, c.attr<PartialShape>("shape"));
  ASSIGN_OR_RETURN(PartialShape shape, c.input(0).MergeWith(promised));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status Concat(ShapeContext& c) {
  ASSIGN_OR_RETURN(const ArgRange values, c.InputRange("values"));
  const int axis_input = values.begin == 0 ? values.end : 0;
  int rank = -1;
  for (int i = values.begin; i < values.end; ++i) {
    if (c.input(i).known_rank()) rank = c.input(i).rank();
  }
  if (rank < 0) return absl::OkStatus();
  const absl::StatusOr<int64_t> given = ScalarInput(c, axis_input);
  if (absl::IsNotFound(given.status())) return SetUnknownOfRank(c, rank);
  if (!given.ok()) return given.status();
  ASSIGN_OR_RETURN(const int axis, Axis(*given, rank));
  PartialShape joined = PartialShape::UnknownOfRank(rank);
  int64_t size = 0;
  for (int i = values.begin; i < values.end; ++i) {
    PartialShape part = c.input(i);
    if (!part.known_rank()) {
      size = -1;
      continue;
    }
    if (part.rank() != rank) {
      return absl::InvalidArgumentError(absl::StrCat("a value of shape ", part.ToString(),
                                                     " cannot be joined with one of rank ", rank));
    }
    size = Add(size, part.dim(axis));
    part.set_dim(axis, -1);
    ASSIGN_OR_RETURN(joined, joined.MergeWith(part));
  }
  joined.set_dim(axis, size);
  c.set_output(0, std::move(joined));
  return absl::OkStatus();
}

absl::Status ConcatOffset(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(i + 1));
  return absl::OkStatus();
}

absl::Status Pack(ShapeContext& c) {
  ASSIGN_OR_RETURN(const int64_t named, c.attr<int64_t>("axis"));
  PartialShape part;
  for (int i = 0; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(part, part.MergeWith(c.input(i)));
  }
  if (!part.known_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, Axis(named, part.rank() + 1));
  Dims dims = DimsOf(part);
  dims.insert(dims.begin() + axis, c.num_inputs());
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status Unpack(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  ASSIGN_OR_RETURN(const int64_t named, c.attr<int64_t>("axis"));
  if (!in.known_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, Axis(named, in.rank()));
  if (in.dim(axis) >= 0 && in.dim(axis) != c.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of shape ", in.ToString(),
                                                   " does not make ", c.num_outputs(),
                                                   " outputs"));
  }
  Dims dims = DimsOf(in);
  dims.erase(dims.begin() + axis);
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status Split(ShapeContext& c) {
  const PartialShape& in = c.input(1);
  if (!in.known_rank()) return absl::OkStatus();
  const absl::StatusOr<int64_t> given = ScalarInput(c, 0);
  if (absl::IsNotFound(given.status())) return SetUnknownOfRank(c, in.rank());
  if (!given.ok()) return given.status();
  ASSIGN_OR_RETURN(const int axis, Axis(*given, in.rank()));
  PartialShape piece = in;
  if (in.dim(axis) >= 0) {
    if (in.dim(axis) % c.num_outputs() != 0) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of shape ",
                                                     in.ToString(), " does not split into ",
                                                     c.num_outputs(), " equal pieces"));
    }
    piece.set_dim(axis, in.dim(axis) / c.num_outputs());
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, piece);
  return absl::OkStatus();
}

absl::Status SplitV(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank()) return absl::OkStatus();
  const absl::StatusOr<int64_t> given = ScalarInput(c, 2);
  if (absl::IsNotFound(given.status())) return SetUnknownOfRank(c, in.rank());
  if (!given.ok()) return given.status();
  ASSIGN_OR_RETURN(const int axis, Axis(*given, in.rank()));
  const absl::StatusOr<std::vector<int64_t>> sizes = c.IntInput(1);
  for (int i = 0; i < c.num_outputs(); ++i) {
    PartialShape piece = in;
    const bool known = sizes.ok() && i < static_cast<int>(sizes->size()) && (*sizes)[i] >= 0;
    piece.set_dim(axis, known ? (*sizes)[i] : -1);
    c.set_output(i, std::move(piece));
  }
  return absl::OkStatus();
}

absl::Status Slice(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  const absl::StatusOr<std::vector<int64_t>> begin = c.IntInput(1), size = c.IntInput(2);
  int rank = in.rank();
  if (rank < 0 && begin.ok()) rank = static_cast<int>(begin->size());
  if (rank < 0 && size.ok()) rank = static_cast<int>(size->size());
  if (rank < 0) return absl::OkStatus();
  PartialShape out = PartialShape::UnknownOfRank(rank);
  for (int d = 0; size.ok() && d < rank && d < static_cast<int>(size->size()); ++d) {
    if ((*size)[d] >= 0) {
      out.set_dim(d, (*size)[d]);
    } else if (begin.ok() && d < static_cast<int>(begin->size()) && in.known_rank() &&
               (*begin)[d] >= 0 && (*begin)[d] <= in.dim(d)) {
      out.set_dim(d, in.dim(d) - (*begin)[d]);
    }
  }
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status StridedSlice(ShapeContext& c) {
  if (!c.input(0).known_rank()) return absl::OkStatus();
  const absl::StatusOr<std::vector<int64_t>> begin = c.IntInput(1), end = c.IntInput(2),
                                             strides = c.IntInput(3);
  if (!begin.ok() || !end.ok() || !strides.ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StridedSliceMasks masks, StridedSliceMasks::FromAttrs(c.attrs()));
  ASSIGN_OR_RETURN(const StridedSliceSpec spec,
                   StridedSliceSpec::Make(c.input(0), *begin, *end, *strides, masks));
  c.set_output(0, spec.shape);
  return absl::OkStatus();
}

absl::Status Pad(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank()) return absl::OkStatus();
  const absl::StatusOr<std::vector<int64_t>> paddings = c.IntInput(1);
  if (!paddings.ok()) return SetUnknownOfRank(c, in.rank());
  if (static_cast<int>(paddings->size()) != 2 * in.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("paddings must have shape [", in.rank(),
                                                   ",2] for input shape ", in.ToString()));
  }
  PartialShape out = in;
  for (int d = 0; d < in.rank(); ++d) {
    out.set_dim(d, Add(in.dim(d), Add((*paddings)[2 * d], (*paddings)[2 * d + 1])));
  }
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status Tile(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  const absl::StatusOr<std::vector<int64_t>> multiples = c.IntInput(1);
  if (!in.known_rank()) return absl::OkStatus();
  if (!multiples.ok()) return SetUnknownOfRank(c, in.rank());
  if (static_cast<int>(multiples->size()) != in.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("multiples has ", multiples->size(),
                                                   " elements for shape ", in.ToString()));
  }
  PartialShape out = in;
  for (int d = 0; d < in.rank(); ++d) {
    out.set_dim(d, in.dim(d) < 0 ? -1 : MultiplyWithoutOverflow(in.dim(d), (*multiples)[d]));
  }
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status Gather(ShapeContext& c) {
  const PartialShape& params = c.input(0);
  const PartialShape& indices = c.input(1);
  if (!params.known_rank() || !indices.known_rank()) return absl::OkStatus();
  int64_t axis_value = 0, batch_dims = 0;
  if (c.num_inputs() > 2) {
    const absl::StatusOr<int64_t> given = ScalarInput(c, 2);
    if (!given.ok()) return absl::OkStatus();
    axis_value = *given;
  }
  if (const auto attr = c.attr<int64_t>("batch_dims"); attr.ok()) batch_dims = *attr;
  ASSIGN_OR_RETURN(const int axis, Axis(axis_value, params.rank()));
  if (batch_dims < 0) batch_dims += indices.rank();
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims > axis) {
    return absl::InvalidArgumentError(absl::StrCat("batch_dims ", batch_dims,
                                                   " does not fit indices of shape ",
                                                   indices.ToString()));
  }
  Dims dims(params.dims().begin(), params.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin() + batch_dims, indices.dims().end());
  dims.insert(dims.end(), params.dims().begin() + axis + 1, params.dims().end());
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status GatherNd(ShapeContext& c) {
  const PartialShape& params = c.input(0);
  const PartialShape& indices = c.input(1);
  if (!params.known_rank() || !indices.known_rank() || indices.rank() < 1) return absl::OkStatus();
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return absl::OkStatus();
  if (depth > params.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices hold ", depth, " coordinates into shape ", params.ToString()));
  }
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), params.dims().begin() + depth, params.dims().end());
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status OneHot(ShapeContext& c) {
  const PartialShape& indices = c.input(0);
  ASSIGN_OR_RETURN(const int64_t named, c.attr<int64_t>("axis"));
  if (!indices.known_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, Axis(named, indices.rank() + 1));
  const absl::StatusOr<int64_t> depth = ScalarInput(c, 1);
  Dims dims = DimsOf(indices);
  dims.insert(dims.begin() + axis, depth.ok() ? std::max<int64_t>(*depth, -1) : -1);
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status Bitcast(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  ASSIGN_OR_RETURN(const DType from, c.attr<DType>("T"));
  ASSIGN_OR_RETURN(const DType to, c.attr<DType>("type"));
  const int64_t from_size = static_cast<int64_t>(DTypeSize(from));
  const int64_t to_size = static_cast<int64_t>(DTypeSize(to));
  if (!in.known_rank() || from_size == 0 || to_size == 0) return absl::OkStatus();
  Dims dims = DimsOf(in);
  if (from_size > to_size) {
    dims.push_back(from_size / to_size);
  } else if (from_size < to_size) {
    if (dims.empty() || (dims.back() >= 0 && dims.back() != to_size / from_size)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot bitcast shape ", in.ToString(),
                                                     " from ", DTypeName(from), " to ",
                                                     DTypeName(to)));
    }
    dims.pop_back();
  }
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status SpaceToDepth(ShapeContext& c) {
  const bool to_depth = c.op().name == "SpaceToDepth";
  ASSIGN_OR_RETURN(const int64_t block, c.attr<int64_t>("block_size"));
  ASSIGN_OR_RETURN(const std::string format, c.attr<std::string>("data_format"));
  if ((format != "NHWC" && format != "NCHW") || block < 1) return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialShape shape, c.WithRank(0, 4));
  const int channel = format == "NHWC" ? 3 : 1;
  for (int d = 1; d < 4; ++d) {
    if (shape.dim(d) < 0) continue;
    const int64_t factor = d == channel ? MultiplyWithoutOverflow(block, block) : block;
    const bool shrinks = (d == channel) != to_depth;
    if (factor < 0) {
      shape.set_dim(d, -1);
    } else {
      shape.set_dim(d, shrinks ? shape.dim(d) / factor
                               : MultiplyWithoutOverflow(shape.dim(d), factor));
    }
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status MatrixDiag(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank() || in.rank() < 1) return absl::OkStatus();
  Dims dims = DimsOf(in);
  dims.push_back(dims.back());
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status MatrixDiagPart(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank() || in.rank() < 2) return absl::OkStatus();
  Dims dims(in.dims().begin(), in.dims().end() - 2);
  const int64_t rows = in.dim(in.rank() - 2), columns = in.dim(in.rank() - 1);
  dims.push_back(rows < 0 || columns < 0 ? -1 : std::min(rows, columns));
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status MatrixDiagV2(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank() || in.rank() < 1 || c.input_value(1) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int64_t> diagonals, c.IntInput(1));
  // A band of several diagonals has a dimension for them.
  const bool band = diagonals.size() == 2 && diagonals[0] != diagonals[1];
  const int stack_rank = in.rank() - (band ? 2 : 1);
  if (stack_rank < 0) return absl::OkStatus();
  Dims dims(in.dims().begin(), in.dims().begin() + stack_rank);
  for (int i = 2; i < 4; ++i) {
    const absl::StatusOr<int64_t> size = ScalarInput(c, i);
    dims.push_back(size.ok() && *size >= 0 ? *size : -1);
  }
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status MatrixDiagPartV2(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank() || in.rank() < 2 || c.input_value(1) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int64_t> diagonals, c.IntInput(1));
  Dims dims(in.dims().begin(), in.dims().end() - 2);
  if (diagonals.size() == 2 && diagonals[0] < diagonals[1]) {
    dims.push_back(diagonals[1] - diagonals[0] + 1);
  }
  dims.push_back(-1);
  c.set_output(0, ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status DiagPart(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank() || in.rank() % 2 != 0) return absl::OkStatus();
  const int half = in.rank() / 2;
  ASSIGN_OR_RETURN(PartialShape out, PartialShape(in.dims().first(half))
                                         .MergeWith(PartialShape(in.dims().subspan(half))));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status SpaceToBatchND(ShapeContext& c) {
  const PartialShape &in = c.input(0), &blocks = c.input(1);
  if (!in.known_rank()) return absl::OkStatus();
  PartialShape out = in;
  const bool known = blocks.known_rank() && blocks.rank() == 1 && blocks.dim(0) >= 0;
  const int changed = known ? static_cast<int>(std::min<int64_t>(blocks.dim(0), in.rank() - 1))
                            : in.rank() - 1;
  for (int i = 0; i <= changed; ++i) out.set_dim(i, -1);
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status UnravelIndex(ShapeContext& c) {
  const PartialShape &indices = c.input(0), &dims = c.input(1);
  if (!indices.known_rank() || indices.rank() > 1) return absl::OkStatus();
  Dims out = {dims.known_rank() && dims.rank() == 1 ? dims.dim(0) : -1};
  if (indices.rank() == 1) out.push_back(indices.dim(0));
  c.set_output(0, ShapeOf(out));
  return absl::OkStatus();
}

absl::Status Range(ShapeContext& c) {
  int64_t numbers[3];
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<int64_t> number = ScalarInput(c, i);
    if (!number.ok()) return SetUnknownOfRank(c, 1);
    numbers[i] = *number;
  }
  const auto [start, limit, delta] = numbers;
  if (delta == 0) return absl::InvalidArgumentError("the step of a range must not be 0");
  // In floating point, whose steps may not overflow as the differences of int64 do.
  const double steps = (static_cast<double>(limit) - static_cast<double>(start)) / delta;
  c.set_output(0, PartialShape{steps < 0 ? 0
                               : steps < 1e15 ? static_cast<int64_t>(std::ceil(steps))
                                              : -1});
  return absl::OkStatus();
}

absl::Status SameRankAsFirstInput(ShapeContext& c) {
  return c.input(0).known_rank() ? SetUnknownOfRank(c, c.input(0).rank()) : absl::OkStatus();
}

absl::Status SameAsSecondInput(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status BroadcastAll(ShapeContext& c) {
  if (c.num_inputs() == 0) return absl::OkStatus();
  PartialShape out = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(out, BroadcastShapes(out, c.input(i)));
  }
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status OutputShapesAttr(ShapeContext& c) {
  ASSIGN_OR_RETURN(const std::vector<PartialShape> shapes,
                   c.attr<std::vector<PartialShape>>("output_shapes"));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) return absl::OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return absl::OkStatus();
}

absl::Status BroadcastArgs(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape a, c.WithRank(0, 1));
  ASSIGN_OR_RETURN(const PartialShape b, c.WithRank(1, 1));
  const bool known = a.dim(0) >= 0 && b.dim(0) >= 0;
  c.set_output(0, PartialShape{known ? std::max(a.dim(0), b.dim(0)) : -1});
  return absl::OkStatus();
}

absl::Status FromShapeInput0(ShapeContext& c) { return SetFromShapeInput(c, 0); }
absl::Status FromShapeInput1(ShapeContext& c) { return SetFromShapeInput(c, 1); }
absl::Status FromShapeInput2(ShapeContext& c) { return SetFromShapeInput(c, 2); }

absl::Status SameAsInputs(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(i));
  return absl::OkStatus();
}

absl::Status RankVectors(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape{c.input(i).rank()});
  return absl::OkStatus();
}

absl::Status UnknownVectors(ShapeContext& c) { return SetUnknownOfRank(c, 1); }

absl::Status Where(ShapeContext& c) {
  c.set_output(0, PartialShape{-1, c.input(0).rank()});
  return absl::OkStatus();
}

absl::Status Unique(ShapeContext& c) {
  const bool vector = c.num_inputs() == 1;
  if (vector) c.set_output(0, PartialShape{-1});
  c.set_output(1, vector ? c.input(0) : PartialShape{-1});
  if (c.num_outputs() > 2) c.set_output(2, PartialShape{-1});
  return absl::OkStatus();
}

}  // namespace shape
}  // namespace tessera
