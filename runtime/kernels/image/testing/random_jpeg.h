// JPEGs of random samples, for tests.
#pragma once

#include <cstdio>
#include <string>

// clang-format off
#include <jpeglib.h>  // needs FILE
// clang-format on

namespace tessera {

// How a JPEG is made.
struct RandomJpeg {
  int height = 0, width = 0;  // in pixels
  int channels = 3;
  J_COLOR_SPACE samples = JCS_RGB;  // what the random samples stand for
  int quality = 95;
  // The sampling factors of the first component, where the others have 1: how much the resolution
  // of colours is lower.
  int horizontal = 1, vertical = 1;
  bool is_progressive = false;
  int restart_rows = 0;
  bool has_rows_of_extremes = false;  // every other row holds 0 and 255 alone
};

// Returns the file. Equal arguments give equal files.
std::string MakeRandomJpeg(const RandomJpeg& form);

}  // namespace tessera
