// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "base/checked.h"
#include "base/text.h"

namespace fib {
namespace {

static_assert(std::endian::native == std::endian::little, "values are read and written as they lie in memory");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kPreamble = kMagic.size() + 2;  // and the version's two bytes
constexpr size_t kAlignment = 64;                // NumPy's: the values start at a multiple of it
constexpr size_t kMaxDimensions = 32;            // NumPy's

[[noreturn]] void fail(const std::string& name, const std::string& found) {
  throw std::runtime_error("cannot read '" + name + "': " + found);
}

/// Where the header's text lies in the file.
struct TextRange {
  size_t begin;
  size_t length;
};

TextRange locate_header(std::string_view file, const std::string& name) {
  if (!file.starts_with(kMagic))
    fail(name, "not a .npy file, it begins with " + in_quotes(file.substr(0, kMagic.size())));
  if (file.size() < kPreamble) fail(name, "truncated within its first 8 bytes");
  const int version = static_cast<unsigned char>(file[kMagic.size()]);
  if (version < 1 || version > 3) fail(name, ".npy version " + std::to_string(version) + ", accepted are 1, 2 and 3");
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (file.size() < kPreamble + length_bytes) fail(name, "truncated before the end of its header");
  uint32_t length = 0;
  std::memcpy(&length, file.data() + kPreamble, length_bytes);
  const size_t begin = kPreamble + length_bytes;
  if (file.size() - begin < length)
    fail(name, "truncated: its header has " + std::to_string(length) + " bytes, the file goes on for " +
                   std::to_string(file.size() - begin));
  return {begin, length};
}

/// What is wrong with the text; the caller knows the file and says so.
struct NpyDictError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The text of a header: a Python dict with exactly these keys.
struct NpyDict {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// The few Python literals that NumPy writes, read from left to right; no recursion, so no input exhausts the stack.
class NpyDictParser {
 public:
  explicit NpyDictParser(std::string_view text) : rest_(text) {}

  NpyDict dict() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (!rest_.empty()) wrong("nothing");
    if (!has_descr_ || !has_order_ || !has_shape_)
      throw NpyDictError("its keys must be descr, fortran_order and shape");
    return std::move(result_);
  }

 private:
  void entry() {
    const std::string key = string();
    expect(':');
    if (key == "descr")
      once(has_descr_, key), result_.descr = string();
    else if (key == "fortran_order")
      once(has_order_, key), result_.fortran_order = boolean();
    else if (key == "shape")
      once(has_shape_, key), result_.shape = tuple();
    else
      throw NpyDictError("unknown key " + in_quotes(key));
  }

  static void once(bool& seen, const std::string& key) {
    if (seen) throw NpyDictError("key '" + key + "' twice");
    seen = true;
  }

  std::string string() {
    skip_space();
    if (!rest_.empty() && rest_.front() == '[') throw NpyDictError("a structured dtype, accepted are '<f4' and '<f8'");
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) wrong("a string");
    std::string value(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return value;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    wrong("True or False");
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(integer());
      if (accept(',')) continue;
      if (values.size() == 1) wrong("a comma");  // Python reads (3) as a number
      expect(')');
      break;
    }
    return values;
  }

  int64_t integer() {
    skip_space();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) wrong("a dimension below 2^63");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    accept_word("L");  // Python 2 wrote long integers so
    return value;
  }

  void skip_space() {
    const size_t used = rest_.find_first_not_of(" \t\n\r");
    rest_.remove_prefix(used == std::string_view::npos ? rest_.size() : used);
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool accept(char c) { return accept_word({&c, 1}); }

  void expect(char c) {
    if (!accept(c)) wrong("'" + std::string(1, c) + "'");
  }

  [[noreturn]] void wrong(const std::string& expected) const {
    throw NpyDictError("expected " + expected + " at " + (rest_.empty() ? "its end" : in_quotes(rest_.substr(0, 20))));
  }

  std::string_view rest_;
  NpyDict result_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

struct NpyTypeName {
  NpyType type;
  const char* name;
  const char* descr;
  int64_t size;
};
constexpr NpyTypeName kNpyTypes[] = {{NpyType::float32, "float32", "<f4", 4},
                                     {NpyType::float64, "float64", "<f8", 8},
                                     {NpyType::uint8, "uint8", "|u1", 1}};
const NpyTypeName& entry_of(NpyType type) { return kNpyTypes[static_cast<size_t>(type)]; }

NpyType accepted_type(const std::string& descr, NpyAccepted accepted, const std::string& name) {
  const bool bytes = accepted == NpyAccepted::bytes;
  for (const NpyTypeName& known : kNpyTypes)
    if (descr == known.descr && (known.type == NpyType::uint8) == bytes) return known.type;
  if (bytes) fail(name, "dtype " + in_quotes(descr) + ", accepted is '|u1' (uint8)");
  const bool big_endian = descr == ">f4" || descr == ">f8";
  fail(name, (big_endian ? "big-endian values, dtype " : "dtype ") + in_quotes(descr) +
                 ", accepted are '<f4' (float32) and '<f8' (float64)");
}

int64_t item_size(NpyType type) { return entry_of(type).size; }

void check_size(const NpyHeader& header, size_t file_size, const std::string& name) {
  const std::string shape = shape_text(header.shape);
  if (header.shape.size() > kMaxDimensions)
    fail(name,
         std::to_string(header.shape.size()) + " dimensions, accepted are up to " + std::to_string(kMaxDimensions));
  const auto needed = checked_bytes(header.shape, item_size(header.type));
  if (!needed) fail(name, "impossible shape " + shape);
  const size_t present = file_size - header.data_begin;
  if (present < static_cast<uint64_t>(*needed))
    fail(name, "truncated: shape " + shape + " of " + npy_type_name(header.type) + " needs " + std::to_string(*needed) +
                   " bytes, the file holds " + std::to_string(present));
  if (present > static_cast<uint64_t>(*needed))
    fail(name, "too long: " + std::to_string(present - static_cast<size_t>(*needed)) + " bytes follow the " +
                   std::to_string(*needed) + " of shape " + shape + " of " + npy_type_name(header.type));
}

std::string header_text(std::span<const int64_t> shape, NpyType type) {
  const std::string dict = std::string("{'descr': '") + entry_of(type).descr +
                           "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  const size_t used = kPreamble + 2 + dict.size() + 1;
  return dict + std::string((kAlignment - used % kAlignment) % kAlignment, ' ') + "\n";
}

template <class T>
constexpr NpyType kTypeOf = std::is_same_v<T, float>    ? NpyType::float32
                            : std::is_same_v<T, double> ? NpyType::float64
                                                        : NpyType::uint8;

}  // namespace

const char* npy_type_name(NpyType type) { return entry_of(type).name; }

NpyHeader parse_npy(std::span<const std::byte> file, const std::string& name, NpyAccepted accepted) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const TextRange range = locate_header(text, name);
  NpyHeader header;
  header.data_begin = range.begin + range.length;
  try {
    NpyDict dict = NpyDictParser(text.substr(range.begin, range.length)).dict();
    header.type = accepted_type(dict.descr, accepted, name);
    if (dict.fortran_order) fail(name, "Fortran order, accepted is C order (numpy.ascontiguousarray)");
    header.shape = std::move(dict.shape);
  } catch (const NpyDictError& error) {
    fail(name, std::string("malformed .npy header, ") + error.what());
  }
  check_size(header, file.size(), name);
  return header;
}

NpyArray::NpyArray(const std::filesystem::path& file, NpyAccepted accepted)
    : file_(file), header_(parse_npy(file_.bytes(), file.string(), accepted)) {
  const auto values = file_.bytes().subspan(header_.data_begin);
  if (header_.data_begin % static_cast<size_t>(item_size(header_.type)) != 0)
    aligned_.assign(values.begin(), values.end());
}

template <class T>
std::span<const T> NpyArray::values() const {
  if (type() != kTypeOf<T>) throw std::logic_error(std::string("the array holds ") + npy_type_name(type()));
  const auto bytes = aligned_.empty() ? file_.bytes().subspan(header_.data_begin) : std::span(aligned_);
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
void write_npy(AtomicFile& file, std::span<const int64_t> shape, std::span<const T> values) {
  const auto needed = checked_bytes(shape, sizeof(T));
  if (!needed || static_cast<uint64_t>(*needed) != values.size_bytes() || shape.size() > kMaxDimensions)
    throw std::invalid_argument("write_npy: " + std::to_string(values.size()) + " values do not fill the shape " +
                                shape_text(shape) + " of up to " + std::to_string(kMaxDimensions) + " dimensions");
  const std::string text = header_text(shape, kTypeOf<T>);
  file.write(kMagic.data(), kMagic.size());
  const auto length = static_cast<uint16_t>(text.size());  // 32 dimensions of 19 digits need 700 bytes
  file.write("\x01\x00", 2);
  file.write(&length, sizeof(length));
  file.write(text.data(), text.size());
  file.write(values.data(), values.size_bytes());
}

template <class T>
void write_npy(const std::filesystem::path& file, std::span<const int64_t> shape, std::span<const T> values) {
  AtomicFile target(file);
  write_npy(target, shape, values);
  target.commit();
}

template std::span<const float> NpyArray::values<float>() const;
template std::span<const double> NpyArray::values<double>() const;
template std::span<const uint8_t> NpyArray::values<uint8_t>() const;
template void write_npy(AtomicFile&, std::span<const int64_t>, std::span<const float>);
template void write_npy(AtomicFile&, std::span<const int64_t>, std::span<const double>);
template void write_npy(const std::filesystem::path&, std::span<const int64_t>, std::span<const float>);
template void write_npy(const std::filesystem::path&, std::span<const int64_t>, std::span<const double>);
template void write_npy(const std::filesystem::path&, std::span<const int64_t>, std::span<const uint8_t>);

}  // namespace fib
