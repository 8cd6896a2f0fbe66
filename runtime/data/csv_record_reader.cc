#include "runtime/data/csv_record_reader.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr size_t kMaxRecordBytes = size_t{256} << 20;

// Follows the lines of a record to where quoted fields begin and end.
class OpenField {
 public:
  explicit OpenField(char delimiter) : delimiter_(delimiter) {}

  // Returns whether a quoted field is open at the end of the line, which follows those before.
  bool IsOpenAfter(absl::string_view line) {
    bool begins = !is_open_;  // a field, at this character
    for (size_t i = 0; i < line.size(); ++i) {
      if (is_open_) {
        i = line.find('"', i);
        if (i == absl::string_view::npos) return true;
        // Of two quotes the second opens the field again.
        is_open_ = i + 1 < line.size() && line[i + 1] == '"';
        i += is_open_;
        continue;
      }
      is_open_ = begins && line[i] == '"';
      begins = line[i] == delimiter_;
    }
    return is_open_;
  }

 private:
  const char delimiter_;
  bool is_open_ = false;
};

}  // namespace

absl::StatusOr<bool> ReadCsvRecord(ByteSource& bytes, const CsvDialect& dialect,
                                   std::string* record) {
  ASSIGN_OR_RETURN(bool more, bytes.ReadLine(record));
  if (!more) return false;
  OpenField field(dialect.delimiter);
  if (dialect.quotes && field.IsOpenAfter(*record)) {
    std::string line;
    do {
      if (record->size() > kMaxRecordBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("a record has more than ", kMaxRecordBytes,
                         " bytes: a quoted field in it does not end"));
      }
      ASSIGN_OR_RETURN(more, bytes.ReadLine(&line));
      if (!more) break;
      absl::StrAppend(record, "\n", line);
    } while (field.IsOpenAfter(line));
  }
  if (!record->empty() && record->back() == '\r') record->pop_back();
  return true;
}

}  // namespace tessera
