// NgramsStringJoin: neighbours of a row as one string.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

// Inputs: strings, and the row splits of each ragged dimension, the innermost last; without any,
// the last dimension of the strings has the rows. Outputs: each `width` strings that follow one
// another in a row, joined, and their row splits. Errors: INVALID_ARGUMENT for splits that are
// none, a width below 1, or another axis than the last.
class NgramsStringJoinKernel final : public OpKernel {
 public:
  explicit NgramsStringJoinKernel(const KernelBuild& build)
      : width_(build.attr<int64_t>("width")),
        separator_(build.attr<std::string>("string_separator")) {
    if (width_ < 1) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("width is ", width_, ", not at least 1")));
    }
    if (const auto axis = build.attr<int64_t>("axis"); axis != -1) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("axis must be -1, is ", axis)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    return ctx.num_inputs() == 1 ? JoinDense(ctx) : JoinRagged(ctx);
  }

 private:
  int64_t CountIn(int64_t row_length) const {
    return row_length < width_ ? 0 : row_length - width_ + 1;
  }
  std::string* Join(absl::Span<const std::string> row, std::string* to) const {
    for (int64_t i = 0; i < CountIn(static_cast<int64_t>(row.size())); ++i) {
      *to++ = absl::StrJoin(row.subspan(i, width_), separator_);
    }
    return to;
  }

  absl::Status JoinDense(KernelContext& ctx) const {
    const Tensor& values = ctx.input(0);
    if (values.rank() == 0) return absl::InvalidArgumentError("a scalar has no rows");
    Shape shape = values.shape();
    const int64_t length = shape.dim(shape.rank() - 1);
    shape.SetDim(shape.rank() - 1, CountIn(length));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    std::string* to = output->data<std::string>();
    const auto all = values.flat<std::string>();
    for (size_t i = 0; i < all.size(); i += static_cast<size_t>(length)) {
      to = Join(all.subspan(i, static_cast<size_t>(length)), to);
    }
    return absl::OkStatus();
  }

  absl::Status JoinRagged(KernelContext& ctx) const {
    const Tensor& values = ctx.input(0);
    if (values.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("ragged strings must be a vector, have shape ", values.shape().ToString()));
    }
    const int innermost = ctx.num_inputs() - 1;
    std::vector<int64_t> splits;
    int64_t num_values = values.num_elements();
    for (int i = innermost; i > 0; --i) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> outer,
                       ReadRowSplits(ctx.input(i), num_values, "input_row_splits"));
      num_values = static_cast<int64_t>(outer.size()) - 1;
      if (i == innermost) {
        splits = outer;
      } else {
        ctx.set_output(i, ctx.input(i));
      }
    }
    std::vector<int64_t> lengths;
    int64_t count = 0;
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      lengths.push_back(CountIn(splits[row + 1] - splits[row]));
      count += lengths.back();
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{count}));
    std::string* to = output->data<std::string>();
    const auto all = values.flat<std::string>();
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      to = Join(all.subspan(splits[row], splits[row + 1] - splits[row]), to);
    }
    return WriteSplits<int64_t>(ctx, innermost, lengths);
  }

  const int64_t width_;
  const std::string separator_;
};
REGISTER_KERNEL("TFText>NgramsStringJoin", kCpu, NgramsStringJoinKernel);

}  // namespace
}  // namespace tessera
