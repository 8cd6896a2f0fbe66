// The nodes that make the fields of a batch out of its records.
#pragma once

#include <vector>

#include "runtime/training/gradients/graph_builder.h"
#include "runtime/training/pipeline/pipeline_plan.h"

namespace tessera {

// Adds the nodes to the graph of `records`, strings: a vector of records, or a scalar if
// plan.IsParsedOneByOne(). Returns a value for each field, with as many rows, or one example.
std::vector<Expr> FieldsOfRecords(const PipelinePlan& plan, const Expr& records);

// Adds the nodes that give a stored value of a field its scale, its offset and the output's dtype.
Expr Converted(const FieldPlan& field, Expr value);

}  // namespace tessera
