// JsonWriter: writes JSON text with the layout of TensorFlow Serving.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serving/frontend/json/json_number.h"
#include "serving/frontend/json/json_string.h"

namespace tessera::serving {

// Writes objects and arrays with four spaces of indentation for each level, and one member or
// element on each line.
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
// While arrays are on one line, their elements are separated by ", ". The setting counts at each
// element and at the end of the array. Switching it in between gives the bracket on its own line
// above, which clients have seen for years.
// The calls must nest as JSON does. That is not checked.
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
  // Writes a number or a word.
  void Literal(absl::string_view text) {
    BeginValue();
    out_->append(text.data(), text.size());
  }
  template <typename T>
  void Number(T value) {
    char text[kMaxJsonNumber];
    Literal(absl::string_view(text, WriteJsonNumber(value, text) - text));
  }
  // Writes elements of an array, as so many calls of Number() would.
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
  // Writes the separator and the indentation before a value.
  void BeginValue();
  void NewLine();

  std::string* const out_;
  absl::InlinedVector<Level, 8> levels_;
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
  // Makes room for several numbers at a time, so that not every number checks the string's
  // capacity.
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
