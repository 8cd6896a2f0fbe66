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

constexpr int64_t kChannels = 3;

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

// The image that the frames make.
struct Animation {
  std::vector<Frame> frames;
  // The largest frame is the canvas, whatever the screen is that the file names.
  int64_t height = 0, width = 0;
};

// Reads the frames that are whole. A file may end, or be damaged, behind them. With `only_first`,
// later frames count for the canvas, but are not kept.
// Errors: INVALID_ARGUMENT if the frames that are kept make more than `max_samples` samples.
absl::StatusOr<Animation> ReadFrames(GifFileType* file, bool only_first, int64_t max_samples) {
  Animation animation;
  std::vector<Frame>& frames = animation.frames;
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
      const int64_t height = std::max<int64_t>(animation.height, frame.place.Height);
      const int64_t width = std::max<int64_t>(animation.width, frame.place.Width);
      const int64_t count = only_first ? 1 : static_cast<int64_t>(frames.size()) + 1;
      // A side has 16 bits, and the frames before this one did fit, so that nothing overflows.
      if (height * width * kChannels * count > max_samples) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the GIF is too large: ", count, " frames of ", height, " x ", width, " pixels"));
      }
      if (!ReadRows(file, &frame)) break;
      animation.height = height, animation.width = width;
      if (!only_first || frames.empty()) frames.push_back(std::move(frame));
    }
  }
  return animation;
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
      uint8_t* const pixel = canvas + (top * width + left) * kChannels;
      pixel[0] = color.Red, pixel[1] = color.Green, pixel[2] = color.Blue;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeGif(
    absl::string_view bytes, bool only_first, int64_t max_samples,
    absl::FunctionRef<absl::StatusOr<uint8_t*>(int64_t frames, int64_t height, int64_t width)>
        allocate) {
  int error = 0;
  std::unique_ptr<GifFileType, CloseGif> file(DGifOpen(&bytes, GiveBytes, &error));
  if (file == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("not a GIF: ", GifErrorString(error)));
  }
  ASSIGN_OR_RETURN(const Animation animation, ReadFrames(file.get(), only_first, max_samples));
  const auto& [frames, height, width] = animation;
  if (frames.empty()) {
    const char* const reason = GifErrorString(file->Error);
    return absl::InvalidArgumentError(absl::StrCat("the GIF has no whole frame",
                                                   reason == nullptr ? "" : ": ",
                                                   reason == nullptr ? "" : reason));
  }
  const auto count = static_cast<int64_t>(frames.size());
  ASSIGN_OR_RETURN(uint8_t* const pixels, allocate(count, height, width));
  const int64_t frame_size = height * width * kChannels;
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
