# find_package(tessera COMPONENTS ...) finds ours, and says which it does not know.
find_package(tessera QUIET COMPONENTS tensor tokenizers)
if(tessera_FOUND OR NOT tessera_NOT_FOUND_MESSAGE MATCHES "no component 'tokenizers'")
  message(SEND_ERROR
    "an unknown component: found is '${tessera_FOUND}', '${tessera_NOT_FOUND_MESSAGE}'")
endif()

# mpi is there where it was built, and a static one where MPI is found.
if(MPI AND STATIC)
  set(CMAKE_DISABLE_FIND_PACKAGE_MPI ON)
  unset(tessera_FOUND)
  find_package(tessera QUIET COMPONENTS tensor mpi)
  if(tessera_FOUND OR NOT tessera_NOT_FOUND_MESSAGE MATCHES "needs MPI, which is not found")
    message(SEND_ERROR "mpi: found is '${tessera_FOUND}', '${tessera_NOT_FOUND_MESSAGE}'")
  endif()
endif()

# As a build without it is installed.
get_filename_component(name ${tessera_DIR} NAME)
file(COPY ${tessera_DIR} DESTINATION ${FOLDER})
file(GLOB targets ${FOLDER}/${name}/tessera-mpi-targets*.cmake)
if(targets)
  file(REMOVE ${targets})
endif()
set(tessera_DIR ${FOLDER}/${name})
find_package(tessera QUIET COMPONENTS mpi)
if(tessera_FOUND OR NOT tessera_NOT_FOUND_MESSAGE MATCHES "built without MPI")
  message(SEND_ERROR "no mpi: found is '${tessera_FOUND}', '${tessera_NOT_FOUND_MESSAGE}'")
endif()
