# Makes in the folder MIRROR the ARCHIVES that tessera_dependency would download: those it has in the
# folder DOWNLOADED are these, the others are made of the installed packages.
if(EXISTS ${MIRROR}/SHA256SUMS)
  return()  # the same archives keep what is built of them
endif()

# pack(archive name header target): what was downloaded; else of GoogleTest its sources, and of another
# library the folder that the header is in, with a project that makes the target.
function(pack archive name header target)
  set(folder ${MIRROR}/${name})
  if(EXISTS ${DOWNLOADED}/${archive})
    file(COPY ${DOWNLOADED}/${archive} DESTINATION ${MIRROR})
    return()
  elseif(name STREQUAL "googletest")
    file(COPY /usr/src/googletest/ DESTINATION ${folder})
  else()
    find_path(include_${name} ${header} PATHS /usr/local/include /usr/include REQUIRED)
    get_filename_component(part ${header} DIRECTORY)
    file(COPY ${include_${name}}/${part} DESTINATION ${folder}/include)
    file(WRITE ${folder}/CMakeLists.txt
"cmake_minimum_required(VERSION 3.25)
project(${name} LANGUAGES NONE)
add_library(${name} INTERFACE)
add_library(${target} ALIAS ${name})
target_include_directories(${name} INTERFACE include)
")
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E tar czf ${archive} ${name}
    WORKING_DIRECTORY ${MIRROR} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${folder})
endfunction()

set(sums "")
separate_arguments(ARCHIVES)
foreach(archive IN LISTS ARCHIVES)
  if(archive MATCHES "^nlohmann_json-")
    pack(${archive} nlohmann_json nlohmann/json.hpp nlohmann_json::nlohmann_json)
  elseif(archive MATCHES "^cli11-")
    pack(${archive} cli11 CLI/CLI.hpp CLI11::CLI11)
  elseif(archive MATCHES "^benchmark-")
    pack(${archive} benchmark benchmark/benchmark.h benchmark::benchmark)
  elseif(archive MATCHES "^googletest-")
    pack(${archive} googletest "" "")
  endif()
  file(SHA256 ${MIRROR}/${archive} sum)
  string(APPEND sums "${sum}  ${archive}\n")
endforeach()
file(WRITE ${MIRROR}/SHA256SUMS "${sums}")
