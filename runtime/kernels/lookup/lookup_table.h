// The resource behind hash table ops: tensors of values by keys.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Maps keys (integers, strings, or tensors of them) to values of one shape. Keys are kept in the
// order of their first insertion, which is that of Export(), but for those that take the places of
// removed ones. Those of a dense table lie in buckets (dense_table.h).
//
//   ASSIGN_OR_RETURN(auto table, LookupTable::Make({.key_dtype = DType::kString,
//                                                   .value_dtype = DType::kInt64,
//                                                   .write_once = true}));
//   RETURN_IF_ERROR(table->Import(keys, values));
//   ASSIGN_OR_RETURN(Tensor found, table->Find(query, default_value, allocator));
//
// Thread-safe; look-ups run side by side.
class LookupTable : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "lookup_table";

  struct Options {
    DType key_dtype = DType::kInvalid;
    DType value_dtype = DType::kInvalid;
    Shape key_shape;    // of one key: scalar but for dense tables
    Shape value_shape;  // of one value
    // The allocator of the values; must be set.
    Allocator* allocator = nullptr;
    // Filled once, then only read: HashTable. It cannot be read before.
    bool write_once = false;
    // Makes the table a dense one. It refuses these keys, with which it marks empty and deleted
    // buckets.
    std::optional<Tensor> empty_key, deleted_key;
    // How many buckets a dense table begins with, and which share of them may be filled before it
    // doubles their number.
    int64_t initial_num_buckets = 131072;
    float max_load_factor = 0.8f;
  };
  // Errors: INVALID_ARGUMENT for dtypes that cannot be keys or values; those of MakeDenseTable().
  static absl::StatusOr<IntrusivePtr<LookupTable>> Make(Options options);

  const Options& options() const { return options_; }
  virtual int64_t size() const = 0;

  // The values of `keys`, of shape keys.shape[:-rank of a key] + value_shape. `default_value`
  // stands for missing keys: one value, or one for each key (write-once tables take the first).
  // Errors: FAILED_PRECONDITION if a write-once table is not filled yet; INVALID_ARGUMENT for other
  // dtypes or shapes, and for the reserved keys of a dense table.
  virtual absl::StatusOr<Tensor> Find(const Tensor& keys, const Tensor& default_value,
                                      Allocator* allocator) const = 0;
  // Adds or replaces. Errors: UNIMPLEMENTED for a write-once table; INVALID_ARGUMENT as above.
  virtual absl::Status Insert(const Tensor& keys, const Tensor& values) = 0;
  // Missing keys are fine. Errors as for Insert().
  virtual absl::Status Remove(const Tensor& keys) = 0;
  // Replaces all contents. A write-once table can be given what it holds already once more. A dense
  // table takes what an export gives: a matrix of keys and one of values, which have a row for each
  // bucket, whatever the shapes of one key and one value.
  // Errors: FAILED_PRECONDITION for other contents of a filled write-once table, or two values for
  // one of its keys; INVALID_ARGUMENT as above.
  virtual absl::Status Import(const Tensor& keys, const Tensor& values) = 0;
  // Vectors of keys and of values; for a dense table matrices with a row for each bucket.
  // Errors: ABORTED if a write-once table is not filled yet; RESOURCE_EXHAUSTED.
  virtual absl::Status Export(Allocator* allocator, Tensor* keys, Tensor* values) const = 0;

  std::string DebugString() const override;

 protected:
  explicit LookupTable(Options options) : options_(std::move(options)) {}

  // How many keys the tensor holds. Errors: INVALID_ARGUMENT if it is not of the key dtype and
  // shape.
  absl::StatusOr<int64_t> CountKeys(const Tensor& keys) const;
  // Errors: INVALID_ARGUMENT unless there is a value for each key.
  absl::Status CheckValues(const Tensor& keys, const Tensor& values) const;
  // Errors: INVALID_ARGUMENT if it overflows.
  absl::StatusOr<Shape> ValuesShape(const Tensor& keys) const;
  // Errors: INVALID_ARGUMENT unless `default_value` has the shape of one value, or `shape`, that of
  // the values for all keys.
  absl::Status CheckDefault(const Tensor& default_value, const Shape& shape) const;

 private:
  const Options options_;
};

}  // namespace tessera
