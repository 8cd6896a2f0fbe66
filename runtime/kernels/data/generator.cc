// GeneratorDataset: the elements that a function gives until it ends by OUT_OF_RANGE.
#include "runtime/kernels/data/dataset_kernel.h"

namespace tessera {
namespace {

class GeneratorDataset final : public Dataset {
 public:
  struct Functions {
    FunctionPtr init, next, finalize;
  };
  GeneratorDataset(ElementSpec spec, Functions functions)
      : Dataset(std::move(spec), kUnknown), functions_(std::move(functions)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const Functions& functions() const { return functions_; }

 private:
  const Functions functions_;
};

// The function that finalises is called at the end of the elements; not for an iterator that is
// given up before, which has no step to call it in.
class GeneratorIterator final : public Iterator {
 public:
  explicit GeneratorIterator(std::shared_ptr<const GeneratorDataset> dataset)
      : dataset_(std::move(dataset)) {}

  // The state is a value, but what it stands for need not be.
  absl::Status Transfer(IteratorArchive&) override {
    return absl::UnimplementedError("GeneratorDataset does not support checkpointing.");
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (ended_) return false;
    const auto& functions = dataset_->functions();
    if (!started_) RETURN_IF_ERROR(functions.init->Call(step, {}, &state_));
    started_ = true;
    ASSIGN_OR_RETURN(const bool has_element,
                     MapOutcome(functions.next->Call(step, state_, element), false));
    if (has_element) {
      RETURN_IF_ERROR(dataset_->spec().CheckTypes(*element));
      return true;
    }
    ended_ = true;
    Element ignored;
    RETURN_IF_ERROR(functions.finalize->Call(step, std::move(state_), &ignored));
    return false;
  }

 private:
  const std::shared_ptr<const GeneratorDataset> dataset_;
  Element state_;  // what the function that initialises gave
  bool started_ = false, ended_ = false;
};

std::unique_ptr<Iterator> GeneratorDataset::MakeIterator() const {
  return std::make_unique<GeneratorIterator>(Share<GeneratorDataset>());
}

class GeneratorKernel final : public DatasetKernel {
 public:
  explicit GeneratorKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        init_(build, "init_func", "init_func_other_args"),
        next_(build, "next_func", "next_func_other_args"),
        finalize_(build, "finalize_func", "finalize_func_other_args") {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    GeneratorDataset::Functions functions;
    ASSIGN_OR_RETURN(functions.init, init_.Capture(ctx, 0));
    const int state_size = functions.init->num_results();
    ASSIGN_OR_RETURN(functions.next,
                     next_.Capture(ctx, state_size, static_cast<int>(spec_.dtypes.size())));
    ASSIGN_OR_RETURN(functions.finalize, finalize_.Capture(ctx, state_size));
    return std::make_shared<GeneratorDataset>(spec_, std::move(functions));
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr init_, next_, finalize_;
};
REGISTER_KERNEL("GeneratorDataset", kCpu, GeneratorKernel);

}  // namespace
}  // namespace tessera
