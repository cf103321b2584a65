# `.ci/words` lists planted sentences, and only those: in a page, in a comment, and in what is new since a commit.
#   cmake -DROOT=. -DFOLDER=build/words -P words_test.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

# expect(text ARGUMENT...): what `.ci/words ARGUMENT...` prints.
function(expect wanted)
  execute_process(COMMAND ${ROOT}/.ci/words ${ARGN} WORKING_DIRECTORY ${FOLDER}
                  OUTPUT_VARIABLE found COMMAND_ERROR_IS_FATAL ANY)
  if(NOT found STREQUAL wanted)
    message(FATAL_ERROR ".ci/words ${ARGN} must print\n${wanted}got\n${found}")
  endif()
endfunction()

string(REPEAT "long " 31 long)
file(WRITE ${FOLDER}/a.md "# A page

Fine words. What is it? `What alone` is code. What
remains stands-alone, not. A second,
which stands
beside it.

- They open an item.

| Nobody | a cell |
|---|---|
| ${long}${long} | shall be |

```sh
# What is in a block shall pass
```
${long}

## Nothing below

## Once a step
and here
")
set(page "a.md:3: opens with \"What\": What remains stands-alone, not.
a.md:4: \"beside\" (next to, in, compared with, except), \"stands\" (is): A second, which stands beside it.
a.md:8: opens with \"They\": They open an item.
a.md:10: opens with \"Nobody\", \"nobody\" (name the actor): Nobody
a.md:12: \"shall\" (must, should): shall be
a.md:17: more than 150 characters: ")
string(SUBSTRING "${long}" 0 147 cut)
string(APPEND page "${cut}...
a.md:19: heading without content: ## Nothing below
a.md:21: \"once a step\" (per): Once a step
")
expect("${page}8 places to read again (.ci/words)\n" a.md)

file(WRITE ${FOLDER}/a.h "// Of the\n// header.\nint shall;  // so many of them\n//   shall(code)\n")
set(header "a.h:1: opens with \"Of\": Of the header.
a.h:3: \"so many\" (name the thing): so many of them
")
expect("${header}2 places to read again (.ci/words)\n" a.h)
expect("${page}${header}10 places to read again (.ci/words)\n" a.md a.h)

find_program(git git)
if(NOT git)
  return()
endif()
function(git)
  execute_process(COMMAND ${git} -c user.name=a -c user.email=a -c init.defaultBranch=main ${ARGN}
                  WORKING_DIRECTORY ${FOLDER} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()
git(init)
git(add .)
git(commit -m "Begin")
file(APPEND ${FOLDER}/a.h "// Where new lines\n// are, a sentence begins.\n")
git(commit -am "Append two lines with a subject that takes more than seventy-two characters")
git(commit --allow-empty -m "Append nothing, with a subject that takes exactly seventy-two characters")
execute_process(COMMAND ${git} log --skip=1 -1 --format=%h WORKING_DIRECTORY ${FOLDER}
                OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE)
expect("commit ${hash}: more than 72 characters: Append two lines with a subject that takes more than seventy-two characters
a.h:5: opens with \"Where\": Where new lines are, a sentence begins.
2 places to read again (.ci/words)
" --diff HEAD~2)
expect("0 places to read again (.ci/words)\n" --diff HEAD)
