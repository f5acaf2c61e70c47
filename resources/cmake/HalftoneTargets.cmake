# SPDX-License-Identifier: GPL-3.0-or-later
# The ways this project makes targets: one for a core folder, a method plugin, a test.

find_program(HALFTONE_CCACHE ccache)
if(HALFTONE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HALFTONE_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${HALFTONE_CCACHE}")
endif()

# The definition that narrows Highway to the targets we compile; see core/device.
set(HALFTONE_VECTOR_TARGETS "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)")

# What every target of ours is compiled with. Warnings are kept off libraries' headers by SYSTEM includes.
# -ffp-contract=off: a fused multiply-add would make two builds write different bytes.
function(halftone_compile target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast
      -ffp-contract=off>)
  # GCC 12 sees overlapping copies in std::string's own operator+ (its bug 105651) once it optimises.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Wno-restrict>)
  endif()
  if(HALFTONE_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
  if(HALFTONE_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${HALFTONE_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all>)
    target_link_options(${target} PRIVATE -fsanitize=${HALFTONE_SANITIZE})
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
endfunction()

# Library headers cost more than our sources: several sources share one reading of them.
function(halftone_share_headers target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Qt code: no keywords as macros, no silent conversions.
function(halftone_compile_qt target)
  halftone_compile(${target})
  set_target_properties(${target} PROPERTIES AUTOMOC ON)
  target_compile_definitions(${target} PRIVATE
    QT_NO_KEYWORDS QT_NO_CAST_FROM_ASCII QT_NO_CAST_TO_ASCII QT_NO_FOREACH)
endfunction()

# halftone_core_folder(io LIBRARIES hdf5...): all .cpp of core/<name> (and its sub-folders) as one OBJECT
# target; libhalftone-core is made of them.
function(halftone_core_folder name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  # Headers of sub-folders are a folder's own business: not installed, and some compile only as parts of a source.
  file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  add_library(halftone-core-${name} OBJECT ${sources})
  halftone_compile(halftone-core-${name})
  halftone_share_headers(halftone-core-${name})
  target_link_libraries(halftone-core-${name} PRIVATE ${ARG_LIBRARIES})
  target_sources(halftone-core PRIVATE $<TARGET_OBJECTS:halftone-core-${name}>)
  target_link_libraries(halftone-core PRIVATE ${ARG_LIBRARIES})
  target_sources(halftone-core PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
endfunction()

# halftone_add_method(rtn): plugins/methods/<id>. All .cpp but shell.cpp are an OBJECT library, which the
# shell and the method's tests link; shell.cpp and plugin.json are the Qt plugin around it.
function(halftone_add_method id)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/shell\\.cpp$")
  add_library(halftone-method-${id} OBJECT ${sources})
  halftone_compile(halftone-method-${id})
  target_link_libraries(halftone-method-${id} PUBLIC Halftone::core)
  string(REPLACE "_" ";" words "${id}")
  set(class "")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 head)
    string(SUBSTRING "${word}" 1 -1 tail)
    string(TOUPPER "${head}" head)
    string(APPEND class "${head}${tail}")
  endforeach()
  # In Qt 6.4 qt_add_plugin silently drops sources given to it: they go in by target_sources.
  if(HALFTONE_STATIC_PLUGINS)
    qt_add_plugin(halftone-plugin-${id} STATIC CLASS_NAME ${class}Plugin)
    set_property(GLOBAL APPEND PROPERTY HALFTONE_STATIC_METHODS halftone-plugin-${id})
  else()
    qt_add_plugin(halftone-plugin-${id} SHARED CLASS_NAME ${class}Plugin)
    set_target_properties(halftone-plugin-${id} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/halftone/plugins"
      INSTALL_RPATH "$ORIGIN/../..")
    install(TARGETS halftone-plugin-${id} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/halftone/plugins")
  endif()
  set_property(GLOBAL APPEND PROPERTY HALFTONE_METHOD_PLUGINS halftone-plugin-${id})
  target_sources(halftone-plugin-${id} PRIVATE shell.cpp)
  halftone_compile_qt(halftone-plugin-${id})
  target_link_libraries(halftone-plugin-${id} PRIVATE halftone-method-${id} Halftone::core Qt6::Core)
endfunction()

# halftone_test(tests/core/io/tst_gguf.cpp LIBRARIES ...): one Qt Test program, run offscreen by ctest.
function(halftone_test source)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  get_filename_component(stem "${source}" NAME_WE)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REPLACE "/" "." prefix "${folder}")
  string(REPLACE "tst_" "" short "${stem}")
  set(name "${prefix}.${short}")
  add_executable(${name} "${source}")
  halftone_compile_qt(${name})
  target_link_libraries(${name} PRIVATE halftone-test-support Halftone::core Qt6::Test ${ARG_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "QT_QPA_PLATFORM=offscreen;LC_ALL=C.UTF-8;QT_SCALE_FACTOR=1;HALFTONE_PLUGIN_PATH=${PROJECT_BINARY_DIR}/lib/halftone/plugins;HALFTONE_BIN=${PROJECT_BINARY_DIR}/bin;HALFTONE_SOURCE=${PROJECT_SOURCE_DIR};ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0"
    TIMEOUT 180)
endfunction()
