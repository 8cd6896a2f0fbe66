// Datasets that group elements by a key which a function gives: GroupByWindowDataset,
// GroupByReducerDataset.
#include <map>

#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data/elements_dataset.h"
#include "runtime/kernels/host_values.h"

namespace tessera {
namespace {

// A dataset that calls functions for groups of another's elements, by an iterator of type I.
template <typename F, typename I>
class GroupDataset final : public UnaryDataset {
 public:
  using Functions = F;
  GroupDataset(const DatasetPtr& input, ElementSpec spec, Functions functions,
               int64_t cardinality = kUnknown)
      : UnaryDataset(input, std::move(spec), cardinality), functions_(std::move(functions)) {}
  std::unique_ptr<Iterator> MakeIterator() const override {
    return std::make_unique<I>(Share<GroupDataset>());
  }
  const Functions& functions() const { return functions_; }

 private:
  const Functions functions_;
};

struct WindowFunctions {
  FunctionPtr key, reduce, window_size;
  Allocator* allocator = nullptr;  // of their arguments, the host's
};
using GroupByWindowDataset = GroupDataset<WindowFunctions, class GroupByWindowIterator>;

// Collects elements by their keys until there are as many of one as its window takes, gives what
// the reducing function makes of them, and goes on. What is left at the end follows in the order of
// keys.
class GroupByWindowIterator final : public UnaryIterator<GroupByWindowDataset> {
 public:
  using UnaryIterator::UnaryIterator;

  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Flag("input_ended", &input_ended_));
    RETURN_IF_ERROR(archive.SignedNumber("current_key", &current_key_));
    RETURN_IF_ERROR(TransferElements(archive, "current", &current_elements_));
    RETURN_IF_ERROR(archive.Position("reduced", &current_, [&] { return Reduce(archive.step()); }));
    int64_t num_groups = static_cast<int64_t>(groups_.size());
    RETURN_IF_ERROR(archive.Number("groups", &num_groups));
    auto group = groups_.begin();
    for (int64_t i = 0; i < num_groups; ++i) {
      IteratorArchive::Scope scope(archive, absl::StrCat("group", i));
      int64_t key = archive.restoring() ? 0 : group->first;
      RETURN_IF_ERROR(archive.SignedNumber("key", &key));
      if (archive.restoring()) group = groups_.emplace(key, Group()).first;
      RETURN_IF_ERROR(archive.Number("window_size", &group->second.window_size));
      RETURN_IF_ERROR(TransferElements(archive, "elements", &group->second.elements));
      ++group;
    }
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    while (true) {
      if (current_ != nullptr) {
        // As in a flat map, datasets whose functions make datasets like themselves end.
        StepContext nested = step;
        nested.call_depth += current_depth_;
        ASSIGN_OR_RETURN(const bool more, current_->Next(nested, element));
        if (more) return true;
        current_ = nullptr;
        current_elements_.clear();
      }
      if (!input_ended_) {
        RETURN_IF_ERROR(Collect(step));
        continue;
      }
      while (!groups_.empty() && groups_.begin()->second.elements.empty()) {
        groups_.erase(groups_.begin());
      }
      if (groups_.empty()) return false;
      RETURN_IF_ERROR(Begin(step, groups_.begin()));
    }
  }

 private:
  struct Group {
    int64_t window_size = 0;
    std::vector<Element> elements;
  };
  using Groups = std::map<int64_t, Group>;

  static absl::Status TransferElements(IteratorArchive& archive, absl::string_view name,
                                       std::vector<Element>* elements) {
    IteratorArchive::Scope scope(archive, name);
    int64_t size = static_cast<int64_t>(elements->size());
    RETURN_IF_ERROR(archive.Number("size", &size));
    for (int64_t i = 0; i < size; ++i) {
      if (archive.restoring()) elements->emplace_back();
      RETURN_IF_ERROR(archive.Tensors(absl::StrCat(i), &(*elements)[i]));
    }
    return absl::OkStatus();
  }

  // Reads up to the element that completes a window.
  absl::Status Collect(StepContext& step) {
    const auto& functions = dataset().functions();
    while (true) {
      Element next;
      ASSIGN_OR_RETURN(const bool more, input().Next(step, &next));
      if (!more) {
        input_ended_ = true;
        return absl::OkStatus();
      }
      ASSIGN_OR_RETURN(const int64_t key, functions.key->Number(step, next, "`key_func`"));
      const auto group = groups_.emplace(key, Group()).first;
      if (group->second.window_size == 0) {
        ASSIGN_OR_RETURN(Tensor group_key, ScalarIn(functions.allocator, key));
        ASSIGN_OR_RETURN(
            const int64_t size,
            functions.window_size->Number(step, {std::move(group_key)}, "`window_size_func`"));
        if (size <= 0) {
          return absl::InvalidArgumentError(
              absl::StrCat("Window size must be greater than zero, but got ", size, "."));
        }
        group->second.window_size = size;
      }
      group->second.elements.push_back(std::move(next));
      if (static_cast<int64_t>(group->second.elements.size()) == group->second.window_size) {
        return Begin(step, group);
      }
    }
  }

  // Begins with the elements of a group.
  absl::Status Begin(StepContext& step, Groups::iterator group) {
    current_key_ = group->first;
    current_elements_ = std::move(group->second.elements);
    group->second.elements.clear();
    ASSIGN_OR_RETURN(current_, Reduce(step));
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Iterator>> Reduce(StepContext& step) {
    auto window = std::make_shared<ElementsDataset>(dataset().input().spec(), current_elements_);
    const auto& functions = dataset().functions();
    ASSIGN_OR_RETURN(Tensor key, ScalarIn(functions.allocator, current_key_));
    ASSIGN_OR_RETURN(
        const DatasetPtr reduced,
        functions.reduce->MakeDataset(step, {std::move(key), DatasetTensor(std::move(window))},
                                      dataset().spec()));
    current_depth_ = reduced->depth();
    return reduced->MakeIterator();
  }

  Groups groups_;
  std::unique_ptr<Iterator> current_;  // over what was made of the window at hand; null: none
  int current_depth_ = 0;
  int64_t current_key_ = 0;
  std::vector<Element> current_elements_;
  bool input_ended_ = false;
};

class GroupByWindowKernel final : public DatasetKernel {
 public:
  explicit GroupByWindowKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        key_(build, "key_func", "key_func_other_arguments"),
        reduce_(build, "reduce_func", "reduce_func_other_arguments"),
        window_size_(build, "window_size_func", "window_size_func_other_arguments") {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    GroupByWindowDataset::Functions functions;
    ASSIGN_OR_RETURN(functions.key, key_.Capture(ctx, input->num_components(), 1));
    ASSIGN_OR_RETURN(functions.reduce, reduce_.Capture(ctx, 2, 1));
    ASSIGN_OR_RETURN(functions.window_size, window_size_.Capture(ctx, 1, 1));
    functions.allocator = ctx.host_allocator();
    const bool is_infinite = input->cardinality() == Dataset::kInfinite;
    return std::make_shared<GroupByWindowDataset>(
        input, spec_, std::move(functions), is_infinite ? Dataset::kInfinite : Dataset::kUnknown);
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr key_, reduce_, window_size_;
};
REGISTER_KERNEL("GroupByWindowDataset", kCpu, GroupByWindowKernel);
REGISTER_KERNEL("ExperimentalGroupByWindowDataset", kCpu, GroupByWindowKernel);

struct ReducerFunctions {
  FunctionPtr key, init, reduce, finalize;
  Allocator* allocator = nullptr;  // of their arguments, the host's
};
using GroupByReducerDataset = GroupDataset<ReducerFunctions, class GroupByReducerIterator>;

// Folds all elements of each key into a state, and then gives what is made of the states, in the
// order of the keys.
class GroupByReducerIterator final : public UnaryIterator<GroupByReducerDataset> {
 public:
  using UnaryIterator::UnaryIterator;
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    RETURN_IF_ERROR(archive.Flag("input_ended", &input_ended_));
    int64_t num_states = static_cast<int64_t>(states_.size());
    RETURN_IF_ERROR(archive.Number("states", &num_states));
    auto state = states_.begin();
    for (int64_t i = 0; i < num_states; ++i) {
      IteratorArchive::Scope scope(archive, absl::StrCat("state", i));
      int64_t key = archive.restoring() ? 0 : state->first;
      RETURN_IF_ERROR(archive.SignedNumber("key", &key));
      if (archive.restoring()) state = states_.emplace(key, Element()).first;
      RETURN_IF_ERROR(archive.Tensors("value", &state->second));
      ++state;
    }
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    while (!input_ended_) RETURN_IF_ERROR(Fold(step));
    if (states_.empty()) return false;
    Element state = std::move(states_.begin()->second);
    states_.erase(states_.begin());
    RETURN_IF_ERROR(dataset().functions().finalize->Call(step, std::move(state), element));
    RETURN_IF_ERROR(dataset().spec().CheckTypes(*element));
    return true;
  }

 private:
  absl::Status Fold(StepContext& step) {
    const auto& functions = dataset().functions();
    Element next;
    ASSIGN_OR_RETURN(const bool more, input().Next(step, &next));
    if (!more) {
      input_ended_ = true;
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const int64_t key, functions.key->Number(step, next, "`key_func`"));
    const auto [state, is_new] = states_.emplace(key, Element());
    if (is_new) {
      ASSIGN_OR_RETURN(Tensor group_key, ScalarIn(functions.allocator, key));
      RETURN_IF_ERROR(functions.init->Call(step, {std::move(group_key)}, &state->second));
    }
    // The state stays as it is if the function fails.
    Element args = state->second;
    for (Tensor& component : next) args.push_back(std::move(component));
    Element reduced;
    RETURN_IF_ERROR(functions.reduce->Call(step, std::move(args), &reduced));
    state->second = std::move(reduced);
    return absl::OkStatus();
  }

  std::map<int64_t, Element> states_;
  bool input_ended_ = false;
};

class GroupByReducerKernel final : public DatasetKernel {
 public:
  explicit GroupByReducerKernel(const KernelBuild& build)
      : spec_(SpecOf(build)),
        key_(build, "key_func", "key_func_other_arguments"),
        init_(build, "init_func", "init_func_other_arguments"),
        reduce_(build, "reduce_func", "reduce_func_other_arguments"),
        finalize_(build, "finalize_func", "finalize_func_other_arguments") {}

 protected:
  absl::StatusOr<DatasetPtr> Make(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
    GroupByReducerDataset::Functions functions;
    ASSIGN_OR_RETURN(functions.key, key_.Capture(ctx, input->num_components(), 1));
    ASSIGN_OR_RETURN(functions.init, init_.Capture(ctx, 1));
    const int state_size = functions.init->num_results();
    ASSIGN_OR_RETURN(functions.reduce,
                     reduce_.Capture(ctx, state_size + input->num_components(), state_size));
    ASSIGN_OR_RETURN(functions.finalize,
                     finalize_.Capture(ctx, state_size, static_cast<int>(spec_.dtypes.size())));
    functions.allocator = ctx.host_allocator();
    return std::make_shared<GroupByReducerDataset>(input, spec_, std::move(functions));
  }

 private:
  const ElementSpec spec_;
  const FunctionAttr key_, init_, reduce_, finalize_;
};
REGISTER_KERNEL("GroupByReducerDataset", kCpu, GroupByReducerKernel);
REGISTER_KERNEL("ExperimentalGroupByReducerDataset", kCpu, GroupByReducerKernel);

}  // namespace
}  // namespace tessera
