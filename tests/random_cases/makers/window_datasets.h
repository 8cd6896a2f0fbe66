// Steps that make windows over a dataset, and a dataset of what is in them.
#pragma once

#include <string>
#include <vector>

#include "tests/random_cases/sequence.h"

namespace tessera {

// The element of a dataset, and how many there are; -1 if that is not followed.
struct Elements {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  int64_t count = 0;
};

// The attributes by which ops on datasets declare their elements.
AttrMap ElementAttrs(const std::vector<DType>& types, const std::vector<PartialShape>& shapes);
inline AttrMap ElementAttrs(const Elements& elements) {
  return ElementAttrs(elements.types, elements.shapes);
}

// Gives each component another dimension.
void Enclose(int64_t dim, Elements* elements);

// Takes windows over `dataset`, and of each window its elements, one by one or in batches, or how
// many there are. The names of functions begin with `name`. Requires shapes that are fully defined.
void AddWindows(Sequence& sequence, const std::string& name, StepOutput* dataset,
                Elements* elements);

}  // namespace tessera
