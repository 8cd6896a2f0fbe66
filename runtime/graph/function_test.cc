#include "runtime/graph/function.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

tensorflow::FunctionDefLibrary Parse(const std::string& text) {
  tensorflow::FunctionDefLibrary proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}
std::shared_ptr<const FunctionLibrary> Library(const std::string& text) {
  return FunctionLibrary::Create(Parse(text)).value();
}

constexpr char kTwice[] = R"(
  function {
    signature {
      name: "twice"
      input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
      attr { name: "T" type: "type" default_value { type: DT_INT32 } }
    }
    node_def { name: "sum" op: "AddV2" input: "x" input: "x"
               attr { key: "T" value { placeholder: "T" } } }
    ret { key: "y" value: "sum:z:0" }
    attr { key: "_noinline" value { b: true } }
  })";

TEST(FunctionTest, BodyHasArgsResultsAndAttributesOfTheCall) {
  const auto library = Library(kTwice);
  const FunctionBody body =
      library->Instantiate(FunctionRef{"twice", {{"T", DType::kDouble}}}).value();
  EXPECT_THAT(body.arg_types, ElementsAre(DType::kDouble));
  EXPECT_THAT(body.result_types, ElementsAre(DType::kDouble));
  const Node* sum = body.graph->FindNode("sum");
  EXPECT_THAT(sum->input_types(), ElementsAre(DType::kDouble, DType::kDouble));
  EXPECT_EQ(sum->input(1), (Endpoint{body.args[0], 0}));
  EXPECT_EQ(body.results[0]->input(0).node, sum);
  EXPECT_EQ(body.results[0]->attr<int64_t>("index").value(), 0);
  EXPECT_EQ(body.graph->library(), library);
}

TEST(FunctionTest, SignatureDefaultsAndFunctionAttributes) {
  const auto library = Library(kTwice);
  EXPECT_THAT(library->Instantiate(FunctionRef{"twice", {}})->arg_types,
              ElementsAre(DType::kInt32));
  ASSERT_NE(library->FindFunctionAttr("twice", "_noinline"), nullptr);
  EXPECT_EQ(library->FindFunctionAttr("twice", "_other"), nullptr);
  EXPECT_EQ(library->Instantiate(FunctionRef{"thrice", {}}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(FunctionTest, ListArgumentsAreFlattenedAndReferredToWholeOrByIndex) {
  const auto library = Library(R"pb(
    function {
      signature {
        name: "f"
        input_arg { name: "xs" type_attr: "T" number_attr: "N" }
        input_arg { name: "mixed" type_list_attr: "Ts" }
        output_arg { name: "all" type_list_attr: "Ts" }
        output_arg { name: "sum" type_attr: "T" }
        output_arg { name: "second" type_attr: "T" }
        attr { name: "T" type: "type" }
        attr { name: "N" type: "int" }
        attr { name: "Ts" type: "list(type)" }
      }
      node_def {
        name: "add"
        op: "AddN"
        input: "xs"
        attr {
          key: "T"
          value { placeholder: "T" }
        }
        attr {
          key: "N"
          value { placeholder: "N" }
        }
      }
      node_def {
        name: "same"
        op: "IdentityN"
        input: "mixed"
        attr {
          key: "T"
          value { placeholder: "Ts" }
        }
      }
      ret { key: "all" value: "same:output" }
      ret { key: "sum" value: "add:sum:0" }
      ret { key: "second" value: "xs:1" }
    })pb");
  const FunctionBody body =
      library
          ->Instantiate(FunctionRef{"f",
                                    {{"T", DType::kFloat},
                                     {"N", 3},
                                     {"Ts", std::vector<DType>{DType::kInt32, DType::kString}}}})
          .value();
  EXPECT_THAT(body.arg_types, ElementsAre(DType::kFloat, DType::kFloat, DType::kFloat,
                                          DType::kInt32, DType::kString));
  const Node* add = body.graph->FindNode("add");
  EXPECT_EQ(add->input(2).node, body.args[2]);
  const Node* same = body.graph->FindNode("same");
  EXPECT_EQ(same->input(1).node, body.args[4]);
  ASSERT_EQ(body.results.size(), 4u);
  EXPECT_EQ(body.results[1]->input(0), (Endpoint{body.graph->FindNode("same"), 1}));
  EXPECT_EQ(body.results[3]->input(0).node, body.args[1]);
}

TEST(FunctionTest, KeepsSideEffectsAndDropsTheRest) {
  const auto library = Library(R"(
    function {
      signature { name: "f" input_arg { name: "v" type: DT_RESOURCE }
                  input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT }
                  control_output: "named" is_stateful: true }
      node_def { name: "assign" op: "AssignAddVariableOp" input: "v" input: "x"
                 attr { key: "dtype" value { type: DT_FLOAT } } }
      node_def { name: "read" op: "ReadVariableOp" input: "v"
                 attr { key: "dtype" value { type: DT_FLOAT } } }
      node_def { name: "marker" op: "NoOp" input: "^read" }
      node_def { name: "unused" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "x" } control_ret { key: "named" value: "marker" }
    })");
  const FunctionBody body = library->Instantiate(FunctionRef{"f", {}}).value();
  EXPECT_THAT(body.control_results,
              ElementsAre(body.graph->FindNode("marker"), body.graph->FindNode("assign")));
  EXPECT_NE(body.graph->FindNode("read"), nullptr);
  EXPECT_EQ(body.graph->FindNode("unused"), nullptr);
}

// Returns "f0", which calls "f1", and so on; the last of `count` functions has a node of `op`.
tensorflow::FunctionDefLibrary Chain(int count, const std::string& op) {
  tensorflow::FunctionDefLibrary proto;
  for (int i = 0; i < count; ++i) {
    tensorflow::FunctionDef* function = proto.add_function();
    function->mutable_signature()->set_name(absl::StrCat("f", i));
    tensorflow::NodeDef* node = function->add_node_def();
    node->set_name("node");
    node->set_op(i + 1 < count ? absl::StrCat("f", i + 1) : op);
  }
  return proto;
}

TEST(FunctionTest, AsksEachOfManyNestedFunctionsForSideEffectsOnce) {
  constexpr int kCount = 30'000;
  for (const char* op : {"NoOp", "Abort"}) {
    const auto library = FunctionLibrary::Create(Chain(kCount, op)).value();
    // A walk to the end of the chain for each function would take minutes.
    for (int i = 0; i < kCount; ++i) {
      ASSERT_EQ(library->HasSideEffect(absl::StrCat("f", i)), op == std::string("Abort")) << i;
    }
  }
}

TEST(FunctionTest, FunctionsThatCallEachOtherHaveTheSideEffectsOfAll) {
  const auto library = Library(R"(
    function { signature { name: "a" } node_def { name: "n" op: "b" } }
    function { signature { name: "b" } node_def { name: "n" op: "a" }
               node_def { name: "m" op: "c" } }
    function { signature { name: "c" } node_def { name: "n" op: "Abort" } }
    function { signature { name: "d" } node_def { name: "n" op: "e" } }
    function { signature { name: "e" } node_def { name: "n" op: "d" } })");
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(library->HasSideEffect("a"));
    EXPECT_TRUE(library->HasSideEffect("b"));
    EXPECT_TRUE(library->HasSideEffect("c"));
    EXPECT_FALSE(library->HasSideEffect("d"));
    EXPECT_FALSE(library->HasSideEffect("e"));
  }
}

TEST(FunctionTest, AFunctionThatALaterLibraryAddsIsNotUnknownThere) {
  const auto library = Library(R"(
    function { signature { name: "caller" }
               node_def { name: "n" op: "PartitionedCall"
                          attr { key: "f" value { func { name: "later" } } } } })");
  EXPECT_TRUE(library->HasSideEffect("caller"));
  const auto extended = library->Extended(
      Parse(R"(function { signature { name: "later" } node_def { name: "n" op: "NoOp" } })"));
  EXPECT_FALSE((*extended)->HasSideEffect("caller"));
}

TEST(FunctionTest, PlaceholdersInsideFunctionAttributesAreResolved) {
  const auto library = Library(std::string(kTwice) + R"(
    function {
      signature { name: "outer" input_arg { name: "x" type_attr: "U" }
                  output_arg { name: "y" type_attr: "U" } attr { name: "U" type: "type" }
                  attr { name: "g" type: "func" } }
      node_def { name: "direct" op: "twice" input: "x" attr { key: "T" value { placeholder: "U" } } }
      node_def { name: "call" op: "PartitionedCall" input: "direct:y:0"
                 attr { key: "Tin" value { list { type: DT_FLOAT } } }
                 attr { key: "Tout" value { list { type: DT_FLOAT } } }
                 attr { key: "f" value { func { name: "twice"
                        attr { key: "T" value { placeholder: "U" } } } } } }
      node_def { name: "given" op: "PartitionedCall" input: "call:output:0"
                 attr { key: "Tin" value { list { type: DT_FLOAT } } }
                 attr { key: "Tout" value { list { type: DT_FLOAT } } }
                 attr { key: "f" value { placeholder: "g" } } }
      ret { key: "y" value: "given:output:0" }
    })");
  const FunctionRef g{"twice", {{"T", DType::kFloat}}};
  const FunctionBody body =
      library->Instantiate(FunctionRef{"outer", {{"U", DType::kFloat}, {"g", g}}}).value();
  EXPECT_EQ(body.graph->FindNode("direct")->output_type(0), DType::kFloat);
  EXPECT_EQ(body.graph->FindNode("call")->attr<FunctionRef>("f").value(), g);
  EXPECT_EQ(body.graph->FindNode("given")->attr<FunctionRef>("f").value(), g);
}

TEST(FunctionTest, UnknownOpsBecomeStandIns) {
  const auto library = Library(R"(
    function {
      signature { name: "f" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } output_arg { name: "z" type: DT_INT32 } }
      node_def { name: "a" op: "Foo" input: "x" }
      node_def { name: "b" op: "Foo" input: "a:second:0" input: "^a" }
      node_def { name: "n" op: "Neg" input: "a:first:0" attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "n:y:0" } ret { key: "z" value: "b:out:0" }
    })");
  const FunctionBody body = library->Instantiate(FunctionRef{"f", {}}).value();
  EXPECT_THAT(body.graph->FindNode("a")->output_types(),
              ElementsAre(DType::kInvalid, DType::kFloat));
  EXPECT_THAT(body.graph->FindNode("b")->output_types(), ElementsAre(DType::kInt32));
}

TEST(FunctionTest, FunctionsInAttributesOfFunctionsMustEnd) {
  const auto library = Library(kTwice);
  FunctionRef function{"twice", {{"T", DType::kFloat}}};
  int nested = 0;
  while (library->Instantiate(function).ok() && ++nested < 1000) {
    function = {"twice", {{"T", DType::kFloat}, {"g", function}}};
  }
  EXPECT_EQ(nested, 33);
  EXPECT_EQ(library->Instantiate(function).status().code(), absl::StatusCode::kInvalidArgument);

  function = {"twice", {{"T", DType::kFloat}}};
  for (nested = 0; library->Instantiate(function).ok() && nested < 20; ++nested) {
    function = {"twice", {{"T", DType::kFloat}, {"g", function}, {"h", function}}};
  }
  EXPECT_EQ(nested, 9) << "the tenth has over a thousand functions";
}

TEST(FunctionTest, InstantiateNamesTheFault) {
  const struct {
    const char* body;
    const char* message;
  } kCases[] = {
      {R"(node_def { name: "n" op: "Neg" input: "gone" attr { key: "T" value { type: DT_FLOAT } } }
          ret { key: "y" value: "n:y:0" })",
       "node 'n' (Neg): 'gone'"},
      {R"(node_def { name: "n" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
          ret { key: "y" value: "n:wrong:0" })",
       "result 'y': 'n:wrong:0'"},
      {R"(node_def { name: "n" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
          ret { key: "y" value: "n:y:1" })",
       "'n:y:1'"},
      {R"(node_def { name: "n" op: "Neg" attr { key: "T" value { type: DT_FLOAT } } }
          ret { key: "y" value: "n:y:0" })",
       "1 inputs that the op takes"},
      {R"(node_def { name: "n" op: "Neg" input: "x" attr { key: "T" value { placeholder: "Q" } } }
          ret { key: "y" value: "n:y:0" })",
       "attribute 'Q'"},
      {R"(node_def { name: "x" op: "NoOp" } ret { key: "y" value: "x" })", "argument and a node"},
      {R"(node_def { name: "n" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } }
                     attr { key: "index" value { i: 1000000000000 } } }
          ret { key: "y" value: "n:output:0" })",
       "node 'n' (_Arg)"},
      {R"(node_def { name: "n" op: "NoOp" } node_def { name: "n" op: "NoOp" }
          ret { key: "y" value: "x" })",
       "two nodes 'n'"},
      {R"(node_def { name: "n" op: "Shape" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
          ret { key: "y" value: "n:output:0" })",
       "must be float"},
      {"", "where result 'y' comes from"},
  };
  for (const auto& c : kCases) {
    const auto library = Library(std::string(R"(function { signature { name: "f"
        input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } } )") +
                                 c.body + "}");
    const absl::Status status = library->Instantiate(FunctionRef{"f", {}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.body;
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("function 'f'"), HasSubstr(c.message)));
  }
}

TEST(FunctionTest, TwoFunctionsOfOneNameMustBeEqual) {
  const auto library = Library(kTwice);
  EXPECT_TRUE(library->Extended(Parse(kTwice)).ok());
  const auto clash =
      library->Extended(Parse(R"(function { signature { name: "twice" } })")).status();
  EXPECT_EQ(clash.code(), absl::StatusCode::kInvalidArgument);
  const auto more = library->Extended(Parse(R"(
    function { signature { name: "another" } }
    gradient { function_name: "twice" gradient_func: "another" })"));
  EXPECT_THAT((*more)->Names(), ElementsAre("another", "twice"));
  tensorflow::FunctionDefLibrary before, after;
  library->Export(&before);
  (*more)->Export(&after);
  EXPECT_EQ(before.gradient_size(), 0) << "the old library stays as it is";
  ASSERT_EQ(after.gradient_size(), 1);
  EXPECT_EQ(after.gradient(0).function_name(), "twice");
  EXPECT_EQ(after.gradient(0).gradient_func(), "another");
  EXPECT_EQ((*more)->FindSignature("twice"), library->FindSignature("twice"))
      << "graphs that point at the old library's signatures may move to the new one";
}

TEST(FunctionTest, MalformedSignaturesAreRefused) {
  for (
      const char* signature :
      {"", R"(name: "Const")", R"(name: "f" input_arg { name: "x" })",
       R"(name: "f" input_arg { type: DT_FLOAT })",
       R"(name: "f" input_arg { name: "x" type_attr: "T" })",
       R"(name: "f" attr { name: "T" type: "int" } output_arg { name: "x" type_attr: "T" })",
       R"(name: "f" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "x" type: DT_FLOAT })"}) {
    const auto library =
        FunctionLibrary::Create(Parse(std::string("function { signature { ") + signature + " } }"));
    EXPECT_EQ(library.status().code(), absl::StatusCode::kInvalidArgument) << signature;
  }
}

}  // namespace
}  // namespace tessera
