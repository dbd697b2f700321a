# Checks every #include "..." and <libdump/...> against the table of who may see whom.
# Run as: cmake -DROOT=<checkout> -P check_includes.cmake
#
# Include forms: libdump's public headers are <libdump/FOLDER/NAME.h> ("libdump/..." is the same
# file and refused, one spelling only); inside writer and analyzer, "FOLDER/NAME.h" below src/.

function(check folder pattern)
  # ARGN: the include prefixes this folder may use.
  file(GLOB_RECURSE files "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/*.cpp")
  foreach(file IN LISTS files)
    file(STRINGS "${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]${pattern}")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]*)[>\"].*" "\\1" target "${line}")
      set(allowed FALSE)
      foreach(prefix IN LISTS ARGN)
        if(target MATCHES "^${prefix}")
          set(allowed TRUE)
        endif()
      endforeach()
      if(NOT allowed)
        message(SEND_ERROR "${file}: may not include ${target} (allowed here: ${ARGN})")
      endif()
    endforeach()
  endforeach()
endfunction()

# libdump, from the bottom up. records.pb.h is generated from schemas/records.proto.
foreach(half include/libdump src)
  check(libdump/${half}/base   "libdump/" libdump/base/)
  check(libdump/${half}/text   "libdump/" libdump/base/ libdump/text/)
  check(libdump/${half}/profile "libdump/" libdump/base/ libdump/text/ libdump/format/ libdump/profile/)
  check(libdump/${half}/format "libdump/" libdump/base/ libdump/format/)
  check(libdump/${half}/coding "libdump/" libdump/base/ libdump/format/ libdump/coding/)
  check(libdump/${half}/write  "libdump/" libdump/base/ libdump/format/ libdump/coding/ libdump/write/)
  check(libdump/${half}/read   "libdump/" libdump/base/ libdump/format/ libdump/coding/ libdump/read/)
  check(libdump/${half}/term   "libdump/" libdump/base/ libdump/format/ libdump/term/)
  check(libdump/${half}/beam   "libdump/" libdump/base/ libdump/format/ libdump/term/ libdump/beam/)
  check(libdump/${half}/heap   "libdump/" libdump/base/ libdump/format/ libdump/term/ libdump/heap/)
  check(libdump/${half}/redact "libdump/" libdump/base/ libdump/format/ libdump/term/
        libdump/write/ libdump/redact/)
  check(libdump/${half}/rewrite "libdump/" libdump/base/ libdump/format/ libdump/write/
        libdump/read/ libdump/redact/ libdump/rewrite/)
  check(libdump/${half}/crash/text   "libdump/" libdump/base/ libdump/format/ libdump/crash/text/)
  check(libdump/${half}/crash/import "libdump/" libdump/base/ libdump/format/ libdump/write/
        libdump/term/ libdump/crash/text/ libdump/crash/import/)
  check(libdump/${half}/model  "libdump/" libdump/base/ libdump/format/ libdump/read/
        libdump/term/ libdump/model/)
  check(libdump/${half}/crash/open   "libdump/" libdump/base/ libdump/term/ libdump/model/
        libdump/crash/import/ libdump/crash/open/)
  check(libdump/${half}/crash/cache  "libdump/" libdump/base/ libdump/format/ libdump/read/
        libdump/model/ libdump/crash/text/ libdump/crash/import/ libdump/crash/cache/)
  check(libdump/${half}/crash/export "libdump/" libdump/base/ libdump/format/ libdump/read/
        libdump/term/ libdump/heap/ libdump/model/ libdump/crash/export/)
endforeach()

# A module's private headers are "ROOM/NAME.h" below src/, and nobody else's.
set(folders "(base|profile|format|coding|write|read|term|beam|redact|rewrite|heap|crash|model)/")
foreach(module base profile format coding write read term beam redact rewrite heap model)
  check(libdump/src/${module} "${folders}" ${module}/)
endforeach()

# Inside read: file <- frames <- recovery <- (the reader of a dump).
check(libdump/src/read/file     "read/" read/file/)
check(libdump/src/read/frames   "read/" read/file/ read/frames/)
check(libdump/src/read/recovery "read/" read/file/ read/frames/ read/recovery/)

# Inside crash: text <- import, in that words <- heap <- records <- convert; open, which lets a model
# read terms from the text, sees import from outside; in export, which writes such a text of any
# dump, terms <- sections.
check(libdump/src/crash/text           "${folders}" crash/text/)
check(libdump/src/crash/import         "${folders}" crash/text/ crash/import/)
check(libdump/src/crash/import/words   "crash/" crash/text/ crash/import/words/)
check(libdump/src/crash/import/heap    "crash/" crash/text/ crash/import/words/ crash/import/heap/)
check(libdump/src/crash/import/records "crash/" crash/text/ crash/import/words/ crash/import/heap/
      crash/import/records/)
check(libdump/src/crash/open            "${folders}" crash/open/)
check(libdump/src/crash/cache           "${folders}" crash/cache/)
check(libdump/src/crash/export          "${folders}" crash/export/)
check(libdump/src/crash/export/terms    "crash/" crash/export/terms/)
check(libdump/src/crash/export/sections "crash/" crash/export/terms/ crash/export/sections/)

# The programs: the writer never reads dumps, the analyzer never writes them, but for those that
# `crash` makes of crash dumps, and those that `rewrite` makes of others.
check(writer   "libdump/" libdump/base/ libdump/profile/ libdump/format/ libdump/coding/ libdump/term/
      libdump/write/ libdump/redact/)
check(analyzer "libdump/" libdump/base/ libdump/text/ libdump/profile/ libdump/format/ libdump/read/
      libdump/term/ libdump/heap/ libdump/model/ libdump/beam/ libdump/crash/ libdump/redact/ libdump/rewrite/)
check(layout   "libdump/" libdump/base/)
check(sampler  "libdump/" libdump/base/ libdump/text/ libdump/profile/ libdump/format/ libdump/term/)
check(manual   "libdump/" libdump/base/)

# Nothing reaches out of its own tree by a relative or rooted path.
foreach(part libdump manual writer analyzer layout sampler)
  check(${part} "(\\.\\./|writer/|analyzer/|layout/|sampler/|tests/)" "<none>")
endforeach()

# Inside the writer: memory <- target <- beam <- nodes, fit <- capture <- check <- cli, and
# target <- program <- cli.
set(folders "(memory|target|program|beam|nodes|fit|capture|check|cli)/")
check(writer/src/memory  "${folders}" memory/)
check(writer/src/target  "${folders}" memory/ target/)
check(writer/src/program "${folders}" target/ program/)
check(writer/src/beam    "${folders}" memory/ target/ beam/)
check(writer/src/nodes   "${folders}" memory/ target/ beam/ nodes/)
check(writer/src/fit     "${folders}" memory/ target/ beam/ fit/)
check(writer/src/capture "${folders}" memory/ target/ beam/ nodes/ fit/ capture/)
check(writer/src/check   "${folders}" memory/ target/ beam/ nodes/ fit/ capture/ check/)
check(writer/src/cli     "${folders}" memory/ target/ program/ beam/ nodes/ fit/ capture/ check/ cli/)

# Inside target: process <- image <- core, and process <- stop <- twin.
check(writer/src/target/process "target/" target/process/)
check(writer/src/target/image   "target/" target/process/ target/image/)
check(writer/src/target/core    "target/" target/process/ target/image/ target/core/ target/target\\.h)
check(writer/src/target/stop    "target/" target/process/ target/stop/)
check(writer/src/target/twin    "target/" target/process/ target/image/ target/stop/ target/twin/)

# Inside capture: secrets <- copy <- (the session of a capture) <- modes.
check(writer/src/capture/secrets "capture/" capture/secrets/)
check(writer/src/capture/copy    "capture/" capture/secrets/ capture/copy/)

# Inside beam: layout <- vm <- tables <- search <- locate, and tables <- processes <- checks,
# processes <- ets.
check(writer/src/beam/layout    "beam/" beam/layout/)
check(writer/src/beam/vm        "beam/" beam/layout/ beam/vm/)
check(writer/src/beam/tables    "beam/" beam/layout/ beam/vm/ beam/tables/)
check(writer/src/beam/search    "beam/" beam/layout/ beam/vm/ beam/tables/ beam/search/)
check(writer/src/beam/locate    "beam/" beam/layout/ beam/vm/ beam/tables/ beam/search/ beam/locate/)
check(writer/src/beam/processes "beam/" beam/layout/ beam/vm/ beam/tables/ beam/processes/)
check(writer/src/beam/activity  "beam/" beam/layout/ beam/vm/ beam/tables/ beam/ets/ beam/activity/)
check(writer/src/beam/allocators "beam/" beam/layout/ beam/vm/ beam/tables/ beam/allocators/)
check(writer/src/beam/collections "beam/" beam/layout/ beam/vm/ beam/tables/ beam/processes/ beam/allocators/ beam/activity/ beam/collections/)
check(writer/src/beam/ets       "beam/" beam/layout/ beam/vm/ beam/tables/ beam/processes/ beam/ets/)
check(writer/src/beam/checks    "beam/" beam/layout/ beam/vm/ beam/tables/ beam/processes/ beam/checks/)

# Inside the analyzer: query knows no renderer, render knows no dump; input alone knows that there is
# more than one kind of file with a dump in it. Exports are no dumps: query/exported reads them back,
# knows the things in them but no dump, and is for query/diff, to which cli hands them opened.
set(folders "(input|query|render|cli)/")
check(analyzer/src/input      "${folders}" input/)
check(analyzer/src/query      "${folders}" query/)
check(analyzer/src/render     "${folders}" query/ render/)
check(analyzer/src/cli        "${folders}" input/ query/ render/ cli/)
check(analyzer/src/query/exported "(libdump|query)/" libdump/base/ query/exported/ query/node/
      query/tables/ query/things/)
file(GLOB rooms RELATIVE "${ROOT}" "${ROOT}/analyzer/src/input" "${ROOT}/analyzer/src/render"
     "${ROOT}/analyzer/src/query/*")
list(REMOVE_ITEM rooms analyzer/src/query/diff analyzer/src/query/exported)
foreach(room IN LISTS rooms)
  check(${room} "query/exported/" "<none>")
endforeach()

# Inside the layout tool: file <- dwarf <- extract, file <- diff, all <- cli. Its cli alone uses the
# writer, from below: what opens nodes and cores and tries a layout on them, never a capture.
set(folders "(file|dwarf|extract|diff|cli|memory|target|beam|fit|capture|check)/")
check(layout/src/file    "${folders}" file/)
check(layout/src/dwarf   "${folders}" file/ dwarf/)
check(layout/src/extract "${folders}" file/ dwarf/ extract/)
check(layout/src/diff    "${folders}" file/ diff/)
check(layout/src/cli     "${folders}" file/ dwarf/ extract/ diff/ cli/ target/ beam/ fit/layout_)

# Inside the sampler: node, events <- stack, native <- stacks, top, profile <- alloc, calls, waits; these <- show <- screen <- command, on
# the writer's rooms below its captures.
set(writer "(memory|target|beam)/")
set(folders "(node|events|stack|stacks|profile|alloc|calls|waits|top|screen|show|command|memory|target|program|beam|nodes|fit|capture|check|cli)/")
check(sampler/src/node    "${folders}" ${writer} fit/layout_check\\.h node/)
check(sampler/src/events  "${folders}" ${writer} events/)
check(sampler/src/stack   "${folders}" ${writer} node/ events/ stack/)
check(sampler/src/native  "${folders}" ${writer} events/ native/)
check(sampler/src/stacks  "${folders}" ${writer} node/ events/ stack/ native/ stacks/)
check(sampler/src/profile "${folders}" ${writer} node/ events/ stack/ native/ profile/)
check(sampler/src/alloc   "${folders}" ${writer} node/ events/ stack/ native/ profile/ alloc/)
check(sampler/src/calls   "${folders}" ${writer} node/ events/ stack/ native/ profile/ calls/)
check(sampler/src/waits   "${folders}" ${writer} node/ stack/ profile/ waits/)
check(sampler/src/top     "${folders}" ${writer} node/ events/ stack/ top/)
check(sampler/src/show    "${folders}" stack/ stacks/ alloc/ calls/ waits/ top/ show/)
check(sampler/src/screen  "${folders}" top/ show/ screen/)
check(sampler/src/command "${folders}" ${writer} program/ nodes/ node/ stacks/ profile/ alloc/ calls/ waits/ top/ screen/ show/ command/)
