#include "runtime/kernels/lookup/lookup_table.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/kernels/lookup/dense_table.h"
#include "runtime/kernels/lookup/row_buckets.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// How keys are found and compared: each has a number, by which its row is looked up.
struct IntegerKeys {
  using Stored = int64_t;
  using View = int64_t;
  static constexpr bool kAreNumbers = true;
  struct HashOfNumber {
    uint64_t operator()(int64_t number) const { return absl::HashOf(number); }
  };
  static int64_t NumberOf(View key) { return key; }
  static View Get(const Tensor& keys, int64_t i) {
    return keys.dtype() == DType::kInt64 ? keys.data<int64_t>()[i] : keys.data<int32_t>()[i];
  }
  static void Put(const Stored& key, int64_t i, Tensor* keys) {
    if (keys->dtype() == DType::kInt64) {
      keys->data<int64_t>()[i] = key;
    } else {
      keys->data<int32_t>()[i] = static_cast<int32_t>(key);
    }
  }
};
struct StringKeys {
  using Stored = std::string;
  using View = absl::string_view;
  static constexpr bool kAreNumbers = false;  // but have hashes, which strings may share
  struct HashOfNumber {
    uint64_t operator()(int64_t number) const { return static_cast<uint64_t>(number); }
  };
  static int64_t NumberOf(View key) { return static_cast<int64_t>(absl::HashOf(key)); }
  static View Get(const Tensor& keys, int64_t i) { return keys.data<std::string>()[i]; }
  static void Put(const Stored& key, int64_t i, Tensor* keys) {
    keys->data<std::string>()[i] = key;
  }
};

// How many keys are looked up together.
constexpr int64_t kSome = 32;

// The size of values that mostly stay in the second-level cache.
constexpr size_t kCachedBytes = 1 << 18;

// The rows of a table's keys, which are stored in `keys`, by row.
template <typename Keys>
class RowIndex {
 public:
  using View = typename Keys::View;
  using Buckets = RowBuckets<typename Keys::HashOfNumber>;
  struct Probe {
    View key;
    int64_t number;
    const typename Buckets::Bucket* home;
  };

  explicit RowIndex(const std::vector<typename Keys::Stored>* keys) : keys_(keys) {}

  // Returns the probe after a prefetch of what tells whether the key is there.
  Probe Prefetch(View key) const {
    const int64_t number = Keys::NumberOf(key);
    return {key, number, buckets_.Prefetch(number)};
  }
  // Returns -1 if there is no such key.
  int64_t Find(View key) const {
    return buckets_.FindIf(Keys::NumberOf(key), [&](int64_t row) { return (*keys_)[row] == key; });
  }
  // Sets rows[i] to Find(probes[i].key) for up to kSome keys, in steps in which their cache misses
  // overlap: keys are found by their numbers alone, and then compared. Whether a key is there is
  // hard to predict, so that the comparisons go through a list of those that were found.
  void FindSome(absl::Span<const Probe> probes, int64_t* rows) const {
    for (size_t i = 0; i < probes.size(); ++i) {
      rows[i] = buckets_.Find(probes[i].number, probes[i].home);
    }
    if constexpr (!Keys::kAreNumbers) {
      size_t candidates[kSome], count = 0;
      for (size_t i = 0; i < probes.size(); ++i) {
        __builtin_prefetch(keys_->data() + std::max<int64_t>(rows[i], 0));
        candidates[count] = i;
        count += rows[i] >= 0;
      }
      for (size_t n = 0; n < count; ++n) {
        const size_t i = candidates[n];
        if ((*keys_)[rows[i]] != probes[i].key) rows[i] = Find(probes[i].key);
      }
    }
  }
  void Reserve(int64_t count) { buckets_.Reserve(count); }
  void Insert(View key, int64_t row) { buckets_.Insert(Keys::NumberOf(key), row); }
  void Erase(View key, int64_t row) { buckets_.Erase(Keys::NumberOf(key), row); }
  int64_t size() const { return buckets_.size(); }
  std::vector<int64_t> SortedRows() const { return buckets_.SortedRows(); }

  static constexpr int64_t kMaxRow = Buckets::kMaxRow;

 private:
  const std::vector<typename Keys::Stored>* const keys_;
  Buckets buckets_;
};

template <typename Keys>
class HashedTable : public LookupTable {
 public:
  explicit HashedTable(Options options)
      : LookupTable(std::move(options)),
        value_size_(this->options().value_shape.num_elements()),
        value_bytes_(value_size_ * static_cast<int64_t>(DTypeSize(this->options().value_dtype))),
        contents_(std::make_unique<Contents>()) {}

  int64_t size() const override {
    absl::ReaderMutexLock lock(&mu_);
    return contents_->index.size();
  }

  absl::StatusOr<Tensor> Find(const Tensor& keys, const Tensor& default_value,
                              Allocator* allocator) const override {
    ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
    ASSIGN_OR_RETURN(const Shape shape, ValuesShape(keys));
    RETURN_IF_ERROR(CheckDefault(default_value, shape));
    // Whether there is a default for each key. As in TensorFlow, tables that are filled once give
    // the first one for all.
    const bool each = !options().write_once && !(default_value.shape() == options().value_shape);
    ASSIGN_OR_RETURN(Tensor found, Tensor::Allocate(options().value_dtype, shape, allocator));
    absl::ReaderMutexLock lock(&mu_);
    if (options().write_once && !filled_) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the ", DebugString(), " is not initialized: run its initializer (table_initializer)"));
    }
    char* const to = found.mutable_raw();
    const auto find_all = [&](auto copy) {
      // First the rows of some keys, then their values, so that the misses of the cache overlap:
      // the tables of a model seldom stay in the third-level cache, which other programs use too.
      typename RowIndex<Keys>::Probe probes[kSome];
      int64_t rows[kSome];
      const char* const values = contents_->values.raw();
      const bool is_large = contents_->values.size_bytes() > kCachedBytes;
      for (int64_t first = 0; first < count; first += kSome) {
        const int64_t some = std::min(kSome, count - first);
        for (int64_t i = 0; i < some; ++i) {
          probes[i] = contents_->index.Prefetch(Keys::Get(keys, first + i));
        }
        contents_->index.FindSome(absl::MakeConstSpan(probes, some), rows);
        for (int64_t i = 0; is_large && i < some; ++i) {
          __builtin_prefetch(values + std::max<int64_t>(rows[i], 0) * value_bytes_);
        }
        for (int64_t i = 0; i < some; ++i) {
          const char* const origins[] = {values, default_value.raw()};
          const bool is_missing = rows[i] < 0;
          const int64_t places[] = {rows[i], each ? first + i : 0};
          copy(origins[is_missing] + places[is_missing] * value_bytes_,
               to + (first + i) * value_bytes_);
        }
      }
    };
    const bool is_plain = IsTriviallyCopyable(options().value_dtype);
    if (is_plain && value_bytes_ == 8) {
      find_all([](const char* from, char* to) { std::memcpy(to, from, 8); });
    } else if (is_plain && value_bytes_ == 4) {
      find_all([](const char* from, char* to) { std::memcpy(to, from, 4); });
    } else {
      find_all([this](const char* from, char* to) {
        CopyElements(options().value_dtype, from, to, value_size_);
      });
    }
    return found;
  }

  absl::Status Insert(const Tensor& keys, const Tensor& values) override {
    RETURN_IF_ERROR(CheckMutable("insert into"));
    RETURN_IF_ERROR(CheckValues(keys, values));
    ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
    absl::MutexLock lock(&mu_);
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(Put(Keys::Get(keys, i), values.raw() + i * value_bytes_, contents_.get()));
    }
    return absl::OkStatus();
  }

  absl::Status Remove(const Tensor& keys) override {
    RETURN_IF_ERROR(CheckMutable("remove from"));
    ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
    absl::MutexLock lock(&mu_);
    for (int64_t i = 0; i < count; ++i) {
      const typename Keys::View key = Keys::Get(keys, i);
      const int64_t row = contents_->index.Find(key);
      if (row < 0) continue;
      contents_->index.Erase(key, row);
      contents_->free.push_back(row);
      ZeroElements(options().value_dtype, contents_->values.mutable_raw() + row * value_bytes_,
                   value_size_);
    }
    return absl::OkStatus();
  }

  absl::Status Import(const Tensor& keys, const Tensor& values) override {
    RETURN_IF_ERROR(CheckValues(keys, values));
    ASSIGN_OR_RETURN(const int64_t count, CountKeys(keys));
    auto fresh = std::make_unique<Contents>();
    fresh->index.Reserve(count);
    for (int64_t i = 0; i < count; ++i) {
      const typename Keys::View key = Keys::Get(keys, i);
      const char* value = values.raw() + i * value_bytes_;
      if (options().write_once) {
        const int64_t row = fresh->index.Find(key);
        if (row >= 0 && !SameValue(value, *fresh, row)) {
          return absl::FailedPreconditionError(
              absl::StrCat("key ", ElementToString(keys, i), " has two different values"));
        }
      }
      RETURN_IF_ERROR(Put(key, value, fresh.get()));
    }
    absl::MutexLock lock(&mu_);
    if (options().write_once && filled_) {
      if (SameContents(*fresh, *contents_)) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat("the ", DebugString(), " was already initialized with different data"));
    }
    contents_.swap(fresh);
    filled_ = true;
    return absl::OkStatus();
  }

  absl::Status Export(Allocator* allocator, Tensor* keys, Tensor* values) const override {
    absl::ReaderMutexLock lock(&mu_);
    if (options().write_once && !filled_) {
      return absl::AbortedError(absl::StrCat("the ", DebugString(), " is not initialized"));
    }
    const std::vector<int64_t> rows = contents_->index.SortedRows();
    const int64_t count = static_cast<int64_t>(rows.size());
    Shape value_shape = options().value_shape;
    value_shape.InsertDim(0, count);
    ASSIGN_OR_RETURN(*keys, Tensor::Allocate(options().key_dtype, Shape{count}, allocator));
    ASSIGN_OR_RETURN(*values, Tensor::Allocate(options().value_dtype, value_shape, allocator));
    for (int64_t i = 0; i < count; ++i) {
      Keys::Put(contents_->keys[rows[i]], i, keys);
      CopyElements(options().value_dtype, contents_->values.raw() + rows[i] * value_bytes_,
                   values->mutable_raw() + i * value_bytes_, value_size_);
    }
    return absl::OkStatus();
  }

 private:
  // Row r's value starts at element r * value_size_ of `values`.
  struct Contents {
    std::vector<typename Keys::Stored> keys;  // by row
    RowIndex<Keys> index{&keys};
    Tensor values;
    std::vector<int64_t> free;  // rows of removed keys
  };

  absl::Status CheckMutable(absl::string_view what) const {
    if (!options().write_once) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat("cannot ", what, " a ", DebugString(),
                                                 ": it is filled once, by its initializer"));
  }
  absl::Status Put(typename Keys::View key, const char* value, Contents* contents) const {
    int64_t row = contents->index.Find(key);
    if (row < 0) {
      if (contents->free.empty()) {
        row = static_cast<int64_t>(contents->keys.size());
        if (row > RowIndex<Keys>::kMaxRow) {
          return absl::ResourceExhaustedError(absl::StrCat("the ", DebugString(), " is full"));
        }
        if (row >= contents->values.num_elements() / std::max<int64_t>(value_size_, 1)) {
          RETURN_IF_ERROR(Grow(row, contents));
        }
        contents->keys.emplace_back(key);
      } else {
        row = contents->free.back();
        contents->free.pop_back();
        contents->keys[row] = typename Keys::Stored(key);
      }
      contents->index.Insert(key, row);
    }
    CopyElements(options().value_dtype, value, contents->values.mutable_raw() + row * value_bytes_,
                 value_size_);
    return absl::OkStatus();
  }
  absl::Status Grow(int64_t used, Contents* contents) const {
    ASSIGN_OR_RETURN(
        Tensor larger,
        Tensor::Zeros(options().value_dtype, Shape{std::max<int64_t>(16, 2 * used), value_size_},
                      options().allocator));
    if (used > 0) {
      CopyElements(options().value_dtype, contents->values.raw(), larger.mutable_raw(),
                   used * value_size_);
    }
    contents->values = std::move(larger);
    return absl::OkStatus();
  }
  bool SameValue(const char* value, const Contents& contents, int64_t row) const {
    const char* other = contents.values.raw() + row * value_bytes_;
    if (IsTriviallyCopyable(options().value_dtype)) {
      return std::memcmp(value, other, value_bytes_) == 0;
    }
    if (options().value_dtype != DType::kString) return false;
    return std::equal(reinterpret_cast<const std::string*>(value),
                      reinterpret_cast<const std::string*>(value) + value_size_,
                      reinterpret_cast<const std::string*>(other));
  }
  bool SameContents(const Contents& a, const Contents& b) const {
    if (a.index.size() != b.index.size()) return false;
    for (const int64_t row : a.index.SortedRows()) {
      const int64_t other = b.index.Find(a.keys[row]);
      if (other < 0 || !SameValue(a.values.raw() + row * value_bytes_, b, other)) return false;
    }
    return true;
  }

  const int64_t value_size_;  // elements of one value
  const int64_t value_bytes_;
  mutable absl::Mutex mu_;
  bool filled_ ABSL_GUARDED_BY(mu_) = false;
  std::unique_ptr<Contents> contents_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<IntrusivePtr<LookupTable>> LookupTable::Make(Options options) {
  const bool integer = options.key_dtype == DType::kInt32 || options.key_dtype == DType::kInt64;
  if (options.value_dtype == DType::kInvalid || (!integer && options.key_dtype != DType::kString) ||
      (!options.empty_key && !options.key_shape.IsScalar())) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are no tables from ", DTypeName(options.key_dtype),
                     options.key_shape.ToString(), " to ", DTypeName(options.value_dtype)));
  }
  if (options.empty_key) return MakeDenseTable(std::move(options));
  if (!integer) {
    return IntrusivePtr<LookupTable>(MakeRefCounted<HashedTable<StringKeys>>(std::move(options)));
  }
  return IntrusivePtr<LookupTable>(MakeRefCounted<HashedTable<IntegerKeys>>(std::move(options)));
}

std::string LookupTable::DebugString() const {
  return absl::StrCat("lookup table from ", DTypeName(options_.key_dtype), " to ",
                      DTypeName(options_.value_dtype), options_.value_shape.ToString());
}

absl::StatusOr<int64_t> LookupTable::CountKeys(const Tensor& keys) const {
  const int batch_rank = keys.rank() - options_.key_shape.rank();
  bool fits = keys.dtype() == options_.key_dtype && batch_rank >= 0;
  for (int d = 0; fits && d < options_.key_shape.rank(); ++d) {
    fits = keys.dim(batch_rank + d) == options_.key_shape.dim(d);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("keys of ", DTypeName(keys.dtype()),
                                                   keys.shape().ToString(), " do not fit a ",
                                                   DebugString()));
  }
  return keys.num_elements() / std::max<int64_t>(options_.key_shape.num_elements(), 1);
}

absl::StatusOr<Shape> LookupTable::ValuesShape(const Tensor& keys) const {
  const auto batch = keys.shape().dims().subspan(0, keys.rank() - options_.key_shape.rank());
  absl::InlinedVector<int64_t, 8> dims(batch.begin(), batch.end());
  dims.insert(dims.end(), options_.value_shape.dims().begin(), options_.value_shape.dims().end());
  return Shape::Make(dims);
}

absl::Status LookupTable::CheckDefault(const Tensor& default_value, const Shape& shape) const {
  if (default_value.dtype() != options_.value_dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a ", DebugString(), " cannot give a default value of ", DTypeName(default_value.dtype())));
  }
  if (default_value.shape() == options_.value_shape || default_value.shape() == shape) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("default_value must have shape ", options_.value_shape.ToString(), " or ",
                   shape.ToString(), ", has ", default_value.shape().ToString()));
}

absl::Status LookupTable::CheckValues(const Tensor& keys, const Tensor& values) const {
  RETURN_IF_ERROR(CountKeys(keys).status());
  ASSIGN_OR_RETURN(const Shape expected, ValuesShape(keys));
  if (values.dtype() == options_.value_dtype && values.shape() == expected) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "keys of shape ", keys.shape().ToString(), " of a ", DebugString(), " need values of shape ",
      expected.ToString(), ", not ", DTypeName(values.dtype()), values.shape().ToString()));
}

}  // namespace tessera
