// SPDX-License-Identifier: Apache-2.0
#include "base/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/text.h"

namespace fib {
namespace {

using Json = nlohmann::json;

/// Follows the only grammar there is: {"__metadata__": {string: string}, NAME: {"dtype", "shape", "data_offsets"}}.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(size_t) override {
    if (place_ == Place::before)
      place_ = Place::top;
    else if (place_ == Place::top)
      begin_entry();
    else
      unexpected("an object");
    return true;
  }

  bool key(string_t& key) override {
    if (place_ == Place::top && !names_.insert(key).second) refuse("key " + in_quotes(key) + " twice");
    if (place_ == Place::tensor) begin_field(key);
    if (place_ == Place::metadata && !header_.metadata.emplace(key, "").second)
      refuse("key " + in_quotes(key) + " twice");
    (place_ == Place::top ? name_ : field_) = key;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) end_tensor();
    place_ = place_ == Place::top ? Place::after : Place::top;
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata)
      header_.metadata[field_] = text;
    else if (place_ == Place::tensor && field_ == "dtype")
      claim_.type = known_type(text);
    else
      unexpected("a string");
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::tensor || field_ == "dtype") unexpected("an array");
    place_ = Place::numbers;
    return true;
  }

  bool end_array() override {
    if (field_ == "data_offsets" && numbers_.size() != 2) refuse(where() + "data_offsets must be two numbers");
    if (field_ == "shape") claim_.shape.assign(numbers_.begin(), numbers_.end());
    if (field_ == "data_offsets") claim_.begin = numbers_[0], claim_.end = numbers_[1];
    numbers_.clear();
    place_ = Place::tensor;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::numbers) unexpected("a number");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) unexpected(std::to_string(value));
    numbers_.push_back(value);
    return true;
  }

  bool number_integer(number_integer_t value) override { unexpected(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { unexpected(in_quotes(text)); }
  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool binary(binary_t&) override { unexpected("binary data"); }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    refuse("not valid JSON at byte " + std::to_string(position));
  }

 private:
  enum class Place { before, top, tensor, numbers, metadata, after };

  void begin_entry() {
    place_ = name_ == "__metadata__" ? Place::metadata : Place::tensor;
    claim_ = {};
    claim_.name = name_;
    fields_.clear();
  }

  void begin_field(const std::string& key) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") refuse(where() + "unknown key " + in_quotes(key));
    if (!fields_.insert(key).second) refuse(where() + "key '" + key + "' twice");
  }

  void end_tensor() {
    if (fields_.size() != 3) refuse(where() + "needs dtype, shape and data_offsets");
    header_.tensors.push_back(std::move(claim_));
  }

  TensorType known_type(const std::string& text) const {
    const auto type = tensor_type_from_name(text);
    if (!type)
      refuse(where() + "dtype " + in_quotes(text) +
             ", accepted are F64, F32, F16, BF16, I64, I32, I16, I8, U8 and BOOL");
    return *type;
  }

  std::string where() const { return "tensor " + in_quotes(name_) + ": "; }

  [[noreturn]] void unexpected(const std::string& what) const {
    if (place_ == Place::before) refuse(what + " where the JSON object should begin");
    if (place_ == Place::top) refuse(what + " as the value of " + in_quotes(name_) + " where an object should be");
    refuse(where() + what + " as the value of " + in_quotes(field_));
  }

  [[noreturn]] static void refuse(const std::string& what) { throw SafetensorsHeaderError(what); }

  Place place_ = Place::before;
  SafetensorsHeader header_;
  TensorClaim claim_;
  std::string name_, field_;                ///< the keys we are under
  std::unordered_set<std::string> names_;   ///< every top key so far
  std::unordered_set<std::string> fields_;  ///< every key of this tensor so far
  std::vector<uint64_t> numbers_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json) {
  HeaderReader reader;
  Json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

}  // namespace fib
