# `cpack` in a build folder makes these packages:
#
#   libtessera-dev_*.deb            what `cmake --install --component tessera` installs
#   tessera_*.deb                   the programs: `embed` is tessera_embed, because /usr/bin is shared
#   tessera-VERSION-SYSTEM.tar.gz   the files of both, to be unpacked anywhere
#
# Moved programs would not find their shared libraries, and dpkg-shlibdeps reads only this machine's
# programs. So builds with shared libraries, and for other machines, have no programs.
set(CPACK_GENERATOR TGZ DEB)
find_program(TESSERA_FILE file)  # these two find the libraries that the programs need
find_program(TESSERA_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(TESSERA_FILE TESSERA_SHLIBDEPS)
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR "Tessera contributors")
set(CPACK_PACKAGE_CONTACT "Tessera contributors <maintainers@tessera.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME tessera-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};tessera;tessera;/")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_TESSERA tessera)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_TESSERA_PACKAGE_NAME libtessera-dev)
set(CPACK_DEBIAN_TESSERA_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TESSERA_PACKAGE_DEPENDS "g++")  # which brings OpenMP
if(TESSERA_USES_UTF8PROC)
  string(APPEND CPACK_DEBIAN_TESSERA_PACKAGE_DEPENDS ", libutf8proc-dev")
endif()
if(TARGET tessera_mpi)  # only for tessera::mpi
  set(CPACK_DEBIAN_TESSERA_PACKAGE_SUGGESTS libopenmpi-dev)
  if(MPI_CXX_COMPILER_INCLUDE_DIRS MATCHES "mpich")
    set(CPACK_DEBIAN_TESSERA_PACKAGE_SUGGESTS libmpich-dev)
  endif()
endif()

if(TESSERA_BUILD_EXAMPLES AND TESSERA_FILE AND TESSERA_SHLIBDEPS AND NOT BUILD_SHARED_LIBS AND NOT CMAKE_CROSSCOMPILING)
  get_property(programs DIRECTORY ${PROJECT_SOURCE_DIR}/examples/programs PROPERTY BUILDSYSTEM_TARGETS)
  foreach(program IN LISTS programs)
    get_target_property(type ${program} TYPE)
    if(type STREQUAL "EXECUTABLE")
      install(PROGRAMS $<TARGET_FILE:${program}> RENAME tessera_${program}
              DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs EXCLUDE_FROM_ALL)
    endif()
  endforeach()
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tessera RENAME copyright
          COMPONENT programs EXCLUDE_FROM_ALL)
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};tessera;programs;/")
  set(CPACK_COMPONENTS_PROGRAMS programs)
  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME tessera)
  set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "Programs that embed, classify and explain text, and train encoders")
  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
