// Cutting code points into runs: UnicodeScriptTokenizeWithOffsets, WhitespaceTokenizeWithOffsets.
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/index_type.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/write_vector.h"
#include "unicode/uchar.h"
#include "unicode/uscript.h"

namespace tessera {
namespace {

// Inputs: code points, and the splits of strings. A run is of one script, white space being left
// out wherever it stands, or made runs of its own with `keep_whitespace`; or it is what stands
// between white space. Outputs: the code points of runs and splits of them, where runs begin and
// end in their string, counted in code points, and splits of strings into runs. Errors:
// INVALID_ARGUMENT for splits that are none.
class CharacterRunsKernel final : public OpKernel {
 public:
  explicit CharacterRunsKernel(const KernelBuild& build)
      : by_script_(build.op().name == "UnicodeScriptTokenizeWithOffsets"),
        keep_space_(by_script_ && build.attr<bool>("keep_whitespace")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const auto characters = ctx.input(0).flat<int32_t>();
    ASSIGN_OR_RETURN(
        const std::vector<int64_t> splits,
        ReadRowSplits(ctx.input(1), static_cast<int64_t>(characters.size()), "input_splits"));
    Runs runs;
    std::vector<int64_t> counts;
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      const size_t before = runs.lengths.size();
      Cut(characters.subspan(splits[row], splits[row + 1] - splits[row]), &runs);
      counts.push_back(static_cast<int64_t>(runs.lengths.size() - before));
    }
    RETURN_IF_ERROR(WriteVector<int32_t>(ctx, 0, runs.characters));
    RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 2, runs.begins));
    RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 3, runs.ends));
    return VisitIndexType(ctx.output_type(1), [&]<typename Splits>() -> absl::Status {
      RETURN_IF_ERROR(WriteSplits<Splits>(ctx, 1, runs.lengths));
      return WriteSplits<Splits>(ctx, 4, counts);
    });
  }

 private:
  struct Runs {
    std::vector<int32_t> characters;
    std::vector<int64_t> lengths, begins, ends;
  };

  void Cut(absl::Span<const int32_t> text, Runs* runs) const {
    bool is_in_run = false, was_space = false;
    UScriptCode script = USCRIPT_INVALID_CODE;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool is_space = u_isUWhiteSpace(text[i]);
      bool ends_run = is_space;
      if (by_script_) {
        const UScriptCode before = std::exchange(script, ScriptOf(text[i]));
        ends_run = script != before || (keep_space_ && is_space != was_space);
      }
      was_space = is_space;
      is_in_run &= !ends_run;
      if (is_space && !keep_space_) continue;
      if (!is_in_run) {
        runs->begins.push_back(static_cast<int64_t>(i));
        runs->ends.push_back(0);
        runs->lengths.push_back(0);
        is_in_run = true;
      }
      runs->characters.push_back(text[i]);
      ++runs->lengths.back();
      runs->ends.back() = static_cast<int64_t>(i) + 1;
    }
  }

  static UScriptCode ScriptOf(int32_t character) {
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(character, &error);
    return U_FAILURE(error) ? USCRIPT_INVALID_CODE : script;
  }

  const bool by_script_, keep_space_;
};
REGISTER_KERNEL("UnicodeScriptTokenizeWithOffsets", kCpu, CharacterRunsKernel);
REGISTER_KERNEL("WhitespaceTokenizeWithOffsets", kCpu, CharacterRunsKernel);

}  // namespace
}  // namespace tessera
