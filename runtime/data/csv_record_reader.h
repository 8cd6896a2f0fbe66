// Reads the records of files of comma-separated values, which may hold line ends (RFC 4180).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/byte_source.h"

namespace tessera {

// How records are told apart.
struct CsvDialect {
  char delimiter = ',';
  bool quotes = true;
};

// Reads the next record of a file into `record`, without its line end: a line, or with quotes the
// lines up to one at whose end no quoted field is open. A quote opens a field only as its first
// character; elsewhere it is for whoever splits the record to refuse. Returns false at the end of
// the file, where a field that is open ends, too.
// Errors: those of ByteSource; INVALID_ARGUMENT once the lines of a record have more than 256 MiB,
// most likely for a quote too many.
absl::StatusOr<bool> ReadCsvRecord(ByteSource& bytes, const CsvDialect& dialect,
                                   std::string* record);

}  // namespace tessera
