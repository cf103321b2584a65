# `cpack` in a build folder makes tessera-VERSION-SYSTEM.tar.gz, to be unpacked anywhere, and a .deb for
# development, libtessera-dev, which installs into /usr. Both hold what `cmake --install` does.
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR "Tessera contributors")
set(CPACK_PACKAGE_CONTACT "Tessera contributors <maintainers@tessera.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME tessera-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};tessera;tessera;/")

set(CPACK_DEBIAN_PACKAGE_NAME libtessera-dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "g++")  # which brings OpenMP
if(TESSERA_USES_UTF8PROC)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libutf8proc-dev")
endif()
if(TARGET tessera_mpi)  # only for tessera::mpi
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS libopenmpi-dev)
  if(MPI_CXX_COMPILER_INCLUDE_DIRS MATCHES "mpich")
    set(CPACK_DEBIAN_PACKAGE_SUGGESTS libmpich-dev)
  endif()
endif()
include(CPack)
