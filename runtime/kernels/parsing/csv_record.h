// Records of comma-separated values (RFC 4180).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"

namespace tessera {

// The fields of one record.
class CsvFields {
 public:
  CsvFields() = default;
  CsvFields(const CsvFields&) = delete;
  CsvFields& operator=(const CsvFields&) = delete;

  size_t size() const { return fields_.size(); }
  absl::string_view operator[](size_t i) const { return fields_[i]; }
  // Adds a field, whose text must outlive these.
  void Append(absl::string_view field) { fields_.push_back(field); }
  // Removes field `i`.
  void Erase(size_t i) { fields_.erase(fields_.begin() + static_cast<int64_t>(i)); }

 private:
  friend class CsvSplitter;

  std::vector<absl::string_view> fields_;  // in the record, or in `unescaped_`
  std::deque<std::string> unescaped_;      // those that held doubled quotes
};

// Splits one record into fields. Without `quotes`, a quote is a character as any other.
// Errors: INVALID_ARGUMENT for quotes or line ends where they must not stand.
class CsvSplitter {
 public:
  CsvSplitter(char delimiter, bool quotes) : delimiter_(delimiter), quotes_(quotes) {
    for (const char c : {delimiter, '"', '\n', '\r'}) {
      is_special_[static_cast<uint8_t>(c)] = quotes || c != '"' || c == delimiter;
    }
  }

  // Whether the fields behind the last one that is wanted are looked at.
  enum class Rest { kIgnored, kChecked };
  // Reads fields up to the last one that is wanted; empty `wanted` means all. `wanted` rises. The
  // fields are valid as long as the record, and until the next call that gets them.
  absl::Status Split(absl::string_view record, absl::Span<const int64_t> wanted, CsvFields* fields,
                     Rest rest = Rest::kIgnored) const {
    fields->fields_.clear();
    fields->unescaped_.clear();
    if (record.empty()) return absl::OkStatus();
    size_t at = 0;
    size_t next_wanted = 0;
    for (int64_t column = 0;; ++column) {
      const bool keep =
          wanted.empty() || (next_wanted < wanted.size() && wanted[next_wanted] == column);
      absl::string_view field;
      if (quotes_ && at < record.size() && record[at] == '"') {
        RETURN_IF_ERROR(ReadQuoted(record, &at, &field, fields));
      } else {
        const size_t begin = at;
        while (at < record.size() && !is_special_[static_cast<uint8_t>(record[at])]) ++at;
        if (at < record.size() && record[at] != delimiter_) {
          return absl::InvalidArgumentError("an unquoted field must not hold quotes or line ends");
        }
        field = record.substr(begin, at - begin);
      }
      if (keep) {
        fields->fields_.push_back(field);
        ++next_wanted;
        if (next_wanted == wanted.size() && rest == Rest::kIgnored) return absl::OkStatus();
      }
      if (at >= record.size()) return absl::OkStatus();
      ++at;  // the delimiter
    }
  }

 private:
  // Reads the field whose first quote is at `*at`, and moves that behind its last one.
  absl::Status ReadQuoted(absl::string_view record, size_t* at, absl::string_view* field,
                          CsvFields* fields) const {
    std::string* unescaped = nullptr;  // what was read before `begin`, if a quote was doubled
    size_t begin = ++*at;
    for (;;) {
      const size_t quote = record.find('"', *at);
      if (quote == absl::string_view::npos) {
        return absl::InvalidArgumentError("a quoted field must end with a quote");
      }
      *at = quote + 1;
      if (*at < record.size() && record[*at] == '"') {
        if (unescaped == nullptr) unescaped = &fields->unescaped_.emplace_back();
        absl::StrAppend(unescaped, record.substr(begin, *at - begin));
        begin = ++*at;
      } else if (*at == record.size() || record[*at] == delimiter_) {
        *field = record.substr(begin, quote - begin);
        if (unescaped != nullptr) {
          absl::StrAppend(unescaped, *field);
          *field = *unescaped;
        }
        return absl::OkStatus();
      } else {
        return absl::InvalidArgumentError(
            "a quote within a quoted field must be escaped by another quote");
      }
    }
  }

  const char delimiter_;
  const bool quotes_;
  std::array<bool, 256> is_special_{};  // what ends an unquoted field, by character
};

// Reads a decimal number of few digits, such as -12.625, whose value is one division of numbers
// that T holds exactly, and so is rounded once. Returns false for anything else.
template <typename T>
inline bool ParseShortDecimal(absl::string_view text, T* value) {
  constexpr size_t kMaxDigits = std::numeric_limits<T>::digits10;
  static constexpr T kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool is_negative = !text.empty() && text[0] == '-';
  if (is_negative) text.remove_prefix(1);
  if (text.empty() || text.size() > kMaxDigits + 1) return false;
  int64_t digits = 0;
  size_t point = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' && point == text.size()) {
      point = i;
    } else if (absl::ascii_isdigit(static_cast<unsigned char>(text[i]))) {
      digits = digits * 10 + (text[i] - '0');
    } else {
      return false;
    }
  }
  const size_t decimals = point == text.size() ? 0 : text.size() - point - 1;
  if (point == 0 || text.size() - (point != text.size()) > kMaxDigits) return false;
  const T magnitude = static_cast<T>(digits) / kPowers[decimals];
  *value = is_negative ? -magnitude : magnitude;
  return true;
}

// Parses the text of a field. Returns false unless it is a value of the type.
inline bool ParseCsvField(absl::string_view text, float* value) {
  return ParseShortDecimal(text, value) || absl::SimpleAtof(text, value);
}
inline bool ParseCsvField(absl::string_view text, double* value) {
  return ParseShortDecimal(text, value) || absl::SimpleAtod(text, value);
}
inline bool ParseCsvField(absl::string_view text, std::string* value) {
  value->assign(text.data(), text.size());
  return true;
}
template <typename T>
inline bool ParseCsvField(absl::string_view text, T* value) {
  return absl::SimpleAtoi(text, value);
}

}  // namespace tessera
