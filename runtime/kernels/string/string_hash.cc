// Hashes of strings: StringToHashBucket*, Fingerprint.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/fingerprint.h"

namespace tessera {
namespace {

// Each string's hash modulo `num_buckets`.
class StringToHashBucketKernel : public OpKernel {
 public:
  explicit StringToHashBucketKernel(const KernelBuild& build)
      : buckets_(static_cast<uint64_t>(build.attr<int64_t>("num_buckets"))),
        kind_(build.op().name == "StringToHashBucketFast"     ? Kind::kFast
              : build.op().name == "StringToHashBucketStrong" ? Kind::kStrong
                                                              : Kind::kLegacy) {
    if (kind_ != Kind::kStrong) return;
    key_ = build.attr<std::vector<int64_t>>("key");
    if (key_.size() != 2) {
      build.Fail(
          absl::InvalidArgumentError(absl::StrCat("key must have 2 elements, has ", key_.size())));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input.shape()));
    const auto strings = input.flat<std::string>();
    auto out = output->flat<int64_t>();
    const auto hash_all = [&](const auto& hash) {
      ctx.ParallelFor(input.num_elements(), 50, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          out[i] = static_cast<int64_t>(hash(strings[i]) % buckets_);
        }
      });
    };
    switch (kind_) {
      case Kind::kFast:
        hash_all([](const std::string& s) { return Fingerprint64(s); });
        break;
      case Kind::kStrong:
        hash_all([key0 = static_cast<uint64_t>(key_[0]), key1 = static_cast<uint64_t>(key_[1])](
                     const std::string& s) { return SipHash64(key0, key1, s); });
        break;
      case Kind::kLegacy:
        hash_all([](const std::string& s) { return LegacyHash64(s); });
        break;
    }
    return absl::OkStatus();
  }

 private:
  enum class Kind { kFast, kStrong, kLegacy };

  const uint64_t buckets_;
  const Kind kind_;
  std::vector<int64_t> key_;
};
REGISTER_KERNEL("StringToHashBucketFast", kCpu, StringToHashBucketKernel);
REGISTER_KERNEL("StringToHashBucketStrong", kCpu, StringToHashBucketKernel);
REGISTER_KERNEL("StringToHashBucket", kCpu, StringToHashBucketKernel);

// The fingerprint of each row's bytes, as eight bytes. A row of strings is hashed through the
// fingerprints of its elements. Errors: INVALID_ARGUMENT for resources and variants, whose bytes
// are addresses.
class FingerprintKernel : public OpKernel {
 public:
  explicit FingerprintKernel(const KernelBuild& build) {
    const DType dtype = build.input_types()[0];
    if (IsTriviallyCopyable(dtype) || dtype == DType::kString) return;
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("elements of ", DTypeName(dtype), " have no fingerprint")));
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    const Tensor& method = ctx.input(1);
    if (data.rank() < 1) return absl::InvalidArgumentError("data must be at least a vector");
    if (!method.shape().IsScalar() || method.scalar<std::string>() != "farmhash64") {
      return absl::InvalidArgumentError(
          absl::StrCat("method must be a scalar, 'farmhash64', is ", method.ToString()));
    }
    const int64_t rows = data.dim(0);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{rows, 8}));
    if (rows == 0) return absl::OkStatus();
    auto* const hashes = reinterpret_cast<uint64_t*>(output->mutable_raw());
    const int64_t row = data.num_elements() / rows;
    if (data.dtype() == DType::kString) {
      const auto strings = data.flat<std::string>();
      for (int64_t i = 0; i < rows; ++i) {
        hashes[i] = HashStrings(strings.subspan(i * row, row), data.rank() == 1);
      }
      return absl::OkStatus();
    }
    const int64_t bytes = row * static_cast<int64_t>(DTypeSize(data.dtype()));
    const char* const from = data.raw();
    ctx.ParallelFor(rows, 5 + 0.1 * static_cast<double>(bytes), [&](int64_t begin, int64_t end) {
      FingerprintRows(from + begin * bytes, bytes, end - begin, hashes + begin);
    });
    return absl::OkStatus();
  }

 private:
  // `is_one` if a row is a string and not a vector of strings.
  static uint64_t HashStrings(absl::Span<const std::string> strings, bool is_one) {
    if (is_one) return Fingerprint64(strings[0]);
    std::string hashes;
    for (const std::string& s : strings) {
      const uint64_t hash = Fingerprint64(s);
      hashes.append(reinterpret_cast<const char*>(&hash), sizeof(hash));
    }
    return Fingerprint64(hashes);
  }
};
REGISTER_KERNEL("Fingerprint", kCpu, FingerprintKernel);

}  // namespace
}  // namespace tessera
