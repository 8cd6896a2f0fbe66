// Random calls of single ops, made from the declarations of the ops and from recorded calls.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/framework/op.h"
#include "tests/random_cases/random.h"
#include "tests/random_cases/recorded_calls.h"

namespace tessera {

// A call of an op: complete attributes, and a value for each input. An input that no feed can give,
// a resource, variant or reference, has no value.
struct Call {
  const OpDef* op = nullptr;
  AttrMap attrs;
  std::vector<DType> input_types;
  std::vector<Tensor> inputs;
};

// A tensor that is to be an input of the next call.
struct GivenInput {
  DType dtype;
  Shape shape;
};

struct CallOptions {
  // Also draws what no op accepts: huge sizes, negative indices, wrong ranks, extreme numbers.
  bool hostile = false;
  // The names of functions that attributes may name.
  std::vector<std::string> functions;
};

// Makes calls. An op with recorded calls gets variations of them, whose dtypes, sizes, values and
// attributes differ, for part of its calls; the other part, and every call of other ops, follows
// from the declaration, the names of its arguments and its shape function. Used by one thread at a
// time.
class CallMaker {
 public:
  // `recorded` must outlive this object.
  CallMaker(const RecordedCalls* recorded, CallOptions options)
      : recorded_(*recorded), options_(std::move(options)) {}

  bool is_hostile() const { return options_.hostile; }

  // Returns a call of the op, or none if its attributes admit no call that a kernel is registered
  // for. With `given`, the first input has its dtype and shape, and no value.
  std::optional<Call> Make(Random& random, const OpDef& op,
                           const std::optional<GivenInput>& given = std::nullopt) const;

 private:
  std::optional<Call> Vary(Random& random, const OpDef& op, const RecordedCall& recorded) const;
  std::optional<Call> Invent(Random& random, const OpDef& op,
                             const std::optional<GivenInput>& given) const;
  void DisturbAttr(Random& random, const AttrDef& attr, AttrMap* attrs) const;

  const RecordedCalls& recorded_;
  const CallOptions options_;
};

// Returns whether a feed can give a tensor of the type.
bool CanFeed(DType dtype);

}  // namespace tessera
