#include "runtime/kernels/image/image_gif.h"

#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

int GiveBytes(GifFileType* file, GifByteType* to, int count) {
  auto* const rest = static_cast<absl::string_view*>(file->UserData);
  const size_t given = std::min(rest->size(), static_cast<size_t>(std::max(count, 0)));
  std::memcpy(to, rest->data(), given);
  rest->remove_prefix(given);
  return static_cast<int>(given);
}

struct CloseGif {
  void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
};

// Draws frame `number` onto `canvas`, which shows the frame before.
absl::Status Draw(GifFileType* file, int number, int64_t height, int64_t width, uint8_t* canvas) {
  const SavedImage& frame = file->SavedImages[number];
  const GifImageDesc& place = frame.ImageDesc;
  const ColorMapObject* const colors = place.ColorMap != nullptr ? place.ColorMap : file->SColorMap;
  if (colors == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("frame ", number, " of the GIF has no colours"));
  }
  GraphicsControlBlock control;
  const bool has_control = DGifSavedExtensionToGCB(file, number, &control) == GIF_OK;
  for (int64_t y = 0; y < place.Height; ++y) {
    for (int64_t x = 0; x < place.Width; ++x) {
      const int64_t top = place.Top + y, left = place.Left + x;
      if (top < 0 || top >= height || left < 0 || left >= width) continue;
      const int index = frame.RasterBits[y * place.Width + x];
      if (has_control && index == control.TransparentColor) continue;
      if (index >= colors->ColorCount) {
        return absl::InvalidArgumentError(absl::StrCat(
            "frame ", number, " of the GIF names colour ", index, " of ", colors->ColorCount));
      }
      const GifColorType& color = colors->Colors[index];
      uint8_t* const pixel = canvas + (top * width + left) * 3;
      pixel[0] = color.Red, pixel[1] = color.Green, pixel[2] = color.Blue;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeGif(
    absl::string_view bytes, bool only_first,
    absl::FunctionRef<absl::StatusOr<uint8_t*>(int64_t frames, int64_t height, int64_t width)>
        allocate) {
  int error = 0;
  std::unique_ptr<GifFileType, CloseGif> file(DGifOpen(&bytes, GiveBytes, &error));
  if (file == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("not a GIF: ", GifErrorString(error)));
  }
  // Frames that are whole count, even if the file ends behind them.
  if (DGifSlurp(file.get()) != GIF_OK &&
      (file->ImageCount <= 0 || file->SavedImages[file->ImageCount - 1].RasterBits == nullptr)) {
    const char* const reason = GifErrorString(file->Error);
    return absl::InvalidArgumentError(
        absl::StrCat("the GIF is damaged: ", reason != nullptr ? reason : "unknown error"));
  }
  if (file->ImageCount <= 0) return absl::InvalidArgumentError("the GIF has no frames");
  const int64_t frames = only_first ? 1 : file->ImageCount;
  // The largest frame is the canvas, whatever the screen is that the file names.
  int64_t height = 0, width = 0;
  for (int k = 0; k < file->ImageCount; ++k) {
    height = std::max<int64_t>(height, file->SavedImages[k].ImageDesc.Height);
    width = std::max<int64_t>(width, file->SavedImages[k].ImageDesc.Width);
  }
  ASSIGN_OR_RETURN(uint8_t* const pixels, allocate(frames, height, width));
  const int64_t frame_size = height * width * 3;
  for (int k = 0; k < frames; ++k) {
    uint8_t* const canvas = pixels + k * frame_size;
    if (k == 0) {
      std::memset(canvas, 0, frame_size);
    } else {
      std::memcpy(canvas, canvas - frame_size, frame_size);
    }
    RETURN_IF_ERROR(Draw(file.get(), k, height, width, canvas));
  }
  return absl::OkStatus();
}

}  // namespace tessera
