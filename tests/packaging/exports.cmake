# The shared libraries in the folder LIB find each other, carry the version, and export what is in
# namespace tessera and nothing else: no kernel's code, no JSON parser, no instance of std's templates.
foreach(name IN ITEMS tensor nn text models hugging_face pages inspect runs ${MPI})
  set(library ${LIB}/libtessera_${name}.so)
  execute_process(COMMAND ${READELF} --dynamic ${library}
                  OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  if(NOT dynamic MATCHES "R(UN)?PATH[^\n]*\\[\\$ORIGIN\\]")
    message(SEND_ERROR "${library} does not look for the others beside it:\n${dynamic}")
  endif()
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" soversion ${VERSION})
  if(NOT dynamic MATCHES "SONAME[^\n]*\\[libtessera_${name}\\.so\\.${soversion}\\]" OR
     NOT EXISTS ${library}.${VERSION})
    message(SEND_ERROR "${library} is not of version ${VERSION}:\n${dynamic}")
  endif()

  execute_process(COMMAND ${NM} --dynamic --defined-only --demangle ${library}
                  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
  set(seen 0)
  foreach(symbol IN LISTS symbols)
    # Names of lambdas inside templates are too much for some nm: they stay mangled.
    if(NOT symbol MATCHES "^[0-9a-f]+ [A-Za-z] (([a-z ]+ for )?(.* )?tessera::|_ZZ?N7tessera)" OR
       symbol MATCHES "tessera::kernels::(baseline|avx|sse|neon)|nlohmann")
      message(SEND_ERROR "${library} exports ${symbol}")
    endif()
    math(EXPR seen "${seen} + 1")
  endforeach()
  if(seen LESS 10)
    message(SEND_ERROR "${library} exports only ${seen} symbols")
  endif()
  message(STATUS "${name}: ${seen} symbols")
endforeach()
