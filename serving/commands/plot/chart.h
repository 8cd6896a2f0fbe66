// Charts of curves, for a terminal and as SVG.
#pragma once

#include <string>
#include <vector>

#include "serving/commands/plot/curves.h"

namespace tessera::serving {

// Returns a chart of `width` columns and `height` lines, and a legend below it. Each curve has a
// letter of its own, from 'a' on. Requires a point in some curve, width >= 30 and height >= 5.
std::string TextChart(const std::vector<Curve>& curves, int width, int height);

// Returns an SVG document of 800 by 480 pixels. Requires a point in some curve.
std::string SvgChart(const std::vector<Curve>& curves);

}  // namespace tessera::serving
