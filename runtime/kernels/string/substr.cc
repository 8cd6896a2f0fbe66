// Substr: parts of strings.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/strides.h"
#include "runtime/kernels/string/utf8.h"

namespace tessera {
namespace {

// From `pos` (counted from the end if negative) at most `len` bytes or characters; a negative `len`
// is no limit. Strings and positions broadcast together.
// Errors: INVALID_ARGUMENT for a position beyond the string.
class SubstrKernel : public OpKernel {
 public:
  explicit SubstrKernel(const KernelBuild& build)
      : utf8_(build.attr<std::string>("unit") == "UTF8_CHAR") {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& pos = ctx.input(1);
    const Tensor& len = ctx.input(2);
    if (!(pos.shape() == len.shape())) {
      return absl::InvalidArgumentError(absl::StrCat("pos and len must have one shape, have ",
                                                     pos.shape().ToString(), " and ",
                                                     len.shape().ToString()));
    }
    const int rank = std::max(input.rank(), pos.rank());
    IndexVector dims, input_strides, pos_strides;
    for (int d = 0; d < rank; ++d) {
      const int64_t a = DimAt(input.shape(), d, rank), b = DimAt(pos.shape(), d, rank);
      if (a != b && a != 1 && b != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("strings of shape ", input.shape().ToString(), " and positions of shape ",
                         pos.shape().ToString(), " do not broadcast together"));
      }
      dims.push_back(a == 1 ? b : a);
    }
    const auto input_rows = RowMajorStrides(input.shape().dims());
    const auto pos_rows = RowMajorStrides(pos.shape().dims());
    for (int d = 0; d < rank; ++d) {
      input_strides.push_back(StrideAt(input.shape(), input_rows, d, rank));
      pos_strides.push_back(StrideAt(pos.shape(), pos_rows, d, rank));
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return VisitIndexType(pos.dtype(), [&]<typename T>() -> absl::Status {
      const std::string* const strings = input.data<std::string>();
      auto out = output->flat<std::string>();
      const T* const starts = pos.data<T>();
      const T* const lengths = len.data<T>();
      // Rows of strings, whose place and whose place among the positions are s and p.
      const int last = rank - 1;
      const int64_t columns = rank == 0 ? 1 : dims[last];
      const int64_t string_step = rank == 0 ? 0 : input_strides[last];
      const int64_t position_step = rank == 0 ? 0 : pos_strides[last];
      IndexVector position(rank, 0);
      int64_t s = 0, p = 0;
      for (size_t first = 0; first < out.size(); first += columns) {
        for (int64_t c = 0; c < columns; ++c) {
          const std::string& text = strings[s + c * string_step];
          const int64_t place = p + c * position_step;
          std::string* const part = &out[first + c];
          if (!Cut(text, static_cast<int64_t>(starts[place]), static_cast<int64_t>(lengths[place]),
                   part)) {
            return absl::InvalidArgumentError(
                absl::StrCat("pos ", starts[place], " is out of range for the string of length ",
                             SizeOf(text), " at index ", first + c));
          }
        }
        for (int d = last - 1; d >= 0; --d) {
          s += input_strides[d];
          p += pos_strides[d];
          if (++position[d] < dims[d]) break;
          s -= dims[d] * input_strides[d];
          p -= dims[d] * pos_strides[d];
          position[d] = 0;
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  static int64_t DimAt(const Shape& shape, int d, int rank) {
    const int own = d - (rank - shape.rank());
    return own < 0 ? 1 : shape.dim(own);
  }
  static int64_t StrideAt(const Shape& shape, const IndexVector& strides, int d, int rank) {
    const int own = d - (rank - shape.rank());
    return own < 0 || shape.dim(own) == 1 ? 0 : strides[own];
  }

  // In characters or bytes. Continuations at the begin of the text count for a character.
  int64_t SizeOf(const std::string& text) const {
    if (!utf8_) return static_cast<int64_t>(text.size());
    return CountUtf8(text) + (!text.empty() && IsUtf8Continuation(text[0]) ? 1 : 0);
  }

  // Returns false if `pos` is beyond the string. A negative length takes the rest of the bytes, but
  // no character, as in TensorFlow.
  bool Cut(const std::string& text, int64_t pos, int64_t len, std::string* out) const {
    const int64_t size = SizeOf(text);
    if (pos > size || pos < -size) return false;
    if (utf8_ && len < 0) {
      if (pos < 0) return false;
      len = 0;
    }
    if (pos < 0) pos += size;
    if (len < 0 || len > size - pos) len = size - pos;
    if (utf8_) {
      const size_t begin = SkipUtf8(text, 0, pos);
      out->assign(text, begin, SkipUtf8(text, begin, len) - begin);
    } else {
      out->assign(text.data() + pos, len);
    }
    return true;
  }

  const bool utf8_;
};
REGISTER_KERNEL("Substr", kCpu, SubstrKernel);

}  // namespace
}  // namespace tessera
