# Programs compiled with what pkg-config says about the installation whose libraries are in the folder
# LIB; with --static where they are. MPI: that installation has tessera::mpi.
set(ENV{PKG_CONFIG_PATH} ${LIB}/pkgconfig)
set(static --static)
set(run_path "")
if(EXISTS ${LIB}/libtessera_tensor.so)
  set(static "")
  set(run_path -Wl,-rpath,${LIB})
endif()

# build_and_run(package source...)
function(build_and_run package)
  execute_process(COMMAND ${PKG_CONFIG} ${static} --cflags --libs ${package}
                  OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  message(STATUS "${flags}")
  list(TRANSFORM ARGN PREPEND ${PROJECT}/ OUTPUT_VARIABLE sources)
  execute_process(COMMAND ${CXX} -std=c++20 ${sources} ${flags} ${run_path} -o ${PROGRAM}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${PROGRAM} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

build_and_run(tessera check.cpp main.cpp)
if(MPI)
  build_and_run(tessera-mpi processes.cpp)
endif()
