#include "runtime/kernels/image/image_gif.h"

#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
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

struct Frame {
  GifImageDesc place;                   // its colours live as long as the file
  std::unique_ptr<GifByteType[]> rows;  // of indices of colours
  int transparent = NO_TRANSPARENT_COLOR;
};

// Reads the rows of a frame, which come in four passes if they are interlaced.
bool ReadRows(GifFileType* file, Frame* frame) {
  const int64_t width = frame->place.Width, height = frame->place.Height;
  if (width <= 0 || height <= 0) return false;
  frame->rows.reset(new (std::nothrow) GifByteType[static_cast<size_t>(width * height)]);
  if (frame->rows == nullptr) return false;
  struct Pass {
    int64_t first, step;
  };
  constexpr Pass kInterlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  constexpr Pass kInOrder[] = {{0, 1}};
  const auto passes =
      frame->place.Interlace ? absl::MakeConstSpan(kInterlaced) : absl::MakeConstSpan(kInOrder);
  for (const Pass& pass : passes) {
    for (int64_t y = pass.first; y < height; y += pass.step) {
      GifByteType* const row = frame->rows.get() + y * width;
      if (DGifGetLine(file, row, static_cast<int>(width)) != GIF_OK) return false;
    }
  }
  return true;
}

// Reads an extension. Only the colour that it makes transparent is kept.
bool ReadExtension(GifFileType* file, int* transparent) {
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(file, &code, &block) != GIF_OK) return false;
  while (block != nullptr) {
    GraphicsControlBlock control;
    if (code == GRAPHICS_EXT_FUNC_CODE &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
      *transparent = control.TransparentColor;
    }
    if (DGifGetExtensionNext(file, &block) != GIF_OK) return false;
  }
  return true;
}

// Reads the frames that are whole. A file may end, or be damaged, behind them.
std::vector<Frame> ReadFrames(GifFileType* file) {
  std::vector<Frame> frames;
  int transparent = NO_TRANSPARENT_COLOR;
  GifRecordType type = UNDEFINED_RECORD_TYPE;
  while (DGifGetRecordType(file, &type) == GIF_OK && type != TERMINATE_RECORD_TYPE) {
    if (type == EXTENSION_RECORD_TYPE) {
      if (!ReadExtension(file, &transparent)) break;
    } else if (type == IMAGE_DESC_RECORD_TYPE) {
      if (DGifGetImageDesc(file) != GIF_OK) break;
      Frame frame{.place = file->SavedImages[file->ImageCount - 1].ImageDesc,
                  .rows = nullptr,
                  .transparent = std::exchange(transparent, NO_TRANSPARENT_COLOR)};
      if (!ReadRows(file, &frame)) break;
      frames.push_back(std::move(frame));
    }
  }
  return frames;
}

// Draws frame `number` onto `canvas`, which shows the frame before.
absl::Status Draw(const GifFileType& file, const Frame& frame, int number, int64_t height,
                  int64_t width, uint8_t* canvas) {
  const GifImageDesc& place = frame.place;
  const ColorMapObject* const colors = place.ColorMap != nullptr ? place.ColorMap : file.SColorMap;
  if (colors == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("frame ", number, " of the GIF has no colours"));
  }
  for (int64_t y = 0; y < place.Height; ++y) {
    for (int64_t x = 0; x < place.Width; ++x) {
      const int64_t top = place.Top + y, left = place.Left + x;
      if (top < 0 || top >= height || left < 0 || left >= width) continue;
      const int index = frame.rows[y * place.Width + x];
      if (index == frame.transparent) continue;
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
  const std::vector<Frame> frames = ReadFrames(file.get());
  if (frames.empty()) {
    const char* const reason = GifErrorString(file->Error);
    return absl::InvalidArgumentError(absl::StrCat("the GIF has no whole frame",
                                                   reason == nullptr ? "" : ": ",
                                                   reason == nullptr ? "" : reason));
  }
  const int64_t count = only_first ? 1 : static_cast<int64_t>(frames.size());
  // The largest frame is the canvas, whatever the screen is that the file names.
  int64_t height = 0, width = 0;
  for (const Frame& frame : frames) {
    height = std::max<int64_t>(height, frame.place.Height);
    width = std::max<int64_t>(width, frame.place.Width);
  }
  ASSIGN_OR_RETURN(uint8_t* const pixels, allocate(count, height, width));
  const int64_t frame_size = height * width * 3;
  for (int k = 0; k < count; ++k) {
    uint8_t* const canvas = pixels + k * frame_size;
    if (k == 0) {
      std::memset(canvas, 0, frame_size);
    } else {
      std::memcpy(canvas, canvas - frame_size, frame_size);
    }
    RETURN_IF_ERROR(Draw(*file, frames[k], k, height, width, canvas));
  }
  return absl::OkStatus();
}

}  // namespace tessera
