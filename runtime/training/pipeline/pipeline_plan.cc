#include "runtime/training/pipeline/pipeline_plan.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/data/byte_source.h"
#include "runtime/data/csv_record_reader.h"
#include "runtime/kernels/parsing/csv_record.h"
#include "runtime/training/pipeline/field_plan.h"
#include "tessera/training/data.pb.h"

namespace tessera {
namespace {

absl::StatusOr<RecordFormat> FormatOf(const std::string& name) {
  if (name.empty() || name == "tfrecord") return RecordFormat::kTfRecord;
  if (name == "text") return RecordFormat::kText;
  if (name == "csv") return RecordFormat::kCsv;
  if (name == "fixed_length") return RecordFormat::kFixedLength;
  return absl::InvalidArgumentError(
      absl::StrCat("format: '", name, "' is none of tfrecord, text, csv, fixed_length"));
}

bool IsRegularFile(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Returns the pattern that matches `path` alone.
std::string PatternOf(absl::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (absl::string_view("*?[\\").find(c) != absl::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Appends the regular files that match, sorted. A file that is called as the pattern is written is
// what the pattern means.
absl::Status Expand(const std::string& pattern, const std::string& base_folder,
                    std::vector<std::string>* files) {
  const bool is_relative = !absl::StartsWith(pattern, "/") && !base_folder.empty();
  const std::string path = is_relative ? JoinPath(base_folder, pattern) : pattern;
  if (IsRegularFile(path)) {
    files->push_back(path);
    return absl::OkStatus();
  }
  glob_t found;
  const std::string glob = is_relative ? JoinPath(PatternOf(base_folder), pattern) : pattern;
  const int result = ::glob(glob.c_str(), GLOB_TILDE, nullptr, &found);
  std::vector<std::string> matches;
  if (result == 0) matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (result != 0 && result != GLOB_NOMATCH) {
    return absl::PermissionDeniedError(absl::StrCat("files: cannot list '", path, "'"));
  }
  // A pipe or a device would keep a reader waiting.
  std::erase_if(matches, [](const std::string& match) { return !IsRegularFile(match); });
  if (matches.empty()) {
    return absl::NotFoundError(absl::StrCat("files: no file matches '", path, "'"));
  }
  std::ranges::sort(matches);
  files->insert(files->end(), matches.begin(), matches.end());
  return absl::OkStatus();
}

absl::StatusOr<std::string> CompressionOf(const std::string& name,
                                          const std::vector<std::string>& files) {
  if (name == "gzip") return "GZIP";
  if (name == "zlib") return "ZLIB";
  if (name == "none") return "";
  if (!name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("compression: '", name, "' is none of gzip, zlib, none"));
  }
  const auto is_gzip = [](const std::string& file) { return absl::EndsWith(file, ".gz"); };
  const size_t compressed = std::ranges::count_if(files, is_gzip);
  if (compressed == 0) return "";
  if (compressed == files.size()) return "GZIP";
  return absl::InvalidArgumentError(
      absl::StrCat("compression: ", compressed, " of ", files.size(),
                   " files end in .gz; give either those or the others, or set compression"));
}

int64_t NumElements(const FieldPlan& field) {
  int64_t elements = 1;
  for (int64_t dim : field.shape) elements *= dim;
  return elements;
}

// The first line of a CSV file.
struct CsvHeader {
  std::string file;
  std::vector<std::string> columns;
};

// Returns what to say about a header that is one column, since another delimiter separates its
// names; empty if that is not so.
std::string DelimiterHint(const std::vector<std::string>& columns) {
  if (columns.size() != 1) return "";
  const size_t delimiter = columns[0].find_first_of(",;\t|");
  if (delimiter == std::string::npos) return "";
  return absl::StrCat(". Does `csv_delimiter: \"",
                      absl::CHexEscape(columns[0].substr(delimiter, 1)), "\"` separate them?");
}

absl::StatusOr<int> ColumnOf(absl::string_view name, const CsvHeader& header) {
  constexpr size_t kMostNames = 20;
  const std::vector<std::string>& columns = header.columns;
  const auto found = std::ranges::find(columns, name);
  if (found != columns.end() && std::find(found + 1, columns.end(), name) != columns.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("columns: file '", header.file, "' has two columns '", name, "'"));
  }
  if (found != columns.end()) return static_cast<int>(found - columns.begin());
  const size_t count = std::min(columns.size(), kMostNames);
  return absl::InvalidArgumentError(absl::StrCat(
      "columns: file '", header.file, "' has no column '", name, "'; it has ",
      absl::StrJoin(columns.begin(), columns.begin() + static_cast<int64_t>(count), ", ",
                    [](std::string* text, const std::string& column) {
                      absl::StrAppend(text, "'", absl::Utf8SafeCHexEscape(column), "'");
                    }),
      count < columns.size() ? absl::StrCat(" and ", columns.size() - count, " more") : "",
      DelimiterHint(columns)));
}

// Appends the number of the column `name`, or the numbers of those from FIRST to LAST.
absl::Status AppendColumns(absl::string_view name, const CsvHeader& header,
                           std::vector<int>* columns) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(name, absl::MaxSplits("..", 1));
  const bool is_range = !ends.second.empty() && !std::ranges::count(header.columns, name);
  ASSIGN_OR_RETURN(const int first, ColumnOf(is_range ? ends.first : name, header));
  ASSIGN_OR_RETURN(const int last, ColumnOf(is_range ? ends.second : name, header));
  if (last < first) {
    return absl::InvalidArgumentError(
        absl::StrCat("columns: '", ends.second, "' lies before '", ends.first, "'"));
  }
  for (int column = first; column <= last; ++column) columns->push_back(column);
  return absl::OkStatus();
}

// Gives a field its columns, and, if it has several and no shape, the shape of a vector. `taken`
// are those of the fields before it.
absl::Status TakeNamedColumns(const training::FieldSpec& spec, const CsvHeader& header,
                              FieldPlan* field, absl::flat_hash_set<int>* taken) {
  if (spec.columns().empty()) {
    if (!field->shape.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("columns: is missing: the names of the ", NumElements(*field),
                       " columns that the shape asks for, such as [FIRST..LAST]"));
    }
    RETURN_IF_ERROR(AppendColumns(spec.name(), header, &field->columns));
  }
  for (const std::string& name : spec.columns()) {
    RETURN_IF_ERROR(AppendColumns(name, header, &field->columns));
  }
  const auto count = static_cast<int64_t>(field->columns.size());
  if (field->shape.empty() && count > 1) {
    field->shape = {count};
    field->output_shape = PartialShape({count});
  }
  if (count != NumElements(*field)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "columns: there are ", count, ", and the shape has ", NumElements(*field), " elements"));
  }
  for (int column : field->columns) {
    if (taken->insert(column).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("columns: '", header.columns[column], "' is named twice"));
  }
  return absl::OkStatus();
}

// Returns the header of a file; one without columns if the file is empty.
absl::StatusOr<CsvHeader> ReadHeader(const std::string& file, const PipelinePlan& plan) {
  ASSIGN_OR_RETURN(const Compression compression, CompressionFromName(plan.compression));
  ASSIGN_OR_RETURN(auto bytes, ByteSource::Open(file, compression));
  CsvHeader header = {.file = file, .columns = {}};
  std::string record;
  ASSIGN_OR_RETURN(const bool any,
                   ReadCsvRecord(*bytes, {.delimiter = plan.delimiter[0]}, &record));
  if (!any) return header;
  if (absl::StartsWith(record, "\xFF\xFE") || absl::StartsWith(record, "\xFE\xFF")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "csv_header: file '", file, "' is UTF-16; convert it: iconv -f UTF-16 -t UTF-8"));
  }
  constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
  CsvFields names;
  const absl::Status split = CsvSplitter(plan.delimiter[0], /*quotes=*/true)
                                 .Split(absl::StripPrefix(record, kByteOrderMark), {}, &names);
  if (!split.ok()) return Annotate(split, absl::StrCat("csv_header: file '", file, "': "));
  if (names.size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("csv_header: the first line of file '", file, "' is blank"));
  }
  for (size_t i = 0; i < names.size(); ++i) header.columns.emplace_back(names[i]);
  return header;
}

// Returns the header that all files have in common; an empty file needs none.
absl::StatusOr<CsvHeader> CommonHeader(const PipelinePlan& plan) {
  CsvHeader first;
  for (const std::string& file : plan.files) {
    ASSIGN_OR_RETURN(CsvHeader other, ReadHeader(file, plan));
    if (first.columns.empty()) std::swap(first, other);
    if (other.columns.empty() || other.columns == first.columns) continue;
    size_t column = 0;
    while (column < std::min(first.columns.size(), other.columns.size()) &&
           first.columns[column] == other.columns[column]) {
      ++column;
    }
    const auto name = [column](const CsvHeader& header) {
      return column < header.columns.size() ? absl::StrCat("'", header.columns[column], "'")
                                            : std::string("missing");
    };
    return absl::InvalidArgumentError(absl::StrCat(
        "csv_header: all files must have the same columns in their first line; column ", column + 1,
        " of '", first.file, "' is ", name(first), ", that of '", other.file, "' is ",
        name(other)));
  }
  if (first.columns.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("csv_header: ", plan.files.size() == 1 ? "file '" : "all files, such as '",
                     plan.files[0], plan.files.size() == 1 ? "' is empty" : "', are empty"));
  }
  return first;
}

// Finds the columns of each field by the first line of the files.
absl::Status FindColumns(const training::PipelineSpec& spec, PipelinePlan* plan) {
  ASSIGN_OR_RETURN(const CsvHeader header, CommonHeader(*plan));
  absl::flat_hash_set<int> taken;
  for (size_t i = 0; i < plan->fields.size(); ++i) {
    const absl::Status status =
        TakeNamedColumns(spec.fields(static_cast<int>(i)), header, &plan->fields[i], &taken);
    if (status.ok()) continue;
    return Annotate(status, absl::StrCat("fields[", i, "]: field '", plan->fields[i].name, "': "));
  }
  return absl::OkStatus();
}

// Gives each field of a CSV file without a header the next columns.
absl::Status CountColumns(const training::PipelineSpec& spec, PipelinePlan* plan) {
  int next = 0;
  for (size_t i = 0; i < plan->fields.size(); ++i) {
    FieldPlan& field = plan->fields[i];
    if (!spec.fields(static_cast<int>(i)).columns().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("fields[", i, "]: field '", field.name, "': columns: only with csv_header; ",
                       "without, a field has the next columns, as many as its shape has elements"));
    }
    for (int64_t j = 0; j < NumElements(field); ++j) field.columns.push_back(next++);
  }
  return absl::OkStatus();
}

// Gives each field its bytes of the record.
absl::Status LayOut(PipelinePlan* plan) {
  int64_t end = 0;
  for (FieldPlan& field : plan->fields) {
    field.begin = end;
    field.size = static_cast<int64_t>(DTypeSize(field.dtype)) * NumElements(field);
    end += field.size;
  }
  if (plan->record_bytes == 0) plan->record_bytes = end;
  if (end > plan->record_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("record_bytes: the fields take ", end,
                                                   " bytes, a record has ", plan->record_bytes));
  }
  return absl::OkStatus();
}

absl::Status PlanFields(const training::PipelineSpec& spec, PipelinePlan* plan) {
  absl::flat_hash_set<std::string> names;
  for (const training::FieldSpec& field : spec.fields()) {
    absl::StatusOr<FieldPlan> made = PlanField(field, plan->format);
    if (!made.ok()) {
      return Annotate(made.status(), absl::StrCat("fields[", plan->fields.size(), "]: "));
    }
    FieldPlan planned = *std::move(made);
    if (!names.insert(planned.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("fields: there are two of the name '", planned.name, "'"));
    }
    plan->fields.push_back(std::move(planned));
  }
  if (plan->format == RecordFormat::kText && plan->fields.empty()) {
    training::FieldSpec line;
    line.set_name("text");
    line.set_dtype("string");
    ASSIGN_OR_RETURN(FieldPlan planned, PlanField(line, plan->format));
    plan->fields.push_back(std::move(planned));
  }
  if (plan->fields.empty()) {
    return absl::InvalidArgumentError("fields: there are none; name what is to be read");
  }
  switch (plan->format) {
    case RecordFormat::kText:
      if (plan->fields.size() == 1) return absl::OkStatus();
      return absl::InvalidArgumentError("fields: a line of text is one field");
    case RecordFormat::kCsv:
      return spec.csv_header() ? FindColumns(spec, plan) : CountColumns(spec, plan);
    case RecordFormat::kFixedLength:
      return LayOut(plan);
    case RecordFormat::kTfRecord:
      break;
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const training::PipelineSpec& spec) {
  const std::pair<const char*, int64_t> numbers[] = {
      {"shuffle", spec.shuffle()},
      {"skip", spec.skip()},
      {"take", spec.take()},
      {"parallelism", spec.parallelism()},
      {"prefetch", spec.prefetch()},
      {"record_bytes", spec.record_bytes()},
      {"header_bytes", spec.header_bytes()},
  };
  for (const auto& [name, value] : numbers) {
    if (value < 0) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", value, " is negative"));
    }
  }
  if (spec.csv_delimiter().size() > 1) {
    return absl::InvalidArgumentError(
        "csv_delimiter: must be one byte; a tab is \"\\t\" in double quotes");
  }
  return absl::OkStatus();
}

}  // namespace

bool PipelinePlan::IsParsedOneByOne() const {
  return std::ranges::any_of(fields, [this](const FieldPlan& field) {
    return field.is_image() || (cache && field.variable_length);
  });
}

absl::StatusOr<PipelinePlan> PlanPipeline(const training::PipelineSpec& spec,
                                          const std::string& base_folder) {
  RETURN_IF_ERROR(CheckNumbers(spec));
  PipelinePlan plan;
  ASSIGN_OR_RETURN(plan.format, FormatOf(spec.format()));
  if (spec.files().empty()) {
    return absl::InvalidArgumentError("files: there are none; give paths or globs");
  }
  for (const std::string& pattern : spec.files()) {
    RETURN_IF_ERROR(Expand(pattern, base_folder, &plan.files));
  }
  ASSIGN_OR_RETURN(plan.compression, CompressionOf(spec.compression(), plan.files));
  plan.skips_first_line = plan.format == RecordFormat::kCsv && spec.csv_header();
  if (!spec.csv_delimiter().empty()) plan.delimiter = spec.csv_delimiter();
  plan.header_bytes = spec.header_bytes();
  plan.record_bytes = spec.record_bytes();
  RETURN_IF_ERROR(PlanFields(spec, &plan));
  plan.shuffle = spec.shuffle();
  plan.skip = spec.skip();
  plan.take = spec.take();
  plan.cache = spec.cache();
  plan.keep_remainder = spec.keep_remainder();
  if (spec.parallelism() > 0) plan.parallelism = spec.parallelism();
  if (spec.prefetch() > 0) plan.prefetch = spec.prefetch();
  return plan;
}

}  // namespace tessera
