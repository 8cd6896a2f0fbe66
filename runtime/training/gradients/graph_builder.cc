#include "runtime/training/gradients/graph_builder.h"

#include <utility>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

bool IsList(const ArgDef& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); }

// Returns how many of `count` inputs the one list among the declared inputs has.
int LengthOfList(const OpDef& op, int count) {
  int lists = 0;
  for (const ArgDef& arg : op.inputs) lists += IsList(arg);
  return lists == 1 ? count - static_cast<int>(op.inputs.size()) + 1 : -1;
}

// Completes `attrs` by what the dtypes of the inputs say.
absl::Status InferAttrs(const OpDef& op, absl::Span<const Expr> inputs, AttrMap* attrs) {
  const int list_length = LengthOfList(op, static_cast<int>(inputs.size()));
  size_t position = 0;
  for (const ArgDef& arg : op.inputs) {
    int length = 1;
    if (!arg.number_attr.empty()) {
      if (!attrs->contains(arg.number_attr)) attrs->emplace(arg.number_attr, list_length);
      ASSIGN_OR_RETURN(length, GetAttr<int64_t>(*attrs, arg.number_attr));
    } else if (!arg.type_list_attr.empty()) {
      if (!attrs->contains(arg.type_list_attr)) {
        std::vector<DType> types;
        for (int i = 0; i < list_length; ++i) types.push_back(inputs[position + i].dtype());
        attrs->emplace(arg.type_list_attr, std::move(types));
      }
      ASSIGN_OR_RETURN(const auto types, GetAttr<std::vector<DType>>(*attrs, arg.type_list_attr));
      length = static_cast<int>(types.size());
    }
    if (!arg.type_attr.empty() && length > 0 && position < inputs.size()) {
      attrs->emplace(arg.type_attr, inputs[position].dtype());
    }
    if (length < 0) return absl::InternalError(absl::StrCat("op ", op.name, " has several lists"));
    position += length;
  }
  return absl::OkStatus();
}

template <typename T>
Tensor ScalarTensor(double value) {
  return Tensor::Scalar<T>(static_cast<T>(value));
}

}  // namespace

DType Expr::dtype() const {
  return empty() ? DType::kInvalid : RemoveRef(endpoint_.node->output_type(endpoint_.index));
}

Node* GraphBuilder::AddOpenNode(absl::string_view op, AttrMap attrs) {
  if (!status_.ok()) return nullptr;
  auto node = graph_->AddNode(graph_->UniqueName(absl::StrCat(prefix_, "/", op)), op,
                              std::move(attrs), device_);
  if (!node.ok()) {
    Fail(node.status());
    return nullptr;
  }
  if (added_ != nullptr) added_->insert(*node);
  return *node;
}

Node* GraphBuilder::AddNode(absl::string_view op, absl::Span<const Expr> inputs, AttrMap attrs) {
  if (!status_.ok()) return nullptr;
  const OpDef* definition = graph_->FindOp(op);
  if (definition == nullptr) {
    Fail(absl::NotFoundError(absl::StrCat("op '", op, "' is not declared")));
    return nullptr;
  }
  for (const Expr& input : inputs) {
    if (input.empty()) Fail(absl::InternalError(absl::StrCat(op, " has an empty input")));
  }
  if (status_.ok()) Fail(InferAttrs(*definition, inputs, &attrs));
  Node* node = AddOpenNode(op, std::move(attrs));
  if (node == nullptr) return nullptr;
  if (static_cast<int>(inputs.size()) != node->num_inputs()) {
    Fail(absl::InternalError(
        absl::StrCat(op, " takes ", node->num_inputs(), " inputs, not ", inputs.size())));
    return nullptr;
  }
  for (int i = 0; i < node->num_inputs(); ++i) Connect(inputs[i], node, i);
  return status_.ok() ? node : nullptr;
}

void GraphBuilder::Connect(const Expr& from, Node* to, int input) {
  if (status_.ok()) Fail(graph_->Connect(from.endpoint(), to, input));
}

Expr GraphBuilder::Output(Node* node, int index) {
  return node == nullptr ? Expr() : Expr({node, index}, this);
}

Expr GraphBuilder::Constant(Tensor value) {
  const DType dtype = value.dtype();
  return Output(AddNode("Const", {}, {{"dtype", dtype}, {"value", std::move(value)}}));
}

Expr GraphBuilder::Scalar(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat:
      return Constant(ScalarTensor<float>(value));
    case DType::kDouble:
      return Constant(ScalarTensor<double>(value));
    case DType::kHalf:
      return Constant(ScalarTensor<Eigen::half>(value));
    case DType::kBfloat16:
      return Constant(ScalarTensor<Eigen::bfloat16>(value));
    case DType::kComplex64:
      return Constant(ScalarTensor<std::complex<float>>(value));
    case DType::kComplex128:
      return Constant(ScalarTensor<std::complex<double>>(value));
    case DType::kInt32:
      return Constant(ScalarTensor<int32_t>(value));
    case DType::kInt64:
      return Constant(ScalarTensor<int64_t>(value));
    default:
      Fail(absl::InvalidArgumentError(
          absl::StrCat("gradients have no numbers of dtype ", DTypeName(dtype))));
      return Expr();
  }
}

Expr Call(absl::string_view op, absl::Span<const Expr> inputs, AttrMap attrs, int output) {
  for (const Expr& input : inputs) {
    if (input.builder() == nullptr) continue;
    GraphBuilder* const builder = input.builder();
    return builder->Output(builder->AddNode(op, inputs, std::move(attrs)), output);
  }
  return Expr();
}

std::vector<Expr> CallAll(absl::string_view op, absl::Span<const Expr> inputs, AttrMap attrs) {
  const Expr first = Call(op, inputs, std::move(attrs));
  std::vector<Expr> outputs;
  if (first.empty()) return outputs;
  for (int i = 0; i < first.endpoint().node->num_outputs(); ++i) {
    outputs.push_back(first.builder()->Output(first.endpoint().node, i));
  }
  return outputs;
}

namespace {
Expr Number(const Expr& like, double value) {
  return like.empty() ? Expr() : like.builder()->Scalar(like.dtype(), value);
}
}  // namespace

Expr operator+(const Expr& a, const Expr& b) { return Call("AddV2", {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return Call("Sub", {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return Call("Mul", {a, b}); }
Expr operator/(const Expr& a, const Expr& b) { return Call("RealDiv", {a, b}); }
Expr operator-(const Expr& a) { return Call("Neg", {a}); }
Expr operator+(const Expr& a, double b) { return a + Number(a, b); }
Expr operator+(double a, const Expr& b) { return Number(b, a) + b; }
Expr operator-(const Expr& a, double b) { return a - Number(a, b); }
Expr operator-(double a, const Expr& b) { return Number(b, a) - b; }
Expr operator*(double a, const Expr& b) { return Number(b, a) * b; }
Expr operator/(const Expr& a, double b) { return a / Number(a, b); }
Expr operator/(double a, const Expr& b) { return Number(b, a) / b; }

Expr ShapeOf(const Expr& x, DType dtype) { return Call("Shape", {x}, {{"out_type", dtype}}); }
Expr ZerosLike(const Expr& x) { return Call("ZerosLike", {x}); }
Expr OnesLike(const Expr& x) { return Call("OnesLike", {x}); }
Expr CastTo(const Expr& x, DType dtype) {
  return x.dtype() == dtype ? x : Call("Cast", {x}, {{"DstT", dtype}});
}
Expr Reshape(const Expr& x, const Expr& shape) { return Call("Reshape", {x, shape}); }
Expr SumOver(const Expr& x, const Expr& axes, bool keep_dims) {
  return Call("Sum", {x, axes}, {{"keep_dims", keep_dims}});
}
Expr ExpandDims(const Expr& x, int axis) {
  return x.empty() ? x : Call("ExpandDims", {x, x.builder()->Int(axis)});
}
Expr Conjugate(const Expr& x) { return IsComplex(x.dtype()) ? Call("Conj", {x}) : x; }

Expr Concat(absl::Span<const Expr> values, int axis) {
  if (values.empty() || values[0].empty()) return Expr();
  std::vector<Expr> inputs(values.begin(), values.end());
  inputs.push_back(values[0].builder()->Int(axis));
  return Call("ConcatV2", inputs);
}

Expr Where(const Expr& condition, const Expr& a, const Expr& b) {
  return Call("SelectV2", {condition, a, b});
}

Expr SliceVector(const Expr& x, int begin, int end) {
  if (x.empty()) return x;
  GraphBuilder* const build = x.builder();
  return Call("StridedSlice", {x, build->Ints({begin}), build->Ints({end}), build->Ints({1})},
              {{"end_mask", end == 0 ? 1 : 0}});
}

}  // namespace tessera
