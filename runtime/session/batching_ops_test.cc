// Batch, Unbatch and UnbatchGrad in concurrent runs of a session.
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/session/session.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kForever = int64_t{3600} * 1000 * 1000;

// batch:0 has the rows of x, twice them and a gradient come back by unbatch and grad.
tensorflow::GraphDef MakeGraph(int64_t max_batch_size, int64_t timeout, int64_t unbatch_timeout) {
  const std::string float_type = "attr { key: 'T' value { type: DT_FLOAT } } ";
  const auto integer = [](absl::string_view key, int64_t value) {
    return absl::StrCat("attr { key: '", key, "' value { i: ", value, " } } ");
  };
  const std::string text = absl::StrCat(
      "versions { producer: 1000 } "
      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
      "node { name: 'batch' op: 'Batch' input: 'x' "
      "attr { key: 'T' value { list { type: DT_FLOAT } } } ",
      integer("num_batch_threads", 1), integer("max_batch_size", max_batch_size),
      integer("batch_timeout_micros", timeout), integer("grad_timeout_micros", kForever),
      "attr { key: 'allowed_batch_sizes' value { list { i: ", max_batch_size, " } } } } ",
      "node { name: 'twice' op: 'AddV2' input: 'batch:0' input: 'batch:0' ", float_type, "} ",
      "node { name: 'unbatch' op: 'Unbatch' input: 'twice' input: 'batch:1' input: 'batch:2' ",
      float_type, integer("timeout_micros", unbatch_timeout), "} ",
      "node { name: 'grad' op: 'UnbatchGrad' input: 'twice' input: 'batch:1' input: 'unbatch' "
      "input: 'batch:2' ",
      float_type, "} ",
      "node { name: 'lonely' op: 'Unbatch' input: 'x' input: 'no_index' input: 'batch:2' ",
      float_type, integer("timeout_micros", unbatch_timeout), "} ",
      "node { name: 'no_index' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } "
      "attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 0 } "
      "dim { size: 3 } } } } } }");
  tensorflow::GraphDef graph;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &graph)) << text;
  return graph;
}

std::unique_ptr<Session> MakeSession(const tensorflow::GraphDef& graph) {
  std::unique_ptr<Session> session = *Session::Create(SessionOptions());
  const absl::Status status = session->Extend(graph);
  CHECK(status.ok()) << status;
  return session;
}

absl::StatusOr<std::vector<Tensor>> RunFor(Session& session, std::vector<float> x,
                                           std::vector<std::string> fetches) {
  std::vector<Tensor> outputs;
  const Shape shape({static_cast<int64_t>(x.size())});
  const absl::Status status =
      session.Run({{"x", Tensor::Of<float>(shape, x)}}, fetches, {}, &outputs);
  if (!status.ok()) return status;
  return outputs;
}

TEST(BatchingOpsTest, OneRunWorksOnTheRowsOfAll) {
  const auto session = MakeSession(MakeGraph(4, kForever, kForever));
  const std::vector<std::string> fetches = {"batch:0", "batch:1", "batch:2", "unbatch", "grad"};
  absl::StatusOr<std::vector<Tensor>> one, other;
  std::thread thread([&] { other = RunFor(*session, {10, 20, 30}, fetches); });
  one = RunFor(*session, {1}, fetches);
  thread.join();
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT((*one)[3].flat<float>(), ElementsAre(2));
  EXPECT_THAT((*other)[3].flat<float>(), ElementsAre(20, 40, 60));

  // Whoever came last has the batch.
  const bool one_has_it = (*one)[0].dim(0) == 4;
  const std::vector<Tensor>& with = one_has_it ? *one : *other;
  const std::vector<Tensor>& without = one_has_it ? *other : *one;
  EXPECT_EQ(with[0].shape(), Shape({4}));
  EXPECT_EQ(without[0].shape(), Shape({0}));
  EXPECT_EQ(without[1].shape(), Shape({0, 3}));
  const int64_t first = without[2].scalar<int64_t>(), last = with[2].scalar<int64_t>();
  const int64_t border = one_has_it ? 3 : 1;
  EXPECT_THAT(with[1].flat<int64_t>(), ElementsAre(first, 0, border, last, border, 4));
  EXPECT_EQ(with[4].shape(), Shape({4})) << "the gradients of both";
  EXPECT_EQ(without[4].shape(), Shape({0}));
}

TEST(BatchingOpsTest, ABatchIsPaddedWithItsFirstRow) {
  const auto session = MakeSession(MakeGraph(4, /*timeout=*/0, kForever));
  const auto outputs = RunFor(*session, {7, 8}, {"batch:0", "unbatch"});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].flat<float>(), ElementsAre(7, 8, 7, 7));
  EXPECT_THAT((*outputs)[1].flat<float>(), ElementsAre(14, 16));
}

TEST(BatchingOpsTest, BadInputIsRefused) {
  const auto session = MakeSession(MakeGraph(2, /*timeout=*/0, /*unbatch_timeout=*/1000));
  EXPECT_THAT(std::string(RunFor(*session, {1, 2, 3}, {"unbatch"}).status().message()),
              HasSubstr("a task of 3 rows is larger than a batch may be: 2"));
  std::vector<Tensor> outputs;
  const absl::Status scalar = session->Run({{"x", Tensor::Scalar(1.f)}}, {"unbatch"}, {}, &outputs);
  EXPECT_THAT(std::string(scalar.message()), HasSubstr("must have at least one dimension"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(RunFor(*session, {1}, {"lonely"}).status()));
}

TEST(BatchingOpsTest, AClosedSessionEndsTheWaitForABatch) {
  const auto session = MakeSession(MakeGraph(2, kForever, kForever));
  absl::StatusOr<std::vector<Tensor>> waiting;
  std::thread thread([&] { waiting = RunFor(*session, {1}, {"unbatch"}); });
  // The run may not have begun yet; then it finds the session closed.
  EXPECT_TRUE(session->Close().ok());
  thread.join();
  EXPECT_TRUE(absl::IsCancelled(waiting.status()) || absl::IsFailedPrecondition(waiting.status()))
      << waiting.status();
}

TEST(BatchingOpsTest, AttributesThatContradictEachOtherAreRefused) {
  tensorflow::GraphDef graph = MakeGraph(4, 0, 0);
  (*graph.mutable_node(1)->mutable_attr())["max_batch_size"].set_i(5);
  const auto session = MakeSession(graph);
  EXPECT_THAT(std::string(RunFor(*session, {1}, {"batch:0"}).status().message()),
              HasSubstr("the last entry in allowed_batch_sizes, 4, must equal max_batch_size, 5"));
}

}  // namespace
}  // namespace tessera
