# The library without OpenMP, as TESSERA_OPENMP=OFF makes it: parallel.cpp compiled without, in front of
# the libraries in the folder LIB, which need UTF8PROC. It links only if no other file knows of OpenMP.
set(libraries "")
foreach(name IN ITEMS runs hugging_face models text inspect nn pages tensor)
  list(APPEND libraries ${LIB}/libtessera_${name}.a)
endforeach()
execute_process(
  COMMAND ${CXX} -std=c++20 -I ${INCLUDE} ${PROJECT}/check.cpp ${PROJECT}/main.cpp
          ${SOURCE}/tensor/kernels/parallel.cpp ${libraries} ${UTF8PROC} -o ${PROGRAM}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} COMMAND_ERROR_IS_FATAL ANY)
