// Maps from tensors to tensors: EmptyTensorMap, TensorMapSize, TensorMapLookup, TensorMapInsert,
// TensorMapErase, TensorMapHasKey, TensorMapStackKeys.
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/data_flow/tensor_batch.h"
#include "runtime/kernels/scalar_output.h"
#include "runtime/tensor/variant.h"

namespace tessera {
namespace {

// Held by a Variant. Values of other dtypes than an op expects are its error, not the map's.
class TensorMap : public VariantValue {
 public:
  std::string TypeName() const override { return "tensorflow::TensorMap"; }
  std::string DebugString() const override {
    return absl::StrCat("map of ", entries.size(), " tensors");
  }

  struct Entry {
    Tensor key, value;
  };
  // By KeyOf() the key.
  absl::flat_hash_map<std::string, Entry> entries;
};

// Equal for equal tensors: dtype, shape, and the elements' bytes.
// Errors: UNIMPLEMENTED for resources and variants.
absl::StatusOr<std::string> KeyOf(const Tensor& key) {
  std::string bytes = absl::StrCat(DTypeName(key.dtype()), key.shape().ToString(), ":");
  if (key.dtype() == DType::kString) {
    for (const std::string& element : key.flat<std::string>()) {
      absl::StrAppend(&bytes, element.size(), ":", element);
    }
  } else if (IsTriviallyCopyable(key.dtype())) {
    bytes.append(key.raw(), key.size_bytes());
  } else {
    return absl::UnimplementedError(
        absl::StrCat("a tensor of ", DTypeName(key.dtype()), " cannot be a key"));
  }
  return bytes;
}

// Errors: INVALID_ARGUMENT unless input 0 is a map.
absl::StatusOr<std::shared_ptr<const TensorMap>> MapInput(const KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (input.dtype() == DType::kVariant && input.rank() == 0) {
    if (auto map = input.scalar<Variant>().share<TensorMap>()) return map;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input 0 must be a tensor map, is ", input.ToString()));
}

// The map to change: itself if nobody else holds it, else a copy. Input 0 is unspecified
// afterwards.
absl::StatusOr<std::shared_ptr<TensorMap>> TakeMapInput(KernelContext& ctx) {
  ASSIGN_OR_RETURN(std::shared_ptr<const TensorMap> map, MapInput(ctx));
  Tensor input = ctx.TakeInput(0);
  // The variant's own share is given up, so that ours is the only one if nobody else has any.
  if (input.CanWriteInPlace()) input.scalar<Variant>() = Variant();
  if (map.use_count() == 1) return std::const_pointer_cast<TensorMap>(std::move(map));
  return std::make_shared<TensorMap>(*map);
}

class EmptyMapKernel : public OpKernel {
 public:
  explicit EmptyMapKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    return SetScalarOutput(ctx, 0, Variant(std::make_shared<TensorMap>()));
  }
};
REGISTER_KERNEL("EmptyTensorMap", kCpu, EmptyMapKernel);

class MapSizeKernel : public OpKernel {
 public:
  explicit MapSizeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto map, MapInput(ctx));
    return SetScalarOutput(ctx, 0, static_cast<int32_t>(map->entries.size()));
  }
};
REGISTER_KERNEL("TensorMapSize", kCpu, MapSizeKernel).HostMemory("size");

class MapHasKeyKernel : public OpKernel {
 public:
  explicit MapHasKeyKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto map, MapInput(ctx));
    ASSIGN_OR_RETURN(const std::string key, KeyOf(ctx.input(1)));
    return SetScalarOutput(ctx, 0, map->entries.contains(key));
  }
};
REGISTER_KERNEL("TensorMapHasKey", kCpu, MapHasKeyKernel);

// Errors: INVALID_ARGUMENT for a key that is not there, or a value of another dtype.
class MapLookupKernel : public OpKernel {
 public:
  explicit MapLookupKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto map, MapInput(ctx));
    ASSIGN_OR_RETURN(const std::string key, KeyOf(ctx.input(1)));
    const auto found = map->entries.find(key);
    if (found == map->entries.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the map has no key ", ctx.input(1).ToString()));
    }
    if (found->second.value.dtype() != ctx.output_type(0)) {
      return absl::InvalidArgumentError(absl::StrCat("the value is ",
                                                     DTypeName(found->second.value.dtype()),
                                                     ", not ", DTypeName(ctx.output_type(0))));
    }
    ctx.set_output(0, found->second.value);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorMapLookup", kCpu, MapLookupKernel);

class MapInsertKernel : public OpKernel {
 public:
  explicit MapInsertKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::string key, KeyOf(ctx.input(1)));
    ASSIGN_OR_RETURN(std::shared_ptr<TensorMap> map, TakeMapInput(ctx));
    map->entries.insert_or_assign(std::move(key),
                                  TensorMap::Entry{.key = ctx.input(1), .value = ctx.input(2)});
    return SetScalarOutput(ctx, 0, Variant(std::move(map)));
  }
};
REGISTER_KERNEL("TensorMapInsert", kCpu, MapInsertKernel);

// Errors: INVALID_ARGUMENT for a key that is not there.
class MapEraseKernel : public OpKernel {
 public:
  explicit MapEraseKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string key, KeyOf(ctx.input(1)));
    ASSIGN_OR_RETURN(std::shared_ptr<TensorMap> map, TakeMapInput(ctx));
    if (map->entries.erase(key) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the map has no key ", ctx.input(1).ToString()));
    }
    return SetScalarOutput(ctx, 0, Variant(std::move(map)));
  }
};
REGISTER_KERNEL("TensorMapErase", kCpu, MapEraseKernel);

// Errors: INVALID_ARGUMENT for an empty map, and for keys of another dtype or of several shapes.
class MapStackKeysKernel : public OpKernel {
 public:
  explicit MapStackKeysKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto map, MapInput(ctx));
    if (map->entries.empty()) {
      return absl::InvalidArgumentError("the keys of an empty map cannot be stacked");
    }
    std::vector<const Tensor*> keys;
    for (const auto& [bytes, entry] : map->entries) {
      if (entry.key.dtype() != ctx.output_type(0)) {
        return absl::InvalidArgumentError(absl::StrCat("a key is ", DTypeName(entry.key.dtype()),
                                                       ", not ", DTypeName(ctx.output_type(0))));
      }
      keys.push_back(&entry.key);
    }
    ASSIGN_OR_RETURN(Tensor stacked, JoinTensors(ctx.output_type(0), PartialShape(), keys,
                                                 /*pads=*/false, ctx.host_allocator()));
    ctx.set_output(0, std::move(stacked));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TensorMapStackKeys", kCpu, MapStackKeysKernel);

}  // namespace
}  // namespace tessera
