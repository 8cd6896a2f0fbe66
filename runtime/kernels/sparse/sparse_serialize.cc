// Sparse tensors as rows of three strings or variants: SerializeSparse, SerializeManySparse,
// DeserializeSparse, DeserializeManySparse.
#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
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

absl::StatusOr<Tensor> Unpack(const std::string& bytes) {
  tensorflow::TensorProto proto;
  if (!proto.ParseFromString(bytes)) {
    return absl::InvalidArgumentError("serialized_sparse holds a string that is no TensorProto");
  }
  return TensorFromProto(proto);
}

absl::StatusOr<Tensor> Unpack(const Variant& variant) {
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

class SerializeSparseKernel : public OpKernel {
 public:
  explicit SerializeSparseKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Input(ctx, 0));
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
    if (sparse.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("Rank of input SparseTensor should be > 1, but saw rank: ", sparse.rank()));
    }
    const int64_t rows = sparse.shape[0];
    std::vector<int64_t> sizes;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{rows, 3}));
    sizes.resize(rows, 0);
    for (int64_t i = 0; i < sparse.count(); ++i) {
      const int64_t row = sparse.index(i)[0];
      if (row < 0 || row >= rows) {
        return absl::InvalidArgumentError(
            absl::StrCat("Received unexpected column 0 value in input SparseTensor: ", row,
                         " at index ", i, ", the tensor has ", rows, " rows"));
      }
      ++sizes[row];
    }
    std::vector<Row> parts(rows);
    for (int64_t row = 0; row < rows; ++row) {
      ASSIGN_OR_RETURN(parts[row], MakeRow(ctx, sparse, sizes[row]));
    }
    const int rank = sparse.rank() - 1;
    std::vector<int64_t> filled(rows, 0);
    const size_t size = DTypeSize(sparse.values.dtype());
    for (int64_t i = 0; i < sparse.count(); ++i) {
      const int64_t* const index = sparse.index(i);
      Row& part = parts[index[0]];
      const int64_t to = filled[index[0]]++;
      std::copy_n(index + 1, rank, part[0].data<int64_t>() + to * rank);
      CopyElements(sparse.values.dtype(), sparse.values.raw() + i * size,
                   part[1].mutable_raw() + to * size, 1);
    }
    return VisitSerializedType(output->dtype(), [&]<typename T>() -> absl::Status {
      for (int64_t i = 0; i < 3 * rows; ++i) {
        RETURN_IF_ERROR(Pack(parts[i / 3][i % 3], &output->flat<T>()[i]));
      }
      return absl::OkStatus();
    });
  }

 private:
  using Row = std::array<Tensor, 3>;  // indices, values, shape

  static absl::StatusOr<Row> MakeRow(KernelContext& ctx, const SparseTensor& sparse,
                                     int64_t count) {
    Row row;
    ASSIGN_OR_RETURN(row[0], ctx.AllocateTemp(DType::kInt64, Shape{count, sparse.rank() - 1}));
    ASSIGN_OR_RETURN(row[1], ctx.AllocateTemp(sparse.values.dtype(), Shape{count}));
    row[2] = Tensor::Vector<int64_t>(absl::MakeConstSpan(sparse.shape).subspan(1));
    return row;
  }
};
REGISTER_KERNEL("SerializeManySparse", kCpu, SerializeManySparseKernel);

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
                         ReadPart(serialized.flat<T>().data() + 3 * i, i, sparse));
      }
      return absl::OkStatus();
    }));
    const auto batch = serialized.shape().dims().subspan(0, batch_rank);
    return Join(ctx, sparse, batch);
  }

 private:
  template <typename T>
  absl::StatusOr<SparseTensor> ReadPart(const T* serialized, int64_t i,
                                        absl::Span<const SparseTensor> before) const {
    Tensor tensors[3];
    for (int t = 0; t < 3; ++t) {
      ASSIGN_OR_RETURN(tensors[t], Unpack(serialized[t]));
    }
    if (tensors[0].dtype() != DType::kInt64 || tensors[2].dtype() != DType::kInt64) {
      return absl::InvalidArgumentError(
          absl::StrCat("serialized_sparse[", i, "]: indices and shape must be int64, are ",
                       DTypeName(tensors[0].dtype()), " and ", DTypeName(tensors[2].dtype())));
    }
    if (tensors[1].dtype() != dtype_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Requested SparseTensor of type ", DTypeName(dtype_), " but SparseTensor[",
                       i, "].values.dtype() == ", DTypeName(tensors[1].dtype())));
    }
    ASSIGN_OR_RETURN(SparseTensor part, SparseTensor::Make(tensors[0], tensors[1], tensors[2]));
    if (!before.empty() && before[0].rank() != part.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Inconsistent rank across SparseTensors: rank prior to SparseTensor[", i,
          "] was: ", before[0].rank(), " but rank of SparseTensor[", i, "] is: ", part.rank()));
    }
    return part;
  }

  static absl::Status Join(KernelContext& ctx, absl::Span<const SparseTensor> parts,
                           absl::Span<const int64_t> batch) {
    const int rank = parts[0].rank(), batch_rank = static_cast<int>(batch.size());
    std::vector<int64_t> shape(batch.begin(), batch.end());
    shape.resize(batch_rank + rank, 0);
    int64_t count = 0;
    for (const SparseTensor& part : parts) {
      count += part.count();
      for (int d = 0; d < rank; ++d) {
        shape[batch_rank + d] = std::max(shape[batch_rank + d], part.shape[d]);
      }
    }
    ASSIGN_OR_RETURN(const SparseOutput output, AllocateSparse(ctx, 0, count, shape));
    int64_t* index = output.indices->data<int64_t>();
    char* value = output.values->mutable_raw();
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int64_t i = 0; i < parts[p].count(); ++i, index += batch_rank + rank) {
        int64_t rest = static_cast<int64_t>(p);
        for (int d = batch_rank - 1; d >= 0; --d) {
          index[d] = rest % batch[d];
          rest /= batch[d];
        }
        std::copy_n(parts[p].index(i), rank, index + batch_rank);
      }
      CopyElements(output.values->dtype(), parts[p].values.raw(), value, parts[p].count());
      value += parts[p].values.size_bytes();
    }
    return absl::OkStatus();
  }

  const DType dtype_;
  const bool only_matrix_;
};
REGISTER_KERNEL("DeserializeSparse", kCpu, DeserializeSparseKernel);
REGISTER_KERNEL("DeserializeManySparse", kCpu, DeserializeSparseKernel);

}  // namespace
}  // namespace tessera
