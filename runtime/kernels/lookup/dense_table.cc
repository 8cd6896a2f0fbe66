#include "runtime/kernels/lookup/dense_table.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/kernels/fingerprint.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// Growing beyond this is an error, before the doubled number overflows.
constexpr int64_t kMaxBuckets = int64_t{1} << 40;

bool IsNumberOfBuckets(int64_t count) {
  return count >= 4 && absl::has_single_bit(static_cast<uint64_t>(count));
}

template <typename K>
uint64_t HashElement(const K& element) {
  if constexpr (std::is_same_v<K, std::string>) {
    return LegacyHash64(element);
  } else {
    return static_cast<uint64_t>(int64_t{element});
  }
}

template <typename K>
class DenseTable : public LookupTable {
 public:
  explicit DenseTable(Options options)
      : LookupTable(std::move(options)),
        key_size_(this->options().key_shape.num_elements()),
        value_size_(this->options().value_shape.num_elements()),
        value_bytes_(value_size_ * static_cast<int64_t>(DTypeSize(this->options().value_dtype))) {}

  // Makes the first buckets. Called once, before the table is used.
  absl::Status Init() {
    absl::MutexLock lock(&mu_);
    ASSIGN_OR_RETURN(buckets_, MakeBuckets(options().initial_num_buckets));
    return absl::OkStatus();
  }

  int64_t size() const override {
    absl::ReaderMutexLock lock(&mu_);
    return buckets_.used;
  }

  absl::StatusOr<Tensor> Find(const Tensor& keys, const Tensor& default_value,
                              Allocator* allocator) const override {
    ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
    RETURN_IF_ERROR(CheckReserved(keys, count));
    ASSIGN_OR_RETURN(const Shape shape, ValuesShape(keys));
    // As in TensorFlow, the first default serves all keys, even if there is one for each.
    RETURN_IF_ERROR(CheckDefault(default_value, shape));
    ASSIGN_OR_RETURN(Tensor found, Tensor::Allocate(options().value_dtype, shape, allocator));
    absl::ReaderMutexLock lock(&mu_);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t bucket = Locate(buckets_, Key(keys, i)).holds;
      const char* const value =
          bucket >= 0 ? buckets_.values.raw() + bucket * value_bytes_ : default_value.raw();
      CopyElements(options().value_dtype, value, found.mutable_raw() + i * value_bytes_,
                   value_size_);
    }
    return found;
  }

  absl::Status Insert(const Tensor& keys, const Tensor& values) override {
    RETURN_IF_ERROR(CheckValues(keys, values));
    ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
    RETURN_IF_ERROR(CheckReserved(keys, count));
    absl::MutexLock lock(&mu_);
    RETURN_IF_ERROR(Reserve(count, &buckets_));
    for (int64_t i = 0; i < count; ++i) Put(Key(keys, i), Value(values, i), &buckets_);
    return absl::OkStatus();
  }

  absl::Status Remove(const Tensor& keys) override {
    if (!options().deleted_key) {
      return absl::UnimplementedError(
          absl::StrCat("cannot remove from a ", DebugString(), " without a deleted_key"));
    }
    ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
    RETURN_IF_ERROR(CheckReserved(keys, count));
    absl::MutexLock lock(&mu_);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t bucket = Locate(buckets_, Key(keys, i)).holds;
      if (bucket < 0) continue;
      CopyKey(Key(*options().deleted_key, 0), bucket, &buckets_);
      --buckets_.used;
    }
    return absl::OkStatus();
  }

  absl::Status Import(const Tensor& keys, const Tensor& values) override {
    if (!IsExported(keys, options().key_dtype, options().key_shape) ||
        !IsExported(values, options().value_dtype, options().value_shape) ||
        keys.dim(0) != values.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a ", DebugString(), " imports what an export gives, not keys of shape ",
          keys.shape().ToString(), " and values of shape ", values.shape().ToString()));
    }
    const int64_t count = keys.dim(0);
    Buckets fresh;
    if (IsNumberOfBuckets(count)) {
      ASSIGN_OR_RETURN(fresh, CopyBuckets(keys, values));
    }
    // Keys that are not where they are looked for have to be inserted.
    if (!fresh.keys.has_value() || !IsConsistent(fresh)) {
      ASSIGN_OR_RETURN(fresh, MakeBuckets(options().initial_num_buckets));
      RETURN_IF_ERROR(Reserve(count, &fresh));
      for (int64_t i = 0; i < count; ++i) {
        if (!IsFree(Key(keys, i))) Put(Key(keys, i), Value(values, i), &fresh);
      }
    }
    absl::MutexLock lock(&mu_);
    std::swap(buckets_, fresh);
    return absl::OkStatus();
  }

  absl::Status Export(Allocator* allocator, Tensor* keys, Tensor* values) const override {
    absl::ReaderMutexLock lock(&mu_);
    ASSIGN_OR_RETURN(*keys, Copy(buckets_.keys, allocator));
    ASSIGN_OR_RETURN(*values, Copy(buckets_.values, allocator));
    return absl::OkStatus();
  }

 private:
  // Row b of both matrices is bucket b.
  struct Buckets {
    Tensor keys, values;
    int64_t used = 0;  // buckets that hold a key

    int64_t count() const { return keys.dim(0); }
  };
  struct Location {
    int64_t holds = -1;  // the bucket that holds the key
    int64_t free = -1;   // without one, the first bucket into which it can go
  };

  static bool IsExported(const Tensor& buckets, DType dtype, const Shape& shape) {
    return buckets.dtype() == dtype && buckets.rank() == 2 &&
           buckets.dim(1) == shape.num_elements();
  }
  static absl::StatusOr<Tensor> Copy(const Tensor& from, Allocator* allocator) {
    ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(from.dtype(), from.shape(), allocator));
    CopyElements(from.dtype(), from.raw(), copy.mutable_raw(), from.num_elements());
    return copy;
  }

  const K* Key(const Tensor& keys, int64_t i) const { return keys.data<K>() + i * key_size_; }
  const char* Value(const Tensor& values, int64_t i) const {
    return values.raw() + i * value_bytes_;
  }
  void CopyKey(const K* key, int64_t bucket, Buckets* buckets) const {
    std::copy_n(key, key_size_, buckets->keys.template data<K>() + bucket * key_size_);
  }

  uint64_t Hash(const K* key) const {
    if (key_size_ == 1) return HashElement(*key);
    uint64_t hash = 0;
    for (int64_t i = 0; i < key_size_; ++i) {
      hash ^= HashElement(key[i]) + 0x9e3779b97f4a7800 + (hash << 10) + (hash >> 4);
    }
    return hash;
  }
  bool Equal(const K* a, const K* b) const { return std::equal(a, a + key_size_, b); }
  bool IsEmpty(const K* key) const { return Equal(key, Key(*options().empty_key, 0)); }
  bool IsDeleted(const K* key) const {
    return options().deleted_key && Equal(key, Key(*options().deleted_key, 0));
  }
  bool IsFree(const K* key) const { return IsEmpty(key) || IsDeleted(key); }
  absl::Status CheckReserved(const Tensor& keys, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      if (IsFree(Key(keys, i))) {
        return absl::InvalidArgumentError(
            absl::StrCat("key ", i, " is the table's empty_key or deleted_key"));
      }
    }
    return absl::OkStatus();
  }

  // Steps grow by one, which visits every bucket once if their number is a power of two.
  Location Locate(const Buckets& buckets, const K* key) const {
    const int64_t count = buckets.count();
    int64_t bucket = static_cast<int64_t>(Hash(key) & static_cast<uint64_t>(count - 1));
    int64_t free = -1;
    for (int64_t step = 1; step <= count; ++step) {
      const K* const held = Key(buckets.keys, bucket);
      if (Equal(held, key)) return {.holds = bucket};
      const bool is_empty = IsEmpty(held);
      if (free < 0 && (is_empty || IsDeleted(held))) free = bucket;
      if (is_empty) break;
      bucket = (bucket + step) & (count - 1);
    }
    return {.free = free};
  }

  // Adds or replaces. There must be a free bucket.
  void Put(const K* key, const char* value, Buckets* buckets) const {
    const Location location = Locate(*buckets, key);
    const bool is_new = location.holds < 0;
    const int64_t bucket = is_new ? location.free : location.holds;
    if (is_new) {
      CopyKey(key, bucket, buckets);
      ++buckets->used;
    }
    CopyElements(options().value_dtype, value,
                 buckets->values.mutable_raw() + bucket * value_bytes_, value_size_);
  }

  absl::StatusOr<Buckets> MakeBuckets(int64_t count) const {
    ASSIGN_OR_RETURN(const Shape key_shape, Shape::Make({count, key_size_}));
    ASSIGN_OR_RETURN(const Shape value_shape, Shape::Make({count, value_size_}));
    Buckets buckets;
    ASSIGN_OR_RETURN(buckets.keys,
                     Tensor::Allocate(options().key_dtype, key_shape, options().allocator));
    ASSIGN_OR_RETURN(buckets.values,
                     Tensor::Zeros(options().value_dtype, value_shape, options().allocator));
    for (int64_t b = 0; b < count; ++b) CopyKey(Key(*options().empty_key, 0), b, &buckets);
    return buckets;
  }
  absl::StatusOr<Buckets> CopyBuckets(const Tensor& keys, const Tensor& values) const {
    Buckets buckets;
    ASSIGN_OR_RETURN(buckets.keys, Copy(keys, options().allocator));
    ASSIGN_OR_RETURN(buckets.values, Copy(values, options().allocator));
    for (int64_t b = 0; b < buckets.count(); ++b) buckets.used += !IsFree(Key(keys, b));
    return buckets;
  }
  // Whether every key is found in its own bucket.
  bool IsConsistent(const Buckets& buckets) const {
    for (int64_t b = 0; b < buckets.count(); ++b) {
      const K* const key = Key(buckets.keys, b);
      if (!IsFree(key) && Locate(buckets, key).holds != b) return false;
    }
    return true;
  }

  // Makes more buckets if `more` new keys would fill them beyond the load factor.
  absl::Status Reserve(int64_t more, Buckets* buckets) const {
    const float needed = static_cast<float>(buckets->used + more);
    int64_t count = buckets->count();
    while (needed > static_cast<float>(count) * options().max_load_factor) {
      if (count >= kMaxBuckets) {
        return absl::ResourceExhaustedError(
            absl::StrCat("a ", DebugString(), " cannot have more than ", count, " buckets"));
      }
      count *= 2;
    }
    if (count == buckets->count()) return absl::OkStatus();
    ASSIGN_OR_RETURN(Buckets larger, MakeBuckets(count));
    for (int64_t b = 0; b < buckets->count(); ++b) {
      const K* const key = Key(buckets->keys, b);
      if (!IsFree(key)) Put(key, Value(buckets->values, b), &larger);
    }
    *buckets = std::move(larger);
    return absl::OkStatus();
  }

  const int64_t key_size_, value_size_;  // elements of one
  const int64_t value_bytes_;
  mutable absl::Mutex mu_;
  Buckets buckets_ ABSL_GUARDED_BY(mu_);
};

template <typename K>
absl::StatusOr<IntrusivePtr<LookupTable>> Make(LookupTable::Options options) {
  auto table = MakeRefCounted<DenseTable<K>>(std::move(options));
  RETURN_IF_ERROR(table->Init());
  return IntrusivePtr<LookupTable>(std::move(table));
}

}  // namespace

absl::StatusOr<IntrusivePtr<LookupTable>> MakeDenseTable(LookupTable::Options options) {
  if (!IsNumberOfBuckets(options.initial_num_buckets)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of buckets must be a power of 2 and at least 4, is ",
                     options.initial_num_buckets));
  }
  if (!(options.max_load_factor > 0 && options.max_load_factor < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_load_factor must be between 0 and 1, is ", options.max_load_factor));
  }
  if (options.key_shape.num_elements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("keys must have elements, their shape is ", options.key_shape.ToString()));
  }
  switch (options.key_dtype) {
    case DType::kInt32:
      return Make<int32_t>(std::move(options));
    case DType::kInt64:
      return Make<int64_t>(std::move(options));
    case DType::kString:
      return Make<std::string>(std::move(options));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("there are no tables from ", DTypeName(options.key_dtype)));
  }
}

}  // namespace tessera
