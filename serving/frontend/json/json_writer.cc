#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {

void JsonWriter::NewLine() {
  out_->push_back('\n');
  out_->append(kIndent * levels_.size(), ' ');
}

void JsonWriter::BeginValue() {
  // The value of a member follows its key without a separator here.
  if (levels_.empty() || !levels_.back().is_array) return;
  Level& array = levels_.back();
  if (!array.is_empty) out_->append(one_line_ ? ", " : ",");
  if (!one_line_) NewLine();
  array.is_empty = false;
}

void JsonWriter::Key(absl::string_view name) {
  Level& object = levels_.back();
  if (!object.is_empty) out_->push_back(',');
  object.is_empty = false;
  NewLine();
  AppendJsonString(name, out_);
  out_->append(": ");
}

void JsonWriter::Start(char bracket, bool is_array) {
  BeginValue();
  out_->push_back(bracket);
  levels_.push_back({.is_array = is_array});
}

void JsonWriter::End(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.is_empty && !(level.is_array && one_line_)) NewLine();
  out_->push_back(bracket);
}

}  // namespace tessera::serving
