#include "runtime/framework/shape_inference.h"

#include <algorithm>

#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<std::vector<int64_t>> ShapeContext::IntInput(int i) const {
  const Tensor* value = input_value(i);
  if (value == nullptr) return absl::NotFoundError("the input is not constant");
  if (auto elements = IntElements(*value)) return *std::move(elements);
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, " must be int32 or int64, is ", DTypeName(value->dtype())));
}

absl::StatusOr<PartialShape> ShapeContext::ShapeInput(int i) const {
  if (input_value(i) != nullptr) {
    ASSIGN_OR_RETURN(std::vector<int64_t> dims, IntInput(i));
    for (int64_t d : dims) {
      if (d < -1) return absl::InvalidArgumentError(absl::StrCat("dimension ", d, " in a shape"));
    }
    return PartialShape(dims);
  }
  const PartialShape& vector = inputs_[i];
  if (vector.known_rank() && vector.rank() == 1 && vector.dim(0) >= 0 &&
      vector.dim(0) <= kMaxRank) {
    return PartialShape::UnknownOfRank(static_cast<int>(vector.dim(0)));
  }
  return PartialShape();
}

absl::StatusOr<PartialShape> ShapeContext::WithRank(int i, int rank) const {
  const PartialShape& shape = inputs_[i];
  if (!shape.known_rank()) return PartialShape::UnknownOfRank(rank);
  if (shape.rank() == rank) return shape;
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " of ", op_.name, " must have rank ",
                                                 rank, ", its shape is ", shape.ToString()));
}

absl::StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank()) return PartialShape();
  const int rank = std::max(a.rank(), b.rank());
  PartialShape result = PartialShape::UnknownOfRank(rank);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a.dim(ia), db = ib < 0 ? 1 : b.dim(ib);
    if (da == 1) {
      result.set_dim(i, db);
    } else if (db == 1 || da == db) {
      result.set_dim(i, da);
    } else if (da == -1 || db == -1) {
      result.set_dim(i, std::max(da, db));  // the unknown one must be this, or 1
    } else {
      return absl::InvalidArgumentError(absl::StrCat("incompatible shapes: ", a.ToString(), " and ",
                                                     b.ToString(), " do not broadcast"));
    }
  }
  return result;
}

namespace shape {

absl::Status Unknown(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape());
  return absl::OkStatus();
}

absl::Status Scalar(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(Shape()));
  return absl::OkStatus();
}

absl::Status ScalarsAfterFirst(ShapeContext& c) {
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(Shape()));
  return absl::OkStatus();
}

absl::Status SameAsFirstInput(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  return absl::OkStatus();
}

absl::Status Broadcast(ShapeContext& c) {
  // Equal and NotEqual can be told to give a scalar for shapes that do not fit.
  const absl::StatusOr<bool> must_fit = c.attr<bool>("incompatible_shape_error");
  if (must_fit.ok() && !*must_fit) {
    if (!c.input(0).IsFullyDefined() || !c.input(1).IsFullyDefined()) return absl::OkStatus();
    const absl::StatusOr<PartialShape> fitting = BroadcastShapes(c.input(0), c.input(1));
    c.set_output(0, fitting.ok() ? *fitting : PartialShape(Shape()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(PartialShape result, BroadcastShapes(c.input(0), c.input(1)));
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status FromShapeAttr(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.attr<PartialShape>("shape"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status Reduction(ShapeContext& c) {
  bool keep_dims = false;
  if (auto attr = c.attr<bool>("keep_dims"); attr.ok()) keep_dims = *attr;
  const PartialShape& in = c.input(0);
  if (!in.known_rank()) return Unknown(c);
  if (c.input_value(1) == nullptr) {
    c.set_output(0, keep_dims ? PartialShape::UnknownOfRank(in.rank()) : PartialShape());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.IntInput(1));
  std::vector<bool> reduced(in.rank());
  for (int64_t axis : axes) {
    if (axis < -in.rank() || axis >= in.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("reduction axis ", axis, " is out of range for shape ", in.ToString()));
    }
    reduced[axis < 0 ? axis + in.rank() : axis] = true;
  }
  PartialShape out(absl::Span<const int64_t>{});
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced[i]) {
      out.AddDim(in.dim(i));
    } else if (keep_dims) {
      out.AddDim(1);
    }
  }
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace shape
}  // namespace tessera
