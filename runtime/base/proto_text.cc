#include "runtime/base/proto_text.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace tessera {
namespace {

// protobuf's limit for binary files. It has none for text, and parses by recursion.
constexpr int kMaxNesting = 100;

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int /*column*/, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

absl::Status ParseProtoText(const std::string& text, google::protobuf::Message* message) {
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxNesting);
  if (parser.ParseFromString(text, message)) return absl::OkStatus();
  return absl::DataLossError(error.text());
}

}  // namespace tessera
