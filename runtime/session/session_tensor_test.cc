#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/graph/graph.h"
#include "runtime/session/session.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SessionTensorTest : public testing::Test {
 protected:
  SessionTensorTest() {
    Graph graph;
    Node* const value = graph.AddNode("value", "Placeholder", {{"dtype", DType::kFloat}}).value();
    Node* const handle =
        graph.AddNode("handle", "Placeholder", {{"dtype", DType::kString}}).value();
    const Endpoint key = {handle, 0};
    graph.AddNode("keep", "GetSessionHandle", {{"T", DType::kFloat}}, {{value, 0}}).value();
    graph.AddNode("get", "GetSessionTensor", {{"dtype", DType::kFloat}}, {key}).value();
    graph.AddNode("get_int", "GetSessionTensor", {{"dtype", DType::kInt32}}, {key}).value();
    graph.AddNode("delete", "DeleteSessionTensor", {}, {key}).value();
    session_ = Session::Create({}, graph.Clone()).value();
  }

  Tensor Keep(std::initializer_list<float> values) {
    std::vector<Tensor> handle;
    const absl::Status status =
        session_->Run({{"value:0", Tensor::Vector<float>(values)}}, {"keep:0"}, {}, &handle);
    EXPECT_TRUE(status.ok()) << status;
    return handle.at(0);
  }
  absl::StatusOr<Tensor> Get(const Tensor& handle, const std::string& node = "get") {
    std::vector<Tensor> value;
    RETURN_IF_ERROR(session_->Run({{"handle:0", handle}}, {node + ":0"}, {}, &value));
    return value.at(0);
  }

  std::unique_ptr<Session> session_;
};

TEST_F(SessionTensorTest, StaysUntilItIsDeleted) {
  const Tensor first = Keep({1, 2}), second = Keep({3});
  EXPECT_NE(first.scalar<std::string>(), second.scalar<std::string>());
  EXPECT_THAT(Get(first)->flat<float>(), ElementsAre(1, 2));
  EXPECT_THAT(Get(first)->flat<float>(), ElementsAre(1, 2)) << "a second time";
  EXPECT_TRUE(session_->Run({{"handle:0", first}}, {}, {"delete"}, nullptr).ok());
  EXPECT_THAT(std::string(Get(first).status().message()), HasSubstr("not in the session store"));
  EXPECT_FALSE(session_->Run({{"handle:0", first}}, {}, {"delete"}, nullptr).ok());
  EXPECT_THAT(Get(second)->flat<float>(), ElementsAre(3));
}

TEST_F(SessionTensorTest, RefusesAnotherTypeAndABadHandle) {
  EXPECT_THAT(std::string(Get(Keep({1}), "get_int").status().message()),
              HasSubstr("the tensor is float, not int32"));
  EXPECT_FALSE(Get(Tensor::Vector<std::string>({"a", "b"})).ok());
}

}  // namespace
}  // namespace tessera
