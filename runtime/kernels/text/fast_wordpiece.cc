// FastWordpieceTokenizeWithOffsets and FastWordpieceDetokenize.
#include <string>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/fast_wordpiece_model.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

// Inputs: strings and the model. Outputs: names of pieces and their ids, row splits, and where the
// pieces begin and end in their string, in bytes.
// Errors: INVALID_ARGUMENT for what is no model.
class TokenizeKernel final : public OpKernel {
 public:
  explicit TokenizeKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto model, FastWordpieceModel::Read(ctx.input(1)));
    std::vector<FastWordpieceModel::Piece> pieces;
    std::vector<std::string> names;
    std::vector<int64_t> lengths, ids, begins, ends;
    for (const std::string& text : ctx.input(0).flat<std::string>()) {
      pieces.clear();
      model.Tokenize(text, &pieces);
      lengths.push_back(static_cast<int64_t>(pieces.size()));
      for (const auto& piece : pieces) {
        names.push_back(model.Name(piece, text));
        ids.push_back(piece.id);
        begins.push_back(piece.begin);
        ends.push_back(piece.end);
      }
    }
    RETURN_IF_ERROR(WriteVector<std::string>(ctx, 0, names));
    RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 1, ids));
    RETURN_IF_ERROR(WriteSplits<int64_t>(ctx, 2, lengths));
    RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 3, begins));
    return WriteVector<int64_t>(ctx, 4, ends);
  }
};
REGISTER_KERNEL("FastWordpieceTokenizeWithOffsets", kCpu, TokenizeKernel);

// Inputs: ids, row splits and the model. Output: a text for each row.
// Errors: INVALID_ARGUMENT for what is no model, splits that are none, or ids out of range;
// FAILED_PRECONDITION for a model without names.
class DetokenizeKernel final : public OpKernel {
 public:
  explicit DetokenizeKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto model, FastWordpieceModel::Read(ctx.input(2)));
    const auto ids = ctx.input(0).flat<int32_t>();
    ASSIGN_OR_RETURN(
        const std::vector<int64_t> splits,
        ReadRowSplits(ctx.input(1), static_cast<int64_t>(ids.size()), "input_row_splits"));
    const auto rows = static_cast<int64_t>(splits.size()) - 1;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{rows}));
    for (int64_t row = 0; row < rows; ++row) {
      const auto begin = static_cast<size_t>(splits[row]),
                 end = static_cast<size_t>(splits[row + 1]);
      ASSIGN_OR_RETURN(output->data<std::string>()[row],
                       model.Detokenize(absl::MakeSpan(ids.data() + begin, end - begin)));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TFText>FastWordpieceDetokenize", kCpu, DetokenizeKernel);

}  // namespace
}  // namespace tessera
