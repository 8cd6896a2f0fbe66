// DecodeCSV: lines of comma-separated values as one tensor a column (RFC 4180).
#include "absl/strings/numbers.h"
#include "runtime/framework/kernel_registry.h"

namespace tessera {
namespace {

// Splits one record into fields.
// Errors: INVALID_ARGUMENT for quotes or line ends where they must not stand.
class RecordSplitter {
 public:
  RecordSplitter(char delimiter, bool quotes) : delimiter_(delimiter), quotes_(quotes) {}

  // Reads fields up to the last one that is wanted; empty `wanted` means all. `wanted` rises.
  absl::Status Split(absl::string_view record, absl::Span<const int64_t> wanted,
                     std::vector<std::string>* fields) const {
    fields->clear();
    if (record.empty()) return absl::OkStatus();
    size_t at = 0;
    size_t next_wanted = 0;
    for (int64_t column = 0;; ++column) {
      const bool keep = wanted.empty() || wanted[next_wanted] == column;
      std::string field;
      if (quotes_ && at < record.size() && record[at] == '"') {
        RETURN_IF_ERROR(ReadQuoted(record, &at, &field));
      } else {
        while (at < record.size() && record[at] != delimiter_) {
          const char c = record[at++];
          if (quotes_ && (c == '"' || c == '\n' || c == '\r')) {
            return absl::InvalidArgumentError(
                "an unquoted field must not hold quotes or line ends");
          }
          field.push_back(c);
        }
      }
      if (keep) {
        fields->push_back(std::move(field));
        if (!wanted.empty() && ++next_wanted == wanted.size()) return absl::OkStatus();
      }
      if (at >= record.size()) return absl::OkStatus();
      ++at;  // the delimiter
    }
  }

 private:
  absl::Status ReadQuoted(absl::string_view record, size_t* at, std::string* field) const {
    ++*at;
    for (;;) {
      if (*at >= record.size()) {
        return absl::InvalidArgumentError("a quoted field must end with a quote");
      }
      const char c = record[(*at)++];
      if (c != '"') {
        field->push_back(c);
      } else if (*at < record.size() && record[*at] == '"') {
        field->push_back('"');
        ++*at;
      } else if (*at == record.size() || record[*at] == delimiter_) {
        return absl::OkStatus();
      } else {
        return absl::InvalidArgumentError(
            "a quote within a quoted field must be escaped by another quote");
      }
    }
  }

  const char delimiter_;
  const bool quotes_;
};

bool Parse(absl::string_view text, float* value) { return absl::SimpleAtof(text, value); }
bool Parse(absl::string_view text, double* value) { return absl::SimpleAtod(text, value); }
bool Parse(absl::string_view text, std::string* value) {
  *value = std::string(text);
  return true;
}
template <typename T>
bool Parse(absl::string_view text, T* value) {
  return absl::SimpleAtoi(text, value);
}

class DecodeCsvKernel : public OpKernel {
 public:
  explicit DecodeCsvKernel(const KernelBuild& build)
      : delimiter_(build.attr<std::string>("field_delim")),
        na_value_(build.attr<std::string>("na_value")),
        columns_(build.attr<std::vector<int64_t>>("select_cols")),
        splitter_(delimiter_.empty() ? ',' : delimiter_[0], build.attr<bool>("use_quote_delim")) {
    if (delimiter_.size() != 1) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("field_delim must be one character, is '", delimiter_, "'")));
    }
    bool rising = columns_.empty() || columns_[0] >= 0;
    for (size_t i = 1; i < columns_.size(); ++i) rising = rising && columns_[i] > columns_[i - 1];
    if (!rising ||
        (!columns_.empty() && static_cast<int>(columns_.size()) != build.num_outputs())) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("select_cols must be ", build.num_outputs(), " rising column numbers")));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& records = ctx.input(0);
    const size_t fields_wanted = ctx.num_outputs();
    for (size_t f = 0; f < fields_wanted; ++f) {
      const Tensor& fallback = ctx.input(static_cast<int>(f) + 1);
      if (fallback.num_elements() > 1 || fallback.rank() > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("field ", f, " needs one default or none, has ", fallback.num_elements()));
      }
      RETURN_IF_ERROR(ctx.AllocateOutput(static_cast<int>(f), records.shape()).status());
    }
    std::vector<std::string> fields;
    const auto lines = records.flat<std::string>();
    for (size_t r = 0; r < lines.size(); ++r) {
      RETURN_IF_ERROR(
          Annotate(splitter_.Split(lines[r], columns_, &fields), absl::StrCat("record ", r, ": ")));
      if (fields.size() != fields_wanted) {
        return absl::InvalidArgumentError(absl::StrCat(
            "record ", r, " has ", fields.size(), " fields, ", fields_wanted, " are expected"));
      }
      for (size_t f = 0; f < fields_wanted; ++f) {
        RETURN_IF_ERROR(SetField(ctx, static_cast<int>(f), static_cast<int64_t>(r), fields[f]));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status SetField(KernelContext& ctx, int f, int64_t r, const std::string& text) const {
    switch (ctx.output_type(f)) {
      case DType::kFloat:
        return Set<float>(ctx, f, r, text);
      case DType::kDouble:
        return Set<double>(ctx, f, r, text);
      case DType::kInt32:
        return Set<int32_t>(ctx, f, r, text);
      case DType::kInt64:
        return Set<int64_t>(ctx, f, r, text);
      default:
        return Set<std::string>(ctx, f, r, text);
    }
  }
  template <typename T>
  absl::Status Set(KernelContext& ctx, int f, int64_t r, const std::string& text) const {
    T& value = ctx.output(f).flat<T>()[r];
    if (text.empty() || text == na_value_) {
      const Tensor& fallback = ctx.input(f + 1);
      if (fallback.num_elements() == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("field ", f, " is required but missing in record ", r));
      }
      value = fallback.flat<T>()[0];
    } else if (!Parse(text, &value)) {
      return absl::InvalidArgumentError(absl::StrCat("field ", f, " in record ", r, ", '", text,
                                                     "', is not a valid ", DTypeName(DTypeOf<T>)));
    }
    return absl::OkStatus();
  }

  const std::string delimiter_, na_value_;
  const std::vector<int64_t> columns_;
  const RecordSplitter splitter_;
};
REGISTER_KERNEL("DecodeCSV", kCpu, DecodeCsvKernel);

}  // namespace
}  // namespace tessera
