#include "runtime/ops/reduction_shapes.h"

#include <vector>

#include "runtime/base/status.h"

namespace tessera {
namespace shape {
namespace {

// The number in input i, -1 if it is not constant.
int64_t NumberOr(const ShapeContext& c, int i) {
  const absl::StatusOr<std::vector<int64_t>> values = c.IntInput(i);
  return values.ok() && values->size() == 1 && (*values)[0] >= 0 ? (*values)[0] : -1;
}

}  // namespace

absl::Status ArgMax(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank()) return absl::OkStatus();
  const absl::StatusOr<std::vector<int64_t>> axes = c.IntInput(1);
  if (!axes.ok() || axes->size() != 1) {
    if (in.rank() > 0) c.set_output(0, PartialShape::UnknownOfRank(in.rank() - 1));
    return absl::OkStatus();
  }
  const int64_t axis = (*axes)[0] < 0 ? (*axes)[0] + in.rank() : (*axes)[0];
  if (axis < 0 || axis >= in.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("dimension ", (*axes)[0],
                                                   " is out of range of shape ", in.ToString()));
  }
  std::vector<int64_t> dims(in.dims().begin(), in.dims().end());
  dims.erase(dims.begin() + axis);
  c.set_output(0, PartialShape(dims));
  return absl::OkStatus();
}

absl::Status DenseBincount(ShapeContext& c) {
  const PartialShape& in = c.input(0);
  if (!in.known_rank() || in.rank() > 2) return absl::OkStatus();
  const int64_t bins = NumberOr(c, 1);
  c.set_output(0, in.rank() == 2 ? PartialShape({in.dim(0), bins}) : PartialShape({bins}));
  return absl::OkStatus();
}

absl::Status SparseBincount(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape dense, c.ShapeInput(2));
  if (!dense.known_rank()) return absl::OkStatus();
  const int64_t bins = NumberOr(c, 3);
  c.set_output(0, dense.rank() > 1 ? PartialShape({dense.dim(0), bins}) : PartialShape({bins}));
  return absl::OkStatus();
}

absl::Status UnsortedSegment(ShapeContext& c) {
  const PartialShape &data = c.input(0), &ids = c.input(1);
  if (!data.known_rank() || !ids.known_rank()) return absl::OkStatus();
  if (data.rank() < ids.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("segment ids of shape ", ids.ToString(),
                                                   " for data of shape ", data.ToString()));
  }
  PartialShape out({NumberOr(c, 2)});
  for (int i = ids.rank(); i < data.rank(); ++i) out.AddDim(data.dim(i));
  c.set_output(0, std::move(out));
  return absl::OkStatus();
}

}  // namespace shape
}  // namespace tessera
