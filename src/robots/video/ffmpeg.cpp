// SPDX-License-Identifier: Apache-2.0
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "base/atomic_file.h"
#include "base/system.h"
#include "robots/video.h"

namespace fib::robots {
namespace {

struct Free {
  void operator()(AVFormatContext* c) const {
    if (c->pb != nullptr) avio_closep(&c->pb);
    avformat_free_context(c);
  }
  void operator()(AVCodecContext* c) const { avcodec_free_context(&c); }
  void operator()(AVFrame* f) const { av_frame_free(&f); }
  void operator()(AVPacket* p) const { av_packet_free(&p); }
  void operator()(SwsContext* c) const { sws_freeContext(c); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// H.264 where FFmpeg was built with an encoder for it; every FFmpeg has MPEG-4's older one.
const AVCodec* find_encoder() {
  const AVCodec* best = avcodec_find_encoder(AV_CODEC_ID_H264);
  return best != nullptr ? best : avcodec_find_encoder(AV_CODEC_ID_MPEG4);
}

class Mp4Writer final : public VideoWriter {
 public:
  Mp4Writer(const char* file, const VideoOptions& options) : file_(file), options_(options) {
    av_log_set_level(AV_LOG_QUIET);
    open_container();
    open_codec();
    open_frame();
    check(avio_open(&container_->pb, file_.temporary().c_str(), AVIO_FLAG_WRITE), "cannot be written");
    check(avformat_write_header(container_.get(), nullptr), "cannot be begun");
  }

  ~Mp4Writer() override {
    container_.reset();  // before the file, which it has open
  }

  void add(std::span<const uint8_t> rgb) override {
    const uint8_t* planes[] = {rgb.data()};
    const int strides[] = {options_.width * 3};
    check(av_frame_make_writable(frame_.get()), "is out of memory");
    sws_scale(converter_.get(), planes, strides, 0, options_.height, frame_->data, frame_->linesize);
    frame_->pts = frames_++;
    encode(frame_.get());
  }

  void finish() override {
    encode(nullptr);
    check(av_write_trailer(container_.get()), "cannot be ended");
    check(avio_closep(&container_->pb), "cannot be closed");
    file_.commit();
  }

 private:
  void check(int result, const char* what) const {
    if (result >= 0) return;
    char reason[AV_ERROR_MAX_STRING_SIZE] = {};
    av_strerror(result, reason, sizeof reason);
    throw std::runtime_error(fmt::format("video {} {}: {}", file_.target().string(), what, reason));
  }

  void open_container() {
    AVFormatContext* container = nullptr;
    check(avformat_alloc_output_context2(&container, nullptr, "mp4", file_.temporary().c_str()), "cannot be an .mp4");
    container_.reset(container);
    stream_ = avformat_new_stream(container, nullptr);
  }

  void open_codec() {
    const AVCodec* encoder = find_encoder();
    codec_.reset(avcodec_alloc_context3(encoder));
    codec_->width = options_.width;
    codec_->height = options_.height;
    codec_->time_base = {1, options_.frames_per_second};
    codec_->pix_fmt = AV_PIX_FMT_YUV420P;
    if (container_->oformat->flags & AVFMT_GLOBALHEADER) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    check(avcodec_open2(codec_.get(), encoder, nullptr), "cannot be encoded");
    check(avcodec_parameters_from_context(stream_->codecpar, codec_.get()), "cannot be described");
    stream_->time_base = codec_->time_base;
  }

  void open_frame() {
    frame_->format = codec_->pix_fmt;
    frame_->width = options_.width;
    frame_->height = options_.height;
    check(av_frame_get_buffer(frame_.get(), 0), "is out of memory");
    converter_.reset(sws_getContext(options_.width, options_.height, AV_PIX_FMT_RGB24, options_.width, options_.height,
                                    codec_->pix_fmt, SWS_BILINEAR, nullptr, nullptr, nullptr));
  }

  void encode(const AVFrame* frame) {
    check(avcodec_send_frame(codec_.get(), frame), "cannot take a frame");
    while (avcodec_receive_packet(codec_.get(), packet_.get()) == 0) {
      packet_->duration = 1;
      av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
      packet_->stream_index = stream_->index;
      if (refused_by_test(SystemRequest::write)) check(AVERROR(ENOSPC), "cannot be written");
      check(av_interleaved_write_frame(container_.get(), packet_.get()), "cannot be written");
    }
  }

  AtomicName file_;
  VideoOptions options_;
  Owned<AVFormatContext> container_;
  AVStream* stream_ = nullptr;
  Owned<AVCodecContext> codec_;
  Owned<AVFrame> frame_{av_frame_alloc()};
  Owned<AVPacket> packet_{av_packet_alloc()};
  Owned<SwsContext> converter_;
  int64_t frames_ = 0;
};

}  // namespace
}  // namespace fib::robots

extern "C" fib::robots::VideoWriter* fib_open_video(const char* file, const fib::robots::VideoOptions& options) {
  return new fib::robots::Mp4Writer(file, options);
}
