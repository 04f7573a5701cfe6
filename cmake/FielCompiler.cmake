# Warnings, optimisation and sanitizers for every target of ours.
add_library(fiel_options INTERFACE)
target_compile_options(fiel_options INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  # Designated initialisers name what they set; the rest has defaults.
  -Wno-missing-field-initializers
  # The virtual GPU promises IEEE results bit for bit: never contract a*b+c, never assume no NaN.
  -ffp-contract=off -fno-fast-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these in its own headers once it has inlined them.
  target_compile_options(fiel_options INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-dangling-pointer)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # `a | b ? x : y` means what it says, and GCC's ivdep has no name here.
  target_compile_options(fiel_options INTERFACE -Wno-bitwise-conditional-parentheses -Wno-unknown-pragmas)
endif()
if(FIEL_SANITIZE)
  string(REPLACE ";" "," _fiel_sanitize "${FIEL_SANITIZE}")
  add_compile_options(-fsanitize=${_fiel_sanitize} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${_fiel_sanitize})
  add_compile_definitions(FIEL_SANITIZED=1)
endif()
find_program(FIEL_CCACHE ccache)
if(FIEL_CCACHE)
  # Paths within the sources are relative in the cache: a fresh clone, in a folder of another name, hits.
  set(_fiel_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${FIEL_CCACHE})
  foreach(_fiel_language C CXX)
    if(NOT CMAKE_${_fiel_language}_COMPILER_LAUNCHER)  # the caller's own stays
      set(CMAKE_${_fiel_language}_COMPILER_LAUNCHER ${_fiel_launcher})
    endif()
  endforeach()
endif()
find_program(FIEL_LLD ld.lld)
if(FIEL_LLD)
  add_link_options(-fuse-ld=lld)
endif()
