# Checks every #include of the project's own headers against the table of who may see whom.
# Run as: cmake -DROOT=<checkout> -P check_includes.cmake
#
# Every header has one spelling: <FOLDER/.../NAME.h> from the root for what programs share (libdump,
# libvm, libsample, program, manual), "FOLDER/NAME.h" below src/ inside a program.

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

# room(ROOT_FOLDER ROOM SEEN...): the folder ROOT_FOLDER/ROOM sees itself, and SEEN of ROOT_FOLDER.
function(room top name)
  set(seen ${top}/${name}/)
  foreach(other IN LISTS ARGN)
    list(APPEND seen ${top}/${other})
  endforeach()
  check(${top}/${name} "${top}/" ${seen})
endfunction()

# What each tree sees of the others. records.pb.h is generated from schemas/records.proto.
set(trees "(libdump|libvm|libsample|program|manual|mcp|writer|analyzer|layout|sampler|watcher|tests)/")
check(libdump   "${trees}" libdump/)
check(manual    "${trees}" manual/ libdump/base/)
check(mcp       "${trees}" mcp/ libdump/base/ libdump/text/)
check(libvm     "${trees}" libvm/ libdump/base/ libdump/format/ libdump/term/)
check(libsample "${trees}" libsample/ libvm/ libdump/base/ libdump/text/ libdump/profile/ libdump/term/)
check(program   "${trees}" program/ manual/ libvm/target/ libdump/base/)
# The writer never reads dumps, the analyzer never writes them, but for those that `crash` makes of
# crash dumps, and those that `rewrite` makes of others.
check(writer    "${trees}" program/ manual/ libvm/ libsample/profile/sample_node\\.h libsample/crash/ libdump/base/ libdump/profile/
      libdump/format/ libdump/coding/ libdump/write/ libdump/redact/)
check(analyzer  "${trees}" manual/ mcp/ libdump/base/ libdump/text/ libdump/profile/ libdump/format/ libdump/read/
      libdump/term/ libdump/heap/ libdump/model/ libdump/beam/ libdump/crash/ libdump/redact/ libdump/rewrite/)
check(layout    "${trees}" manual/ libvm/target/ libvm/fit/layout_ libdump/base/)
check(sampler   "${trees}" program/ manual/ mcp/ libsample/ libvm/arch/ libvm/memory/ libvm/target/ libvm/beam/ libvm/nodes/
      libdump/base/ libdump/text/ libdump/profile/ libdump/format/ libdump/term/)
check(watcher   "${trees}" program/ manual/ libsample/counts/ libsample/profile/rolling_profile\\.h libsample/events/threads\\.h libvm/beam/ libvm/fit/layout_check\\.h libvm/nodes/
      libvm/target/ libdump/base/ libdump/format/ libdump/text/ libdump/write/)
foreach(tree libdump libvm libsample program manual mcp writer analyzer layout sampler watcher)
  check(${tree} "\\.\\./" "<none>")
endforeach()

# What beamdump-analyze is made of includes nothing of Linux or one C library, so that it can be built elsewhere
# (docs/packages.md). scripts/compile-elsewhere finds functions that only they have.
set(linux_headers "(asm|asm-generic|linux)/|sys/(auxv|epoll|eventfd|fanotify|fsuid|inotify|io|klog|personality|pidfd|prctl|procfs|ptrace|quota|random|raw|sendfile|signalfd|statfs|syscall|sysinfo|sysmacros|timerfd|ucontext|user|vfs|xattr)\\.h|(argp|argz|byteswap|elf|endian|envz|error|execinfo|features|gnu-versions|link|malloc|mcheck|mntent|obstack|pty|syscall|ucontext|values|wait)\\.h")
foreach(tree libdump mcp manual analyzer/src)
  file(GLOB_RECURSE files "${ROOT}/${tree}/*.h" "${ROOT}/${tree}/*.cpp")
  list(FILTER files EXCLUDE REGEX "/base/system/linux/")
  foreach(file IN LISTS files)
    file(STRINGS "${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*<(${linux_headers})")
    foreach(line IN LISTS lines)
      message(SEND_ERROR "${file}: ${line} is not on every system (allowed in libdump/base/system/linux)")
    endforeach()
  endforeach()
endforeach()
check(libdump/base/system "libdump/" libdump/base/system/)

# libdump, from the bottom up.
room(libdump base)
room(libdump text    base/)
room(libdump format  base/)
room(libdump profile base/ text/ format/)
room(libdump coding  base/ format/)
room(libdump write   base/ format/ coding/)
room(libdump read    base/ format/ coding/)
room(libdump term    base/ format/)
room(libdump beam    base/ term/)
room(libdump heap    base/ term/)
room(libdump redact  base/ format/ term/ write/)
room(libdump rewrite base/ write/ read/dump_reader redact/ term/term_scheme model/process_run model/region_map)
room(libdump model   base/ format/ read/dump_reader term/)
room(libdump crash/text   base/ format/)
room(libdump crash/import base/ format/ write/ term/ crash/text/)
room(libdump crash/open   base/ term/ model/ write/ crash/import/)
room(libdump crash/cache  base/ model/ crash/text/ crash/import/)
room(libdump crash/export base/ format/ term/ heap/ model/)

# Inside read: file <- frames <- recovery <- (the reader of a dump).
check(libdump/read/file   "libdump/read/" libdump/read/file/)
check(libdump/read/frames "libdump/read/" libdump/read/file/ libdump/read/frames/)

# Inside crash: text <- import, in that words <- heap <- records <- convert, and words <- sections <-
# convert; open, which lets a model
# read terms from the text, sees import from outside; in export, which writes such a text of any
# dump, terms <- sections.
check(libdump/crash/import/words   "libdump/crash/import/" libdump/crash/import/words/)
check(libdump/crash/import/heap    "libdump/crash/import/" libdump/crash/import/words/ libdump/crash/import/heap/)
check(libdump/crash/import/records "libdump/crash/import/" libdump/crash/import/words/ libdump/crash/import/heap/
      libdump/crash/import/records/)
check(libdump/crash/import/sections "libdump/crash/import/" libdump/crash/import/words/
      libdump/crash/import/sections/)
check(libdump/crash/export/terms   "libdump/crash/export/" libdump/crash/export/terms/)

# libvm: memory, arch <- target <- beam <- nodes, fit.
room(libvm memory)
room(libvm target memory/ arch/)
room(libvm beam   memory/ arch/ target/)
room(libvm nodes  memory/ target/ beam/)
room(libvm fit    memory/ target/ beam/)
check(libvm/arch "libvm/" libvm/arch/ libvm/memory/ libvm/beam/layout/term_bits\\.h)
check(libvm/arch/x86_64  "libvm/arch/" libvm/arch/x86_64/ libvm/arch/common/)
check(libvm/arch/aarch64 "libvm/arch/" libvm/arch/aarch64/ libvm/arch/common/)

# Inside target: process <- image <- core, and process <- stop <- twin.
room(libvm/target process)
room(libvm/target image process/)
room(libvm/target core  process/ image/ target\\.h)
room(libvm/target stop  process/)
room(libvm/target twin  process/ image/ stop/)
room(libvm/target machine process/ image/ stop/ twin/)
room(libvm/target unwind process/ image/ target\\.h)

# Inside beam: layout <- vm <- tables <- search <- locate, and tables <- processes <- checks,
# processes <- ets <- activity, processes <- collections.
room(libvm/beam layout)
room(libvm/beam vm          layout/)
room(libvm/beam tables      layout/ vm/)
room(libvm/beam search      layout/ vm/ tables/)
room(libvm/beam locate      layout/ vm/ search/ native/)
room(libvm/beam processes   layout/ vm/ tables/)
room(libvm/beam native      layout/ search/ tables/ processes/)
room(libvm/beam checks      layout/ tables/ processes/)
room(libvm/beam allocators  layout/ vm/ tables/)
room(libvm/beam collections layout/ processes/ allocators/)
room(libvm/beam ets         layout/ vm/ tables/ processes/)
room(libvm/beam activity    layout/ vm/ tables/ ets/)
room(libvm/beam emulator    layout/ vm/ tables/)

# libsample: node, events <- stack, native <- profile; events <- counts <- native.
room(libsample node)
room(libsample events)
room(libsample counts  events/)
room(libsample stack   node/ events/)
room(libsample native  events/ counts/)
room(libsample profile node/ events/ stack/ native/)
room(libsample crash   node/ events/ stack/ native/)

# Inside the writer: capture <- check <- cli; inside capture, secrets <- copy <- node (what belongs to
# it as a whole) <- session <- modes <- capture itself.
set(folders "(capture|check|cli)/")
check(writer/src/capture "${folders}" capture/)
check(writer/src/check   "${folders}" capture/ check/)
check(writer/src/capture/secrets "capture/" capture/secrets/)
check(writer/src/capture/copy    "capture/" capture/secrets/ capture/copy/)
check(writer/src/capture/node    "capture/" capture/secrets/ capture/copy/ capture/node/)
check(writer/src/capture/session "capture/" capture/secrets/ capture/copy/ capture/node/ capture/session/)
check(writer/src/capture/modes   "capture/" capture/copy/ capture/session/ capture/modes/)

# Inside the analyzer: query knows no renderer, render knows no dump; input alone knows that there is
# more than one kind of file with a dump in it. Exports are no dumps: query/exported reads them back,
# knows the things in them but no dump, and is for query/diff, to which cli hands them opened. sql makes
# tables of what queries answer.
set(folders "(input|query|sql|render|cli)/")
check(analyzer/src/input      "${folders}" input/)
check(analyzer/src/query      "${folders}" query/)
check(analyzer/src/sql        "${folders}" query/ sql/)
check(analyzer/src/render     "${folders}" query/ sql/ render/)
check(analyzer/src/query/exported "libdump/" libdump/base/)
foreach(room input sql render)
  check(analyzer/src/${room} "query/exported/" "<none>")
endforeach()

# Inside render: shared <- tables, export, report, (the others). Inside cli: what commands share <-
# commands.
check(analyzer/src/render/shared "render/" render/shared/)
foreach(room tables export report)
  check(analyzer/src/render/${room} "render/" render/shared/ render/${room}/)
endforeach()
check(analyzer/src/cli "cli/commands/" "<none>")

# floor(FOLDER SEEN...): query/FOLDER sees itself, and SEEN of query.
function(floor name)
  set(seen query/${name}/)
  foreach(other IN LISTS ARGN)
    list(APPEND seen query/${other})
  endforeach()
  check(analyzer/src/query/${name} "query/" ${seen})
endfunction()

# Inside query, from the bottom up: how lists are asked for and what they hold, what a dump says of
# itself, terms; one process and its heap; what else a node has; all processes, which count their
# tables; memory, which has them and the tables as parts; who holds what; what is found in all that.
floor(rows)
floor(facts)
floor(term)
floor(process   rows/ facts/ term/)
floor(heap      facts/ term/ process/)
floor(activity  rows/ facts/ process/)
floor(tables    rows/ facts/ term/ process/)
floor(processes rows/ facts/ term/ process/ tables/)
floor(memory    rows/ facts/ process/ tables/ processes/)
floor(waits     rows/ facts/ term/ process/ activity/ tables/ processes/)
floor(holders   rows/ facts/ term/ process/ heap/ tables/ memory/)
floor(redaction process/ tables/ holders/)
floor(findings  rows/ facts/ term/ process/ activity/ tables/ processes/ waits/ memory/ holders/)
floor(things    rows/ facts/ process/ activity/ tables/ processes/ waits/ memory/ holders/ findings/)
floor(exported  rows/ facts/ process/ tables/ things/thing_kinds\\.h)
floor(diff      rows/ facts/ process/ heap/ activity/ tables/ processes/ memory/ exported/)

# Inside the layout tool: file <- dwarf <- cli, which alone opens nodes and cores and tries a layout on
# them.
set(folders "(file|dwarf|cli)/")
check(layout/src/file  "${folders}" file/)
check(layout/src/dwarf "${folders}" file/ dwarf/)
foreach(room file dwarf)
  check(layout/src/${room} "libvm/" "<none>")
endforeach()

# Inside the sampler: stacks, alloc, calls, waits, threads, top <- show <- screen <- command.
set(folders "(stacks|alloc|calls|waits|threads|top|screen|show|command)/")
foreach(room stacks alloc calls waits threads top)
  check(sampler/src/${room} "${folders}" ${room}/)
endforeach()
check(sampler/src/show    "${folders}" stacks/ alloc/ calls/ waits/ threads/ top/ show/)
check(sampler/src/screen  "${folders}" top/ show/ screen/)
foreach(room show screen)
  check(sampler/src/${room} "libvm/" "<none>")
endforeach()

# Inside the watcher: rules <- readings, dumps <- rules (limits), rules and dumps <- record, all <- cli.
set(folders "(rules|readings|dumps|record|cli)/")
check(watcher/src/dumps    "${folders}" dumps/)
check(watcher/src/rules    "${folders}" dumps/dump_store\\.h rules/)
check(watcher/src/readings "${folders}" rules/quantity\\.h readings/)
check(watcher/src/record   "${folders}" rules/quantity\\.h dumps/dump_store\\.h record/)
