# Outside projects that use this library. Each consumer.* test is one; they share two builds: this one,
# packed by cpack and unpacked into a prefix, and one from the source tree, which is made first as
# FetchContent does it, static, then as a subdirectory, shared, and installed into another. That one
# finds no packages: it downloads, from archives made here. It compiles only what can be other there
# (compile.in).
set(packaging ${CMAKE_CURRENT_SOURCE_DIR}/packaging)
set(consumer ${CMAKE_CURRENT_BINARY_DIR}/consumer)
set(compiler
  -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER})
if(CMAKE_CROSSCOMPILING)
  list(APPEND compiler
    -DCMAKE_SYSTEM_NAME=${CMAKE_SYSTEM_NAME}
    -DCMAKE_SYSTEM_PROCESSOR=${CMAKE_SYSTEM_PROCESSOR}
    "-DCMAKE_CROSSCOMPILING_EMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}")
endif()

set(utf8proc "")  # the library outside of ours, unless ours has it inside
if(TESSERA_USES_UTF8PROC)
  get_target_property(utf8proc utf8proc IMPORTED_LOCATION)
endif()

set(mpi "")  # the library that not every build has
if(TARGET tessera::mpi)
  set(mpi mpi)
endif()

# script_test(name fixtures script option...): runs script.cmake.
function(script_test name fixtures script)
  add_test(NAME consumer.${name} COMMAND ${CMAKE_COMMAND} ${ARGN} -P ${packaging}/${script}.cmake)
  set_tests_properties(consumer.${name} PROPERTIES FIXTURES_REQUIRED "${fixtures}")
endfunction()

# project_test(name fixtures source binary TARGETS target... OPTIONS option... RUN command...):
# configures the project in the folder `source`, builds the targets, or all, and runs the command in
# the folder `binary`.
function(project_test name fixtures source binary)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "" "TARGETS;OPTIONS;RUN")
  list(TRANSFORM arg_TARGETS PREPEND "--build-target;")
  add_test(NAME consumer.${name} COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${source} ${binary}
    --build-generator ${CMAKE_GENERATOR}
    --build-makeprogram ${CMAKE_MAKE_PROGRAM}
    --build-noclean
    ${arg_TARGETS}
    --build-options ${compiler} ${arg_OPTIONS}
    --test-command ${arg_RUN})
  set_tests_properties(consumer.${name} PROPERTIES
    FIXTURES_REQUIRED "${fixtures}" ENVIRONMENT "MAKEFLAGS=-j2;CMAKE_BUILD_PARALLEL_LEVEL=2")
endfunction()

# install_test(fixture needed folder prefix option...): what is built in the folder into the prefix.
function(install_test fixture needed folder prefix)
  add_test(NAME consumer.install_${fixture}
           COMMAND ${CMAKE_COMMAND} --install ${folder} --prefix ${prefix} ${ARGN})
  set_tests_properties(consumer.install_${fixture} PROPERTIES
    FIXTURES_SETUP ${fixture} FIXTURES_REQUIRED "${needed}")
endfunction()

set(run_both ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error -R "^(consumer|host|processes)$")

# ---- this build, from its packages ----

script_test(package "" package
  -DCPACK=${CMAKE_CPACK_COMMAND} -DCONFIG=${PROJECT_BINARY_DIR}/CPackConfig.cmake
  -DPACKAGES=${consumer}/packages -DVERSION=${PROJECT_VERSION} -DUTF8PROC=${TESSERA_USES_UTF8PROC} -DMPI=${mpi}
  -DPREFIX=${consumer}/prefix -DPREFIX_DEB=${consumer}/prefix_deb)
set_tests_properties(consumer.package PROPERTIES FIXTURES_SETUP installed)
set(use_installed  # without a build type: optimising would take most of the time, and shows nothing
  -DCMAKE_PREFIX_PATH=${consumer}/prefix
  -DCONSUMER_MPI=${mpi}
  -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS})
project_test(find_package installed ${packaging}/consumer ${consumer}/find_package
  OPTIONS -DCONSUMER_USES=find_package ${use_installed}
  RUN ${run_both})
script_test(components installed components
  -Dtessera_DIR=${consumer}/prefix/${CMAKE_INSTALL_LIBDIR}/cmake/tessera
  -DMPI=${mpi} -DSTATIC=$<NOT:$<BOOL:${BUILD_SHARED_LIBS}>> -DFOLDER=${consumer}/without_mpi)
script_test(headers installed headers
  -DCXX=${CMAKE_CXX_COMPILER} -DSOURCE=${PROJECT_SOURCE_DIR}
  -DINCLUDE=${consumer}/prefix/${CMAKE_INSTALL_INCLUDEDIR}/tessera)
if(NOT BUILD_SHARED_LIBS AND NOT CMAKE_CROSSCOMPILING)
  script_test(serial installed serial "-DUTF8PROC=${utf8proc}"
    -DCXX=${CMAKE_CXX_COMPILER} -DSOURCE=${PROJECT_SOURCE_DIR} -DINCLUDE=${PROJECT_BINARY_DIR}/include
    -DPROJECT=${packaging}/consumer
    -DLIB=${consumer}/prefix/${CMAKE_INSTALL_LIBDIR} -DPROGRAM=${consumer}/serial)
endif()

# The program and the CMakeLists.txt that README.md shows are a project. (All its other code, and that of
# the other pages, runs in readme_test.)
add_test(NAME consumer.extract_readme COMMAND ${CMAKE_COMMAND}
  -DPAGE=${PROJECT_SOURCE_DIR}/README.md -DPROJECT=${consumer}/readme_source
  -P ${packaging}/extract_readme.cmake)
set_tests_properties(consumer.extract_readme PROPERTIES FIXTURES_SETUP readme)
project_test(readme "installed;readme" ${consumer}/readme_source ${consumer}/readme
  OPTIONS ${use_installed}
  RUN ${CMAKE_CROSSCOMPILING_EMULATOR} ${consumer}/readme/app ${CMAKE_CURRENT_SOURCE_DIR}/golden/folders/sentence)

# ---- from the source tree ----

string(REPLACE ";" " " CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
configure_file(packaging/compile.in ${consumer}/compile @ONLY)
set(from_source
  -DCMAKE_CXX_COMPILER_LAUNCHER=${consumer}/compile
  -DCONSUMER_TESSERA=${PROJECT_SOURCE_DIR}
  -DTESSERA_WERROR=${TESSERA_WERROR}
  -DTESSERA_AVX512=${TESSERA_AVX512}
  -DTESSERA_OPENMP=${TESSERA_OPENMP}
  -DTESSERA_MPI=${TESSERA_MPI}
  -DCONSUMER_MPI=${mpi}
  "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS} -O0")
set(targets consumer host)
if(mpi)
  list(APPEND targets processes)
endif()
set(shared_targets ${targets})

# What to download: what this build itself has downloaded, and archives made of the packages that it
# has found. Only Debian's package of GoogleTest has sources for that.
get_property(archives GLOBAL PROPERTY tessera_archives)
list(LENGTH archives count)
file(GLOB sources /usr/src/googletest/CMakeLists.txt ${FETCHCONTENT_BASE_DIR}/googletest-*.tar.gz)
set(fixture "")
set(mirror ${TESSERA_MIRROR})
if(count EQUAL 5 AND sources AND NOT CMAKE_CROSSCOMPILING)
  set(fixture mirror)
  set(mirror ${consumer}/mirror)
  list(JOIN archives " " archives)
  script_test(mirror "" mirror
    -DMIRROR=${mirror} -DARCHIVES=${archives} -DDOWNLOADED=${FETCHCONTENT_BASE_DIR}
    -DUTF8PROC=${utf8proc})
  set_tests_properties(consumer.mirror PROPERTIES FIXTURES_SETUP mirror)
  list(APPEND from_source
    -DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER
    -DTESSERA_BUILD_TESTS=ON
    -DTESSERA_BUILD_EXAMPLES=ON
    -DTESSERA_BUILD_BENCHMARKS=ON)
  # One of each kind, with few sources.
  list(APPEND targets command_line storage_test)
else()
  message(STATUS "Tessera: the way of downloads is not tested, which needs GoogleTest's sources and "
                 "a build of everything (${count} of 5 dependencies)")
endif()
list(APPEND from_source -DTESSERA_MIRROR=${mirror})

project_test(fetch_content "${fixture}" ${packaging}/consumer ${consumer}/from_source
  TARGETS ${targets}
  OPTIONS ${from_source} -DCONSUMER_USES=FetchContent -DBUILD_SHARED_LIBS=OFF
  RUN ${run_both})
set_tests_properties(consumer.fetch_content PROPERTIES FIXTURES_SETUP fetched COST 1000)
project_test(add_subdirectory "fetched" ${packaging}/consumer ${consumer}/from_source
  TARGETS ${shared_targets} tessera_hugging_face tessera_pages tessera_inspect tessera_runs
  OPTIONS ${from_source} -DCONSUMER_USES=add_subdirectory -DBUILD_SHARED_LIBS=ON
  RUN ${run_both})
set_tests_properties(consumer.add_subdirectory PROPERTIES FIXTURES_SETUP subdirectory)

install_test(installed_shared subdirectory ${consumer}/from_source ${consumer}/prefix_shared
  --component tessera)
project_test(find_package_shared installed_shared ${packaging}/consumer ${consumer}/find_package_shared
  OPTIONS -DCONSUMER_USES=find_package -DCMAKE_PREFIX_PATH=${consumer}/prefix_shared -DCONSUMER_MPI=${mpi}
  RUN ${run_both})
script_test(exports installed_shared exports
  -DNM=${CMAKE_NM} -DREADELF=${CMAKE_READELF} -DLIB=${consumer}/prefix_shared/${CMAKE_INSTALL_LIBDIR}
  -DVERSION=${PROJECT_VERSION} -DMPI=${mpi})

find_program(PKG_CONFIG NAMES pkg-config pkgconf)
mark_as_advanced(PKG_CONFIG)
if(PKG_CONFIG AND NOT CMAKE_CROSSCOMPILING)
  foreach(kind IN ITEMS _deb _shared)
    string(REPLACE _deb "" fixture_of "${kind}")
    script_test(pkg_config${kind} installed${fixture_of} pkg_config
      -DPKG_CONFIG=${PKG_CONFIG} -DCXX=${CMAKE_CXX_COMPILER} -DPROJECT=${packaging}/consumer
      -DLIB=${consumer}/prefix${kind}/${CMAKE_INSTALL_LIBDIR}
      -DPROGRAM=${consumer}/pkg_config${kind} -DMPI=${mpi})
  endforeach()
endif()

list(JOIN archives " " archives)
script_test(recipes "" recipes
  -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} "-DARCHIVES=${archives}")

# What configuring says.
script_test(configure "${fixture}" configure
  -DCXX=${CMAKE_CXX_COMPILER} -DMIRROR=${mirror} -DTESSERA=${PROJECT_SOURCE_DIR}
  -DPROJECT=${packaging}/consumer -DBUILD=${consumer}/configure)

get_directory_property(names TESTS)
set_tests_properties(${names} PROPERTIES LABELS ci)
