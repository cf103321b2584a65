# What `cmake --install` puts where: the libraries, their public headers, the licence, and what
# find_package and pkg-config read.
#
# The rules are there with TESSERA_INSTALL off too, for `cmake --install --component tessera` alone: a
# project that has Tessera as a subdirectory, links it and exports itself must find our targets in
# an export of their own.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
set(rules COMPONENT tessera)
if(NOT TESSERA_INSTALL)
  list(APPEND rules EXCLUDE_FROM_ALL)
endif()

install(TARGETS tessera_tensor tessera_nn tessera_text tessera_models tessera_hugging_face tessera_pages tessera_inspect tessera_runs
        EXPORT tessera ${rules})
install(EXPORT tessera NAMESPACE tessera:: DESTINATION ${package} FILE tessera-targets.cmake ${rules})
if(TARGET tessera_mpi)  # by itself: who has no MPI uses the others
  install(TARGETS tessera_mpi EXPORT tessera_mpi ${rules})
  install(EXPORT tessera_mpi NAMESPACE tessera:: DESTINATION ${package} FILE tessera-mpi-targets.cmake ${rules})
endif()

# Headers are public, but for those in folders detail/. Of the kernels' these three: which instruction
# set, how many threads, and what they include.
set(except PATTERN detail EXCLUDE PATTERN tensor/kernels EXCLUDE PATTERN tensor/cmake EXCLUDE)
if(NOT TARGET tessera_mpi)
  list(APPEND except PATTERN nn/training/mpi EXCLUDE)
endif()
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/tessera)
install(DIRECTORY tensor nn models DESTINATION ${headers} ${rules}
        FILES_MATCHING PATTERN "*.h" ${except})
set(kernels dispatch.h parallel.h types.h)
list(TRANSFORM kernels PREPEND tensor/kernels/)
install(FILES ${kernels} DESTINATION ${headers}/tensor/kernels ${rules})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/tessera ${rules})

# A shared library brings OpenMP and utf8proc along; a program that links a static one must find them.
get_target_property(type tessera_tensor TYPE)
set(TESSERA_FIND_DEPENDENCIES "include(CMakeFindDependencyMacro)\n")
set(TESSERA_PC_PRIVATE "")
if(TESSERA_USES_OPENMP AND type STREQUAL "STATIC_LIBRARY")
  string(APPEND TESSERA_FIND_DEPENDENCIES "find_dependency(OpenMP COMPONENTS CXX)\n")
  string(APPEND TESSERA_PC_PRIVATE "${OpenMP_CXX_FLAGS} ")
endif()
if(TESSERA_USES_UTF8PROC AND type STREQUAL "STATIC_LIBRARY")
  string(APPEND TESSERA_FIND_DEPENDENCIES
    "list(APPEND CMAKE_MODULE_PATH \${CMAKE_CURRENT_LIST_DIR})\nfind_dependency(utf8proc)\n"
    "list(POP_BACK CMAKE_MODULE_PATH)\n")
  string(APPEND TESSERA_PC_PRIVATE "-lutf8proc ")
  install(FILES tensor/cmake/Findutf8proc.cmake DESTINATION ${package} ${rules})
endif()
set(TESSERA_MPI_LINKS_MPI OFF)
if(type STREQUAL "STATIC_LIBRARY")
  set(TESSERA_MPI_LINKS_MPI ON)
endif()
configure_file(tensor/cmake/tessera-config.cmake.in tessera-config.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake
              ${PROJECT_BINARY_DIR}/tessera-config-version.cmake
        DESTINATION ${package} ${rules})

file(RELATIVE_PATH TESSERA_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(tensor/cmake/tessera.pc.in tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${rules})
if(TARGET tessera_mpi)
  set(TESSERA_PC_MPI "")
  if(TESSERA_MPI_LINKS_MPI)
    get_target_property(TESSERA_PC_MPI tessera_mpi TESSERA_PC_PRIVATE)
  endif()
  configure_file(tensor/cmake/tessera-mpi.pc.in tessera-mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tessera-mpi.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${rules})
endif()
