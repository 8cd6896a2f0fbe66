#include "runtime/framework/shape_spec.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// The shapes on one side of the arrow: "[a, b], _, [c]..." with the brackets left on.
struct Side {
  std::vector<absl::string_view> shapes;
  bool repeats_last = false;

  // The shape at a position; an empty text if there is none.
  absl::string_view at(int i) const {
    if (i < static_cast<int>(shapes.size())) return shapes[i];
    return repeats_last ? shapes.back() : absl::string_view();
  }
  bool Covers(int count) const {
    const int size = static_cast<int>(shapes.size());
    return repeats_last ? count >= size - 1 : count == size;
  }
};

Side ParseSide(absl::string_view text) {
  Side side;
  text = absl::StripAsciiWhitespace(text);
  side.repeats_last = absl::ConsumeSuffix(&text, "...");
  while (!text.empty()) {
    size_t end = text[0] == '[' ? text.find(']') + 1 : text.find(',');
    end = std::min(end, text.size());
    side.shapes.push_back(absl::StripAsciiWhitespace(text.substr(0, end)));
    text = absl::StripLeadingAsciiWhitespace(text.substr(end));
    absl::ConsumePrefix(&text, ",");
    text = absl::StripLeadingAsciiWhitespace(text);
  }
  return side;
}

// "[a, 3]" as {"a", "3"}.
std::vector<absl::string_view> Terms(absl::string_view shape) {
  if (!absl::ConsumePrefix(&shape, "[") || !absl::ConsumeSuffix(&shape, "]")) return {};
  std::vector<absl::string_view> terms;
  for (absl::string_view term : absl::StrSplit(shape, ',', absl::SkipWhitespace())) {
    terms.push_back(absl::StripAsciiWhitespace(term));
  }
  return terms;
}

absl::Status WrongSpec(absl::string_view term) {
  return absl::InternalError(absl::StrCat("the shape specification has a bad term '", term, "'"));
}

// What the names stand for.
class Bindings {
 public:
  absl::Status MatchInput(const ShapeContext& c, int i, absl::string_view spec);
  absl::StatusOr<PartialShape> MakeOutput(const ShapeContext& c, absl::string_view spec) const;

 private:
  absl::Status MatchDim(absl::string_view term, int64_t size);
  absl::Status MatchRun(absl::string_view name, const PartialShape& dims);
  absl::Status AppendTerm(const ShapeContext& c, absl::string_view term, PartialShape* shape) const;

  std::map<absl::string_view, int64_t> dims_;
  std::map<absl::string_view, PartialShape> runs_;
};

absl::Status Bindings::MatchDim(absl::string_view term, int64_t size) {
  if (size < 0 || term == "?") return absl::OkStatus();
  int64_t wanted;
  if (!absl::SimpleAtoi(term, &wanted)) {
    const auto [dim, is_new] = dims_.emplace(term, size);
    if (is_new) return absl::OkStatus();
    wanted = dim->second;
  }
  if (wanted == size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("dimension '", term, "' is ", size));
}

absl::Status Bindings::MatchRun(absl::string_view name, const PartialShape& dims) {
  PartialShape& run = runs_[name];
  ASSIGN_OR_RETURN(run, run.MergeWith(dims));
  return absl::OkStatus();
}

absl::Status Bindings::MatchInput(const ShapeContext& c, int i, absl::string_view spec) {
  const PartialShape& shape = c.input(i);
  if (spec == "_" || !shape.known_rank()) return absl::OkStatus();
  const std::vector<absl::string_view> terms = Terms(spec);
  const int num_terms = static_cast<int>(terms.size());
  int run = 0;
  while (run < num_terms && terms[run][0] != '*') ++run;
  const bool has_run = run < num_terms;
  const int run_rank = shape.rank() - (num_terms - 1);
  absl::Status status;
  if (has_run ? run_rank < 0 : shape.rank() != num_terms) {
    status = absl::InvalidArgumentError(absl::StrCat("its rank is ", shape.rank()));
  }
  if (has_run && status.ok()) {
    status = MatchRun(terms[run], PartialShape(shape.dims().subspan(run, run_rank)));
  }
  for (int t = 0; t < num_terms && status.ok(); ++t) {
    if (t == run) continue;
    status = MatchDim(terms[t], shape.dim(t < run ? t : shape.rank() - (num_terms - t)));
  }
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " of ", c.op().name, " must be ",
                                                 spec, ", is ", shape.ToString(), ": ",
                                                 status.message()));
}

absl::Status Bindings::AppendTerm(const ShapeContext& c, absl::string_view term,
                                  PartialShape* shape) const {
  int64_t size = -1;
  int input = 0;
  absl::string_view rest = term;
  if (absl::ConsumePrefix(&rest, "*")) {
    const auto run = runs_.find(term);
    if (run == runs_.end() || !run->second.known_rank()) {
      *shape = PartialShape();
    } else {
      for (int64_t dim : run->second.dims()) shape->AddDim(dim);
    }
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&rest, "<")) {
    if (!absl::ConsumeSuffix(&rest, ">") || !absl::SimpleAtoi(rest, &input)) return WrongSpec(term);
    ASSIGN_OR_RETURN(const PartialShape described, c.ShapeInput(input));
    if (!described.known_rank()) *shape = PartialShape();
    for (int64_t dim : described.dims()) shape->AddDim(dim);
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&rest, "@")) {
    ASSIGN_OR_RETURN(size, c.attr<int64_t>(rest));
    if (size < 1) size = -1;
  } else if (absl::ConsumePrefix(&rest, "$")) {
    if (!absl::SimpleAtoi(rest, &input)) return WrongSpec(term);
    const Tensor* value = c.input_value(input);
    if (value != nullptr && (value->dtype() == DType::kInt32 || value->dtype() == DType::kInt64)) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> values, c.IntInput(input));
      if (values.size() != 1 || values[0] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", input, " of ", c.op().name, " must be one number, 0 or more"));
      }
      size = values[0];
    }
  } else if (const auto dim = dims_.find(term); dim != dims_.end()) {
    size = dim->second;
  } else if (!absl::SimpleAtoi(term, &size)) {
    size = -1;  // a name that no known dimension is bound to, or "?"
  }
  shape->AddDim(size);
  return absl::OkStatus();
}

absl::StatusOr<PartialShape> Bindings::MakeOutput(const ShapeContext& c,
                                                  absl::string_view spec) const {
  if (spec == "_") return PartialShape();
  PartialShape shape(absl::Span<const int64_t>{});
  for (absl::string_view term : Terms(spec)) {
    RETURN_IF_ERROR(AppendTerm(c, term, &shape));
    if (!shape.known_rank()) return shape;
  }
  return shape;
}

}  // namespace

absl::Status InferBySpec(absl::string_view spec, ShapeContext& c) {
  const size_t arrow = spec.find("->");
  if (arrow == absl::string_view::npos) return WrongSpec(spec);
  const Side inputs = ParseSide(spec.substr(0, arrow));
  const Side outputs = ParseSide(spec.substr(arrow + 2));
  if (!inputs.Covers(c.num_inputs()) || !outputs.Covers(c.num_outputs())) {
    return absl::InternalError(absl::StrCat("the shape specification '", spec, "' of ", c.op().name,
                                            " does not fit ", c.num_inputs(), " inputs and ",
                                            c.num_outputs(), " outputs"));
  }
  Bindings bindings;
  for (int i = 0; i < c.num_inputs(); ++i) {
    RETURN_IF_ERROR(bindings.MatchInput(c, i, inputs.at(i)));
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    ASSIGN_OR_RETURN(PartialShape shape, bindings.MakeOutput(c, outputs.at(i)));
    c.set_output(i, std::move(shape));
  }
  return absl::OkStatus();
}

}  // namespace tessera
