# What configuring makes of a machine or a project that lacks something.
function(configure source status_variable output_variable)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${source} -B ${BUILD}/${output_variable}
                          -DCMAKE_CXX_COMPILER=${CXX} ${ARGN}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

# No package and no download: one error that says what to install.
configure(${TESSERA} status missing
  -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -DTESSERA_MIRROR=${BUILD}/none)
string(REGEX MATCHALL "CMake Error" errors "${missing}")
list(LENGTH errors count)
if(status EQUAL 0 OR NOT count EQUAL 1 OR NOT missing MATCHES "apt-get install nlohmann-json3-dev")
  message(SEND_ERROR "without nlohmann-json, with ${count} errors:\n${missing}")
endif()

# A project without a build type gets an optimised library all the same; without MPI there is one line.
configure(${PROJECT} status untyped -DCONSUMER_USES=add_subdirectory -DCONSUMER_TESSERA=${TESSERA}
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DTESSERA_OPENMP=OFF -DTESSERA_MIRROR=${MIRROR}
  -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
file(READ ${BUILD}/untyped/compile_commands.json commands)
if(NOT status EQUAL 0 OR NOT untyped MATCHES "no CMAKE_BUILD_TYPE" OR
   NOT untyped MATCHES "-- Tessera: MPI was not found" OR commands MATCHES "training/mpi" OR
   NOT commands MATCHES " -O2 [^\n]*tessera_tensor.dir/Unity")
  message(SEND_ERROR "without a build type:\n${untyped}")
endif()
