# SPDX-License-Identifier: Apache-2.0
# OpenCV's two libraries that draw and warp. Its own CMake package belongs to Debian's libopencv-dev, which brings VTK
# and Qt with it: 63 packages and 370 MB that nothing here uses.
find_path(FIB_OPENCV_HEADERS opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED DOC "Folder of OpenCV's headers")
foreach(module core imgproc)
  find_library(FIB_OPENCV_${module} opencv_${module} REQUIRED DOC "OpenCV's ${module}")
  add_library(opencv_${module} UNKNOWN IMPORTED)
  set_target_properties(opencv_${module} PROPERTIES
    IMPORTED_LOCATION ${FIB_OPENCV_${module}} INTERFACE_INCLUDE_DIRECTORIES ${FIB_OPENCV_HEADERS})
endforeach()
target_link_libraries(opencv_imgproc INTERFACE opencv_core)
