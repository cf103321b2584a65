# find_package(tessera COMPONENTS ...) finds ours, and says which it does not know.
find_package(tessera QUIET COMPONENTS tensor tokenizers)
if(tessera_FOUND OR NOT tessera_NOT_FOUND_MESSAGE MATCHES "no component 'tokenizers'")
  message(SEND_ERROR
    "an unknown component: found is '${tessera_FOUND}', '${tessera_NOT_FOUND_MESSAGE}'")
endif()
