// For tests: graphs and functions in a notation that a reader takes in at a glance.
//
//   GraphDef graph = GraphFromText(R"(
//     def twice(x: float) -> (y: float):
//       sum = AddV2(x, x) {T: float}
//     return (y = sum:z:0)
//
//     v = VarHandleOp() {dtype: float, shape: <2, ?>}
//     read = ReadVariableOp(v, ^init) {dtype: float} on "/device:CPU:0"
//     call = PartitionedCall(read) {Tin: [float], Tout: [float], f: @twice}
//   )");
//
// A statement is a node or the definition of a function; line breaks mean nothing, and `#` begins a
// comment. `stateful def` marks a function as stateful, attributes of a function stand before its
// colon, and `return (^node)` names a control output. Values of attributes:
//
//   float, int32, resource   a dtype             true, -3, 1.5, "text"    bool, int, float, string
//   <2, ?>, <>, <*>          a shape; scalar;    @twice                   a function
//                            of unknown rank     [float, int32], []       a list
//   int32(7), float([1, 2])  a scalar; a vector  $T                       an attribute of the
//                                                                         function, as in
//                                                                         `def same(x: $T)`
#pragma once

#include "absl/strings/string_view.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

// The functions are in the graph's library. Aborts with the place of what it cannot read.
tensorflow::GraphDef GraphFromText(absl::string_view text);

}  // namespace tessera
