// SparseCross, SparseCrossV2, SparseCrossHashed: feature crosses of categorical columns.
#include <algorithm>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/feature_columns.h"
#include "runtime/kernels/fingerprint.h"

namespace tessera {
namespace {

// Outputs indices, values and shape of the crosses; `emit(positions, out)` writes cross `out` from
// one position a column.
absl::Status WriteCrosses(
    KernelContext& ctx, const FeatureColumns& columns, DType dtype,
    absl::FunctionRef<void(const std::vector<int64_t>& positions, Tensor& values, int64_t out)>
        emit) {
  int64_t total = 0, widest = 0;
  RETURN_IF_ERROR(columns.ForRows([&](int64_t, const auto&, int64_t count) {
    if (__builtin_add_overflow(total, count, &total)) total = std::numeric_limits<int64_t>::max();
    widest = std::max(widest, count);
  }));
  ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(0, {total, 2}));
  ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1, dtype, {total}));
  ASSIGN_OR_RETURN(Tensor* const shape, ctx.AllocateOutput(2, {2}));
  shape->flat<int64_t>()[0] = columns.batch();
  shape->flat<int64_t>()[1] = widest;
  int64_t out = 0;
  return columns.ForCrosses([&](int64_t row, const std::vector<int64_t>& positions, int64_t n) {
    indices->flat<int64_t>()[2 * out] = row;
    indices->flat<int64_t>()[2 * out + 1] = n;
    emit(positions, *values, out);
    ++out;
  });
}

// Crosses as strings joined by "_X_", or as hashes: as the type of the values says, whatever
// `hashed_output` does.
class SparseCrossKernel : public OpKernel {
 public:
  explicit SparseCrossKernel(const KernelBuild& build)
      : indices_(build.inputs("indices")),
        values_(build.inputs("values")),
        shapes_(build.inputs("shapes")),
        dense_(build.inputs("dense_inputs")),
        hashed_(build.output_types()[1] == DType::kInt64),
        num_buckets_(build.attr<int64_t>("num_buckets")),
        hash_key_(build.attr<int64_t>("hash_key")) {
    if (build.attr<DType>("internal_type") != DType::kString) return;
    for (const ArgRange range : {values_, dense_}) {
      for (int i = range.begin; i < range.end; ++i) {
        if (build.input_types()[i] == DType::kString) continue;
        build.Fail(absl::InvalidArgumentError(
            absl::StrCat("columns that are crossed as strings must be strings, input ", i, " is ",
                         DTypeName(build.input_types()[i]))));
      }
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    FeatureColumns columns;
    RETURN_IF_ERROR(columns.Read(ctx, indices_, values_, shapes_, dense_));
    if (!hashed_) {
      return WriteCrosses(ctx, columns, DType::kString,
                          [&](const std::vector<int64_t>& positions, Tensor& out, int64_t i) {
                            out.flat<std::string>()[i] = columns.JoinTexts(positions, "_X_");
                          });
    }
    return WriteCrosses(ctx, columns, DType::kInt64,
                        [&](const std::vector<int64_t>& positions, Tensor& out, int64_t i) {
                          const uint64_t hash =
                              columns.Hash(positions, static_cast<uint64_t>(hash_key_));
                          out.flat<int64_t>()[i] = HashBucket(hash, num_buckets_);
                        });
  }

 private:
  const ArgRange indices_, values_, shapes_, dense_;
  const bool hashed_;
  const int64_t num_buckets_, hash_key_;
};
REGISTER_KERNEL("SparseCross", kCpu, SparseCrossKernel);

// Crosses as strings joined by an input.
class SparseCrossV2Kernel : public OpKernel {
 public:
  explicit SparseCrossV2Kernel(const KernelBuild& build)
      : indices_(build.inputs("indices")),
        values_(build.inputs("values")),
        shapes_(build.inputs("shapes")),
        dense_(build.inputs("dense_inputs")),
        separator_(build.inputs("sep")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& separator = ctx.input(separator_.begin);
    if (!separator.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("sep must be a scalar, has shape ", separator.shape().ToString()));
    }
    FeatureColumns columns;
    RETURN_IF_ERROR(columns.Read(ctx, indices_, values_, shapes_, dense_));
    return WriteCrosses(ctx, columns, DType::kString,
                        [&](const std::vector<int64_t>& positions, Tensor& out, int64_t i) {
                          out.flat<std::string>()[i] =
                              columns.JoinTexts(positions, separator.scalar<std::string>());
                        });
  }

 private:
  const ArgRange indices_, values_, shapes_, dense_, separator_;
};
REGISTER_KERNEL("SparseCrossV2", kCpu, SparseCrossV2Kernel);

// Crosses as hashes. With `strong_hash`, strings go through SipHash with the salt as its key:
// nobody who does not know the salt can make them collide.
class SparseCrossHashedKernel : public OpKernel {
 public:
  explicit SparseCrossHashedKernel(const KernelBuild& build)
      : indices_(build.inputs("indices")),
        values_(build.inputs("values")),
        shapes_(build.inputs("shapes")),
        dense_(build.inputs("dense_inputs")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& num_buckets = ctx.input(dense_.end);
    const Tensor& strong = ctx.input(dense_.end + 1);
    const Tensor& salt = ctx.input(dense_.end + 2);
    if (num_buckets.num_elements() != 1 || strong.num_elements() != 1 || salt.shape() != Shape{2}) {
      return absl::InvalidArgumentError(
          "num_buckets and strong_hash must have one element, and salt must be a vector of two");
    }
    FeatureColumns columns;
    RETURN_IF_ERROR(columns.Read(ctx, indices_, values_, shapes_, dense_));
    const uint64_t key[] = {static_cast<uint64_t>(salt.flat<int64_t>()[0]),
                            static_cast<uint64_t>(salt.flat<int64_t>()[1])};
    const bool is_strong = strong.scalar<bool>();
    return WriteCrosses(
        ctx, columns, DType::kInt64,
        [&](const std::vector<int64_t>& positions, Tensor& out, int64_t i) {
          uint64_t hash = 0;
          for (size_t c = 0; c < positions.size(); ++c) {
            const bool sip = is_strong && columns[c].values->dtype() == DType::kString;
            const uint64_t next = sip ? SipHash64(key[0], key[1], columns[c].Text(positions[c]))
                                      : columns[c].Fingerprint(positions[c]);
            hash = c == 0 ? next : FingerprintCat64(hash, next);
          }
          out.flat<int64_t>()[i] = HashBucket(hash, num_buckets.scalar<int64_t>());
        });
  }

 private:
  const ArgRange indices_, values_, shapes_, dense_;
};
REGISTER_KERNEL("SparseCrossHashed", kCpu, SparseCrossHashedKernel)
    .HostMemory("num_buckets")
    .HostMemory("strong_hash")
    .HostMemory("salt");

}  // namespace
}  // namespace tessera
