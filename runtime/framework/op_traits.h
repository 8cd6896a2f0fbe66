// Op traits: what a node does to the world besides computing its outputs.
#pragma once

#include <cstdint>

namespace tessera {

// A fact about every node of an op. Passes and the server decide by these facts which nodes they
// may fold, merge, drop, reorder, freeze, or run on their own accord; they know no op by its name
// for it.
//
// "Outside" is everything that no input names: files, the clock, the environment, the terminal,
// other tasks, and state of the process that only attributes name.
//
// An op that is not stateful and has no trait is a pure function of its inputs and attributes.
// A stateful op without any trait is kUndeclared.
enum class OpTrait : uint8_t {
  // Stateful by declaration, because TensorFlow declares it so, and yet its outputs depend on its
  // inputs and attributes alone. It may be dropped and reordered. It is neither folded nor merged.
  kComputesOnly,
  // Gives a handle that its attributes name; the resource is touched by the users of the handle
  // only. It may run at any time, and may be dropped.
  kMakesHandle,
  // Finds or creates the resource whose handle or reference it gives. Whether it has run can be
  // seen through that handle only: it may be dropped, and run once more, but must stay behind
  // whatever may destroy the resource.
  kMakesResource,
  // The resources that it makes, reads or writes belong to the step. A step more cannot be noticed
  // through them.
  kOwnedByStep,
  // The outputs depend on the outside. It is never folded or merged, and stays behind the writers
  // that it waits for. It may be dropped.
  kReadsOutside,
  // Changes the outside. It is never dropped, repeated, or moved across a reader of state.
  kWritesOutside,
  // Draws from a random generator that the node owns. It is never folded, merged, or run once more,
  // since the numbers that come next would be others. It may be dropped.
  kRandom,
  // Waits for what another node, run or task does. It is never folded, and the server does not run
  // it on its own accord, for want of whoever would end the waiting.
  kMayWait,
  // Fails on purpose when its inputs are wrong. It is never dropped.
  kAsserts,
  // The v1 control flow, whose values depend on the frame and may be dead. Passes that do not know
  // frames leave these nodes, and graphs that have them, alone.
  kControlFlow,
  // The value comes from the feeds of a run or the caller of a function. It is never folded or
  // merged. It is the same for the whole step, so nothing needs to wait for it or before it.
  kFromCaller,
  // Calls functions that its attributes of type `func` or `list(func)` name, any number of times,
  // and does nothing else. It has the effects of those functions.
  kCallsFunctions,
  // The same in a loop: results of one call are arguments of the next.
  kLoopsFunctions,

  // The rest is derived from the uses of arguments, see ArgUse, and is not declared by itself.

  // Reads a resource, or has a reference among its inputs or outputs. It is never folded or merged,
  // and stays between the writers before and after it. It may be dropped.
  kReadsResource,
  // Writes a resource. It is never dropped, or moved across other users of resources.
  kWritesResource,
  // A stateful op that declares no trait, or an op that does not declare how it uses a resource or
  // a reference that it takes. It may do anything: no pass touches it.
  kUndeclared,
};

// The use that an op makes of an argument. Plain tensors need no declaration. A resource or a
// reference without one counts as written, and as handed on to every output; so does an argument of
// any type that turns out to be a resource in a node.
enum class ArgUse : uint8_t {
  kUndeclared,
  // Looks at what the handle or reference names. No output gives the handle.
  kRead,
  // Changes what the handle or reference names. Any output may give the handle.
  kWritten,
  // Output i is the argument's tensor i, unchanged. A node that does nothing else may be replaced
  // by its inputs. Handles flow through.
  kForwarded,
  // The argument's tensors are handed on unchanged; which output gets which, and when, depends on
  // other inputs, on the frame, or on the caller. Handles flow through to every output.
  kRouted,
  // The argument's tensor i is the argument i of the functions that the op calls.
  kPassed,
};

// A set of traits.
class OpTraits {
 public:
  constexpr OpTraits() = default;
  template <typename... Traits>
  constexpr explicit OpTraits(Traits... traits) {
    (Add(traits), ...);
  }
  constexpr void Add(OpTrait trait) { bits_ |= uint32_t{1} << static_cast<int>(trait); }
  constexpr bool Has(OpTrait trait) const { return (bits_ >> static_cast<int>(trait) & 1) != 0; }
  constexpr bool HasAnyOf(OpTraits traits) const { return (bits_ & traits.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(OpTraits, OpTraits) = default;

 private:
  uint32_t bits_ = 0;
};

}  // namespace tessera
