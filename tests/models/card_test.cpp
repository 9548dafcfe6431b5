// SPDX-License-Identifier: Apache-2.0
#include "models/card.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fib::models {
namespace {

ModelCard grey_card() {
  ModelCard card;
  card.model = "vit_nano_patch2_28";
  card.attention = "fibottention:wmin=2";
  card.resolution = 28;
  card.patch = 2;
  card.pool = "mean";
  card.channels = 1;
  card.mean = {0.2860f};
  card.std = {0.3530f};
  card.crop_ratio = 0.875;
  card.attention_layers = "0-1";
  card.class_names = {"T-shirt/top", "a \"quoted\" one", "größer"};
  return card;
}

std::string error_of(const char* key, const char* value) {
  TensorMetadata metadata = to_metadata(grey_card());
  metadata[key] = value;
  try {
    read_card(metadata, "some.safetensors");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(ModelCard, comes_back_from_metadata_to_the_bit) {
  EXPECT_EQ(read_card(to_metadata(grey_card()), "f"), grey_card());
  const ModelCard published = published_card(find_row("deit_tiny_patch16_224"));
  EXPECT_EQ(read_card(to_metadata(published), "f"), published);
}

TEST(ModelCard, is_empty_where_a_file_tells_nothing_of_our_models) {
  EXPECT_EQ(read_card({}, "f"), ModelCard());
  EXPECT_EQ(read_card({{"format", "pt"}, {"model", "somebody/else"}, {"mean", "nonsense"}}, "f"), ModelCard());
}

TEST(ModelCard, refuses_what_cannot_be_and_names_it) {
  const std::pair<const char*, const char*> impossible[] = {{"std", "[0]"},
                                                            {"std", "[0.1, 0.2]"},
                                                            {"mean", "[\"a\"]"},
                                                            {"mean", "0.5"},
                                                            {"mean", "[1e999]"},
                                                            {"resolution", "0"},
                                                            {"resolution", "x"},
                                                            {"resolution", "99999999999999999999"},
                                                            {"channels", "-1"},
                                                            {"crop_ratio", "1.5"},
                                                            {"crop_ratio", "nan"},
                                                            {"pool", "max"},
                                                            {"class_names", "{}"},
                                                            {"class_names", "[1]"},
                                                            {"class_names", "["},
                                                            {"patch", "2.5"},
                                                            {"attention_layers", "1-"}};
  for (const auto& [key, value] : impossible) {
    const std::string error = error_of(key, value);
    EXPECT_NE(error.find("some.safetensors"), std::string::npos) << key << " " << value;
    EXPECT_NE(error.find(key), std::string::npos) << error;
  }
}

TEST(ModelCard, is_completed_by_those_who_know_more) {
  ModelCard card;
  card.mean = {0.1f, 0.2f, 0.3f};
  const ModelCard whole = completed(card, published_card(find_row("vit_tiny_patch16_224")));
  EXPECT_EQ(whole.mean, card.mean);
  EXPECT_EQ(whole.std, (std::vector<float>{0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(whole.resolution, 224);
}

TEST(ModelCard, chooses_the_model) {
  const Options options = options_of(grey_card());
  EXPECT_EQ(options.attention.to_string(), "fibottention:wmin=2");
  EXPECT_EQ(options.channels, 1);
  EXPECT_EQ(options.pool, Pool::mean);
  EXPECT_EQ(dimensions("vit_nano_patch2_28", options).grid(), (attention::Grid{14, 14}));
}

}  // namespace
}  // namespace fib::models
