# The toolchain of the preset wasm: Emscripten, whose em++ is in PATH or is named by EMXX.
if(DEFINED ENV{EMXX})
  set(emxx $ENV{EMXX})
else()
  find_program(emxx em++ REQUIRED)
endif()
file(REAL_PATH ${emxx} emxx)
get_filename_component(emscripten ${emxx} DIRECTORY)
include(${emscripten}/cmake/Modules/Platform/Emscripten.cmake)
