// SentencepieceOp, which makes a model, and the ops that ask it.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/sentencepiece_model.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

class ModelKernel final : public ResourceHandleKernel {
 public:
  explicit ModelKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, SentencepieceModel::kTypeName),
        message_(build.attr<std::string>("model")) {}

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext&) override {
    ASSIGN_OR_RETURN(IntrusivePtr<SentencepieceModel> model, SentencepieceModel::Make(message_));
    return IntrusivePtr<Resource>(std::move(model));
  }

 private:
  const std::string message_;
};
REGISTER_KERNEL("SentencepieceOp", kCpu, ModelKernel);

// What is done to the pieces of a text beside finding them.
struct Frame {
  bool adds_bos, adds_eos, reverses;

  // Reads three inputs. Errors: INVALID_ARGUMENT unless each is a scalar.
  static absl::StatusOr<Frame> Read(const KernelContext& ctx, int first) {
    for (int i = first; i < first + 3; ++i) {
      if (ctx.input(i).num_elements() == 1) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("add_bos, add_eos and reverse must be scalars, one has shape ",
                       ctx.input(i).shape().ToString()));
    }
    const auto at = [&](int i) { return ctx.input(first + i).flat<bool>()[0]; };
    return Frame{at(0), at(1), at(2)};
  }
};

// Inputs: the model, strings, what concerns random pieces, and whether marks of beginning and end
// are added and the pieces reversed. Outputs: pieces or their ids, row splits, and of
// SentencepieceTokenizeWithOffsetsOp where they begin and end, in bytes.
// Errors: UNIMPLEMENTED for random pieces and for several ways to cut.
class TokenizeKernel final : public OpKernel {
 public:
  explicit TokenizeKernel(const KernelBuild& build)
      : returns_many_(build.attr<bool>("return_nbest")), has_offsets_(build.num_outputs() > 2) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto model, ResourceInput<SentencepieceModel>(ctx, 0));
    const auto sizes = ctx.input(2).flat<int32_t>();
    const bool is_random =
        std::any_of(sizes.begin(), sizes.end(), [](int32_t n) { return n != 0 && n != 1; });
    if (is_random || returns_many_) {
      return absl::UnimplementedError(
          "only the best pieces are found: nbest_size must be 0 or 1, and return_nbest false");
    }
    ASSIGN_OR_RETURN(const Frame frame, Frame::Read(ctx, 4));
    std::vector<SentencepieceModel::Piece> all;
    std::vector<int64_t> lengths;
    for (const std::string& text : ctx.input(1).flat<std::string>()) {
      std::vector<SentencepieceModel::Piece> pieces = model->Encode(text);
      if (frame.adds_bos) pieces.insert(pieces.begin(), model->bos());
      if (frame.adds_eos) pieces.push_back(model->eos());
      if (frame.reverses) std::reverse(pieces.begin(), pieces.end());
      lengths.push_back(static_cast<int64_t>(pieces.size()));
      all.insert(all.end(), std::make_move_iterator(pieces.begin()),
                 std::make_move_iterator(pieces.end()));
    }
    const auto count = static_cast<int64_t>(all.size());
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, Shape{count}));
    for (int64_t i = 0; i < count; ++i) {
      if (values->dtype() == DType::kString) {
        values->data<std::string>()[i] = std::move(all[i].text);
      } else {
        values->data<int32_t>()[i] = all[i].id;
      }
    }
    RETURN_IF_ERROR(ctx.output_type(1) == DType::kInt32 ? WriteSplits<int32_t>(ctx, 1, lengths)
                                                        : WriteSplits<int64_t>(ctx, 1, lengths));
    if (!has_offsets_) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor* const begins, ctx.AllocateOutput(2, Shape{count}));
    ASSIGN_OR_RETURN(Tensor* const ends, ctx.AllocateOutput(3, Shape{count}));
    for (int64_t i = 0; i < count; ++i) {
      begins->data<int64_t>()[i] = all[i].begin;
      ends->data<int64_t>()[i] = all[i].end;
    }
    return absl::OkStatus();
  }

 private:
  const bool returns_many_, has_offsets_;
};
REGISTER_KERNEL("SentencepieceTokenizeOp", kCpu, TokenizeKernel);
REGISTER_KERNEL("SentencepieceTokenizeWithOffsetsOp", kCpu, TokenizeKernel);

// Inputs: the model, pieces or ids, row splits, whether marks were added, and whether the pieces
// are reversed. Output: a text for each row; marks leave nothing in it. Errors: INVALID_ARGUMENT
// for splits that are none, or an id out of range.
class DetokenizeKernel final : public OpKernel {
 public:
  explicit DetokenizeKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto model, ResourceInput<SentencepieceModel>(ctx, 0));
    const Tensor& values = ctx.input(1);
    ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                     ReadRowSplits(ctx.input(2), values.num_elements(), "input_splits"));
    ASSIGN_OR_RETURN(const Frame frame, Frame::Read(ctx, 3));
    const auto rows = static_cast<int64_t>(splits.size()) - 1;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{rows}));
    for (int64_t row = 0; row < rows; ++row) {
      std::string& text = output->data<std::string>()[row];
      const int64_t begin = splits[row], end = splits[row + 1];
      if (values.dtype() == DType::kString) {
        text = model->Decode(Row<std::string>(values, begin, end, frame.reverses));
      } else {
        ASSIGN_OR_RETURN(text, model->Decode(Row<int32_t>(values, begin, end, frame.reverses)));
      }
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static std::vector<T> Row(const Tensor& values, int64_t begin, int64_t end, bool reverses) {
    std::vector<T> row(values.data<T>() + begin, values.data<T>() + end);
    if (reverses) std::reverse(row.begin(), row.end());
    return row;
  }
};
REGISTER_KERNEL("SentencepieceDetokenizeOp", kCpu, DetokenizeKernel);

class VocabSizeKernel final : public OpKernel {
 public:
  explicit VocabSizeKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto model, ResourceInput<SentencepieceModel>(ctx, 0));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape()));
    output->data<int32_t>()[0] = model->size();
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SentencepieceVocabSizeOp", kCpu, VocabSizeKernel);

// Errors: INVALID_ARGUMENT for an id out of range.
class IdToStringKernel final : public OpKernel {
 public:
  explicit IdToStringKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto model, ResourceInput<SentencepieceModel>(ctx, 0));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(1).shape()));
    std::string* text = output->data<std::string>();
    for (const int32_t id : ctx.input(1).flat<int32_t>()) {
      ASSIGN_OR_RETURN(*text++, model->TextOf(id));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SentencepieceIdToStringOp", kCpu, IdToStringKernel);

// What is no piece has the id of the unknown one.
class StringToIdKernel final : public OpKernel {
 public:
  explicit StringToIdKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto model, ResourceInput<SentencepieceModel>(ctx, 0));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(1).shape()));
    int32_t* id = output->data<int32_t>();
    for (const std::string& text : ctx.input(1).flat<std::string>()) *id++ = model->IdOf(text);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SentencepieceStringToIdOp", kCpu, StringToIdKernel);

}  // namespace
}  // namespace tessera
