// A pipeline's specification, checked and completed: which files it reads, and what each field is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

namespace training {
class FieldSpec;
class PipelineSpec;
}  // namespace training

enum class RecordFormat { kTfRecord, kText, kCsv, kFixedLength };
enum class FieldDecoding { kNone, kJpeg, kPng, kImage, kRaw };

// A field of an example, from its bytes in a record to its place in a batch.
struct FieldPlan {
  std::string name;
  DType dtype = DType::kInvalid;  // as it is stored; for images, of the pixels
  std::vector<int64_t> shape;     // of one example
  bool variable_length = false;
  Tensor missing_value;  // no value: the field must be there
  FieldDecoding decoding = FieldDecoding::kNone;
  std::vector<int64_t> resize;  // height and width; empty: not
  double scale = 1, offset = 0;
  DType output_dtype = DType::kInvalid;
  PartialShape output_shape;    // of one example
  std::vector<int> columns;     // CSV: the number of each element's column
  int64_t begin = 0, size = 0;  // fixed length: bytes of the record

  bool is_image() const {
    return decoding != FieldDecoding::kNone && decoding != FieldDecoding::kRaw;
  }
  bool is_scaled() const { return scale != 1 || offset != 0; }
};

struct PipelinePlan {
  RecordFormat format = RecordFormat::kTfRecord;
  std::vector<std::string> files;
  std::string compression;  // as dataset ops call it: "", "GZIP" or "ZLIB"
  bool skips_first_line = false;
  std::string delimiter = ",";
  int64_t header_bytes = 0, record_bytes = 0;
  std::vector<FieldPlan> fields;
  int64_t shuffle = 0, skip = 0, take = 0;  // 0: not
  bool cache = false, keep_remainder = false;
  int64_t parallelism = -1;  // -1: left to the runtime
  int64_t prefetch = 2;

  // True if each record is parsed by itself: images differ in size until they are resized, and
  // cached fields of variable length are padded with those that they meet in a batch.
  bool IsParsedOneByOne() const;
};

// Errors: INVALID_ARGUMENT for what the specification gets wrong, with the remedy; NOT_FOUND for a
// glob without a file; those of reading the header of a CSV file.
absl::StatusOr<PipelinePlan> PlanPipeline(const training::PipelineSpec& spec,
                                          const std::string& base_folder);

}  // namespace tessera
