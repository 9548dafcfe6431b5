// SPDX-License-Identifier: Apache-2.0
// What `fib classify` says of an image, whoever classified it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/standard_streams.h"
#include "data/ranked_classes.h"

namespace fib::cli {

/// The files to read; "-" is standard input.
std::vector<std::string> image_files(StandardStreams& streams, std::vector<std::string> images);

/// The results of some files, shown or collected; how many there are.
size_t show_classified(std::vector<ClassifiedImage> images, const StandardStreams& streams, bool text,
                       nlohmann::ordered_json& json);

/// Throws std::runtime_error where some were not.
void check_all_classified(size_t classified, size_t images);

/// Throws std::runtime_error where the file names more or fewer classes than the weights have.
std::vector<std::string> read_class_names(const std::string& file, int64_t classes);

}  // namespace fib::cli
