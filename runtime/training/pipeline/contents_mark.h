// ContentsMark: tells whether the files of a pipeline still begin with what they had.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Marks of files, in their order, as a line of text: the size of each, and a checksum of the first
// and the last 64 KiB of it. A file that has grown since keeps its mark, as one to which records
// are appended does. A file that cannot be read has an empty mark, to which every file fits.
std::string ContentsMark(const std::vector<std::string>& files);

// Errors: FAILED_PRECONDITION with the name of the first file that does not fit its mark.
absl::Status CheckContents(absl::string_view mark, const std::vector<std::string>& files);

}  // namespace tessera
