#include "runtime/kernels/random/random_state.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr char kContainer[] = "random_states";
constexpr char kTypeName[] = "random_state";

absl::StatusOr<IntrusivePtr<RandomState>> FindOrMake(ResourceManager& resources,
                                                     const std::string& name,
                                                     const Philox& generator) {
  ASSIGN_OR_RETURN(
      const IntrusivePtr<Resource> resource,
      resources.LookupOrCreate(
          kContainer, kTypeName, name, [&]() -> absl::StatusOr<IntrusivePtr<Resource>> {
            return IntrusivePtr<Resource>(MakeRefCounted<RandomState>(generator));
          }));
  return IntrusivePtr<RandomState>(static_cast<RandomState*>(resource.get()));
}

}  // namespace

absl::StatusOr<IntrusivePtr<RandomState>> RandomState::Take(ResourceManager& resources,
                                                            const std::string& name,
                                                            const Philox& generator) {
  for (int i = 0;; ++i) {
    const std::string key = i == 0 ? name : absl::StrCat(name, "#", i);
    ASSIGN_OR_RETURN(IntrusivePtr<RandomState> state, FindOrMake(resources, key, generator));
    if (state->TryTake(generator)) return state;
  }
}

bool RandomState::TryTake(const Philox& generator) {
  absl::MutexLock lock(&mu_);
  if (is_taken_) return false;
  if (!is_restored_) generator_ = generator;
  is_taken_ = true;
  is_restored_ = false;
  return true;
}

void RandomState::Release() {
  absl::MutexLock lock(&mu_);
  is_taken_ = false;
}

Philox RandomState::Reserve(uint64_t blocks) {
  absl::MutexLock lock(&mu_);
  const Philox current = generator_;
  generator_.Skip(blocks);
  return current;
}

Philox RandomState::Get() const {
  absl::MutexLock lock(&mu_);
  return generator_;
}

void RandomState::Restore(const Philox& generator) {
  absl::MutexLock lock(&mu_);
  generator_ = generator;
  is_restored_ = true;
}

absl::StatusOr<RandomStates> ReadRandomStates(const ResourceManager& resources,
                                              Allocator* allocator) {
  std::map<std::string, Philox> states;
  resources.ForEach([&](const std::string&, const std::string& type, const std::string& name,
                        Resource& resource) {
    if (type == kTypeName) states.emplace(name, static_cast<RandomState&>(resource).Get());
  });
  const auto count = static_cast<int64_t>(states.size());
  RandomStates all;
  ASSIGN_OR_RETURN(all.names, Tensor::Allocate(DType::kString, {count}, allocator));
  ASSIGN_OR_RETURN(all.generators, Tensor::Allocate(DType::kUint64, {count, 3}, allocator));
  auto* name_of = all.names.data<std::string>();
  auto* words = all.generators.data<uint64_t>();
  for (const auto& [name, generator] : states) {
    *name_of++ = name;
    *words++ = generator.key();
    *words++ = generator.counter_low();
    *words++ = generator.counter_high();
  }
  return all;
}

absl::Status WriteRandomStates(const RandomStates& states, ResourceManager& resources) {
  const int64_t count = states.names.num_elements();
  if (states.names.dtype() != DType::kString || states.generators.dtype() != DType::kUint64 ||
      states.generators.shape() != Shape{count, 3}) {
    return absl::InvalidArgumentError("the states of random ops must be string[n], uint64[n, 3]");
  }
  const auto words = states.generators.flat<uint64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const Philox generator(words[3 * i], words[3 * i + 1], words[3 * i + 2]);
    ASSIGN_OR_RETURN(const IntrusivePtr<RandomState> state,
                     FindOrMake(resources, states.names.flat<std::string>()[i], generator));
    state->Restore(generator);
  }
  return absl::OkStatus();
}

}  // namespace tessera
