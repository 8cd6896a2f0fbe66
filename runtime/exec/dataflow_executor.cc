#include "runtime/exec/dataflow_executor.h"

#include <utility>

#include "runtime/exec/dataflow_run.h"
#include "runtime/exec/object_pool.h"

namespace tessera {
namespace {

class DataflowExecutor final : public Executor {
 public:
  DataflowExecutor(DataflowProgram program, Device* device)
      : program_(std::move(program)), device_(device) {}

  void RunAsync(StepContext& step, const RunArgs& run, DoneCallback done) const override {
    DataflowRun* const state = TakeRun().release();
    state->RunAsync(step, run, [this, state, done = std::move(done)](absl::Status status) {
      pool_.Give(std::unique_ptr<DataflowRun>(state));
      done(std::move(status));  // the last: it may end the executor's life
    });
  }

  absl::Status Run(StepContext& step, const RunArgs& run) const override {
    std::unique_ptr<DataflowRun> state = TakeRun();
    absl::Status status = state->RunHere(step, run);
    pool_.Give(std::move(state));
    return status;
  }

  bool may_wait() const override { return program_.may_wait; }
  int num_args() const override { return program_.num_args; }
  int num_results() const override { return program_.num_results; }

 private:
  std::unique_ptr<DataflowRun> TakeRun() const {
    if (std::unique_ptr<DataflowRun> run = pool_.Take()) return run;
    return std::make_unique<DataflowRun>(program_, device_);
  }

  const DataflowProgram program_;
  Device* const device_;
  mutable ObjectPool<DataflowRun> pool_;
};

}  // namespace

std::unique_ptr<Executor> MakeDataflowExecutor(DataflowProgram program, Device* device) {
  return std::make_unique<DataflowExecutor>(std::move(program), device);
}

}  // namespace tessera
