// Records of comma-separated values (RFC 4180).
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"

namespace tessera {

// Splits one record into fields.
// Errors: INVALID_ARGUMENT for quotes or line ends where they must not stand.
class CsvSplitter {
 public:
  CsvSplitter(char delimiter, bool quotes) : delimiter_(delimiter), quotes_(quotes) {}

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

// Parses the text of a field. Returns false unless it is a value of the type.
inline bool ParseCsvField(absl::string_view text, float* value) {
  return absl::SimpleAtof(text, value);
}
inline bool ParseCsvField(absl::string_view text, double* value) {
  return absl::SimpleAtod(text, value);
}
inline bool ParseCsvField(absl::string_view text, std::string* value) {
  *value = std::string(text);
  return true;
}
template <typename T>
inline bool ParseCsvField(absl::string_view text, T* value) {
  return absl::SimpleAtoi(text, value);
}

}  // namespace tessera
