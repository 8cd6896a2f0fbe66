// Sparse tensors as rows of three strings or variants: SerializeSparse, SerializeManySparse,
// DeserializeSparse, DeserializeManySparse.
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/sparse/sparse_batch.h"
#include "runtime/kernels/sparse/sparse_tensor.h"
#include "runtime/tensor/encoded_variant.h"
#include "runtime/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace tessera {
namespace {

// A tensor as the value of a variant.
class TensorValue : public VariantValue {
 public:
  explicit TensorValue(Tensor tensor) : tensor(std::move(tensor)) {}
  std::string TypeName() const override { return "tensorflow::Tensor"; }
  std::string DebugString() const override { return absl::StrCat("tensor ", tensor.ToString()); }
  std::shared_ptr<const EncodedVariant> Encode() const override {
    return std::make_shared<EncodedVariant>(TypeName(), "", std::vector<Tensor>{tensor});
  }

  const Tensor tensor;
};

// All strings in tensor_content: their lengths as varints, then their bytes.
std::string StringContent(absl::Span<const std::string> strings) {
  std::string lengths, bytes;
  for (const std::string& s : strings) {
    size_t length = s.size();
    for (; length >= 0x80; length >>= 7) lengths.push_back(static_cast<char>(length | 0x80));
    lengths.push_back(static_cast<char>(length));
    bytes += s;
  }
  return lengths + bytes;
}

absl::Status Pack(const Tensor& tensor, std::string* out) {
  tensorflow::TensorProto proto;
  RETURN_IF_ERROR(TensorToProto(tensor, TensorProtoForm::kTensorContent, &proto));
  if (tensor.dtype() == DType::kString && tensor.num_elements() > 0) {
    proto.clear_string_val();
    proto.set_tensor_content(StringContent(tensor.flat<std::string>()));
  }
  if (proto.SerializeToString(out)) return absl::OkStatus();
  return absl::InvalidArgumentError("the sparse tensor is too large for a proto, 2 GiB");
}

absl::Status Pack(const Tensor& tensor, Variant* out) {
  *out = Variant(std::make_shared<TensorValue>(tensor));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Unpack(KernelContext& ctx, const std::string& bytes) {
  tensorflow::TensorProto proto;
  if (!proto.ParseFromString(bytes)) {
    return absl::InvalidArgumentError("serialized_sparse holds a string that is no TensorProto");
  }
  return TensorFromProto(proto, kMaxTensorProtoBytes, ctx.host_allocator());
}

absl::StatusOr<Tensor> Unpack(KernelContext&, const Variant& variant) {
  if (const auto* value = variant.get<TensorValue>()) return value->tensor;
  const auto* const encoded = variant.get<EncodedVariant>();
  if (encoded != nullptr && encoded->TypeName() == "tensorflow::Tensor" &&
      encoded->tensors().size() == 1) {
    return encoded->tensors()[0];
  }
  return absl::InvalidArgumentError("serialized_sparse holds a variant that is no tensor");
}

// Calls visit.template operator()<T>() with the type of what sparse tensors are serialized to.
template <typename Visitor>
decltype(auto) VisitSerializedType(DType dtype, Visitor&& visit) {
  return dtype == DType::kVariant ? visit.template operator()<Variant>()
                                  : visit.template operator()<std::string>();
}

// Whether the three tensors fit together is for those to check that read the strings.
class SerializeSparseKernel : public OpKernel {
 public:
  explicit SerializeSparseKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).rank() != 2 || ctx.input(1).rank() != 1 || ctx.input(2).rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a sparse tensor needs a matrix of indices, a vector of values and a vector as shape; "
          "they have shapes ",
          ctx.input(0).shape().ToString(), ", ", ctx.input(1).shape().ToString(), ", ",
          ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{3}));
    return VisitSerializedType(output->dtype(), [&]<typename T>() -> absl::Status {
      for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(Pack(ctx.input(i), &output->flat<T>()[i]));
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("SerializeSparse", kCpu, SerializeSparseKernel);

// A row of three for each row of the sparse tensor.
class SerializeManySparseKernel : public OpKernel {
 public:
  explicit SerializeManySparseKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Input(ctx, 0));
    RETURN_IF_ERROR(sparse.CheckOrdered());
    ASSIGN_OR_RETURN(const std::vector<SparseTensor> rows, SplitRows(ctx, sparse));
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.AllocateOutput(0, Shape{static_cast<int64_t>(rows.size()), 3}));
    return VisitSerializedType(output->dtype(), [&]<typename T>() -> absl::Status {
      T* to = output->flat<T>().data();
      for (const SparseTensor& row : rows) {
        RETURN_IF_ERROR(Pack(row.indices, to++));
        RETURN_IF_ERROR(Pack(row.values, to++));
        ASSIGN_OR_RETURN(const Tensor shape, VectorIn<int64_t>(ctx.host_allocator(), row.shape));
        RETURN_IF_ERROR(Pack(shape, to++));
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("SerializeManySparse", kCpu, SerializeManySparseKernel);

// Reads the row number `i` of serialized tensors, whose values must be of `dtype`.
template <typename T>
absl::StatusOr<SparseTensor> ReadPart(KernelContext& ctx, const T* serialized, int64_t i,
                                      DType dtype) {
  Tensor tensors[3];
  for (int t = 0; t < 3; ++t) {
    ASSIGN_OR_RETURN(tensors[t], Unpack(ctx, serialized[3 * i + t]));
  }
  if (tensors[0].dtype() != DType::kInt64 || tensors[2].dtype() != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("serialized_sparse[", i, "]: indices and shape must be int64, are ",
                     DTypeName(tensors[0].dtype()), " and ", DTypeName(tensors[2].dtype())));
  }
  if (tensors[1].dtype() != dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("Requested SparseTensor of type ", DTypeName(dtype), " but SparseTensor[", i,
                     "].values.dtype() == ", DTypeName(tensors[1].dtype())));
  }
  return SparseTensor::Make(tensors[0], tensors[1], tensors[2]);
}

// Rows of three, [..., 3], become one sparse tensor whose first dimensions are those before the 3.
// Its other dimensions are large enough for all rows.
class DeserializeSparseKernel : public OpKernel {
 public:
  explicit DeserializeSparseKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("dtype")),
        only_matrix_(build.op().name == "DeserializeManySparse") {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& serialized = ctx.input(0);
    const int batch_rank = serialized.rank() - 1;
    if (batch_rank < 0 || serialized.dim(batch_rank) != 3 || (only_matrix_ && batch_rank != 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Serialized sparse should have 3 as the last dimension but has a shape ",
                       serialized.shape().ToString()));
    }
    const int64_t parts = serialized.num_elements() / 3;
    if (parts == 0) {
      return absl::InvalidArgumentError(
          "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    }
    std::vector<SparseTensor> sparse;
    RETURN_IF_ERROR(VisitSerializedType(serialized.dtype(), [&]<typename T>() -> absl::Status {
      for (int64_t i = 0; i < parts; ++i) {
        ASSIGN_OR_RETURN(sparse.emplace_back(),
                         ReadPart(ctx, serialized.flat<T>().data(), i, dtype_));
      }
      return absl::OkStatus();
    }));
    const auto batch = serialized.shape().dims().subspan(0, batch_rank);
    return JoinSparse(ctx, sparse, batch);
  }

 private:
  const DType dtype_;
  const bool only_matrix_;
};
REGISTER_KERNEL("DeserializeSparse", kCpu, DeserializeSparseKernel);
REGISTER_KERNEL("DeserializeManySparse", kCpu, DeserializeSparseKernel);

}  // namespace
}  // namespace tessera
