#include "serving/commands/plot/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace tessera::serving {
namespace {

constexpr int kLabelWidth = 10;  // columns left of the chart
constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                    "#ff7f0e", "#17becf", "#8c564b", "#e377c2"};

// Returns where a value lies in a range, from 0 to 1. The difference of large numbers overflows,
// that of their halves does not.
double ShareOf(double value, double low, double high) {
  const double range = high / 2 - low / 2;
  return range > 0 ? std::clamp((value / 2 - low / 2) / range, 0.0, 1.0) : 0.5;
}

// The part of the plane that the curves are in.
struct Bounds {
  double left = std::numeric_limits<double>::infinity();
  double right = -std::numeric_limits<double>::infinity();
  double bottom = std::numeric_limits<double>::infinity();
  double top = -std::numeric_limits<double>::infinity();

  explicit Bounds(const std::vector<Curve>& curves) {
    for (const Curve& curve : curves) {
      for (const auto& [x, y] : curve.points) {
        left = std::min(left, x);
        right = std::max(right, x);
        bottom = std::min(bottom, y);
        top = std::max(top, y);
      }
    }
    if (left == right) right = left + 1;
    if (bottom == top) top = bottom + (bottom == 0 ? 1 : std::abs(bottom) / 10);
  }
  // From 0 to 1.
  double X(double x) const { return ShareOf(x, left, right); }
  double Y(double y) const { return ShareOf(y, bottom, top); }
};

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

}  // namespace

std::string TextChart(const std::vector<Curve>& curves, int width, int height) {
  const Bounds bounds(curves);
  const int columns = width - kLabelWidth;
  std::vector<std::string> lines(height, std::string(columns, ' '));
  std::string legend;
  for (size_t i = 0; i < curves.size(); ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    for (const auto& [x, y] : curves[i].points) {
      const int column = static_cast<int>(bounds.X(x) * (columns - 1) + 0.5);
      const int line = static_cast<int>((1 - bounds.Y(y)) * (height - 1) + 0.5);
      lines[line][column] = letter;
    }
    if (curves[i].points.empty()) {
      absl::StrAppendFormat(&legend, "%*s%c %s: no finite number\n", kLabelWidth, "", letter,
                            curves[i].name);
      continue;
    }
    const auto& [step, value] = curves[i].points.back();
    absl::StrAppendFormat(&legend, "%*s%c %s: %.4g at step %.0f\n", kLabelWidth, "", letter,
                          curves[i].name, value, step);
  }
  std::string chart;
  for (int i = 0; i < height; ++i) {
    const bool has_label = i == 0 || i == height - 1 || i == height / 2;
    const double value =
        std::lerp(bounds.top, bounds.bottom, static_cast<double>(i) / (height - 1));
    absl::StrAppend(&chart,
                    has_label ? absl::StrFormat("%*.4g |", kLabelWidth - 2, value)
                              : absl::StrFormat("%*s |", kLabelWidth - 2, ""),
                    lines[i], "\n");
  }
  absl::StrAppendFormat(&chart, "%*s+%s\n", kLabelWidth - 1, "", std::string(columns, '-'));
  const std::string last = absl::StrFormat("step %.0f", bounds.right);
  absl::StrAppendFormat(&chart, "%*s%-*.0f%s\n", kLabelWidth, "",
                        columns - static_cast<int>(last.size()), bounds.left, last);
  return chart + legend;
}

std::string SvgChart(const std::vector<Curve>& curves) {
  constexpr double kLeft = 70, kTop = 20, kWidth = 700, kHeight = 390;
  constexpr int kTicks = 5;
  const Bounds bounds(curves);
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 480\" width=\"800\" "
      "height=\"480\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"800\" height=\"480\" fill=\"white\"/>\n";
  for (int i = 0; i <= kTicks; ++i) {
    const double share = static_cast<double>(i) / kTicks;
    const double x = kLeft + share * kWidth, y = kTop + (1 - share) * kHeight;
    absl::StrAppendFormat(&svg,
                          "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n"
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n"
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n",
                          kLeft, y, kLeft + kWidth, kLeft - 6, y + 4,
                          std::lerp(bounds.bottom, bounds.top, share), x, kTop + kHeight + 18,
                          std::lerp(bounds.left, bounds.right, share));
  }
  for (size_t i = 0; i < curves.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    std::string points;
    for (const auto& [x, y] : curves[i].points) {
      absl::StrAppendFormat(&points, "%s%.1f,%.1f", points.empty() ? "" : " ",
                            kLeft + bounds.X(x) * kWidth, kTop + (1 - bounds.Y(y)) * kHeight);
    }
    absl::StrAppendFormat(
        &svg,
        "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n"
        "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n",
        points, colour, kLeft + 8 + 170 * static_cast<double>(i % 4),
        kTop + kHeight + 38 + 16 * static_cast<double>(i / 4), colour, Escape(curves[i].name));
  }
  return svg + "</svg>\n";
}

}  // namespace tessera::serving
