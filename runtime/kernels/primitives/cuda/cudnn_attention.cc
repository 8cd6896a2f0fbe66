#include "runtime/kernels/primitives/cuda/cudnn_attention.h"

#include <utility>
#include <vector>

namespace tessera::cuda {
namespace {

using Tensors = AttentionProblem::Tensors;
using Dims = std::vector<int64_t>;

Dims RowMajor(const Dims& dims) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = step;
    step *= dims[d];
  }
  return strides;
}

// Builds the graph step by step.
class AttentionBuilder {
 public:
  AttentionBuilder(const Cudnn& cudnn, const AttentionProblem& problem, cudnnDataType_t type,
                   cudnnDataType_t bias_type)
      : cudnn_(cudnn), p_(problem), type_(type), bias_type_(bias_type), graph_(cudnn) {}

  absl::StatusOr<CudnnGraph> Build() && {
    ASSIGN_OR_RETURN(cudnnBackendDescriptor_t scores, AddScores());
    const Dims row = {p_.batch, p_.heads, p_.queries, 1};
    ASSIGN_OR_RETURN(const auto greatest, AddReduction(CUDNN_REDUCE_TENSOR_MAX, scores, row));
    ASSIGN_OR_RETURN(const auto differences, AddFunction(CUDNN_POINTWISE_SUB, scores, greatest));
    ASSIGN_OR_RETURN(const auto powers, AddFunction(CUDNN_POINTWISE_EXP, differences, nullptr));
    ASSIGN_OR_RETURN(const auto total, AddReduction(CUDNN_REDUCE_TENSOR_ADD, powers, row));
    ASSIGN_OR_RETURN(Descriptor logarithms, Intermediate(row));
    ASSIGN_OR_RETURN(const auto log_total,
                     AddFunction(CUDNN_POINTWISE_LOG, total, nullptr, std::move(logarithms)));
    ASSIGN_OR_RETURN(Descriptor statistics, MakeTensor(cudnn_, CUDNN_DATA_FLOAT,
                                                       Tensors::kStatistics, row, RowMajor(row)));
    RETURN_IF_ERROR(
        AddFunction(CUDNN_POINTWISE_ADD, greatest, log_total, std::move(statistics)).status());
    // The second product reads weights of the dtype of the values.
    const Dims dims = ScoreDims();
    ASSIGN_OR_RETURN(Descriptor narrow, MakeTensor(cudnn_, type_, NextId(), dims, RowMajor(dims)));
    ASSIGN_OR_RETURN(const auto weights,
                     AddFunction(CUDNN_POINTWISE_DIV, powers, total, std::move(narrow)));
    ASSIGN_OR_RETURN(Descriptor value,
                     Tokens(Tensors::kValue, p_.keys, p_.value_features, p_.value_order));
    ASSIGN_OR_RETURN(Descriptor output,
                     Tokens(Tensors::kOutput, p_.queries, p_.value_features, p_.output_order));
    RETURN_IF_ERROR(AddProduct(weights, graph_.Keep(std::move(value)), std::move(output)).status());
    return std::move(graph_);
  }

 private:
  Dims ScoreDims() const { return {p_.batch, p_.heads, p_.queries, p_.keys}; }
  int64_t NextId() { return kFirstVirtual + num_intermediates_++; }
  absl::StatusOr<Descriptor> Intermediate(const Dims& dims) {
    return MakeTensor(cudnn_, CUDNN_DATA_FLOAT, NextId(), dims, RowMajor(dims));
  }

  // A tensor in memory as [batch, heads, tokens, features].
  absl::StatusOr<Descriptor> Tokens(Tensors id, int64_t tokens, int64_t features,
                                    const AttentionOrder& order) {
    const Dims dims = {p_.batch, p_.heads, tokens, features};
    return MakeTensor(cudnn_, type_, id, dims, TokenStrides(tokens, features, order));
  }
  Dims TokenStrides(int64_t tokens, int64_t features, const AttentionOrder& order) const {
    const int64_t image = p_.heads * tokens * features;
    return order.heads_first ? Dims{image, tokens * features, features, 1}
                             : Dims{image, features, p_.heads * features, 1};
  }

  // scale * query * key^T + bias
  absl::StatusOr<cudnnBackendDescriptor_t> AddScores() {
    ASSIGN_OR_RETURN(Descriptor query,
                     Tokens(Tensors::kQuery, p_.queries, p_.features, p_.query_order));
    Dims strides = TokenStrides(p_.keys, p_.features, p_.key_order);
    std::swap(strides[2], strides[3]);
    const Dims transposed = {p_.batch, p_.heads, p_.features, p_.keys};
    ASSIGN_OR_RETURN(Descriptor key, MakeTensor(cudnn_, type_, Tensors::kKey, transposed, strides));
    ASSIGN_OR_RETURN(Descriptor product, Intermediate(ScoreDims()));
    const auto query_handle = graph_.Keep(std::move(query));
    ASSIGN_OR_RETURN(cudnnBackendDescriptor_t scores,
                     AddProduct(query_handle, graph_.Keep(std::move(key)), std::move(product)));
    ASSIGN_OR_RETURN(Descriptor scale, MakeScalar(cudnn_, Tensors::kScale, /*rank=*/4));
    ASSIGN_OR_RETURN(scores,
                     AddFunction(CUDNN_POINTWISE_MUL, scores, graph_.Keep(std::move(scale))));
    if (!p_.has_bias) return scores;
    const Dims dims(p_.bias_dims.begin(), p_.bias_dims.end());
    ASSIGN_OR_RETURN(Descriptor bias,
                     MakeTensor(cudnn_, bias_type_, Tensors::kBias, dims, RowMajor(dims)));
    return AddFunction(CUDNN_POINTWISE_ADD, scores, graph_.Keep(std::move(bias)));
  }

  absl::StatusOr<cudnnBackendDescriptor_t> AddFunction(cudnnPointwiseMode_t mode,
                                                       cudnnBackendDescriptor_t x,
                                                       cudnnBackendDescriptor_t other) {
    ASSIGN_OR_RETURN(Descriptor y, Intermediate(ScoreDims()));
    return AddFunction(mode, x, other, std::move(y));
  }
  absl::StatusOr<cudnnBackendDescriptor_t> AddFunction(cudnnPointwiseMode_t mode,
                                                       cudnnBackendDescriptor_t x,
                                                       cudnnBackendDescriptor_t other,
                                                       Descriptor y) {
    ASSIGN_OR_RETURN(Descriptor function, StartFunction(cudnn_, mode));
    RETURN_IF_ERROR(function.Finalize("a function of scores"));
    return graph_.AddPointwise(std::move(function), x, other, std::move(y));
  }

  absl::StatusOr<cudnnBackendDescriptor_t> AddReduction(cudnnReduceTensorOp_t op,
                                                        cudnnBackendDescriptor_t x,
                                                        const Dims& dims) {
    ASSIGN_OR_RETURN(Descriptor reduction,
                     Descriptor::Make(cudnn_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
    RETURN_IF_ERROR(
        reduction.Set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, op));
    RETURN_IF_ERROR(
        reduction.Set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    RETURN_IF_ERROR(reduction.Finalize("a reduction"));
    ASSIGN_OR_RETURN(Descriptor y, Intermediate(dims));
    ASSIGN_OR_RETURN(Descriptor operation,
                     Descriptor::Make(cudnn_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x));
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y));
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction));
    RETURN_IF_ERROR(graph_.AddOperation(std::move(operation), "the reduction of scores"));
    graph_.Keep(std::move(reduction));
    return graph_.Keep(std::move(y));
  }

  absl::StatusOr<cudnnBackendDescriptor_t> AddProduct(cudnnBackendDescriptor_t a,
                                                      cudnnBackendDescriptor_t b, Descriptor c) {
    ASSIGN_OR_RETURN(Descriptor product, Descriptor::Make(cudnn_, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
    RETURN_IF_ERROR(
        product.Set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    RETURN_IF_ERROR(product.Finalize("a product"));
    ASSIGN_OR_RETURN(Descriptor operation,
                     Descriptor::Make(cudnn_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a));
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b));
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c));
    RETURN_IF_ERROR(operation.Set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product));
    RETURN_IF_ERROR(graph_.AddOperation(std::move(operation), "a product of attention"));
    graph_.Keep(std::move(product));
    return graph_.Keep(std::move(c));
  }

  const Cudnn& cudnn_;
  const AttentionProblem& p_;
  const cudnnDataType_t type_, bias_type_;
  CudnnGraph graph_;
  int64_t num_intermediates_ = 0;
};

}  // namespace

absl::StatusOr<CudnnGraph> DescribeAttention(const Cudnn& cudnn, const AttentionProblem& problem,
                                             cudnnDataType_t type, cudnnDataType_t bias_type) {
  return AttentionBuilder(cudnn, problem, type, bias_type).Build();
}

}  // namespace tessera::cuda
