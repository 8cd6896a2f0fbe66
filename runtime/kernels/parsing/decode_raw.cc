// Strings of bytes as tensors of numbers: DecodeRaw, DecodePaddedRaw.
#include <bit>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/tensor/raw_elements.h"

namespace tessera {
namespace {

// Turns the bytes of each number around if they are not in this machine's order.
void FixByteOrder(bool little_endian, Tensor* tensor) {
  if (little_endian == (std::endian::native == std::endian::little)) return;
  // A complex number is two numbers.
  const int64_t width =
      static_cast<int64_t>(DTypeSize(tensor->dtype())) / (IsComplex(tensor->dtype()) ? 2 : 1);
  char* const data = tensor->mutable_raw();
  const int64_t size = static_cast<int64_t>(tensor->size_bytes());
  for (int64_t i = 0; i < size; i += width) std::reverse(data + i, data + i + width);
}

// Adds a last dimension of as many numbers as each string holds; all must be of one length. A bool
// is true for any byte but 0.
class DecodeRawKernel : public OpKernel {
 public:
  explicit DecodeRawKernel(const KernelBuild& build)
      : little_endian_(build.attr<bool>("little_endian")), dtype_(build.attr<DType>("out_type")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const auto strings = input.flat<std::string>();
    const int64_t width = static_cast<int64_t>(DTypeSize(dtype_));
    const int64_t bytes = strings.empty() ? 0 : static_cast<int64_t>(strings[0].size());
    for (size_t i = 0; i < strings.size(); ++i) {
      if (static_cast<int64_t>(strings[i].size()) != bytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("all strings must be of one length: string 0 "
                         "has ",
                         bytes, " bytes, string ", i, " has ", strings[i].size()));
      }
    }
    if (bytes % width != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(bytes, " bytes are not a whole number of ", DTypeName(dtype_)));
    }
    Shape shape = input.shape();
    shape.AddDim(bytes / width);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    char* to = output->mutable_raw();
    for (const std::string& s : strings) {
      CopyElements(dtype_, s, to);
      to += s.size();
    }
    FixByteOrder(little_endian_, output);
    return absl::OkStatus();
  }

 private:
  const bool little_endian_;
  const DType dtype_;
};
REGISTER_KERNEL("DecodeRaw", kCpu, DecodeRawKernel);

// As above, with strings cut or padded with zeros to a fixed number of bytes.
class DecodePaddedRawKernel : public OpKernel {
 public:
  explicit DecodePaddedRawKernel(const KernelBuild& build)
      : little_endian_(build.attr<bool>("little_endian")), dtype_(build.attr<DType>("out_type")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const int64_t bytes, ReadIntegerOfScalar(ctx.input(1), "fixed_length"));
    const int64_t width = static_cast<int64_t>(DTypeSize(dtype_));
    if (bytes <= 0 || bytes % width != 0) {
      return absl::InvalidArgumentError(absl::StrCat("fixed_length ", bytes,
                                                     " must be a positive multiple of ", width,
                                                     ", the size of ", DTypeName(dtype_)));
    }
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    dims.push_back(bytes / width);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    char* to = output->mutable_raw();
    for (const std::string& s : input.flat<std::string>()) {
      const int64_t taken = std::min(bytes, static_cast<int64_t>(s.size()));
      std::memcpy(to, s.data(), taken);
      std::memset(to + taken, 0, bytes - taken);
      to += bytes;
    }
    FixByteOrder(little_endian_, output);
    return absl::OkStatus();
  }

 private:
  const bool little_endian_;
  const DType dtype_;
};
REGISTER_KERNEL("DecodePaddedRaw", kCpu, DecodePaddedRawKernel);

}  // namespace
}  // namespace tessera
