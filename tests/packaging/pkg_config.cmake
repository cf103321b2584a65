# A program compiled with what pkg-config says about the installation whose libraries are in the folder
# LIB; with --static where they are.
set(ENV{PKG_CONFIG_PATH} ${LIB}/pkgconfig)
set(static --static)
set(run_path "")
if(EXISTS ${LIB}/libtessera_tensor.so)
  set(static "")
  set(run_path -Wl,-rpath,${LIB})
endif()
execute_process(COMMAND ${PKG_CONFIG} ${static} --cflags --libs tessera
                OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
message(STATUS "${flags}")
execute_process(
  COMMAND ${CXX} -std=c++20 ${PROJECT}/check.cpp ${PROJECT}/main.cpp ${flags} ${run_path} -o ${PROGRAM}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} COMMAND_ERROR_IS_FATAL ANY)
