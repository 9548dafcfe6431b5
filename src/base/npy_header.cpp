// SPDX-License-Identifier: Apache-2.0
#include "base/npy_header.h"

#include <charconv>

#include "base/printable.h"

namespace fib {
namespace {

/// The few Python literals that NumPy writes, read from left to right; no recursion, so no input exhausts the stack.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

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

}  // namespace

NpyDict parse_npy_dict(std::string_view text) { return Parser(text).dict(); }

}  // namespace fib
