# SPDX-License-Identifier: Apache-2.0
# `cpack -G DEB` in the build folder: one package with the program, the library, its headers and the Python module.
set(CPACK_PACKAGE_NAME fibottention)
set(CPACK_PACKAGE_CONTACT "Fibottention maintainers <fibottention@users.noreply.github.com>" CACHE STRING
    "Who maintains the package, as NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sparse multi-head attention that is really sparse")
set(CPACK_PACKAGE_DESCRIPTION
"Each attention head looks only at distances from its own row of the Wythoff
array, in O(N log N) time and O(N) memory, forward and backward.
.
The package holds fib, a program that draws such patterns and trains, prunes,
evaluates, compiles and compares vision transformers with them; a library for
C and C++ with its headers; and a module for Python, where torch is installed.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# What the programs are linked with is told by dpkg-shlibdeps.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3:any")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas0-openmp, python3-torch, dataset-fashion-mnist, fonts-dejavu-core")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libhwy-dev, libfmt-dev, cmake")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What Debian asks of every package: compressed manuals, a copyright, a changelog of the package.
string(TIMESTAMP FIB_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${PROJECT_SOURCE_DIR}/packaging/changelog.in packaging/changelog @ONLY)
set(CPACK_FIB_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_FIB_BINARY_DIR ${PROJECT_BINARY_DIR})
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/finish.cmake)
include(CPack)
