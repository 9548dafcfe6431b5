# SPDX-License-Identifier: Apache-2.0
# Run by CPack on the tree it is about to pack: what Debian asks of every package and `cmake --install` does not give.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
set(doc ${share}/doc/fibottention)
set(packaging ${CPACK_FIB_SOURCE_DIR}/packaging)

file(COPY ${packaging}/copyright DESTINATION ${doc})
file(COPY ${CPACK_FIB_BINARY_DIR}/packaging/changelog DESTINATION ${doc})
file(MAKE_DIRECTORY ${share}/lintian/overrides)
configure_file(${packaging}/lintian-overrides ${share}/lintian/overrides/fibottention COPYONLY)
file(GLOB manuals ${share}/man/man1/*.1)
# Without names and dates, so that the same sources make the same package.
execute_process(COMMAND gzip --force --best --no-name ${manuals} ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE files LIST_DIRECTORIES false ${share}/doc/* ${share}/lintian/* ${share}/man/*)
foreach(file ${files})
  file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
