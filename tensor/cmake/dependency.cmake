# Other people's libraries: each is a target that the surrounding project has already, or the installed
# package, or a download.
include(FetchContent)

set(TESSERA_MIRROR "" CACHE STRING "A folder or an address with the archives that would be downloaded")
mark_as_advanced(TESSERA_MIRROR)

# tessera_dependency(name TARGET target PACKAGE package [VERSION version] DEBIAN package
#                    URL address SHA256 hash)
#
# Makes sure that `target` exists: from find_package(package version), else from the archive at the
# address. Our find modules are next to this file. FETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER leaves the package out.
#
# TESSERA_MIRROR has the archives under the name of the dependency, a minus and the last part of the
# address: cli11-v2.4.2.tar.gz. A file SHA256SUMS next to them, as sha256sum writes it, replaces the
# pinned hashes of the archives that it lists.
function(tessera_dependency name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET;PACKAGE;VERSION;DEBIAN;URL;SHA256" "")
  get_filename_component(file ${arg_URL} NAME)
  set_property(GLOBAL APPEND PROPERTY tessera_archives ${name}-${file})
  if(TARGET ${arg_TARGET})
    return()
  endif()
  set(archive ${arg_URL})
  set(hash ${arg_SHA256})
  string(TOUPPER ${name} upper)
  if(NOT FETCHCONTENT_SOURCE_DIR_${upper})
    if(NOT FETCHCONTENT_TRY_FIND_PACKAGE_MODE STREQUAL "NEVER")
      list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/tensor/cmake)
      find_package(${arg_PACKAGE} ${arg_VERSION} QUIET)
      if(TARGET ${arg_TARGET})
        return()
      endif()
    endif()
    tessera_archive(${name} ${name}-${file} ${arg_URL} ${arg_SHA256} ${arg_DEBIAN} archive hash)
  endif()
  FetchContent_Declare(${name} URL ${archive} URL_HASH SHA256=${hash} DOWNLOAD_EXTRACT_TIMESTAMP OFF)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # its options take the values of our variables
  FetchContent_MakeAvailable(${name})

  # Warnings in its headers are not ours. (CMake 3.25 reads SYSTEM in FetchContent_Declare as a part of
  # the hash.)
  get_target_property(real ${arg_TARGET} ALIASED_TARGET)
  if(real)
    set_target_properties(${real} PROPERTIES SYSTEM ON)
  endif()
endfunction()

# Downloads the archive unless it is here. A download by FetchContent itself would fail with the text of
# a project inside the project.
function(tessera_archive name file url hash debian archive_variable hash_variable)
  set(archive ${FETCHCONTENT_BASE_DIR}/${file})
  if(TESSERA_MIRROR)
    tessera_mirrored(${file} url hash)
  endif()
  set(actual "")
  if(EXISTS ${archive})
    file(SHA256 ${archive} actual)
  endif()
  if(NOT actual STREQUAL hash)
    message(STATUS "Tessera: ${name} is not installed; downloading it from ${url}")
    file(DOWNLOAD ${url} ${archive} STATUS status TIMEOUT 120)
    list(POP_FRONT status code reason)
    file(SHA256 ${archive} actual)
    if(NOT code EQUAL 0 OR NOT actual STREQUAL hash)
      file(REMOVE ${archive})
      if(code EQUAL 0)
        set(reason "its SHA-256 is ${actual}, not ${hash}")
      endif()
      message(FATAL_ERROR
        "Tessera needs ${name}, which is not installed and cannot be downloaded from\n  ${url}\n"
        "(${reason}). Any of these helps:\n"
        "  .ci/install                      installs all that is missing, on Debian and Ubuntu\n"
        "  apt-get install ${debian}\n"
        "  cmake -DTESSERA_MIRROR=<folder>  reads ${file} from a folder or an address\n")
    endif()
  endif()
  set(${archive_variable} ${archive} PARENT_SCOPE)
  set(${hash_variable} ${hash} PARENT_SCOPE)
endfunction()

# Where the mirror has the file, and the hash that it should have.
function(tessera_mirrored file url_variable hash_variable)
  set(mirror ${TESSERA_MIRROR})
  if(NOT mirror MATCHES "://")
    get_filename_component(mirror ${mirror} ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
    set(mirror file://${mirror})
  endif()
  set(${url_variable} ${mirror}/${file} PARENT_SCOPE)

  set(sums ${FETCHCONTENT_BASE_DIR}/SHA256SUMS)
  file(DOWNLOAD ${mirror}/SHA256SUMS ${sums} STATUS status TIMEOUT 120)
  set(lines "")
  if(EXISTS ${sums})
    file(STRINGS ${sums} lines)
  endif()
  foreach(line IN LISTS lines)
    if(line MATCHES "^([0-9a-f]+) [ *](.*)$" AND CMAKE_MATCH_2 STREQUAL file)
      set(${hash_variable} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
