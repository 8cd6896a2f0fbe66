#include "runtime/graph/testing/graph_text.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

class GraphTextParser {
 public:
  explicit GraphTextParser(absl::string_view text) : rest_(text) {}

  tensorflow::GraphDef Parse() {
    tensorflow::GraphDef graph;
    while (SkipSpace(), !rest_.empty()) {
      if (TakeWord("stateful")) {
        Expect(TakeWord("def"), "'def'");
        ParseFunction(graph.mutable_library()->add_function(), /*stateful=*/true);
      } else if (TakeWord("def")) {
        ParseFunction(graph.mutable_library()->add_function(), /*stateful=*/false);
      } else {
        ParseNode(graph.add_node());
      }
    }
    return graph;
  }

 private:
  void Expect(bool found, absl::string_view what) const {
    CHECK(found) << "expected " << what << " in the graph's text before: " << rest_.substr(0, 80);
  }

  void SkipSpace() {
    while (true) {
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      if (rest_.empty() || rest_[0] != '#') return;
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    }
  }

  bool Take(absl::string_view token) {
    SkipSpace();
    if (!absl::StartsWith(rest_, token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void Need(absl::string_view token) { Expect(Take(token), absl::StrCat("'", token, "'")); }

  // The letters of a name, which are more where it refers to a node's output or control edge.
  absl::string_view PeekWord(absl::string_view more = "") {
    SkipSpace();
    size_t size = 0;
    while (size < rest_.size() &&
           (absl::ascii_isalnum(rest_[size]) || absl::StrContains("_./-+", rest_[size]) ||
            absl::StrContains(more, rest_[size]))) {
      ++size;
    }
    return rest_.substr(0, size);
  }
  bool TakeWord(absl::string_view word) { return PeekWord() == word && Take(word); }
  std::string Word(absl::string_view more = "") {
    const std::string word(PeekWord(more));
    Expect(!word.empty(), "a name");
    rest_.remove_prefix(word.size());
    return word;
  }
  std::string Reference() { return Word(":^"); }

  std::string Quoted() {
    Need("\"");
    const size_t end = rest_.find('"');
    Expect(end != rest_.npos, "'\"'");
    const std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  // Calls item() for each of a list whose opening bracket has been taken.
  template <typename Item>
  void ParseList(absl::string_view close, Item item) {
    if (Take(close)) return;
    do {
      item();
    } while (Take(","));
    Need(close);
  }

  static tensorflow::DataType DTypeOf(const std::string& word) {
    tensorflow::DataType dtype = tensorflow::DT_INVALID;
    tensorflow::DataType_Parse(absl::StrCat("DT_", absl::AsciiStrToUpper(word)), &dtype);
    return dtype;
  }

  template <typename Attrs>
  void ParseAttrs(Attrs* attrs) {
    if (!Take("{")) return;
    ParseList("}", [&] {
      const std::string name = Word();
      Need(":");
      ParseValue(&(*attrs)[name]);
    });
  }

  void ParseShape(tensorflow::TensorShapeProto* shape) {
    ParseList(">", [&] {
      if (Take("*")) {
        shape->set_unknown_rank(true);
      } else {
        shape->add_dim()->set_size(Take("?") ? -1 : Integer(Word()));
      }
    });
  }

  int64_t Integer(const std::string& word) const {
    int64_t value = 0;
    Expect(absl::SimpleAtoi(word, &value), absl::StrCat("an integer instead of '", word, "'"));
    return value;
  }

  void ParseElement(tensorflow::TensorProto* tensor) {
    if (tensor->dtype() == tensorflow::DT_STRING) {
      tensor->add_string_val(Quoted());
      return;
    }
    const std::string word = Word();
    double value = 0;
    switch (tensor->dtype()) {
      case tensorflow::DT_BOOL:
        return tensor->add_bool_val(word == "true");
      case tensorflow::DT_INT64:
        return tensor->add_int64_val(Integer(word));
      case tensorflow::DT_INT32:
        return tensor->add_int_val(static_cast<int>(Integer(word)));
      case tensorflow::DT_FLOAT:
        Expect(absl::SimpleAtod(word, &value), "a number");
        return tensor->add_float_val(static_cast<float>(value));
      default:
        LOG(FATAL) << "tensors of this dtype have no text";
    }
  }

  // What follows the dtype of a tensor.
  void ParseTensor(tensorflow::DataType dtype, tensorflow::TensorProto* tensor) {
    tensor->set_dtype(dtype);
    tensor->mutable_tensor_shape();
    if (Take("[")) {
      int64_t size = 0;
      ParseList("]", [&] {
        ParseElement(tensor);
        ++size;
      });
      tensor->mutable_tensor_shape()->add_dim()->set_size(size);
    } else {
      ParseElement(tensor);
    }
    Need(")");
  }

  void ParseListElement(tensorflow::AttrValue::ListValue* list) {
    tensorflow::AttrValue value;
    ParseValue(&value);
    switch (value.value_case()) {
      case tensorflow::AttrValue::kType:
        return list->add_type(value.type());
      case tensorflow::AttrValue::kI:
        return list->add_i(value.i());
      case tensorflow::AttrValue::kF:
        return list->add_f(value.f());
      case tensorflow::AttrValue::kB:
        return list->add_b(value.b());
      case tensorflow::AttrValue::kS:
        return list->add_s(value.s());
      case tensorflow::AttrValue::kShape:
        *list->add_shape() = value.shape();
        return;
      case tensorflow::AttrValue::kFunc:
        *list->add_func() = value.func();
        return;
      default:
        LOG(FATAL) << "lists of this kind have no text";
    }
  }

  void ParseValue(tensorflow::AttrValue* value) {
    SkipSpace();
    if (Take("[")) {
      value->mutable_list();
      ParseList("]", [&] { ParseListElement(value->mutable_list()); });
    } else if (Take("<")) {
      ParseShape(value->mutable_shape());
    } else if (Take("@")) {
      value->mutable_func()->set_name(Word());
    } else if (Take("$")) {
      value->set_placeholder(Word());
    } else if (absl::StartsWith(rest_, "\"")) {
      value->set_s(Quoted());
    } else {
      ParseWordValue(Word(), value);
    }
  }

  void ParseWordValue(const std::string& word, tensorflow::AttrValue* value) {
    const tensorflow::DataType dtype = DTypeOf(word);
    double number = 0;
    if (dtype != tensorflow::DT_INVALID && Take("(")) {
      ParseTensor(dtype, value->mutable_tensor());
    } else if (dtype != tensorflow::DT_INVALID) {
      value->set_type(dtype);
    } else if (word == "true" || word == "false") {
      value->set_b(word == "true");
    } else if (absl::StrContains(word, '.')) {
      Expect(absl::SimpleAtod(word, &number), "a number");
      value->set_f(static_cast<float>(number));
    } else {
      value->set_i(Integer(word));
    }
  }

  void ParseNode(tensorflow::NodeDef* node) {
    node->set_name(Word());
    Need("=");
    node->set_op(Word());
    Need("(");
    ParseList(")", [&] { node->add_input(Reference()); });
    ParseAttrs(node->mutable_attr());
    if (TakeWord("on")) node->set_device(Quoted());
  }

  void ParseArgument(tensorflow::OpDef* signature, tensorflow::OpDef::ArgDef* argument) {
    argument->set_name(Word());
    Need(":");
    if (Take("$")) {
      argument->set_type_attr(Word());
      for (const auto& attr : signature->attr()) {
        if (attr.name() == argument->type_attr()) return;
      }
      signature->add_attr()->set_name(argument->type_attr());
      signature->mutable_attr(signature->attr_size() - 1)->set_type("type");
      return;
    }
    const tensorflow::DataType dtype = DTypeOf(Word());
    Expect(dtype != tensorflow::DT_INVALID, "a dtype");
    argument->set_type(dtype);
  }

  void ParseFunction(tensorflow::FunctionDef* function, bool stateful) {
    tensorflow::OpDef* signature = function->mutable_signature();
    signature->set_name(Word());
    signature->set_is_stateful(stateful);
    Need("(");
    ParseList(")", [&] { ParseArgument(signature, signature->add_input_arg()); });
    if (Take("->")) {
      Need("(");
      ParseList(")", [&] { ParseArgument(signature, signature->add_output_arg()); });
    }
    ParseAttrs(function->mutable_attr());
    Need(":");
    while (!TakeWord("return")) ParseNode(function->add_node_def());
    Need("(");
    ParseList(")", [&] {
      if (Take("^")) {
        const std::string node = Word();
        signature->add_control_output(node);
        (*function->mutable_control_ret())[node] = node;
        return;
      }
      const std::string output = Word();
      Need("=");
      (*function->mutable_ret())[output] = Reference();
    });
  }

  absl::string_view rest_;
};

}  // namespace

tensorflow::GraphDef GraphFromText(absl::string_view text) { return GraphTextParser(text).Parse(); }

}  // namespace tessera
