// SPDX-License-Identifier: Apache-2.0
#include "data/clips/clip.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libswscale/swscale.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace fib {
namespace {

struct FreeClip {
  void operator()(AVFormatContext* c) const { avformat_close_input(&c); }
  void operator()(AVCodecContext* c) const { avcodec_free_context(&c); }
  void operator()(AVFrame* f) const { av_frame_free(&f); }
  void operator()(AVPacket* p) const { av_packet_free(&p); }
  void operator()(SwsContext* c) const { sws_freeContext(c); }
};
template <class T>
using OwnedClip = std::unique_ptr<T, FreeClip>;

/// Containers that hold what they show. Playlists, which name other files and addresses, are none of them.
constexpr const char* kContainers =
    "mov,mp4,avi,matroska,webm,mpeg,mpegts,mpegvideo,h264,m4v,mjpeg,flv,asf,gif,ogg,wav,mp3,flac,aac";
constexpr size_t kMaxFrames = size_t{1} << 24;

class ClipFile {
 public:
  explicit ClipFile(const std::filesystem::path& file) : name_(file.string()) {
    av_log_set_level(AV_LOG_QUIET);
    open_container();
    find_video();
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw std::runtime_error(fmt::format("cannot read clip '{}': {}", name_, reason));
  }

  /// The next packet of the video; false at the end of the file.
  bool next(AVPacket& packet) {
    while (true) {
      av_packet_unref(&packet);
      const int result = av_read_frame(container_.get(), &packet);
      if (result == AVERROR_EOF) return false;
      check(result, "reading stops");
      if (packet.stream_index == stream_->index) return true;
    }
  }

  /// To the last place before `time` that decoding can begin at; false where the file cannot tell it.
  bool seek(int64_t time) { return av_seek_frame(container_.get(), stream_->index, time, AVSEEK_FLAG_BACKWARD) >= 0; }

  void check(int result, const char* what) const {
    if (result >= 0) return;
    char reason[AV_ERROR_MAX_STRING_SIZE] = {};
    av_strerror(result, reason, sizeof reason);
    refuse(fmt::format("{}: {}", what, reason));
  }

  const AVStream& stream() const { return *stream_; }
  const AVFormatContext& container() const { return *container_; }

 private:
  void open_container() {
    if (!std::filesystem::is_regular_file(name_)) refuse("no such file");
    AVDictionary* options = nullptr;
    av_dict_set(&options, "format_whitelist", kContainers, 0);
    av_dict_set(&options, "protocol_whitelist", "file", 0);
    AVFormatContext* container = nullptr;
    // Without the prefix a file called http:… would be an address.
    const int result = avformat_open_input(&container, ("file:" + name_).c_str(), nullptr, &options);
    av_dict_free(&options);
    container_.reset(container);
    check(result, "it is no video, or is damaged");
    probe_streams();
  }

  /// Probing decodes frames, which must not be larger than those that are wanted.
  void probe_streams() {
    std::vector<AVDictionary*> limits(container_->nb_streams);
    for (AVDictionary*& limit : limits) av_dict_set_int(&limit, "max_pixels", kMaxFramePixels, 0);
    const int result = avformat_find_stream_info(container_.get(), limits.empty() ? nullptr : limits.data());
    for (AVDictionary*& limit : limits) av_dict_free(&limit);
    check(result, "it is no video, or is damaged");
  }

  /// Not the cover of a song, which is a stream of one image.
  void find_video() {
    const int best = av_find_best_stream(container_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
    if (best >= 0) stream_ = container_->streams[best];
    if (stream_ == nullptr || (stream_->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) refuse("it holds no video");
    for (unsigned i = 0; i < container_->nb_streams; ++i) {
      if (static_cast<int>(i) != best) container_->streams[i]->discard = AVDISCARD_ALL;
    }
    const AVCodecParameters& codec = *stream_->codecpar;
    if (codec.width <= 0 || codec.height <= 0)
      refuse(fmt::format("no frame can be decoded, or they have more than {} pixels", kMaxFramePixels));
    if (codec.height > kMaxFramePixels / codec.width)
      refuse(fmt::format("frames of {}x{} are too large, accepted are up to {} pixels", codec.width, codec.height,
                         kMaxFramePixels));
  }

  std::string name_;
  OwnedClip<AVFormatContext> container_;
  AVStream* stream_ = nullptr;
};

// ---- What a file says of its frames ---------------------------------------------------------------------------------

const int32_t* display_matrix(const AVStream& stream) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVPacketSideData* data = av_packet_side_data_get(
      stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return data != nullptr ? reinterpret_cast<const int32_t*>(data->data) : nullptr;
#else
  return reinterpret_cast<const int32_t*>(av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
#endif
}

/// Clockwise. Phones write how they were held.
int quarter_turns_of(const AVStream& stream) {
  const int32_t* matrix = display_matrix(stream);
  const double degrees = matrix != nullptr ? -av_display_rotation_get(matrix) : 0;
  if (!std::isfinite(degrees)) return 0;
  return static_cast<int>((std::lround(degrees / 90) % 4 + 4) % 4);
}

struct PacketTime {
  int64_t time = 0;
  bool key = false;
};

/// Of all frames that are shown, in the order of the file.
struct Packets {
  std::vector<PacketTime> times;
  int64_t read = 0;  ///< those that are not shown too
  bool timed = true;
};

Packets read_packets(ClipFile& file) {
  Packets packets;
  const OwnedClip<AVPacket> packet(av_packet_alloc());
  while (file.next(*packet)) {
    ++packets.read;
    if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0) file.refuse("it is truncated");
    if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) continue;
    if (packets.times.size() == kMaxFrames) file.refuse(fmt::format("it has more than {} frames", kMaxFrames));
    packets.timed = packets.timed && packet->pts != AV_NOPTS_VALUE;
    const bool key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
    packets.times.push_back({packets.timed ? packet->pts : static_cast<int64_t>(packets.times.size()), key});
  }
  return packets;
}

/// A file that begins with its index tells how many frames it would have.
void require_whole(const ClipFile& file, const Packets& packets) {
  const bool tells = std::string_view(file.container().iformat->name).starts_with("mov");
  const int64_t promised = file.stream().nb_frames;
  if (tells && packets.read < promised)
    file.refuse(fmt::format("it is truncated: {} of its {} frames are there", packets.read, promised));
}

double frames_per_second_of(const AVStream& stream, const Packets& packets) {
  if (stream.avg_frame_rate.num > 0 && stream.avg_frame_rate.den > 0) return av_q2d(stream.avg_frame_rate);
  const auto [first, last] = std::ranges::minmax(packets.times, {}, &PacketTime::time);
  const double seconds = static_cast<double>(last.time - first.time) * av_q2d(stream.time_base);
  constexpr double kUsual = 30;
  return packets.timed && seconds > 0 ? static_cast<double>(packets.times.size() - 1) / seconds : kUsual;
}

ClipIndex index_file(const std::filesystem::path& path) {
  ClipFile file(path);
  Packets packets = read_packets(file);
  require_whole(file, packets);
  if (packets.times.empty()) file.refuse("it has no frames");
  ClipIndex index;
  index.frames_per_second = frames_per_second_of(file.stream(), packets);
  index.has_times = packets.timed;
  index.quarter_turns = quarter_turns_of(file.stream());
  if (packets.timed) {
    std::ranges::stable_sort(packets.times, {}, &PacketTime::time);
  } else {  // from the first without one on, numbers stand for them: then for all
    for (size_t i = 0; i < packets.times.size(); ++i) packets.times[i].time = static_cast<int64_t>(i);
  }
  index.times.reserve(packets.times.size());
  index.keys = {0};
  for (const PacketTime& packet : packets.times) {
    if (!index.times.empty() && packet.time == index.times.back()) continue;  // shown at once by the next
    if (packet.key && !index.times.empty()) index.keys.push_back(index.times.size());
    index.times.push_back(packet.time);
  }
  return index;
}

// ---- Frames ---------------------------------------------------------------------------------------------------------

/// RGB as ffmpeg's own scaler gives it: with the matrix and the range that the frame names.
class RgbConverter {
 public:
  Image convert(const AVFrame& frame) {
    if (!context_) open(frame);
    sws_scale(context_.get(), frame.data, frame.linesize, 0, frame.height, rgb_->data, rgb_->linesize);
    Image image{frame.width, frame.height, std::vector<uint8_t>(static_cast<size_t>(frame.width) * frame.height * 3)};
    for (int64_t y = 0; y < image.height; ++y)
      std::copy_n(rgb_->data[0] + y * rgb_->linesize[0], image.width * 3, image.row(y));
    return image;
  }

 private:
  void open(const AVFrame& frame) {
    const auto format = static_cast<AVPixelFormat>(frame.format);
    context_.reset(sws_getContext(frame.width, frame.height, format, frame.width, frame.height, AV_PIX_FMT_RGB24,
                                  SWS_BICUBIC, nullptr, nullptr, nullptr));
    if (!context_) throw std::runtime_error("frames of a kind that has no colors");
    const int* matrix = sws_getCoefficients(frame.colorspace);
    sws_setColorspaceDetails(context_.get(), matrix, frame.color_range == AVCOL_RANGE_JPEG ? 1 : 0,
                             sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
    // Rows of its own: the scaler writes beyond the end of a row.
    rgb_->format = AV_PIX_FMT_RGB24;
    rgb_->width = frame.width;
    rgb_->height = frame.height;
    if (av_frame_get_buffer(rgb_.get(), 0) < 0) throw std::bad_alloc();
  }

  OwnedClip<SwsContext> context_;
  OwnedClip<AVFrame> rgb_{av_frame_alloc()};
};

/// Frames in the order they are shown, from wherever decoding began.
class FrameStream {
 public:
  FrameStream(const std::filesystem::path& path, const ClipIndex& index) : file_(path), index_(index) {
    const AVCodecParameters& parameters = *file_.stream().codecpar;
    const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
    if (codec == nullptr) file_.refuse(fmt::format("no decoder for {}", avcodec_get_name(parameters.codec_id)));
    decoder_.reset(avcodec_alloc_context3(codec));
    file_.check(avcodec_parameters_to_context(decoder_.get(), &parameters), "it cannot be decoded");
    decoder_->pkt_timebase = file_.stream().time_base;
    decoder_->thread_count = 1;  // clips are decoded side by side already
    decoder_->max_pixels = kMaxFramePixels;
    file_.check(avcodec_open2(decoder_.get(), codec, nullptr), "it cannot be decoded");
  }

  /// Decoding goes on at the last frame before `number` that it can begin at, where that is not behind us.
  void approach(size_t number) {
    if (!index_.has_times) return;
    const size_t key = *(std::upper_bound(index_.keys.begin(), index_.keys.end(), number) - 1);
    if (key <= next_) return;
    if (!file_.seek(index_.times[key])) return;
    avcodec_flush_buffers(decoder_.get());
    ended_ = false;
    next_ = key;
  }

  /// The frame of this number; none where it does not come any more.
  std::optional<Image> take(size_t number) {
    while (receive()) {
      const std::optional<size_t> shown = number_of(*frame_);
      if (!shown || *shown < number) continue;
      if (*shown > number) return std::nullopt;
      return converter_.convert(*frame_);
    }
    return std::nullopt;
  }

  const ClipFile& file() const { return file_; }

 private:
  /// The next frame that is decoded; packets that cannot be are passed by, and the frames that need them are missed.
  bool receive() {
    while (true) {
      const int result = avcodec_receive_frame(decoder_.get(), frame_.get());
      if (result == 0) {
        require_same_size();
        return true;
      }
      if (result == AVERROR_EOF || ended_) return false;
      ended_ = !file_.next(*packet_);
      avcodec_send_packet(decoder_.get(), ended_ ? nullptr : packet_.get());
    }
  }

  void require_same_size() {
    const ImageSize size{frame_->width, frame_->height};
    if (!size_) size_ = size;
    if (size.width == size_->width && size.height == size_->height) return;
    file_.refuse(fmt::format("its frames change from {}x{} to {}x{}, accepted is one size", size_->width, size_->height,
                             size.width, size.height));
  }

  std::optional<size_t> number_of(const AVFrame& frame) {
    if (!index_.has_times) return next_++;
    const auto found = std::lower_bound(index_.times.begin(), index_.times.end(), frame.best_effort_timestamp);
    if (found == index_.times.end() || *found != frame.best_effort_timestamp) return std::nullopt;
    const auto number = static_cast<size_t>(found - index_.times.begin());
    next_ = number + 1;
    return number;
  }

  ClipFile file_;
  const ClipIndex& index_;
  OwnedClip<AVCodecContext> decoder_;
  OwnedClip<AVPacket> packet_{av_packet_alloc()};
  OwnedClip<AVFrame> frame_{av_frame_alloc()};
  RgbConverter converter_;
  std::optional<ImageSize> size_;
  size_t next_ = 0;
  bool ended_ = false;
};

/// Where a file's places to begin at are not what they seem, decoding from its first frame finds the wanted one.
Image decode_from_start(const std::filesystem::path& path, const ClipIndex& index, size_t number) {
  FrameStream stream(path, index);
  std::optional<Image> image = stream.take(number);
  if (!image) stream.file().refuse(fmt::format("frame {} of {} cannot be decoded", number, index.frames()));
  return *std::move(image);
}

void read_file_frames(const std::filesystem::path& path, const ClipIndex& index, std::span<const size_t> numbers,
                      const FrameVisitor& visit) {
  FrameStream stream(path, index);
  for (size_t i = 0; i < numbers.size(); ++i) {
    stream.approach(numbers[i]);
    std::optional<Image> image = stream.take(numbers[i]);
    if (!image) image = decode_from_start(path, index, numbers[i]);
    for (; i + 1 < numbers.size() && numbers[i + 1] == numbers[i]; ++i) visit(i, *image);
    visit(i, *std::move(image));
  }
}

constexpr ClipDecoder kDecoder{index_file, read_file_frames};

}  // namespace
}  // namespace fib

extern "C" const fib::ClipDecoder* fib_clip_decoder() { return &fib::kDecoder; }
