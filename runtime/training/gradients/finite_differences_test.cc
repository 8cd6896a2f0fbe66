// Gradients against central differences, in double: a check that needs no other program.
#include <cmath>
#include <functional>

#include "gtest/gtest.h"
#include "runtime/session/session.h"
#include "runtime/training/gradients/gradients.h"
#include "runtime/training/gradients/graph_builder.h"

namespace tessera {
namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-6;

// An op with inputs of these shapes, which are differentiated; `more` are further inputs.
struct DifferenceCase {
  std::string op;
  std::vector<Shape> shapes;
  AttrMap attrs = {};
  std::vector<Tensor> more = {};
  int output = 0;
  // Gives y instead of the op, which then is its name alone.
  std::function<Expr(const std::vector<Expr>& inputs)> forward = nullptr;
};

// Values in (0.2, 0.9) that all differ, where every op of the list is smooth.
Tensor Input(const Shape& shape, int seed) {
  Tensor values = Tensor::Allocate(DType::kDouble, shape).value();
  int i = 0;
  for (double& x : values.flat<double>()) {
    x = 0.55 + 0.35 * std::sin(1.7 * (++i) + seed);
  }
  return values;
}

// A graph with the sum of the squares of y + 0.3, where y is what the op gives, and its gradients.
class Differences {
 public:
  explicit Differences(const DifferenceCase& c) {
    Graph graph;
    GraphBuilder build(&graph, "forward");
    std::vector<Expr> inputs;
    std::vector<Endpoint> xs;
    for (size_t i = 0; i < c.shapes.size(); ++i) {
      Node* const x = build.AddNode("Placeholder", {}, {{"dtype", DType::kDouble}});
      feeds_.emplace_back(TensorName({x}), Input(c.shapes[i], static_cast<int>(i)));
      xs.push_back({x, 0});
      inputs.push_back(build.Of({x, 0}));
    }
    for (const Tensor& each : c.more) inputs.push_back(build.Constant(each));
    const Expr y = c.forward != nullptr ? c.forward(inputs) : Call(c.op, inputs, c.attrs, c.output);
    const Expr sum = SumOver(Reshape(Call("Square", {y + 0.3}), build.Ints({-1})), build.Ints({0}));
    EXPECT_TRUE(build.status().ok()) << build.status();
    const auto gradients = AddGradients(&graph, {sum.endpoint()}, xs);
    EXPECT_TRUE(gradients.ok()) << gradients.status();
    if (!gradients.ok()) return;
    for (const Gradient& gradient : *gradients) {
      EXPECT_FALSE(gradient.is_none());
      if (gradient.is_none()) return;
      gradients_.push_back(TensorName(AddDenseGradient(&graph, gradient).value()));
    }
    sum_ = TensorName(sum.endpoint());
    session_ = Session::Create({}, graph.Clone()).value();
  }

  void Check() {
    if (session_ == nullptr) return;
    std::vector<Tensor> computed;
    const absl::Status run = session_->Run(feeds_, gradients_, {}, &computed);
    ASSERT_TRUE(run.ok()) << run;
    for (size_t x = 0; x < feeds_.size(); ++x) {
      ASSERT_EQ(computed[x].shape(), feeds_[x].second.shape());
      for (int64_t i = 0; i < computed[x].num_elements(); ++i) {
        const double difference = (Sum(x, i, kStep) - Sum(x, i, -kStep)) / (2 * kStep);
        EXPECT_NEAR(computed[x].flat<double>()[i], difference,
                    kTolerance * (1 + std::abs(difference)))
            << "input " << x << ", element " << i;
      }
    }
  }

 private:
  // The sum with element `i` of input `x` moved.
  double Sum(size_t x, int64_t i, double step) {
    std::vector<NamedTensor> feeds = feeds_;
    feeds[x].second = feeds_[x].second.DeepCopy().value();
    feeds[x].second.flat<double>()[i] += step;
    std::vector<Tensor> sum;
    const absl::Status run = session_->Run(feeds, {sum_}, {}, &sum);
    EXPECT_TRUE(run.ok()) << run;
    return run.ok() ? sum[0].scalar<double>() : 0;
  }

  std::vector<NamedTensor> feeds_;
  std::vector<std::string> gradients_;
  std::string sum_;
  std::unique_ptr<Session> session_;
};

class FiniteDifferencesTest : public testing::TestWithParam<DifferenceCase> {};

TEST_P(FiniteDifferencesTest, AreTheGradient) { Differences(GetParam()).Check(); }

// The product of two CSR matrices, with these attributes. No element is left out.
DifferenceCase SparseProduct(const Shape& a, const Shape& b, AttrMap attrs) {
  attrs.emplace("type", DType::kDouble);
  return {.op = "SparseMatrixSparseMatMul",
          .shapes = {a, b},
          .forward = [attrs](const std::vector<Expr>& inputs) {
            std::vector<Expr> matrices;
            for (const Expr& x : inputs) {
              const Expr indices = Call("Where", {x});
              matrices.push_back(Call("DenseToCSRSparseMatrix", {x, indices}));
            }
            return Call("CSRSparseMatrixToDense",
                        {Call("SparseMatrixSparseMatMul", matrices, attrs)},
                        {{"type", DType::kDouble}});
          }};
}

// Both components of a composite tensor, one of them through a variant of its own.
Expr ThroughComposites(const std::vector<Expr>& inputs) {
  const AttrMap attrs = {{"metadata", ""},
                         {"Tcomponents", std::vector<DType>{DType::kDouble, DType::kDouble}}};
  const Expr composite = Call("CompositeTensorVariantFromComponents", inputs, {{"metadata", ""}});
  const std::vector<Expr> components =
      CallAll("CompositeTensorVariantToComponents", {{composite}}, attrs);
  if (components.empty()) return Expr();
  return components[0] * components[1];
}

std::vector<DifferenceCase> Cases() {
  std::vector<DifferenceCase> cases;
  for (const char* op :
       {"Abs",     "Neg",     "Reciprocal", "Square",  "Exp",        "Expm1",    "Sin",
        "Cos",     "Tan",     "Sinh",       "Cosh",    "Tanh",       "Atan",     "Asinh",
        "Sigmoid", "Erf",     "Erfc",       "Sqrt",    "Rsqrt",      "Log",      "Log1p",
        "Lgamma",  "Digamma", "Asin",       "Acos",    "Atanh",      "Softplus", "Softsign",
        "Relu",    "Elu",     "Selu",       "Softmax", "LogSoftmax", "L2Loss"}) {
    cases.push_back({op, {{2, 3}}});
  }
  for (const char* op : {"AddV2", "Sub", "Mul", "RealDiv", "Pow", "Maximum", "Minimum", "Atan2",
                         "SquaredDifference", "Xlogy", "Xdivy", "DivNoNan"}) {
    cases.push_back({op, {{2, 3}, {2, 3}}});
    cases.push_back({op, {{2, 3}, {3}}});  // broadcast
  }
  cases.push_back({"MatMul", {{2, 3}, {3, 4}}});
  cases.push_back({"MatMul", {{3, 2}, {4, 3}}, {{"transpose_a", true}, {"transpose_b", true}}});
  cases.push_back({"BatchMatMulV2", {{2, 2, 3}, {3, 2}}});
  cases.push_back({"MatrixInverse", {{2, 2}}});
  cases.push_back(
      {"SparseSoftmaxCrossEntropyWithLogits", {{2, 3}}, {}, {Tensor::Vector<int32_t>({2, 0})}});
  const Tensor axis = Tensor::Vector<int32_t>({1});
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min"}) {
    cases.push_back({op, {{2, 3}}, {}, {axis}});
  }
  cases.push_back({"Cumsum", {{2, 3}}, {}, {Tensor::Scalar<int32_t>(1)}});
  cases.push_back({"Transpose", {{2, 3}}, {}, {Tensor::Vector<int32_t>({1, 0})}});
  cases.push_back(
      {"GatherV2", {{3, 2}}, {}, {Tensor::Vector<int32_t>({2, 0, 2}), Tensor::Scalar<int32_t>(0)}});
  cases.push_back({"TridiagonalSolve", {{3, 4}, {4, 2}}});
  cases.push_back({"TridiagonalMatMul", {{1, 4}, {1, 4}, {1, 4}, {4, 2}}});
  for (const bool lower : {true, false}) {
    cases.push_back({"BandedTriangularSolve", {{2, 4}, {4, 2}}, {{"lower", lower}}});
  }
  for (const int output : {0, 1, 2}) cases.push_back({"Svd", {{4, 3}}, {}, {}, output});
  cases.push_back({"RGBToHSV", {{4, 3}}});
  cases.push_back({"XlaSharding", {{4, 3}}});
  cases.push_back(SparseProduct({2, 3}, {3, 4}, {}));
  cases.push_back(SparseProduct({3, 2}, {3, 4}, {{"transpose_a", true}}));
  cases.push_back(SparseProduct({3, 2}, {4, 3}, {{"adjoint_a", true}, {"transpose_b", true}}));
  cases.push_back({.op = "CompositeTensorVariantFromComponents",
                   .shapes = {{2, 3}, {2, 3}},
                   .forward = ThroughComposites});
  cases.push_back({"IsotonicRegression", {{2, 5}}, {{"output_dtype", DType::kDouble}}});
  for (const char* op : {"FractionalAvgPool", "FractionalMaxPool"}) {
    cases.push_back({op,
                     {{1, 5, 6, 2}},
                     {{"pooling_ratio", std::vector<float>{1, 1.4f, 1.7f, 1}},
                      {"deterministic", true},
                      {"seed", 3},
                      {"seed2", 4}}});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, FiniteDifferencesTest, testing::ValuesIn(Cases()),
                         [](const auto& info) {
                           return info.param.op + "_" + std::to_string(info.index);
                         });

}  // namespace
}  // namespace tessera
