#include "runtime/optimize/control_flow.h"

namespace tessera {

bool HasControlFlow(const Graph& graph) {
  for (int id = 0; id < graph.id_bound(); ++id) {
    const Node* node = graph.node(id);
    if (node != nullptr && node->op().Has(OpTrait::kControlFlow)) return true;
  }
  return false;
}

}  // namespace tessera
