#include "runtime/kernels/image/testing/random_jpeg.h"

#include <cstdlib>
#include <random>
#include <vector>

namespace tessera {

std::string MakeRandomJpeg(const RandomJpeg& form) {
  jpeg_compress_struct info;
  jpeg_error_mgr error;
  info.err = jpeg_std_error(&error);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = form.width;
  info.image_height = form.height;
  info.input_components = form.channels;
  info.in_color_space = form.samples;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, form.quality, TRUE);
  info.comp_info[0].h_samp_factor = form.horizontal;
  info.comp_info[0].v_samp_factor = form.vertical;
  info.restart_in_rows = form.restart_rows;
  if (form.is_progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::mt19937 random(form.height * 1000 + form.width);
  std::vector<unsigned char> row(static_cast<size_t>(form.width) * form.channels);
  for (int y = 0; y < form.height; ++y) {
    const bool has_extremes = form.has_rows_of_extremes && y % 2 == 1;
    for (unsigned char& sample : row) {
      sample = static_cast<unsigned char>(has_extremes ? random() % 2 * 255 : random());
    }
    JSAMPROW from = row.data();
    jpeg_write_scanlines(&info, &from, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string result(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return result;
}

}  // namespace tessera
