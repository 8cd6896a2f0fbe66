#include "serving/server/text_proto_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"

namespace tessera::serving {
namespace {

// Keeps the first error.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (error_.line == 0) error_ = {line + 1, column + 1, message};
  }
  const TextProtoError& error() const { return error_; }

 private:
  TextProtoError error_;
};

}  // namespace

absl::Status ReadTextProto(const std::string& path, google::protobuf::Message* message,
                           TextProtoError* error) {
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
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(*text, message)) return absl::OkStatus();
  TextProtoError found = errors.error();
  found.message =
      absl::StrCat("Error parsing text-format ", message->GetTypeName(), ": ", found.message);
  if (error != nullptr) {
    *error = std::move(found);
  } else {
    LOG(ERROR) << path << ":" << found.line << ":" << found.column << ": " << found.message;
  }
  return absl::InvalidArgumentError(absl::StrCat("Invalid protobuf file: '", path, "'"));
}

bool ReadTextProtoOfFlag(const std::string& flag, const std::string& path,
                         google::protobuf::Message* message, ConfigReport* report) {
  TextProtoError error;
  const absl::Status status = ReadTextProto(path, message, &error);
  if (error.line > 0) {
    report->Add({path, error.line, flag}, status, error.message);
  } else {
    report->Add({path, 0, flag}, status);
  }
  return status.ok();
}

int LineOfTextProtoKey(const std::string& path, const google::protobuf::Message& type,
                       absl::string_view key) {
  using google::protobuf::FieldDescriptor;
  const absl::StatusOr<std::string> text = ReadFile(path);
  const std::unique_ptr<google::protobuf::Message> message(type.New());
  google::protobuf::TextFormat::ParseInfoTree locations;
  google::protobuf::TextFormat::Parser parser;
  parser.WriteLocationsTo(&locations);
  FirstError ignored;
  parser.RecordErrorsTo(&ignored);
  if (!text.ok() || !parser.ParseFromString(*text, message.get())) return 0;

  int line = 0;
  const auto* tree = &locations;
  const google::protobuf::Descriptor* descriptor = type.GetDescriptor();
  const std::vector<std::string> parts =
      absl::StrSplit(key, absl::ByAnyChar(".[]"), absl::SkipEmpty());
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    const FieldDescriptor* field = descriptor->FindFieldByName(*part);
    if (field == nullptr) break;
    int index = field->is_repeated() ? 0 : -1;
    if (index == 0 && part + 1 != parts.end() && absl::SimpleAtoi(part[1], &index)) ++part;
    const int found = tree->GetLocation(field, index).line;
    if (found < 0) break;
    line = found + 1;
    if (field->is_map() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) break;
    tree = tree->GetTreeForNested(field, index);
    descriptor = field->message_type();
    if (tree == nullptr) break;
  }
  return line;
}

}  // namespace tessera::serving
