#include "tests/conformance/ops_page.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/framework/device_name.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/op.h"

namespace tessera {
namespace {

using Names = std::set<std::string>;
// The dtypes of each type attribute. An attribute that is not there takes every dtype that the op's
// declaration allows.
using AttrDTypes = std::map<std::string, Names>;

constexpr char kIntroduction[] = R"(# Ops

This page is generated from the registry of kernels: `scripts/ops_page` writes it, and a test fails
when it is not current. `tessera inspect --ops DIR` tells which of them a model uses.

Dtypes are those that kernels are registered for, beside the name of the op's attribute; an op
without any takes all that its declaration allows. A kernel on *every device* touches no bytes of
its tensors by itself; one *by primitives* runs on each type of device that implements what it
computes with ([adding-an-op.md](adding-an-op.md)). Other kernels are the CPU's.

Ops of the package tensorflow-text have kernels, too, among them those of its tokenizers for BERT
(`WordpieceTokenizeWithOffsets`, `FastWordpieceTokenizeWithOffsets`, `FastBertNormalize`) and for
SentencePiece (`SentencepieceOp` and its kin; unigram and BPE models, without sampling): saved models
that contain them load without that package's library. Two have none: `SentenceFragments` and
`SentenceFragmentsV2`, which end sentences by tables, one of emoticons among them, that stand nowhere
but in that library's source.

All ops of TensorFlow Decision Forests and of ydf's exports have kernels
(`SimpleMLInferenceOpWithHandle` and its kin): random forests and gradient boosted trees for classes,
numbers, rankings and uplift.
Isolation forests are refused, as they are there; so are questions on sequences of vectors.

)";

struct Kernels {
  AttrDTypes dtypes;
  Names devices;
};

std::string DeviceOf(const KernelDef& kernel) {
  if (kernel.devices.Names(kCpu)) return "CPU";
  return kernel.devices.Names(kAnyDevice) ? "every device" : "by primitives";
}

// Returns the dtypes that one kernel takes for an attribute; nothing if it takes all.
const std::vector<DType>* Allowed(const KernelDef& kernel, const std::string& attr) {
  for (const TypeConstraint& constraint : kernel.constraints) {
    if (constraint.attr == attr) return &constraint.allowed;
  }
  return nullptr;
}

// Joins the registrations of each op. An attribute that some kernel does not constrain takes all.
std::map<std::string, Kernels> RegisteredKernels() {
  std::map<std::string, std::vector<const KernelDef*>> by_op;
  for (const KernelDef* kernel : KernelRegistry::Global().All()) {
    by_op[kernel->op].push_back(kernel);
  }
  std::map<std::string, Kernels> result;
  for (const auto& [op, kernels] : by_op) {
    Kernels& joined = result[op];
    for (const KernelDef* kernel : kernels) joined.devices.insert(DeviceOf(*kernel));
    for (const TypeConstraint& constraint : kernels[0]->constraints) {
      Names dtypes;
      bool takes_all = false;
      for (const KernelDef* kernel : kernels) {
        const std::vector<DType>* const allowed = Allowed(*kernel, constraint.attr);
        takes_all = takes_all || allowed == nullptr;
        if (allowed == nullptr) continue;
        for (const DType dtype : *allowed) dtypes.emplace(DTypeName(dtype));
      }
      if (!takes_all) joined.dtypes[constraint.attr] = dtypes;
    }
  }
  return result;
}

absl::StatusOr<std::map<std::string, AttrDTypes>> ParseTensorFlow(absl::string_view text) {
  std::map<std::string, AttrDTypes> result;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    AttrDTypes& dtypes = result[fields[0]];
    if (fields.size() == 1) continue;
    for (const absl::string_view item : absl::StrSplit(fields[1], ' ')) {
      const std::vector<std::string> sides = absl::StrSplit(item, '=');
      if (sides.size() != 2) {
        return absl::InvalidArgumentError(absl::StrCat("not ATTR=DTYPES: ", line));
      }
      dtypes[sides[0]] = absl::StrSplit(sides[1], ',');
    }
  }
  return result;
}

// The reasons in the order of the file, each with the patterns of its ops.
using Exceptions = std::vector<std::pair<std::string, std::vector<std::string>>>;

absl::StatusOr<Exceptions> ParseExceptions(absl::string_view text) {
  Exceptions exceptions;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields.size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("not REASON and OPS: ", line));
    }
    exceptions.emplace_back(fields[0], absl::StrSplit(fields[1], ' '));
  }
  return exceptions;
}

// Returns the position of the first reason that names the op, or -1.
int ReasonFor(const std::string& op, const Exceptions& exceptions) {
  for (size_t i = 0; i < exceptions.size(); ++i) {
    for (const std::string& pattern : exceptions[i].second) {
      if (fnmatch(pattern.c_str(), op.c_str(), 0) == 0) return static_cast<int>(i);
    }
  }
  return -1;
}

// What the declaration of an op allows for an attribute; nothing if that is every dtype.
const std::vector<DType>* Declared(const std::string& op, const std::string& attr) {
  const OpDef* const declaration = OpRegistry::Global().Find(op);
  const AttrDef* const def = declaration == nullptr ? nullptr : declaration->FindAttr(attr);
  return def == nullptr || def->allowed_types.empty() ? nullptr : &def->allowed_types;
}

// Returns which dtypes of TensorFlow's kernels ours lack, and counts TensorFlow's in *wanted. A
// dtype that the op's declaration forbids does not count, although some of TensorFlow's kernels
// have it.
AttrDTypes Lacking(const std::string& op, const AttrDTypes& tensorflow, const AttrDTypes& ours,
                   int* wanted) {
  AttrDTypes lacking;
  for (const auto& [attr, dtypes] : tensorflow) {
    const std::vector<DType>* const declared = Declared(op, attr);
    const auto covered = ours.find(attr);
    for (const std::string& dtype : dtypes) {
      const auto is_dtype = [&](DType each) { return DTypeName(each) == dtype; };
      if (declared != nullptr && std::none_of(declared->begin(), declared->end(), is_dtype)) {
        continue;
      }
      ++*wanted;
      if (covered != ours.end() && covered->second.count(dtype) == 0) lacking[attr].insert(dtype);
    }
  }
  return lacking;
}

std::string Describe(const AttrDTypes& dtypes) {
  return absl::StrJoin(dtypes, "; ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, ": ", absl::StrJoin(entry.second, " "));
  });
}

std::string Quoted(const Names& ops) {
  return absl::StrJoin(ops, ", ", [](std::string* out, const std::string& op) {
    absl::StrAppend(out, "`", op, "`");
  });
}

std::string Percent(int part, int whole) {
  return absl::StrFormat("%d of %d, %.1f %%", part, whole, 100.0 * part / std::max(whole, 1));
}

}  // namespace

absl::StatusOr<std::string> OpsPage(absl::string_view tensorflow_kernels,
                                    absl::string_view exceptions_text) {
  ASSIGN_OR_RETURN(const auto tensorflow, ParseTensorFlow(tensorflow_kernels));
  ASSIGN_OR_RETURN(const Exceptions exceptions, ParseExceptions(exceptions_text));
  const std::map<std::string, Kernels> ours = RegisteredKernels();

  std::vector<Names> excepted(exceptions.size());
  Names missing;
  int num_covered = 0, num_excepted = 0, wanted_dtypes = 0, lacking_dtypes = 0;
  std::map<std::string, AttrDTypes> lacking;
  for (const auto& [op, dtypes] : tensorflow) {
    const int reason = ReasonFor(op, exceptions);
    const auto found = ours.find(op);
    if (found != ours.end()) {
      if (reason >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(op, " has a kernel: take it off the exceptions"));
      }
      ++num_covered;
      AttrDTypes lacks = Lacking(op, dtypes, found->second.dtypes, &wanted_dtypes);
      for (const auto& [attr, names] : lacks) lacking_dtypes += static_cast<int>(names.size());
      if (!lacks.empty()) lacking[op] = std::move(lacks);
    } else if (reason >= 0) {
      ++num_excepted;
      excepted[reason].insert(op);
    } else {
      missing.insert(op);
    }
  }

  const int num_all = static_cast<int>(tensorflow.size());
  std::string page = kIntroduction;
  absl::StrAppend(&page, "## Coverage\n\nTensorFlow 2.21 registers CPU kernels for ", num_all,
                  " ops.\n\n| | |\n|---|---|\n| ops with a kernel here | ",
                  Percent(num_covered, num_all), " |\n| the same without the exceptions below | ",
                  Percent(num_covered, num_all - num_excepted),
                  " |\n| dtypes of ops with a kernel, counted by attribute | ",
                  Percent(wanted_dtypes - lacking_dtypes, wanted_dtypes), " |\n");
  absl::StrAppend(&page, "\n## Exceptions\n\nThese ops have no kernel on purpose.\n\n",
                  "| reason | ops |\n|---|---|\n");
  for (size_t i = 0; i < exceptions.size(); ++i) {
    absl::StrAppend(&page, "| ", exceptions[i].first, " | ", Quoted(excepted[i]), " |\n");
  }
  absl::StrAppend(&page, "\n## Not there yet\n\n",
                  missing.empty() ? "Nothing." : absl::StrCat(Quoted(missing), "."), "\n");
  absl::StrAppend(&page,
                  "\n## Kernels\n\n| op | dtypes | TensorFlow's further dtypes | devices |\n",
                  "|---|---|---|---|\n");
  for (const auto& [op, kernels] : ours) {
    absl::StrAppend(&page, "| `", op, "` | ", Describe(kernels.dtypes), " | ",
                    Describe(lacking[op]), " | ", absl::StrJoin(kernels.devices, ", "), " |\n");
  }
  return page;
}

}  // namespace tessera
