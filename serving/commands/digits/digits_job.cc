#include "serving/commands/digits/digits_job.h"

#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/base/tf_record.h"
#include "serving/commands/digits/digits_files.h"
#include "tensorflow/core/example/example.pb.h"

namespace tessera::serving {
namespace {

constexpr size_t kPixels = 64;
constexpr size_t kRowBytes = kPixels + 1;
constexpr size_t kTrainRows = 1437;
constexpr size_t kTestRows = 360;

absl::StatusOr<std::string> Uncompress(absl::string_view compressed, size_t size) {
  std::string bytes(size, '\0');
  uLongf length = size;
  const int result =
      ::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &length,
                   reinterpret_cast<const Bytef*>(compressed.data()), compressed.size());
  if (result != Z_OK || length != size) return absl::InternalError("the digits are damaged");
  return bytes;
}

// Returns a TFRecord file of tf.Examples with the fields `pixels` and `label`.
std::string Records(absl::string_view rows) {
  std::string file;
  for (; !rows.empty(); rows.remove_prefix(kRowBytes)) {
    tensorflow::Example example;
    auto& features = *example.mutable_features()->mutable_feature();
    for (const char pixel : rows.substr(0, kPixels)) {
      features["pixels"].mutable_float_list()->add_value(static_cast<float>(pixel));
    }
    features["label"].mutable_int64_list()->add_value(rows[kPixels]);
    AppendTfRecord(example.SerializeAsString(), &file);
  }
  return file;
}

}  // namespace

absl::Status WriteDigitsJob(const std::string& folder) {
  const std::string job = JoinPath(folder, "job.yaml");
  if (FileExists(job)) {
    return absl::AlreadyExistsError(
        absl::StrCat("'", job, "' is there already; name another folder"));
  }
  ASSIGN_OR_RETURN(const std::string rows,
                   Uncompress(kDigitsZz, (kTrainRows + kTestRows) * kRowBytes));
  const absl::string_view all = rows;
  const std::string data = JoinPath(folder, "data");
  RETURN_IF_ERROR(CreateDirectories(data));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(data, "digits_train.tfrecord"),
                                      Records(all.substr(0, kTrainRows * kRowBytes))));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(data, "digits_test.tfrecord"),
                                      Records(all.substr(kTrainRows * kRowBytes))));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder, "forward.pbtxt"), kForwardPbtxt));
  return WriteFileAtomically(job, kJobYaml);
}

}  // namespace tessera::serving
