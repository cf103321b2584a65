# What all command lines share: the programs here and those of bench/.
set(CLI11_INSTALL OFF)
tessera_dependency(cli11
  TARGET CLI11::CLI11 PACKAGE CLI11 VERSION 2.1 DEBIAN libcli11-dev
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  SHA256 f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)

add_library(command_line STATIC
  ${CMAKE_CURRENT_LIST_DIR}/cli.cpp
  ${CMAKE_CURRENT_LIST_DIR}/console.cpp
  ${CMAKE_CURRENT_LIST_DIR}/processes.cpp)
target_link_libraries(command_line
  PUBLIC tessera::nn tessera::text PRIVATE CLI11::CLI11 $<TARGET_NAME_IF_EXISTS:tessera::mpi>)
target_compile_definitions(command_line PRIVATE $<$<TARGET_EXISTS:tessera::mpi>:TESSERA_HAS_MPI>)
tessera_target(command_line)
# CLI11 takes long to optimise, for what runs once.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/cli.cpp PROPERTIES
  COMPILE_OPTIONS $<$<CONFIG:Release>:-O0>)
