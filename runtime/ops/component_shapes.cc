#include "runtime/ops/component_shapes.h"

#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/status.h"

namespace tessera {
namespace shape {
namespace {

// Indices, values and dense shape from output `first` on, the same of each in a row of `count`.
void SetSparse(ShapeContext& c, int first, int count, int64_t rank) {
  for (int i = 0; i < count; ++i) {
    c.set_output(first + i, PartialShape({-1, rank}));
    c.set_output(first + count + i, PartialShape({-1}));
    c.set_output(first + 2 * count + i, PartialShape({rank}));
  }
}

// The columns of the matrix at input i; -1 if they are unknown.
int64_t ColumnsOf(const ShapeContext& c, int i) {
  const PartialShape& shape = c.input(i);
  return shape.known_rank() && shape.rank() == 2 ? shape.dim(1) : -1;
}

}  // namespace

absl::Status SparseConcat(ShapeContext& c) {
  SetSparse(c, 0, 1, ColumnsOf(c, 0));
  return absl::OkStatus();
}

absl::Status SparseSplit(ShapeContext& c) {
  SetSparse(c, 0, c.num_outputs() / 3, ColumnsOf(c, 1));
  return absl::OkStatus();
}

absl::Status DynamicPartition(ShapeContext& c) {
  const PartialShape &data = c.input(0), &partitions = c.input(1);
  if (!data.known_rank() || !partitions.known_rank()) return absl::OkStatus();
  if (data.rank() < partitions.rank()) {
    return absl::InvalidArgumentError("there are more dimensions of partitions than of data");
  }
  std::vector<int64_t> dims = {-1};
  dims.insert(dims.end(), data.dims().begin() + partitions.rank(), data.dims().end());
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape(dims));
  return absl::OkStatus();
}

absl::Status DynamicStitch(ShapeContext& c) {
  const int n = c.num_inputs() / 2;
  for (int i = 0; i < n; ++i) {
    const PartialShape &indices = c.input(i), &data = c.input(n + i);
    if (!indices.known_rank() || !data.known_rank() || data.rank() < indices.rank()) continue;
    std::vector<int64_t> dims = {-1};
    dims.insert(dims.end(), data.dims().begin() + indices.rank(), data.dims().end());
    c.set_output(0, PartialShape(dims));
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status RaggedOutput(ShapeContext& c) {
  for (int i = 0; i + 1 < c.num_outputs(); ++i) c.set_output(i, PartialShape({-1}));
  return absl::OkStatus();
}

absl::Status RaggedTensorToSparse(ShapeContext& c) {
  const PartialShape& values = c.input(c.num_inputs() - 1);
  SetSparse(c, 0, 1, values.known_rank() ? values.rank() + c.num_inputs() - 1 : -1);
  return absl::OkStatus();
}

absl::Status ParsedExamples(ShapeContext& c) {
  const PartialShape& examples = c.input(0);
  for (const ArgDef& arg : c.op().outputs) {
    ASSIGN_OR_RETURN(const ArgRange range, OutputRange(c.op(), c.attrs(), arg.name));
    const bool indices = absl::EndsWith(arg.name, "_indices");
    const bool vector = absl::EndsWith(arg.name, "sparse_values") ||
                        absl::EndsWith(arg.name, "sparse_shapes") ||
                        absl::StrContains(arg.name, "ragged");
    for (int i = range.begin; i < range.end; ++i) {
      if (indices) c.set_output(i, PartialShape::UnknownOfRank(2));
      if (vector) c.set_output(i, PartialShape({-1}));
    }
    const bool of_context = arg.name == "context_dense_values";
    if (!examples.known_rank() || (!of_context && arg.name != "dense_values")) continue;
    ASSIGN_OR_RETURN(const std::vector<PartialShape> dense,
                     c.attr<std::vector<PartialShape>>(of_context ? "context_dense_shapes"
                                                                  : "dense_shapes"));
    if (static_cast<int>(dense.size()) != range.size()) continue;
    for (int i = 0; i < range.size(); ++i) {
      if (!dense[i].known_rank()) continue;
      PartialShape out = examples;
      for (int64_t dim : dense[i].dims()) out.AddDim(dim);
      c.set_output(range.begin + i, std::move(out));
    }
  }
  return absl::OkStatus();
}

absl::Status QuantizedConcat(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarsAfterFirst(c));  // the minimum and the maximum
  // The axis, a scalar, comes before the values or after them.
  const PartialShape& first = c.input(0);
  const PartialShape& value = first.known_rank() && first.rank() == 0 ? c.input(1) : first;
  if (value.known_rank()) c.set_output(0, PartialShape::UnknownOfRank(value.rank()));
  return absl::OkStatus();
}

absl::Status QuantizedBroadcast(ShapeContext& c) {
  RETURN_IF_ERROR(ScalarsAfterFirst(c));  // the minimum and the maximum
  return Broadcast(c);
}

}  // namespace shape
}  // namespace tessera
