// Kernels that look at values to stop a step or to tell about them: CheckNumerics, Assert, Print.
#include <atomic>
#include <cmath>
#include <fstream>
#include <iostream>

#include "Eigen/Core"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/base/logging.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/tensor_summary.h"

namespace tessera {
namespace {

// Hands its input on unless it holds NaN or an infinity.
class CheckNumericsKernel : public OpKernel {
 public:
  explicit CheckNumericsKernel(const KernelBuild& build)
      : message_(build.attr<std::string>("message")),
        has_signs_(build.op().name == "CheckNumericsV2") {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    Found found;
    switch (input.dtype()) {
      case DType::kFloat:
        found = Search<float>(input);
        break;
      case DType::kDouble:
        found = Search<double>(input);
        break;
      case DType::kHalf:
        found = Search<Eigen::half>(input);
        break;
      default:
        found = Search<Eigen::bfloat16>(input);
        break;
    }
    if (found.nan || found.negative || found.positive) {
      return absl::InvalidArgumentError(
          absl::StrCat(message_, " : Tensor had ", Names(found), " values"));
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  struct Found {
    bool nan = false, negative = false, positive = false;  // the latter are infinities
  };
  // Returns "-Inf, +Inf, and NaN", or the part of it that was found; without signs "Inf and NaN".
  std::string Names(const Found& found) const {
    std::vector<absl::string_view> names;
    if (has_signs_ && found.negative) names.push_back("-Inf");
    if (has_signs_ && found.positive) names.push_back("+Inf");
    if (!has_signs_ && (found.negative || found.positive)) names.push_back("Inf");
    if (found.nan) names.push_back("NaN");
    if (names.size() == 3) return absl::StrCat(names[0], ", ", names[1], ", and ", names[2]);
    return absl::StrJoin(names, " and ");
  }
  template <typename T>
  static Found Search(const Tensor& input) {
    Found found;
    for (const T& value : input.flat<T>()) {
      const double x = static_cast<double>(value);
      if (std::isfinite(x)) [[likely]]
        continue;
      (std::isnan(x) ? found.nan : x < 0 ? found.negative : found.positive) = true;
    }
    return found;
  }

  const std::string message_;
  const bool has_signs_;
};
REGISTER_KERNEL("CheckNumerics", kCpu, CheckNumericsKernel);
REGISTER_KERNEL("CheckNumericsV2", kCpu, CheckNumericsKernel);

// Ends the step with INVALID_ARGUMENT and the data if the condition is false.
class AssertKernel : public OpKernel {
 public:
  explicit AssertKernel(const KernelBuild& build) : summarize_(build.attr<int64_t>("summarize")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& condition = ctx.input(0);
    if (!condition.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the condition must be a scalar, has shape ", condition.shape().ToString()));
    }
    if (condition.scalar<bool>()) return absl::OkStatus();
    std::string data;
    for (int i = 1; i < ctx.num_inputs(); ++i) {
      absl::StrAppend(&data, i > 1 ? " " : "", "[", SummarizeFirst(ctx.input(i), summarize_), "]");
    }
    return absl::InvalidArgumentError(absl::StrCat("assertion failed: ", data));
  }

 private:
  const int64_t summarize_;
};
REGISTER_KERNEL("Assert", kAnyDevice, AssertKernel).HostMemory("condition").HostMemory("data");

// Prints data to stderr, the first `first_n` times (-1: always), and hands input 0 on.
class PrintKernel : public OpKernel {
 public:
  explicit PrintKernel(const KernelBuild& build)
      : message_(build.attr<std::string>("message")),
        first_n_(build.attr<int64_t>("first_n")),
        summarize_(build.attr<int64_t>("summarize")) {}
  absl::Status Compute(KernelContext& ctx) override {
    if (first_n_ < 0 || printed_.fetch_add(1) < first_n_) {
      std::string line = message_;
      for (int i = 1; i < ctx.num_inputs(); ++i) {
        absl::StrAppend(&line, "[", SummarizeFirst(ctx.input(i), summarize_), "]");
      }
      line += '\n';
      std::cerr << line;
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  const std::string message_;
  const int64_t first_n_, summarize_;
  std::atomic<int64_t> printed_{0};
};
REGISTER_KERNEL("Print", kCpu, PrintKernel);

// Writes a string to where `output_stream` says: stderr, stdout, the log, or "file://PATH".
class PrintV2Kernel : public OpKernel {
 public:
  explicit PrintV2Kernel(const KernelBuild& build)
      : stream_(build.attr<std::string>("output_stream")), end_(build.attr<std::string>("end")) {
    for (absl::string_view known :
         {"stderr", "stdout", "log(info)", "log(warning)", "log(error)"}) {
      if (stream_ == known) return;
    }
    if (!absl::StartsWith(stream_, kFilePrefix)) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("output_stream '", stream_,
                       "' must be stderr, stdout, log(info), log(warning), log(error) or "
                       "file://PATH")));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must be a scalar, has shape ", input.shape().ToString()));
    }
    const std::string line = absl::StrCat(input.scalar<std::string>(), end_);
    absl::string_view path = stream_;
    if (stream_ == "stderr") {
      std::cerr << line;
    } else if (stream_ == "stdout") {
      std::cout << line << std::flush;
    } else if (stream_ == "log(info)") {
      LOG(INFO) << line;
    } else if (stream_ == "log(warning)") {
      LOG(WARNING) << line;
    } else if (stream_ == "log(error)") {
      LOG(ERROR) << line;
    } else if (absl::ConsumePrefix(&path, kFilePrefix)) {
      std::ofstream file(std::string(path), std::ios::app);
      if (!(file << line)) {
        return absl::UnavailableError(absl::StrCat("cannot write to ", path));
      }
    }
    return absl::OkStatus();
  }

 private:
  static constexpr absl::string_view kFilePrefix = "file://";
  const std::string stream_, end_;
};
REGISTER_KERNEL("PrintV2", kCpu, PrintV2Kernel);

}  // namespace
}  // namespace tessera
