// JsonWriter: JSON text in the layout that TensorFlow Serving gives it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serving/frontend/json/json_number.h"

namespace tessera::serving {

// Appends `text` as a JSON string: '"', '\' and control characters escaped, all other bytes as they
// are, whether they are valid UTF-8 or not.
void AppendJsonString(absl::string_view text, std::string* out);

// Writes objects and arrays with four spaces of indentation a level, one member or element a line.
//
//   std::string text;
//   JsonWriter json(&text);
//   json.StartObject();
//   json.Key("predictions");
//   json.StartArray();
//   json.set_arrays_on_one_line(true);
//   json.Numbers(absl::MakeConstSpan({1.0f, 2.5f}));
//   json.set_arrays_on_one_line(false);
//   json.EndArray();
//   json.EndObject();
//   // {
//   //     "predictions": [1.0, 2.5
//   //     ]
//   // }
//
// Elements of arrays are parted by ", " while arrays go on one line; it is the setting at an
// element, and at the end of the array, that counts: switching in between gives the bracket on its
// own line above, which clients have seen for years.
// The calls must nest as JSON does; nothing checks that.
class JsonWriter {
 public:
  // Appends to *out, which must outlive the writer.
  explicit JsonWriter(std::string* out) : out_(out) {}

  void set_arrays_on_one_line(bool one_line) { one_line_ = one_line; }

  void StartObject() { Start('{', /*is_array=*/false); }
  void Key(absl::string_view name);
  void EndObject() { End('}'); }
  void StartArray() { Start('[', /*is_array=*/true); }
  void EndArray() { End(']'); }

  void String(absl::string_view text) {
    BeginValue();
    AppendJsonString(text, out_);
  }
  void Bool(bool value) { Literal(value ? "true" : "false"); }
  // A number or a word.
  void Literal(absl::string_view text) {
    BeginValue();
    out_->append(text.data(), text.size());
  }
  template <typename T>
  void Number(T value) {
    char text[kMaxJsonNumber];
    Literal(absl::string_view(text, WriteJsonNumber(value, text) - text));
  }
  // As many calls of Number(), of elements of an array.
  template <typename T>
  void Numbers(absl::Span<const T> values);

 private:
  static constexpr int kIndent = 4;

  struct Level {
    bool is_array;
    bool is_empty = true;
  };

  void Start(char bracket, bool is_array);
  void End(char bracket);
  // What comes before a value in the level it belongs to.
  void BeginValue();
  void NewLine();

  std::string* const out_;
  std::vector<Level> levels_;
  bool one_line_ = false;
};

template <typename T>
void JsonWriter::Numbers(absl::Span<const T> values) {
  if (values.empty()) return;
  Number(values[0]);
  std::string separator = ",";
  if (one_line_) {
    separator += ' ';
  } else {
    separator += '\n';
    separator.append(kIndent * levels_.size(), ' ');
  }
  // Space for some numbers at a time, and no look at the string's end for each of them.
  constexpr size_t kChunk = 256;
  for (size_t begin = 1; begin < values.size(); begin += kChunk) {
    const size_t end = std::min(begin + kChunk, values.size());
    const size_t size = out_->size();
    out_->resize(size + (end - begin) * (kMaxJsonNumber + separator.size()));
    char* p = out_->data() + size;
    for (size_t i = begin; i < end; ++i) {
      std::memcpy(p, separator.data(), separator.size());
      p = WriteJsonNumber(values[i], p + separator.size());
    }
    out_->resize(p - out_->data());
  }
}

}  // namespace tessera::serving
