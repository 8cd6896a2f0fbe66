// Kernels of hash table ops.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/lookup/lookup_table.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

// HashTable*, MutableHashTable*, MutableDenseHashTable* and their anonymous forms.
class TableKernel : public ResourceHandleKernel {
 public:
  explicit TableKernel(const KernelBuild& build)
      : ResourceHandleKernel(build, LookupTable::kTypeName) {
    options_.key_dtype = build.attr<DType>("key_dtype");
    options_.value_dtype = build.attr<DType>("value_dtype");
    const std::string& op = build.op().name;
    options_.write_once = op == "HashTable" || op == "HashTableV2" || op == "AnonymousHashTable";
    if (build.has_attr("initial_num_buckets")) {
      options_.initial_num_buckets = build.attr<int64_t>("initial_num_buckets");
      options_.max_load_factor = build.attr<float>("max_load_factor");
    }
    if (build.has_attr("value_shape")) {
      const absl::StatusOr<Shape> shape = build.attr<PartialShape>("value_shape").AsShape();
      if (shape.ok()) {
        options_.value_shape = *shape;
      } else {
        build.Fail(Annotate(shape.status(), "value_shape must be fully known: "));
      }
    }
  }

 protected:
  absl::StatusOr<IntrusivePtr<Resource>> Make(KernelContext& ctx) override {
    LookupTable::Options options = options_;
    if (ctx.num_inputs() > 0) {
      options.empty_key = ctx.input(0);
      options.key_shape = ctx.input(0).shape();
      if (options.key_shape.rank() > 1 || options.value_shape.rank() > 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "keys and values of a dense table must be scalars or vectors, have shapes ",
            options.key_shape.ToString(), " and ", options.value_shape.ToString()));
      }
    }
    if (ctx.num_inputs() > 1) {
      options.deleted_key = ctx.input(1);
      if (!(ctx.input(1).shape() == options.key_shape)) {
        return absl::InvalidArgumentError("empty_key and deleted_key must have one shape");
      }
      if (KeysEqual(ctx.input(0), ctx.input(1))) {
        return absl::InvalidArgumentError("empty_key and deleted_key must differ");
      }
    }
    options.allocator = ctx.host_allocator();
    ASSIGN_OR_RETURN(auto table, LookupTable::Make(std::move(options)));
    return IntrusivePtr<Resource>(std::move(table));
  }

  absl::Status CheckFits(const Resource& resource) const override {
    const auto* table = dynamic_cast<const LookupTable*>(&resource);
    if (table != nullptr && table->options().key_dtype == options_.key_dtype &&
        table->options().value_dtype == options_.value_dtype) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("'", name(), "' is a ", resource.DebugString(), " already, not one from ",
                     DTypeName(options_.key_dtype), " to ", DTypeName(options_.value_dtype)));
  }

 private:
  static bool KeysEqual(const Tensor& a, const Tensor& b) {
    if (a.dtype() == DType::kString) return a.flat<std::string>() == b.flat<std::string>();
    return std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0;
  }

  LookupTable::Options options_;
};
REGISTER_KERNEL("HashTable", kCpu, TableKernel);
REGISTER_KERNEL("HashTableV2", kCpu, TableKernel);
REGISTER_KERNEL("AnonymousHashTable", kCpu, TableKernel);
REGISTER_KERNEL("MutableHashTable", kCpu, TableKernel);
REGISTER_KERNEL("MutableHashTableV2", kCpu, TableKernel);
REGISTER_KERNEL("AnonymousMutableHashTable", kCpu, TableKernel);
REGISTER_KERNEL("MutableHashTableOfTensors", kCpu, TableKernel);
REGISTER_KERNEL("MutableHashTableOfTensorsV2", kCpu, TableKernel);
REGISTER_KERNEL("AnonymousMutableHashTableOfTensors", kCpu, TableKernel);
REGISTER_KERNEL("MutableDenseHashTable", kCpu, TableKernel);
REGISTER_KERNEL("MutableDenseHashTableV2", kCpu, TableKernel);
REGISTER_KERNEL("AnonymousMutableDenseHashTable", kCpu, TableKernel);

class TableFindKernel : public OpKernel {
 public:
  explicit TableFindKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ResourceInput<LookupTable>(ctx, 0));
    ASSIGN_OR_RETURN(Tensor values, table->Find(ctx.input(1), ctx.input(2), ctx.host_allocator()));
    ctx.set_output(0, std::move(values));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("LookupTableFind", kCpu, TableFindKernel);
REGISTER_KERNEL("LookupTableFindV2", kCpu, TableFindKernel);

class TableInsertKernel : public OpKernel {
 public:
  explicit TableInsertKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ResourceInput<LookupTable>(ctx, 0));
    return table->Insert(ctx.input(1), ctx.input(2));
  }
};
REGISTER_KERNEL("LookupTableInsert", kCpu, TableInsertKernel);
REGISTER_KERNEL("LookupTableInsertV2", kCpu, TableInsertKernel);

class TableRemoveKernel : public OpKernel {
 public:
  explicit TableRemoveKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ResourceInput<LookupTable>(ctx, 0));
    return table->Remove(ctx.input(1));
  }
};
REGISTER_KERNEL("LookupTableRemoveV2", kCpu, TableRemoveKernel);

// Fills a table from tensors of keys and values.
class TableImportKernel : public OpKernel {
 public:
  explicit TableImportKernel(const KernelBuild& build)
      : initialize_(build.op().name == "InitializeTable" ||
                    build.op().name == "InitializeTableV2") {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ResourceInput<LookupTable>(ctx, 0));
    const Tensor& keys = ctx.input(1);
    if (initialize_ &&
        (keys.rank() != 1 || keys.num_elements() == 0 || !table->options().write_once)) {
      return absl::InvalidArgumentError(
          absl::StrCat("an initializer needs a vector of some keys and a table that is filled "
                       "once; keys have shape ",
                       keys.shape().ToString(), ", the table is a ", table->DebugString()));
    }
    return table->Import(keys, ctx.input(2));
  }

 private:
  const bool initialize_;
};
REGISTER_KERNEL("LookupTableImport", kCpu, TableImportKernel);
REGISTER_KERNEL("LookupTableImportV2", kCpu, TableImportKernel);
REGISTER_KERNEL("InitializeTable", kCpu, TableImportKernel);
REGISTER_KERNEL("InitializeTableV2", kCpu, TableImportKernel);

class TableSizeKernel : public OpKernel {
 public:
  explicit TableSizeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ResourceInput<LookupTable>(ctx, 0));
    return SetScalarOutput(ctx, 0, table->size());
  }
};
REGISTER_KERNEL("LookupTableSize", kCpu, TableSizeKernel);
REGISTER_KERNEL("LookupTableSizeV2", kCpu, TableSizeKernel);

class TableExportKernel : public OpKernel {
 public:
  explicit TableExportKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ResourceInput<LookupTable>(ctx, 0));
    if (table->options().key_dtype != ctx.output_type(0) ||
        table->options().value_dtype != ctx.output_type(1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ", table->DebugString(), " cannot be exported as ",
                       DTypeName(ctx.output_type(0)), " and ", DTypeName(ctx.output_type(1))));
    }
    Tensor keys, values;
    RETURN_IF_ERROR(table->Export(ctx.host_allocator(), &keys, &values));
    ctx.set_output(0, std::move(keys));
    ctx.set_output(1, std::move(values));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("LookupTableExport", kCpu, TableExportKernel);
REGISTER_KERNEL("LookupTableExportV2", kCpu, TableExportKernel);

}  // namespace
}  // namespace tessera
