// Seeds for ops that draw random numbers.
#pragma once

#include <cstdint>

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

// Gives each node that would draw other numbers in each session a seed, which depends on `seed` and
// the node's name, so that equal jobs draw equal numbers. Nodes with seeds keep them. Nodes in
// functions are included.
void SeedRandomOps(int64_t seed, tensorflow::GraphDef* graph);

}  // namespace tessera
