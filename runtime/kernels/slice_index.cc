#include "runtime/kernels/slice_index.h"

#include "absl/strings/str_join.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

// "[2,0]": position `i` of a row-major tensor.
std::string PositionText(const Shape& shape, int rank, int64_t i) {
  std::string text;
  for (int d = rank - 1; d >= 0; --d) {
    text = absl::StrCat(i % shape.dim(d), text.empty() ? "" : ",", text);
    i /= shape.dim(d);
  }
  return absl::StrCat("[", text, "]");
}

}  // namespace

absl::Status CheckIndices(const Tensor& indices, int64_t limit) {
  return VisitIndexType(indices.dtype(), [&]<typename Index>() -> absl::Status {
    const auto values = indices.flat<Index>();
    // Unsigned comparison takes negative ones in; no branch, so that the loop is vectorised.
    bool bad = false;
    for (Index value : values) {
      bad |= static_cast<uint64_t>(static_cast<int64_t>(value)) >= static_cast<uint64_t>(limit);
    }
    if (!bad) return absl::OkStatus();
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t value = static_cast<int64_t>(values[i]);
      if (value < 0 || value >= limit) {
        return absl::InvalidArgumentError(absl::StrCat(
            "indices", indices.rank() == 0 ? "" : PositionText(indices.shape(), indices.rank(), i),
            " = ", value, " is not in [0, ", limit, ")"));
      }
    }
    return absl::OkStatus();
  });
}

bool IgnoresBadIndices(const KernelBuild& build) {
  if (!build.has_attr("bad_indices_policy")) return false;
  const std::string policy = build.attr<std::string>("bad_indices_policy");
  if (policy == "IGNORE") return true;
  if (policy != "" && policy != "DEFAULT" && policy != "ERROR") {
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("bad_indices_policy must be DEFAULT, ERROR or IGNORE, is '", policy, "'")));
  }
  return false;
}

absl::StatusOr<SliceIndex> SliceIndex::Make(KernelContext& ctx, const Shape& shape,
                                            const Tensor& indices, bool ignore_bad_indices) {
  if (indices.rank() < 1) return absl::InvalidArgumentError("indices must be at least a vector");
  const int last = indices.rank() - 1;
  if (indices.dim(last) > shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the last dimension of indices holds ", indices.dim(last),
                     " coordinates, a tensor of shape ", shape.ToString(), " has fewer"));
  }
  SliceIndex result;
  result.depth = static_cast<int>(indices.dim(last));
  result.slice = DimProduct(shape, result.depth, shape.rank());
  const int64_t count = DimProduct(indices.shape(), 0, last);
  ASSIGN_OR_RETURN(result.slices, ctx.AllocateTemp(DType::kInt64, Shape{count}));
  int64_t* const slices = result.slices.data<int64_t>();
  const absl::Status status =
      VisitIndexType(indices.dtype(), [&]<typename Index>() -> absl::Status {
        const Index* coordinates = indices.data<Index>();
        for (int64_t i = 0; i < count; ++i, coordinates += result.depth) {
          int64_t slice = 0;
          bool bad = false;
          for (int d = 0; d < result.depth; ++d) {
            const int64_t x = static_cast<int64_t>(coordinates[d]);
            bad = bad || x < 0 || x >= shape.dim(d);
            slice = bad ? -1 : slice * shape.dim(d) + x;
          }
          if (bad && !ignore_bad_indices) {
            return absl::InvalidArgumentError(
                absl::StrCat("indices", PositionText(indices.shape(), last, i), " = [",
                             absl::StrJoin(coordinates, coordinates + result.depth, ", "),
                             "] does not lie within shape ", shape.ToString()));
          }
          slices[i] = slice;
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return result;
}

}  // namespace tessera
