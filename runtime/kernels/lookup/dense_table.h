// Hash tables with open addressing, in TensorFlow's layout.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/lookup/lookup_table.h"

namespace tessera {

// Makes the table of MutableDenseHashTable. Its keys and values lie in buckets, whose number is a
// power of two, where TensorFlow puts them too, so that Export() gives the same tensors: a matrix
// of keys and one of values with a row for each bucket. Rows of free buckets hold `empty_key` and
// zeros, those of removed keys `deleted_key` and the value that was removed.
//
// TensorFlow stores a key twice if a bucket became free before the one that holds the key, and
// forgets the later value when it grows. Here a key has one bucket.
// Errors: INVALID_ARGUMENT for numbers of buckets, load factors, and types and shapes of keys that
// such a table cannot have; RESOURCE_EXHAUSTED.
absl::StatusOr<IntrusivePtr<LookupTable>> MakeDenseTable(LookupTable::Options options);

}  // namespace tessera
