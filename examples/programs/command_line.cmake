# What all command lines share: the programs here and those of bench/.
set(CLI11_INSTALL OFF)
tessera_dependency(cli11
  TARGET CLI11::CLI11 PACKAGE CLI11 VERSION 2.1 DEBIAN libcli11-dev
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  SHA256 f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)

set(command_line_sources
  command.cpp console.cpp named_files.cpp processes.cpp progress.cpp)
if(TARGET tessera::mpi)
  list(APPEND command_line_sources processes_mpi.cpp)
else()
  list(APPEND command_line_sources processes_alone.cpp)
endif()
list(TRANSFORM command_line_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
add_library(command_line STATIC ${command_line_sources})
target_link_libraries(command_line
  PUBLIC tessera::nn tessera::text PRIVATE CLI11::CLI11 $<TARGET_NAME_IF_EXISTS:tessera::mpi>)
tessera_target(command_line)
# CLI11 takes long to optimise, for what runs once.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/command.cpp PROPERTIES
  COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
