# Makes the packages of the build that CONFIG describes in the folder PACKAGES, and puts what the .tar.gz
# holds into the folder PREFIX, what the .debs hold into PREFIX_DEB. Both hold the same files, and name
# the VERSION.
#
# All is built when tests run. For Ninja cpack knows no target that builds, and so starts no second make.
file(REMOVE_RECURSE ${PACKAGES} ${PREFIX} ${PREFIX_DEB})
execute_process(COMMAND ${CPACK} --config ${CONFIG} -B ${PACKAGES} -D CPACK_CMAKE_GENERATOR=Ninja
                        -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip  # xz would take a minute
                COMMAND_ERROR_IS_FATAL ANY)

# unpack(pattern folder): the one file of that pattern.
function(unpack pattern folder)
  file(GLOB file ${pattern})
  list(LENGTH file count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${count} files ${pattern}")
  endif()
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${CMAKE_COMMAND} -E tar xf ${file} WORKING_DIRECTORY ${folder}
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()

unpack(${PACKAGES}/tessera-${VERSION}-*.tar.gz ${PACKAGES}/tar)
file(GLOB top ${PACKAGES}/tar/tessera-${VERSION}-*)
file(RENAME ${top} ${PREFIX})

unpack(${PACKAGES}/libtessera-dev_${VERSION}_*.deb ${PACKAGES}/deb)  # an archive of archives
unpack(${PACKAGES}/deb/control.tar.* ${PACKAGES}/control)
unpack(${PACKAGES}/deb/data.tar.* ${PACKAGES}/data)
include(${CONFIG})
if(CPACK_COMPONENTS_PROGRAMS)
  unpack(${PACKAGES}/tessera_${VERSION}_*.deb ${PACKAGES}/programs)
  unpack(${PACKAGES}/programs/data.tar.* ${PACKAGES}/data)
  execute_process(COMMAND ${PREFIX}/bin/tessera_embed --version
                  OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output STREQUAL "embed (Tessera) ${VERSION}\n")
    message(SEND_ERROR "tessera_embed is not of version ${VERSION}: ${output}")
  endif()
endif()
file(RENAME ${PACKAGES}/data/usr ${PREFIX_DEB})
file(READ ${PACKAGES}/control/control control)
if(NOT control MATCHES "Version: ${VERSION}\n")
  message(SEND_ERROR "not version ${VERSION}:\n${control}")
endif()
if(MPI AND NOT control MATCHES "Suggests: lib[a-z]+-dev")
  message(SEND_ERROR "does not suggest MPI:\n${control}")
endif()
if(UTF8PROC AND NOT control MATCHES "Depends: [^\n]*libutf8proc-dev")
  message(SEND_ERROR "does not depend on utf8proc:\n${control}")
endif()

if(MPI)
  file(GLOB mpi ${PREFIX}/include/tessera/nn/training/mpi/*.h)
  if(NOT mpi MATCHES "mpi/session.h$")
    message(SEND_ERROR "not the one header of tessera::mpi: ${mpi}")
  endif()
endif()

file(GLOB_RECURSE in_tar RELATIVE ${PREFIX} ${PREFIX}/*)
file(GLOB_RECURSE in_deb RELATIVE ${PREFIX_DEB} ${PREFIX_DEB}/*)
if(NOT in_tar STREQUAL in_deb OR NOT in_tar MATCHES "libtessera_hugging_face")
  message(SEND_ERROR "the .tar.gz holds ${in_tar}\nthe .debs hold ${in_deb}")
endif()
