// SPDX-License-Identifier: Apache-2.0
// Small videos whose every frame is known: grey that gets lighter from frame to frame, with a white corner.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
}

#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace fib::test {

struct ClipSpec {
  int width = 64, height = 48;
  int frames = 20;
  int gop = 6;                      ///< frames from one that decoding can begin at to the next
  std::vector<int64_t> times = {};  ///< of the frames, in milliseconds; empty: one every 40
  int turned = 0;                   ///< clockwise, in degrees, as a phone notes it
  bool index_first = false;         ///< before the frames, as for the web
};

/// The grey of a frame, as RGB gives it.
inline int grey_of_frame(size_t number) {
  return static_cast<int>((10.0 + 8.0 * static_cast<double>(number)) * 255 / 219);
}

class ClipWriter {
 public:
  ClipWriter(const std::filesystem::path& file, const ClipSpec& spec) : spec_(spec) {
    check(avformat_alloc_output_context2(&container_, nullptr, "mp4", file.c_str()));
    stream_ = avformat_new_stream(container_, nullptr);
    open_codec();
    if (spec.turned != 0) turn();
    check(avio_open(&container_->pb, file.c_str(), AVIO_FLAG_WRITE));
    AVDictionary* options = nullptr;
    if (spec.index_first) av_dict_set(&options, "movflags", "faststart", 0);
    check(avformat_write_header(container_, &options));
    av_dict_free(&options);
  }
  ~ClipWriter() {
    avcodec_free_context(&codec_);
    avio_closep(&container_->pb);
    avformat_free_context(container_);
    av_packet_free(&packet_);
    av_frame_free(&frame_);
  }
  ClipWriter(const ClipWriter&) = delete;
  ClipWriter& operator=(const ClipWriter&) = delete;

  void write() {
    for (int i = 0; i < spec_.frames; ++i) {
      paint(i);
      frame_->pts = spec_.times.empty() ? 40 * i : spec_.times[static_cast<size_t>(i)];
      encode(frame_);
    }
    encode(nullptr);
    check(av_write_trailer(container_));
  }

 private:
  static void check(int result) {
    if (result < 0) throw std::runtime_error("the test's video cannot be written");
  }

  void open_codec() {
    const AVCodec* encoder = avcodec_find_encoder(AV_CODEC_ID_MPEG4);
    codec_ = avcodec_alloc_context3(encoder);
    codec_->width = spec_.width;
    codec_->height = spec_.height;
    codec_->time_base = {1, 1000};
    codec_->pix_fmt = AV_PIX_FMT_YUV420P;
    codec_->gop_size = spec_.gop;
    codec_->max_b_frames = 2;
    codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_QSCALE;
    codec_->global_quality = FF_QP2LAMBDA;  // the best there is
    check(avcodec_open2(codec_, encoder, nullptr));
    check(avcodec_parameters_from_context(stream_->codecpar, codec_));
    stream_->time_base = codec_->time_base;
    frame_->format = codec_->pix_fmt;
    frame_->width = spec_.width;
    frame_->height = spec_.height;
    check(av_frame_get_buffer(frame_, 0));
  }

  void turn() {
    constexpr size_t kBytes = 9 * sizeof(int32_t);
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
    AVCodecParameters& p = *stream_->codecpar;
    AVPacketSideData* data =
        av_packet_side_data_new(&p.coded_side_data, &p.nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX, kBytes, 0);
    auto* matrix = reinterpret_cast<int32_t*>(data->data);
#else
    auto* matrix = reinterpret_cast<int32_t*>(av_stream_new_side_data(stream_, AV_PKT_DATA_DISPLAYMATRIX, kBytes));
#endif
    av_display_rotation_set(matrix, spec_.turned);
  }

  void paint(int number) {
    check(av_frame_make_writable(frame_));
    for (int y = 0; y < spec_.height; ++y) {
      uint8_t* row = frame_->data[0] + y * frame_->linesize[0];
      std::memset(row, 26 + 8 * number, static_cast<size_t>(spec_.width));
      if (y < 16) std::memset(row, 235, 16);
    }
    for (int plane : {1, 2})
      std::memset(frame_->data[plane], 128, static_cast<size_t>(frame_->linesize[plane]) * (spec_.height / 2));
  }

  void encode(const AVFrame* frame) {
    check(avcodec_send_frame(codec_, frame));
    while (avcodec_receive_packet(codec_, packet_) == 0) {
      packet_->duration = spec_.times.empty() ? 40 : 20;  // a last frame without one would not be shown
      av_packet_rescale_ts(packet_, codec_->time_base, stream_->time_base);
      packet_->stream_index = stream_->index;
      check(av_interleaved_write_frame(container_, packet_));
    }
  }

  ClipSpec spec_;
  AVFormatContext* container_ = nullptr;
  AVStream* stream_ = nullptr;
  AVCodecContext* codec_ = nullptr;
  AVFrame* frame_ = av_frame_alloc();
  AVPacket* packet_ = av_packet_alloc();
};

inline void write_clip(const std::filesystem::path& file, const ClipSpec& spec = {}) { ClipWriter(file, spec).write(); }

}  // namespace fib::test
