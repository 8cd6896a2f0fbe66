// Sparse updates touch the memory of their rows alone, so that a step costs what its rows cost,
// however large a table is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/base/logging.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kRows = 20000;

int64_t PageSize() { return ::sysconf(_SC_PAGESIZE); }
// A row fills a page.
int64_t RowSize() { return PageSize() / static_cast<int64_t>(sizeof(float)); }

// Zeros of which no page is in memory before it is read or written.
class FreshPages {
 public:
  explicit FreshPages(int64_t size)
      : size_(size),
        data_(::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    CHECK(data_ != MAP_FAILED);
    ::madvise(data_, size, MADV_NOHUGEPAGE);  // fails where there are no huge pages
  }
  ~FreshPages() { ::munmap(data_, size_); }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  char* data() const { return static_cast<char*>(data_); }
  int64_t size() const { return size_; }

  std::vector<int64_t> Touched() const {
    std::vector<unsigned char> is_there(size_ / PageSize());
    CHECK(::mincore(data_, size_, is_there.data()) == 0);
    std::vector<int64_t> touched;
    for (size_t page = 0; page < is_there.size(); ++page) {
      if (is_there[page] & 1) touched.push_back(static_cast<int64_t>(page));
    }
    return touched;
  }

 private:
  const int64_t size_;
  void* const data_;
};

// A variable of kRows rows, a page each.
struct Table {
  Table()
      : pages(std::make_shared<FreshPages>(kRows * PageSize())),
        variable(MakeRefCounted<Variable>(DType::kFloat, PartialShape({kRows, RowSize()}))) {
    variable->Assign(Tensor::View(DType::kFloat, Shape({kRows, RowSize()}),
                                  WrapBuffer(pages, pages->data(), pages->size(), true)));
  }
  Tensor handle() const {
    ResourceHandle handle;
    handle.type_name = std::string(Variable::kTypeName);
    handle.resource = variable;
    return Tensor::Scalar(std::move(handle));
  }

  const std::shared_ptr<FreshPages> pages;
  const IntrusivePtr<Variable> variable;
};

std::vector<std::string> SparseUpdates() {
  std::vector<std::string> ops;
  for (const OpDef* op : OpRegistry::Global().All()) {
    if (absl::StartsWith(op->name, "ResourceSparseApply") ||
        absl::StartsWith(op->name, "ResourceScatter")) {
      ops.push_back(op->name);
    }
  }
  return ops;
}

class SparseRowsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, SparseRowsTest, ::testing::ValuesIn(SparseUpdates()),
                         [](const auto& info) { return info.param; });

TEST_P(SparseRowsTest, OnlyPagesOfTheRowsAreTouched) {
  const OpDef& op = *OpRegistry::Global().Find(GetParam());
  Tensor rows = Tensor::Vector<int64_t>({kRows - 7, 3, kRows - 7});
  if (absl::StrContains(op.name, "ScatterNd")) {
    rows = Tensor::Of<int64_t>({3, 1}, rows.flat<int64_t>());
  }
  const std::vector<float> values(3 * RowSize(), 0.5f);
  std::vector<std::unique_ptr<Table>> tables;
  std::vector<Tensor> inputs;
  for (const ArgDef& input : op.inputs) {
    if (input.type == DType::kResource) {
      inputs.push_back(tables.emplace_back(std::make_unique<Table>())->handle());
    } else if (input.name == "indices") {
      inputs.push_back(rows);
    } else if (input.name == "grad" || input.name == "updates") {
      inputs.push_back(Tensor::Of<float>({3, RowSize()}, values));
    } else if (input.name == "global_step") {
      inputs.push_back(Tensor::Scalar<int64_t>(1));
    } else {
      inputs.push_back(Tensor::Scalar(input.name == "lr_power" ? -0.5f : 0.5f));
    }
  }
  absl::StatusOr<KernelRunner> runner = KernelRunner::Create(op.name, inputs);
  ASSERT_TRUE(runner.ok()) << runner.status();
  ThreadPool pool({.num_threads = 2});
  const absl::Status status = runner->Run(inputs, &pool).status();
  ASSERT_TRUE(status.ok()) << status;
  for (const auto& table : tables) {
    EXPECT_THAT(table->pages->Touched(), ElementsAre(3, kRows - 7));
    EXPECT_EQ(table->variable->Read().raw(), table->pages->data()) << "updated in place";
  }
}

}  // namespace
}  // namespace tessera
