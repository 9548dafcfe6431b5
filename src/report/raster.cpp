// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/text.h"
#include "report/drawing.h"
#include "report/font.h"

namespace fib::report {
namespace {

/// Drawn at twice the size and averaged down: smooth letters and lines, while whole pixels stay sharp.
constexpr int kOversampling = 2;
/// Corners of polygons are given in 1/16 pixel.
constexpr int kFractionBits = 4;
constexpr double kMaxPixels = 1e8;

/// RGB order throughout, as the file has it.
cv::Scalar scalar(Color c) { return {double(c.red), double(c.green), double(c.blue)}; }

cv::Point fixed_point(Point p) {
  const double unit = kOversampling * (1 << kFractionBits);
  // OpenCV counts from pixels' centres, drawings from their corners.
  const double half = 0.5 * (1 << kFractionBits);
  return {static_cast<int>(std::lround(p.x * unit - half)), static_cast<int>(std::lround(p.y * unit - half))};
}

cv::Rect whole_rect(const Rect& r) {
  const int x = cvRound(r.x * kOversampling), y = cvRound(r.y * kOversampling);
  return {x, y, cvRound((r.x + r.width) * kOversampling) - x, cvRound((r.y + r.height) * kOversampling) - y};
}

/// Polygons are always opaque; only rectangles let something through.
void tint(cv::Mat part, const Fill& fill) {
  if (fill.opacity >= 1) {
    part.setTo(scalar(fill.color));
  } else if (!part.empty()) {
    const cv::Mat color(part.size(), part.type(), scalar(fill.color));
    cv::addWeighted(part, 1 - fill.opacity, color, fill.opacity, 0, part);
  }
}

void paint(cv::Mat& image, const Fill& fill) {
  const cv::Rect all(0, 0, image.cols, image.rows);
  for (const Rect& r : fill.rects) tint(image(whole_rect(r) & all), fill);
  for (const auto& polygon : fill.polygons) {
    std::vector<cv::Point> corners;
    corners.reserve(polygon.size());
    for (const Point& p : polygon) corners.push_back(fixed_point(p));
    cv::fillConvexPoly(image, corners, scalar(fill.color), cv::LINE_AA, kFractionBits);
  }
}

void paint(cv::Mat& image, const Stroke& stroke) {
  const int width = std::max(1, cvRound(stroke.width * kOversampling));
  for (const auto& line : stroke.lines)
    for (size_t i = 1; i < line.size(); ++i)
      cv::line(image, fixed_point(line[i - 1]), fixed_point(line[i]), scalar(stroke.color), width, cv::LINE_AA,
               kFractionBits);
}

void paint(cv::Mat& image, const Dots& dots) {
  const int radius = cvRound(dots.radius * kOversampling * (1 << kFractionBits));
  for (const Point& p : dots.centers)
    cv::circle(image, fixed_point(p), radius, scalar(dots.color), cv::FILLED, cv::LINE_AA, kFractionBits);
}

/// The Hershey letters are ASCII; what stands for the others that our own texts use.
std::string ascii_text(const std::string& line) {
  constexpr std::array<std::pair<const char*, const char*>, 7> kReplaced = {
      {{"−", "-"}, {"–", "-"}, {"×", "x"}, {"µ", "u"}, {"…", "..."}, {"²", "2"}, {"φ", "phi"}}};
  std::string text = line;
  for (const auto& [what, with] : kReplaced)
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;) text.replace(at, std::strlen(what), with);
  return text;
}

/// How far left of its point a line of that width begins.
int before_point(Align align, int width) {
  return align == Align::start ? 0 : align == Align::middle ? width / 2 : width;
}

void paint_letters(cv::Mat& image, const Lettering& letters, cv::Point corner, Color color) {
  const cv::Mat coverage(letters.height, letters.width, CV_8U,
                         const_cast<uint8_t*>(letters.coverage.data()));  // only read
  const cv::Rect place = cv::Rect(corner, coverage.size()) & cv::Rect(0, 0, image.cols, image.rows);
  if (place.empty()) return;
  cv::Mat part = image(place);
  const cv::Mat covered = coverage(place - corner);
  const cv::Vec3d ink(color.red, color.green, color.blue);
  for (int y = 0; y < part.rows; ++y) {
    for (int x = 0; x < part.cols; ++x) {
      auto& pixel = part.at<cv::Vec3b>(y, x);
      const double share = covered.at<uint8_t>(y, x) / 255.0;
      for (int c = 0; c < 3; ++c) pixel[c] = cv::saturate_cast<uint8_t>(pixel[c] + share * (ink[c] - pixel[c]));
    }
  }
}

/// Where the system has no font: OpenCV's strokes.
void paint_strokes(cv::Mat& image, const Text& t) {
  // Hershey capitals are 21 units high, those of usual fonts 0.72 of their size.
  const double scale = 0.72 * t.size / 21.0 * kOversampling;
  const int thickness = static_cast<int>(std::lround(t.size / 14.0 * kOversampling * (t.bold ? 1.5 : 0.9)));
  const std::string line = ascii_text(t.line);
  int below = 0;
  const int width = cv::getTextSize(line, cv::FONT_HERSHEY_SIMPLEX, scale, thickness, &below).width;
  const cv::Point at(cvRound(t.at.x * kOversampling) - before_point(t.align, width), cvRound(t.at.y * kOversampling));
  cv::putText(image, line, at, cv::FONT_HERSHEY_SIMPLEX, scale, scalar(t.color), thickness, cv::LINE_AA);
}

void paint(cv::Mat& image, const Text& t) {
  // DejaVu's letters are a tenth wider than those that drawings leave room for.
  constexpr double kShare = 0.9;
  const Font* const font = Font::find(t.bold);
  if (font == nullptr || t.line.empty()) return paint_strokes(image, t);
  const Lettering letters = font->set(t.line, cvRound(kShare * t.size * kOversampling));
  paint_letters(image, letters,
                {cvRound(t.at.x * kOversampling) - before_point(t.align, letters.width),
                 cvRound(t.at.y * kOversampling) - letters.ascent},
                t.color);
}

void paint(cv::Mat& image, const Pixels& p) {
  const cv::Rect target = whole_rect(p.at) & cv::Rect(0, 0, image.cols, image.rows);
  const cv::Mat source(static_cast<int>(p.height), static_cast<int>(p.width), CV_8UC3,
                       const_cast<uint8_t*>(p.rgb.data()));  // only read
  cv::resize(source, image(target), target.size(), 0, 0, cv::INTER_NEAREST);
}

}  // namespace

std::string to_png(const Drawing& drawing) {
  const int width = static_cast<int>(std::ceil(drawing.width)), height = static_cast<int>(std::ceil(drawing.height));
  if (!(drawing.width * drawing.height <= kMaxPixels)) {
    throw std::invalid_argument("an image of " + std::to_string(width) + " x " + std::to_string(height) +
                                " pixels is too large for PNG; SVG has no such limit");
  }
  cv::Mat image(height * kOversampling, width * kOversampling, CV_8UC3, cv::Scalar::all(255)), small;
  for (const auto& item : drawing.items) std::visit([&](const auto& i) { paint(image, i); }, item);
  cv::resize(image, small, {width, height}, 0, 0, cv::INTER_AREA);
  return encode_png({small.data, small.total() * 3}, static_cast<uint32_t>(width), static_cast<uint32_t>(height));
}

void check_drawing_output(const std::string& path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png"))
    throw std::invalid_argument("a drawing is written as .svg or .png, got " + in_quotes(path));
  check_writable(path);
}

void write_drawing(const Drawing& drawing, const std::string& path) {
  write_file_atomically(path, path.ends_with(".svg") ? to_svg(drawing) : to_png(drawing));
}

}  // namespace fib::report
