// Spans of text as tags of its tokens, and back: OffsetsToBoiseTags, BoiseTagsToOffsets.
//
// A tag is O for a token outside of all spans, and of a token in a span of type T it is B-T, I-T or
// E-T as it begins the span, is inside, or ends it; S-T if the span is this token alone.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

// The bytes [begin, end) of a token or a span.
struct Range {
  int32_t begin, end;
};
struct Span {
  Range range;
  std::string type;
};

// Reads inputs [first, first + count) as columns of one ragged tensor, whose row splits, all the
// same, are inputs [splits, splits + count). Returns the row splits.
// Errors: INVALID_ARGUMENT for splits that are none, and columns of different sizes or rows.
absl::StatusOr<std::vector<int64_t>> ReadColumns(const KernelContext& ctx, int first, int splits,
                                                 int count) {
  const int64_t size = ctx.input(first).num_elements();
  ASSIGN_OR_RETURN(const auto rows, ReadRowSplits(ctx.input(splits), size, "row splits"));
  for (int i = 1; i < count; ++i) {
    const int64_t other = ctx.input(first + i).num_elements();
    if (other != size) {
      return absl::InvalidArgumentError(absl::StrCat("inputs ", first, " and ", first + i,
                                                     " must have the same size, have ", size,
                                                     " and ", other, " elements"));
    }
    ASSIGN_OR_RETURN(const auto others, ReadRowSplits(ctx.input(splits + i), size, "row splits"));
    if (others != rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("inputs ", first, " and ", first + i, " must have the same row splits"));
    }
  }
  return rows;
}

// Tags the tokens of a row one after the other. Tokens and spans rise.
class Tagger {
 public:
  // With `is_strict`, a token that begins before its span or ends behind it is outside.
  Tagger(absl::Span<const Span> spans, bool is_strict) : spans_(spans), is_strict_(is_strict) {}

  std::string Tag(Range token) {
    std::string tag = "O";  // unless a span says otherwise
    while (next_ < spans_.size()) {
      const auto [begin, end] = spans_[next_].range;
      const std::string& type = spans_[next_].type;
      if (token.end <= begin) return tag;
      if (token.begin >= end) {
        ++next_;
        continue;
      }
      const bool reaches_begin = token.begin <= begin, reaches_end = token.end >= end;
      if (reaches_begin && token.end <= end) {
        // The token ends within the span. If both end together and begin together, it is the span.
        if (token.begin == begin && token.end == end) {
          ++next_;
          return absl::StrCat("S-", type);
        }
        return is_strict_ && token.begin != begin ? tag : absl::StrCat("B-", type);
      }
      if (reaches_end && token.begin >= begin) {
        // The token begins within the span. The next span may begin in it, too.
        ++next_;
        if (is_strict_ && token.end != end) return tag;
        tag = absl::StrCat("E-", type);
        continue;
      }
      if (!reaches_begin) return absl::StrCat("I-", type);
      tag = absl::StrCat("B-", type);  // the span lies within the token
      ++next_;
    }
    return tag;
  }

 private:
  const absl::Span<const Span> spans_;
  const bool is_strict_;
  size_t next_ = 0;  // the first span that does not end before the tokens to come
};

// Inputs: where tokens begin and end, where spans begin and end and their types, the row splits of
// these five, and whether a token must begin and end with its span. Output: the tags of the tokens.
class OffsetsToBoiseTagsKernel final : public OpKernel {
 public:
  explicit OffsetsToBoiseTagsKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto rows, ReadColumns(ctx, 0, 5, 2));
    ASSIGN_OR_RETURN(const auto span_rows, ReadColumns(ctx, 2, 7, 3));
    const Tensor& is_strict = ctx.input(10);
    if (rows.size() != span_rows.size() || is_strict.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("tokens of ", rows.size() - 1, " rows, spans of ", span_rows.size() - 1,
                       " rows and a flag of shape ", is_strict.shape().ToString(), " do not fit"));
    }
    const auto begins = ctx.input(0).flat<int32_t>(), ends = ctx.input(1).flat<int32_t>();
    const auto span_begins = ctx.input(2).flat<int32_t>(), span_ends = ctx.input(3).flat<int32_t>();
    const auto types = ctx.input(4).flat<std::string>();
    std::vector<Span> spans;
    for (size_t i = 0; i < types.size(); ++i) {
      spans.push_back({{span_begins[i], span_ends[i]}, types[i]});
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{rows.back()}));
    for (size_t row = 0; row + 1 < rows.size(); ++row) {
      Tagger tagger(
          absl::MakeConstSpan(spans).subspan(span_rows[row], span_rows[row + 1] - span_rows[row]),
          is_strict.flat<bool>()[0]);
      for (int64_t i = rows[row]; i < rows[row + 1]; ++i) {
        output->data<std::string>()[i] = tagger.Tag({begins[i], ends[i]});
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TFText>OffsetsToBoiseTags", kCpu, OffsetsToBoiseTagsKernel);

// Inputs: where tokens begin and end, their tags, and the row splits of these three. Outputs: where
// spans begin and end, their types, and row splits. Tags that do not fit together are taken for
// what they most probably mean: a span that nothing has ended ends before O and with its row, and
// the last tag of a span gives its type.
class BoiseTagsToOffsetsKernel final : public OpKernel {
 public:
  explicit BoiseTagsToOffsetsKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto rows, ReadColumns(ctx, 0, 3, 3));
    const auto begins = ctx.input(0).flat<int32_t>(), ends = ctx.input(1).flat<int32_t>();
    const auto tags = ctx.input(2).flat<std::string>();
    std::vector<int64_t> span_begins, span_ends, lengths;
    std::vector<std::string> types;
    for (size_t row = 0; row + 1 < rows.size(); ++row) {
      const size_t before = types.size();
      bool is_open = false;  // whether the last span of the row goes on
      for (int64_t i = rows[row]; i < rows[row + 1]; ++i) {
        const absl::string_view tag = tags[i];
        const bool closes = absl::StartsWith(tag, "E-") || absl::StartsWith(tag, "S-");
        if (closes || absl::StartsWith(tag, "B-") || absl::StartsWith(tag, "I-")) {
          if (!is_open) {
            span_begins.push_back(begins[i]);
            span_ends.push_back(0);
            types.emplace_back();
          }
          span_ends.back() = ends[i];
          // A type ends at its first zero byte, as TensorFlow has it.
          types.back() = std::string(tag.substr(2, tag.find('\0', 2) - 2));
          is_open = !closes;
        } else if (is_open && absl::StartsWith(tag, "O")) {
          is_open = false;
        } else if (is_open) {
          span_ends.back() = ends[i];  // any other tag changes nothing
        }
      }
      lengths.push_back(static_cast<int64_t>(types.size() - before));
    }
    RETURN_IF_ERROR(WriteVector<int32_t>(ctx, 0, span_begins));
    RETURN_IF_ERROR(WriteVector<int32_t>(ctx, 1, span_ends));
    RETURN_IF_ERROR(WriteVector<std::string>(ctx, 2, types));
    return WriteSplits<int64_t>(ctx, 3, lengths);
  }
};
REGISTER_KERNEL("TFText>BoiseTagsToOffsets", kCpu, BoiseTagsToOffsetsKernel);

}  // namespace
}  // namespace tessera
