#include "serving/server/text_proto_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"

namespace tessera::serving {
namespace {

class LoggingCollector : public google::protobuf::io::ErrorCollector {
 public:
  LoggingCollector(const std::string& path, const google::protobuf::Message& message)
      : path_(path), type_(message.GetTypeName()) {}
  void AddError(int line, int column, const std::string& message) override {
    LOG(ERROR) << "Error parsing text-format " << type_ << ": " << path_ << ":" << line + 1 << ":"
               << column + 1 << ": " << message;
  }

 private:
  const std::string& path_;
  const std::string type_;
};

}  // namespace

absl::Status ReadTextProto(const std::string& path, google::protobuf::Message* message) {
  // Opened here for the text of errno, because scripts look for "; No such file or directory".
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return absl::Status(absl::ErrnoToStatusCode(errno),
                        absl::StrCat(path, "; ", std::strerror(errno)));
  }
  close(file);
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  if (text->empty()) return absl::InvalidArgumentError(absl::StrCat(path, "; Invalid argument"));
  LoggingCollector errors(path, *message);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(*text, message)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Invalid protobuf file: '", path, "'"));
}

}  // namespace tessera::serving
