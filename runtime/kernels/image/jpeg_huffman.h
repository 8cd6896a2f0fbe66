// Entropy decoding of baseline JPEGs for libjpeg, which computes the pixels.
#pragma once

#include <memory>

struct jpeg_decompress_struct;  // libjpeg's

namespace tessera {

// Decodes the Huffman codes of one scan in the place of libjpeg's decoder: a table gives the run of
// zeros and the value of a coefficient together, where libjpeg looks up the code and then extracts
// the value's bits. Coefficients, and so pixels, are the same.
//
//   jpeg_start_decompress(&info);
//   decoder = JpegHuffmanDecoder::Install(&info);   // null: libjpeg decodes itself
//   jpeg_read_scanlines(&info, ...);
//
// Anything that libjpeg would have to guess about (an invalid code, too many coefficients, a marker
// or the end of the data within the scan) ends decoding by the error handler of `info`, and
// gave_up() is then true: the image is to be decoded anew, by libjpeg alone.
//
// `info` must read from memory. It refers to the decoder, which must live as long as pixels are
// read.
class JpegHuffmanDecoder {
 public:
  // Returns null for what is not decoded here: progressive and arithmetic coding, several scans,
  // and restart intervals. `info` must have been started, and no row read.
  static std::unique_ptr<JpegHuffmanDecoder> Install(jpeg_decompress_struct* info);

  virtual ~JpegHuffmanDecoder() = default;
  virtual bool gave_up() const = 0;
};

}  // namespace tessera
