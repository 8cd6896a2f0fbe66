#include "tests/random_cases/argument_roles.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "tests/random_cases/random_tensor.h"

namespace tessera {
namespace {

// Longer inputs are of no use to any op, and would fill the memory.
constexpr int64_t kMostRows = 1000;

enum class Role {
  kData,      // the shape of most inputs
  kScalar,    // one number: a count, a rate
  kAxis,      // one axis of the other inputs
  kAxes,      // several
  kSizes,     // a size for each dimension
  kIndices,   // positions in the first dimension
  kSegments,  // ascending numbers of segments, one for each row
  kPaddings,  // two sizes for each dimension
  kPermutation,
  kSeed,      // two numbers
  kFactor,    // the right side of a matrix product
  kFilter,    // of a convolution
  kChannels,  // a number for each channel
};

Role RoleOf(const std::string& name, DType dtype) {
  static const auto* const of_numbers =
      new absl::flat_hash_map<std::string, Role>{{"lr", Role::kScalar},
                                                 {"alpha", Role::kScalar},
                                                 {"momentum", Role::kScalar},
                                                 {"beta1", Role::kScalar},
                                                 {"beta2", Role::kScalar},
                                                 {"beta1_power", Role::kScalar},
                                                 {"beta2_power", Role::kScalar},
                                                 {"epsilon", Role::kScalar},
                                                 {"rho", Role::kScalar},
                                                 {"l1", Role::kScalar},
                                                 {"l2", Role::kScalar},
                                                 {"l2_shrinkage", Role::kScalar},
                                                 {"lr_power", Role::kScalar},
                                                 {"start", Role::kScalar},
                                                 {"stop", Role::kScalar},
                                                 {"limit", Role::kScalar},
                                                 {"delta", Role::kScalar},
                                                 {"min", Role::kScalar},
                                                 {"max", Role::kScalar},
                                                 {"rate", Role::kScalar},
                                                 {"keep_prob", Role::kScalar},
                                                 {"on_value", Role::kScalar},
                                                 {"off_value", Role::kScalar},
                                                 {"default_value", Role::kScalar},
                                                 {"clip_value_min", Role::kScalar},
                                                 {"clip_value_max", Role::kScalar},
                                                 {"constant_values", Role::kScalar},
                                                 {"size", Role::kScalar},
                                                 {"b", Role::kFactor},
                                                 {"filter", Role::kFilter},
                                                 {"bias", Role::kChannels},
                                                 {"offset", Role::kChannels},
                                                 {"mean", Role::kChannels},
                                                 {"variance", Role::kChannels}};
  static const auto* const of_integers =
      new absl::flat_hash_map<std::string, Role>{{"axis", Role::kAxis},
                                                 {"axes", Role::kAxes},
                                                 {"dim", Role::kAxis},
                                                 {"dims", Role::kSizes},
                                                 {"dimension", Role::kAxis},
                                                 {"concat_dim", Role::kAxis},
                                                 {"split_dim", Role::kAxis},
                                                 {"reduction_axes", Role::kAxes},
                                                 {"reduction_indices", Role::kAxes},
                                                 {"shape", Role::kSizes},
                                                 {"size", Role::kSizes},
                                                 {"sizes", Role::kSizes},
                                                 {"multiples", Role::kSizes},
                                                 {"input_shape", Role::kSizes},
                                                 {"input_sizes", Role::kSizes},
                                                 {"filter_sizes", Role::kSizes},
                                                 {"output_shape", Role::kSizes},
                                                 {"output_size", Role::kSizes},
                                                 {"dense_shape", Role::kSizes},
                                                 {"element_shape", Role::kSizes},
                                                 {"orig_input_shape", Role::kSizes},
                                                 {"block_shape", Role::kSizes},
                                                 {"begin", Role::kSizes},
                                                 {"end", Role::kSizes},
                                                 {"strides", Role::kSizes},
                                                 {"indices", Role::kIndices},
                                                 {"segment_ids", Role::kSegments},
                                                 {"num_segments", Role::kScalar},
                                                 {"num_split", Role::kScalar},
                                                 {"num_samples", Role::kScalar},
                                                 {"num_elements", Role::kScalar},
                                                 {"depth", Role::kScalar},
                                                 {"index", Role::kScalar},
                                                 {"k", Role::kScalar},
                                                 {"n", Role::kScalar},
                                                 {"num_lower", Role::kScalar},
                                                 {"num_upper", Role::kScalar},
                                                 {"num_bits", Role::kScalar},
                                                 {"max_output_size", Role::kScalar},
                                                 {"paddings", Role::kPaddings},
                                                 {"crops", Role::kPaddings},
                                                 {"perm", Role::kPermutation},
                                                 {"seed", Role::kSeed},
                                                 {"key", Role::kSeed},
                                                 {"counter", Role::kSeed}};
  if (IsInteger(dtype)) {
    if (const auto it = of_integers->find(name); it != of_integers->end()) return it->second;
  }
  const auto it = of_numbers->find(name);
  return it == of_numbers->end() ? Role::kData : it->second;
}

Tensor Integers(Random& random, DType dtype, const std::vector<int64_t>& values) {
  return ConvertedTensor(random, Tensor::Vector<int64_t>(values), dtype);
}

Tensor InRole(Random& random, Role role, DType dtype, const Shape& base, ElementChoice choice) {
  const int64_t rank = base.rank();
  const int64_t rows = rank == 0 ? 1 : base.dim(0);
  std::vector<int64_t> values;
  switch (role) {
    case Role::kData:
      return RandomTensor(random, dtype, RelatedShape(random, base), choice);
    case Role::kScalar:
      choice.low = 0;
      choice.high = 5;
      return RandomTensor(random, dtype, {}, choice);
    case Role::kAxis:
      choice.low = static_cast<double>(-rank);
      choice.high = static_cast<double>(std::max<int64_t>(rank - 1, 0));
      return RandomTensor(random, dtype, {}, choice);
    case Role::kAxes:
      for (int64_t axis = 0; axis < rank; ++axis) {
        if (random.Chance(0.4)) values.push_back(random.Chance(0.2) ? axis - rank : axis);
      }
      return Integers(random, dtype, values);
    case Role::kSizes:
      for (int64_t dim : base.dims()) values.push_back(random.Chance(0.6) ? dim : random.Below(4));
      return Integers(random, dtype, values);
    case Role::kIndices:
      choice.low = 0;
      choice.high = static_cast<double>(std::max<int64_t>(rows - 1, 0));
      return RandomTensor(random, dtype, RandomShape(random, 2), choice);
    case Role::kSegments:
      for (int64_t i = 0; i < std::min(rows, kMostRows); ++i) values.push_back(random.Below(rows));
      std::sort(values.begin(), values.end());
      return Integers(random, dtype, values);
    case Role::kPaddings:
      choice.low = 0;
      choice.high = 2;
      return RandomTensor(random, dtype, {rank, 2}, choice);
    case Role::kPermutation:
      values.resize(rank);
      std::iota(values.begin(), values.end(), 0);
      for (int64_t i = rank; i > 1; --i) std::swap(values[i - 1], values[random.Below(i)]);
      return Integers(random, dtype, values);
    case Role::kSeed:
      choice.low = 0;
      choice.high = 1000;
      return RandomTensor(random, dtype, {2}, choice);
    case Role::kFactor: {
      Shape shape = RelatedShape(random, base);
      if (rank >= 2 && random.Chance(0.7)) {
        shape = base;
        shape.SetDim(static_cast<int>(rank) - 2, base.dim(static_cast<int>(rank) - 1));
        shape.SetDim(static_cast<int>(rank) - 1, RandomDim(random));
      }
      return RandomTensor(random, dtype, shape, choice);
    }
    case Role::kFilter: {
      if (rank < 3 || random.Chance(0.2)) {
        return RandomTensor(random, dtype, RelatedShape(random, base), choice);
      }
      Shape shape;
      for (int i = 0; i < rank - 2; ++i) shape.AddDim(random.Between(1, 3));
      shape.AddDim(base.dim(static_cast<int>(rank) - 1));
      shape.AddDim(random.Between(1, 5));
      return RandomTensor(random, dtype, shape, choice);
    }
    case Role::kChannels: {
      if (rank == 0 || random.Chance(0.3)) {
        return RandomTensor(random, dtype, RelatedShape(random, base), choice);
      }
      const int channels = random.Chance(0.8) ? static_cast<int>(rank) - 1 : rank > 1;
      return RandomTensor(random, dtype, {base.dim(channels)}, choice);
    }
  }
  return Tensor();
}

}  // namespace

Shape RelatedShape(Random& random, const Shape& base) {
  if (random.Chance(0.6)) return base;
  if (random.Chance(0.4)) return RandomShape(random, 4);
  Shape shape;
  const int64_t dropped = random.Below(base.rank() + 1);
  for (int i = static_cast<int>(dropped); i < base.rank(); ++i) {
    shape.AddDim(random.Chance(0.3) ? 1 : base.dim(i));
  }
  return shape;
}

Tensor RandomInput(Random& random, const ArgDef& arg, DType dtype, const Shape& base,
                   bool hostile) {
  ElementChoice choice;
  choice.hostile = hostile && random.Chance(0.3);
  const Role role = random.Chance(0.93) ? RoleOf(arg.name, dtype) : Role::kData;
  return InRole(random, role, dtype, base, choice);
}

bool GivesSizes(const ArgDef& arg) { return RoleOf(arg.name, DType::kInt32) == Role::kSizes; }

}  // namespace tessera
