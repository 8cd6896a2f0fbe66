// The resource behind v1 TensorArray ops.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/add_n.h"
#include "runtime/tensor/resource_handle.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A list of tensors that a loop writes and reads by index. An element is written once, and may be
// dropped when it is read. An array of gradients instead adds what is written to one index. The
// elements lie in the memory of the device of the kernels that work on the array.
// Thread-safe. Lives as long as its handles.
class TensorArray : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "tensor_array";
  struct Options {
    DType dtype = DType::kInvalid;
    PartialShape element_shape;
    bool dynamic_size = false;              // writing past the end grows the array
    bool clear_after_read = true;           // an element can be read once only
    bool identical_element_shapes = false;  // the first element's shape binds all others
    bool accumulate = false;                // an array of gradients
  };
  // Errors: INVALID_ARGUMENT for a negative size, RESOURCE_EXHAUSTED for an absurd one.
  static absl::StatusOr<IntrusivePtr<TensorArray>> Make(const Options& options, int64_t size);

  DType dtype() const { return dtype_; }
  absl::StatusOr<int64_t> size() const;
  // Returns the shape all elements have, as far as it is known from now on: also by `shape`, which
  // binds later writes and zeros. Errors: INVALID_ARGUMENT if it contradicts what was known.
  absl::StatusOr<PartialShape> NarrowElementShape(const PartialShape& shape);

  // Errors of all below: INVALID_ARGUMENT for an index out of range, a value that does not fit, a
  // second write, a read after clearing, and once the array is closed. `add_n` adds up gradients.
  absl::Status Write(KernelContext& ctx, AddN::Function* add_n, int64_t index, Tensor value);
  // Zeros of the element shape, if that is known, for an element that was never written, and for
  // one behind the end of an array of gradients.
  absl::StatusOr<Tensor> Read(KernelContext& ctx, int64_t index);
  // The array of gradients of this one for `source`, made the first time: of the same size, which
  // is fixed from then on. The shape of its elements has the dimensions `outer` before those here.
  absl::StatusOr<IntrusivePtr<TensorArray>> Gradient(const std::string& source,
                                                     const Shape& outer = Shape());
  // Drops all elements.
  void Close();

  std::string DebugString() const override;

 private:
  struct Element {
    Tensor value;
    PartialShape shape;  // of the value, kept when that is dropped
    bool written = false;
    bool read = false;
    bool cleared = false;
  };

  explicit TensorArray(const Options& options) : dtype_(options.dtype), options_(options) {}
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const DType dtype_;
  mutable absl::Mutex mu_;
  Options options_ ABSL_GUARDED_BY(mu_);  // element_shape and dynamic_size change
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Element> elements_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, IntrusivePtr<TensorArray>> gradients_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tessera
