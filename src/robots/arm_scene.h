// SPDX-License-Identifier: Apache-2.0
// Text in MuJoCo's format: the arm, its gripper and what surrounds them, with robosuite's meshes and textures where
// they are at hand, else in plain shapes. Measures are those of robosuite v1.3.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "robots/arm.h"

namespace fib::robots {

/// How a surface looks: an image of the assets, or a color.
struct Surface {
  const char* name;
  const char* file;     ///< in textures/
  const char* texture;  ///< its attributes
  const char* material;
  const char* color;
};

inline constexpr Surface kTiles{"tiles", "wood-tiles.png", R"(type="2d")",
                                R"(texrepeat="2 2" texuniform="true" shininess="0" specular="0")", "0.72 0.6 0.46 1"};
inline constexpr Surface kPlaster{"plaster", "cream-plaster.png", R"(type="2d")",
                                  R"(texrepeat="3 3" texuniform="true" shininess="0.1" specular="0.1")",
                                  "0.93 0.9 0.83 1"};
inline constexpr Surface kSteel{"steel", "steel-brushed.png", R"(type="cube")", R"(texrepeat="1 1" shininess="0.8")",
                                "0.6 0.6 0.62 1"};
inline constexpr Surface kCeramic{"ceramic", "ceramic.png", R"(type="cube")",
                                  R"(texrepeat="1 1" shininess="0" specular="0.2")", "0.86 0.85 0.82 1"};
inline constexpr Surface kLightWood{"light-wood", "light-wood.png", R"(type="2d")",
                                    R"(texrepeat="15 15" texuniform="true")", "0.8 0.65 0.45 1"};
inline constexpr Surface kDarkWood{"dark-wood", "dark-wood.png", R"(type="2d")", R"(texrepeat="5 5" texuniform="true")",
                                   "0.4 0.27 0.17 1"};
inline constexpr Surface kRedWood{"red-wood", "red-wood.png", R"(type="cube")",
                                  R"(texrepeat="1 1" specular="0.4" shininess="0.1")", "0.75 0.1 0.08 1"};
inline constexpr Surface kCanLabel{"can", "can.png", R"(type="2d")", R"(texrepeat="5 5" texuniform="true")",
                                   "0.8 0.05 0.08 1"};

/// One of the two models of a scene, written piece by piece.
class SceneText {
 public:
  enum class Purpose { physics, visual };

  SceneText(std::filesystem::path assets, Purpose purpose);

  bool has_assets() const { return !assets_.empty(); }
  bool is_visual() const { return purpose_ == Purpose::visual; }

  /// Something that is touched: seen too where the scene is looked at. `shape` is type, size and place.
  std::string solid(const std::string& shape, const Surface& surface, const std::string& physics = "");
  /// Something that is only seen.
  std::string decor(const std::string& shape, const Surface& surface);
  /// type="mesh" and its name, once loaded from a file of the assets.
  std::string mesh(const std::string& file);

  void add(const std::string& body) { world_ += body; }
  /// Floor, walls, lights.
  void add_room();
  void add_agentview(const Vector3& position);
  /// A Panda on its mount; `base` is the middle of its foot.
  void add_panda(const Vector3& base);

  std::string finished(const std::string& name) const;
  /// Files of the arm, which have far more triangles than anything else.
  const std::vector<std::string>& fine_meshes() const { return fine_meshes_; }

 private:
  std::string looks(const Surface& surface);
  std::string fine_mesh(const std::string& file);
  std::string link_geoms(size_t link);
  std::string finger(size_t index);
  std::string hand();
  std::string mount();

  std::filesystem::path assets_;
  Purpose purpose_;
  std::string asset_list_, world_;
  std::vector<std::string> fine_meshes_;
};

ArmScene scene_of(const std::string& name, const SceneText& physics, const SceneText& visual);

}  // namespace fib::robots
