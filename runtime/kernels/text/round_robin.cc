// RoundRobinTrim and RoundRobinGenerateMasks: shorten several segments until they fit together.
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

// How many elements each segment keeps of a row: one after the other gets one more, as long as it
// has more and the sum is below `budget`.
std::vector<int64_t> Shares(const std::vector<int64_t>& sizes, int64_t budget) {
  std::vector<int64_t> shares(sizes.size(), 0);
  int64_t left = std::max<int64_t>(budget, 0), open = 0;
  do {
    // All open segments get the same number, unless a segment ends before or nothing is left.
    open = 0;
    int64_t step = 0;
    for (size_t s = 0; s < sizes.size(); ++s) {
      const int64_t more = sizes[s] - shares[s];
      if (more == 0) continue;
      step = open++ == 0 ? more : std::min(step, more);
    }
    if (open == 0) break;
    step = std::min(step, left / open);
    int64_t rest = step == 0 ? left : 0;  // the last round, which not all get
    for (size_t s = 0; s < sizes.size(); ++s) {
      if (sizes[s] == shares[s]) continue;
      const int64_t given = step > 0 ? step : std::min<int64_t>(rest, 1);
      shares[s] += given;
      left -= given;
      if (step == 0) rest -= given;
    }
  } while (left > 0);
  return shares;
}

// Inputs: the budget, N segments of values, and their row splits. Outputs: of RoundRobinTrim the
// values that are kept and their row splits, else for each value whether it is kept.
// Errors: INVALID_ARGUMENT for splits that are none, or of different numbers of rows.
class RoundRobinKernel final : public OpKernel {
 public:
  explicit RoundRobinKernel(const KernelBuild& build)
      : count_(static_cast<int>(build.attr<int64_t>("N"))),
        makes_masks_(build.op().name == "TFText>RoundRobinGenerateMasks") {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& budget = ctx.input(0);
    if (budget.num_elements() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "max_sequence_length must be a scalar, has shape ", budget.shape().ToString()));
    }
    std::vector<std::vector<int64_t>> splits;  // of each segment
    for (int s = 0; s < count_; ++s) {
      const Tensor& values = ctx.input(1 + s);
      if (values.rank() != 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "values of segment ", s, " must be a vector, have shape ", values.shape().ToString()));
      }
      ASSIGN_OR_RETURN(auto read, ReadRowSplits(ctx.input(1 + count_ + s), values.dim(0),
                                                absl::StrCat("row splits of segment ", s)));
      splits.push_back(std::move(read));
      if (splits[s].size() == splits[0].size()) continue;
      return absl::InvalidArgumentError(absl::StrCat("segment ", s, " has ", splits[s].size() - 1,
                                                     " rows, the first one ",
                                                     splits[0].size() - 1));
    }
    std::vector<std::vector<int64_t>> kept(count_);  // of each segment, in each row
    std::vector<int64_t> sizes(count_);
    for (size_t row = 0; row + 1 < splits[0].size(); ++row) {
      for (int s = 0; s < count_; ++s) sizes[s] = splits[s][row + 1] - splits[s][row];
      const std::vector<int64_t> shares = Shares(sizes, budget.flat<int32_t>()[0]);
      for (int s = 0; s < count_; ++s) kept[s].push_back(shares[s]);
    }
    for (int s = 0; s < count_; ++s) {
      RETURN_IF_ERROR(makes_masks_ ? WriteMask(ctx, s, splits[s], kept[s])
                                   : WriteKept(ctx, s, splits[s], kept[s]));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status WriteMask(KernelContext& ctx, int s, const std::vector<int64_t>& splits,
                                const std::vector<int64_t>& kept) {
    ASSIGN_OR_RETURN(Tensor* const mask, ctx.AllocateOutput(s, Shape{splits.back()}));
    for (size_t row = 0; row < kept.size(); ++row) {
      bool* const begin = mask->data<bool>() + splits[row];
      std::fill(begin, mask->data<bool>() + splits[row + 1], false);
      std::fill_n(begin, kept[row], true);
    }
    return absl::OkStatus();
  }

  absl::Status WriteKept(KernelContext& ctx, int s, const std::vector<int64_t>& splits,
                         const std::vector<int64_t>& kept) const {
    std::vector<int64_t> new_splits = {0};
    for (const int64_t size : kept) new_splits.push_back(new_splits.back() + size);
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(s, Shape{new_splits.back()}));
    ASSIGN_OR_RETURN(
        Tensor* const to_splits,
        ctx.AllocateOutput(count_ + s, Shape{static_cast<int64_t>(new_splits.size())}));
    VisitStorageType(values->dtype(), [&]<typename T>() {
      const T* const from = reinterpret_cast<const T*>(ctx.input(1 + s).raw());
      T* const to = reinterpret_cast<T*>(values->mutable_raw());
      for (size_t row = 0; row < kept.size(); ++row) {
        std::copy_n(from + splits[row], kept[row], to + new_splits[row]);
      }
    });
    return WriteRowSplits(new_splits, to_splits);
  }

  const int count_;
  const bool makes_masks_;
};
REGISTER_KERNEL("TFText>RoundRobinTrim", kCpu, RoundRobinKernel);
REGISTER_KERNEL("TFText>RoundRobinGenerateMasks", kCpu, RoundRobinKernel);

}  // namespace
}  // namespace tessera
