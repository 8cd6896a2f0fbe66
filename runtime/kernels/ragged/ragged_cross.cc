// RaggedCross: feature crosses of ragged, sparse and dense columns, as a ragged tensor.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/feature_columns.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

// `input_order` names the kind of each column: R, S or D. Crosses are strings joined by "_X_", or
// hashes, as the type of the output says.
class RaggedCrossKernel : public OpKernel {
 public:
  explicit RaggedCrossKernel(const KernelBuild& build)
      : ragged_values_(build.inputs("ragged_values")),
        ragged_splits_(build.inputs("ragged_row_splits")),
        sparse_indices_(build.inputs("sparse_indices")),
        sparse_values_(build.inputs("sparse_values")),
        sparse_shapes_(build.inputs("sparse_shape")),
        dense_(build.inputs("dense_inputs")),
        order_(build.attr<std::string>("input_order")),
        num_buckets_(build.attr<int64_t>("num_buckets")),
        hash_key_(static_cast<uint64_t>(build.attr<int64_t>("hash_key"))) {
    for (const auto& [kind, count] :
         {std::pair('R', ragged_values_.size()), std::pair('S', sparse_values_.size()),
          std::pair('D', dense_.size())}) {
      if (std::count(order_.begin(), order_.end(), kind) != count) {
        build.Fail(absl::InvalidArgumentError(
            absl::StrCat("input_order '", order_, "' does not name each of the ", count,
                         " inputs of kind '", std::string(1, kind), "' once")));
      }
    }
    if (ragged_values_.size() != ragged_splits_.size() ||
        sparse_values_.size() != sparse_indices_.size() ||
        order_.find_first_not_of("RSD") != std::string::npos) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("input_order '", order_,
                       "' must be made of R, S and D, and every ragged and sparse "
                       "column have its values")));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    FeatureColumns columns;
    int ragged = 0, sparse = 0, dense = 0;
    for (const char kind : order_) {
      if (kind == 'R') {
        RETURN_IF_ERROR(columns.ReadRagged(ragged, ctx.input(ragged_values_.begin + ragged),
                                           ctx.input(ragged_splits_.begin + ragged)));
        ++ragged;
      } else if (kind == 'S') {
        RETURN_IF_ERROR(columns.ReadSparse(sparse, ctx.input(sparse_indices_.begin + sparse),
                                           ctx.input(sparse_values_.begin + sparse),
                                           ctx.input(sparse_shapes_.begin + sparse)));
        ++sparse;
      } else {
        RETURN_IF_ERROR(columns.ReadDense(dense, ctx.input(dense_.begin + dense)));
        ++dense;
      }
    }
    std::vector<int64_t> splits(columns.batch() + 1, 0);
    RETURN_IF_ERROR(
        columns.ForRows([&](int64_t row, const auto&, int64_t count) { splits[row + 1] = count; }));
    for (size_t row = 1; row < splits.size(); ++row) {
      if (__builtin_add_overflow(splits[row - 1], splits[row], &splits[row])) {
        return absl::InvalidArgumentError("too many feature crosses");
      }
    }
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, Shape{splits.back()}));
    ASSIGN_OR_RETURN(Tensor* const row_splits,
                     ctx.AllocateOutput(1, Shape{static_cast<int64_t>(splits.size())}));
    RETURN_IF_ERROR(WriteRowSplits(splits, row_splits));
    int64_t out = 0;
    return columns.ForCrosses([&](int64_t, const std::vector<int64_t>& positions, int64_t) {
      if (values->dtype() == DType::kString) {
        values->flat<std::string>()[out++] = columns.JoinTexts(positions, "_X_");
      } else {
        values->flat<int64_t>()[out++] =
            HashBucket(columns.Hash(positions, hash_key_), num_buckets_);
      }
    });
  }

 private:
  const ArgRange ragged_values_, ragged_splits_, sparse_indices_, sparse_values_, sparse_shapes_,
      dense_;
  const std::string order_;
  const int64_t num_buckets_;
  const uint64_t hash_key_;
};
REGISTER_KERNEL("RaggedCross", kCpu, RaggedCrossKernel);

}  // namespace
}  // namespace tessera
