#include "serving/commands/plot_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file_system.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"
#include "serving/commands/plot/chart.h"
#include "serving/commands/plot/curves.h"

namespace tessera::serving {
namespace {

constexpr int kWidth = 80;
constexpr int kHeight = 20;

struct Options {
  std::vector<std::string> curves;
  std::string svg;
};

// Returns the width of the terminal, or 80.
int ChartWidth() {
  winsize size;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWidth;
  return std::clamp<int>(size.ws_col, 30, 200);
}

absl::Status Plot(absl::Span<const std::string> runs, const Options& options) {
  std::vector<Curve> chosen;
  std::vector<std::string> known;
  for (const std::string& run : runs) {
    ASSIGN_OR_RETURN(std::vector<Curve> curves, ReadCurves(run));
    for (Curve& curve : curves) {
      known.push_back(curve.name);
      const bool is_chosen =
          options.curves.empty()
              ? curve.name == "loss" || curve.name == "eval/loss"
              : std::count(options.curves.begin(), options.curves.end(), curve.name) > 0;
      if (!is_chosen) continue;
      if (runs.size() > 1) curve.name = absl::StrCat(run, " ", curve.name);
      chosen.push_back(std::move(curve));
    }
  }
  for (const std::string& name : options.curves) {
    if (std::count(known.begin(), known.end(), name) == 0) {
      const std::set<std::string> names(known.begin(), known.end());
      return absl::NotFoundError(absl::StrCat("no run has a curve '", name, "'",
                                              DidYouMean(name, known), "; there are ",
                                              absl::StrJoin(names, ", ")));
    }
  }
  if (chosen.empty()) return absl::NotFoundError("the runs have logged no loss; see --curve");
  if (std::ranges::all_of(chosen, [](const Curve& curve) { return curve.points.empty(); })) {
    return absl::NotFoundError("what the runs have logged of it is no finite number");
  }
  std::fputs(TextChart(chosen, ChartWidth(), kHeight).c_str(), stdout);
  if (options.svg.empty()) return absl::OkStatus();
  return WriteFileAtomically(options.svg, SvgChart(chosen));
}

}  // namespace

Command PlotCommand() {
  auto options = std::make_shared<Options>();
  Command command{
      .name = "plot",
      .summary = "draw the curves of training runs",
      .arguments = "RUN...",
      .description =
          "Draws the loss of each logged step (logging.every_steps of the job) and of "
          "each evaluation of the runs in the folders RUN, from their log.jsonl, "
          "which may still grow.",
      .examples = {{"tessera plot run --svg loss.svg", "The terminal and a file."},
                   {"tessera plot run-a run-b --curve eval/accuracy", "Two runs in one chart."}},
  };
  command.flags.Add("curve", &options->curves, "curve to draw instead, such as eval/accuracy",
                    "NAME");
  command.flags.Add("svg", &options->svg, "file for the chart as SVG as well", "FILE");
  command.run = [options](absl::Span<const std::string> arguments) {
    return Plot(arguments, *options);
  };
  return command;
}

}  // namespace tessera::serving
