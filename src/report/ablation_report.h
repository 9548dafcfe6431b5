// SPDX-License-Identifier: Apache-2.0
// What `fib reproduce` shows: its results beside the paper's, and the list of all tables and figures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/ablations/jobs.h"

namespace fib::report {

std::string reproduced_text(const ablations::Ablation& ablation, const std::vector<ablations::Run>& runs,
                            ablations::Scale scale);
nlohmann::ordered_json reproduced_json(const ablations::Ablation& ablation, const std::vector<ablations::Run>& runs,
                                       ablations::Scale scale);
/// Curves where the rows have a place on an axis, dots otherwise. `path` ends in .svg or .png.
void draw_reproduced(const ablations::Ablation& ablation, const std::vector<ablations::Run>& runs,
                     const std::string& path);

/// The paper's settings beside those of the recipes that follow them.
std::string settings_text(const ablations::Ablation& ablation, const std::vector<ablations::NamedRecipe>& recipes);
nlohmann::ordered_json settings_json(const ablations::Ablation& ablation,
                                     const std::vector<ablations::NamedRecipe>& recipes);

/// Every entry with its cost at each scale, and what is trained there.
std::string list_text(const std::vector<ablations::Ablation>& all, const ablations::Request& request);
nlohmann::ordered_json list_json(const std::vector<ablations::Ablation>& all, const ablations::Request& request);

}  // namespace fib::report
