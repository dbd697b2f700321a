%% The node's own memory statistics in one line: words Name=Number.
%%   memory.CATEGORY               erlang:memory/0
%%   area.AREA, area.AREA.used     erlang:system_info(allocated_areas)
%%   allocator.NAME.carriers, .carriers_size   of all instances, their pools included
%%   blocks.NAME.count, .size      of all instances of all allocators: blocks of that allocator
%%   segments.cached               of mseg_alloc
%%   count.atoms, limit.atoms
%%   count.modules, count.old      modules with current code, and with old code
%% And peak(): large heaps and binaries that are gone when it returns.
-module(node_memory).
-export([describe/0, peak/0]).

describe() ->
    Memory = [word(["memory.", name(Name)], Bytes) || {Name, Bytes} <- erlang:memory()],
    Areas = lists:flatmap(fun area/1, erlang:system_info(allocated_areas)),
    lists:join($\s, Memory ++ Areas ++ allocators() ++ counts()).

counts() ->
    [word(["count.atoms"], erlang:system_info(atom_count)),
     word(["limit.atoms"], erlang:system_info(atom_limit)),
     word(["count.modules"], length([M || M <- erlang:loaded(), erlang:module_loaded(M)])),
     word(["count.old"], length([M || M <- erlang:loaded(), erlang:check_old_code(M)]))].

area({Name, Bytes}) -> [word(["area.", name(Name)], Bytes)];
area({Name, Bytes, Used}) ->
    [word(["area.", name(Name)], Bytes), word(["area.", name(Name), ".used"], Used)].

allocators() ->
    Names = erlang:system_info(alloc_util_allocators),
    Counts = lists:foldl(fun(Name, Sums) -> instances(Name, Sums) end, #{}, Names),
    Cached = lists:sum([Count || {instance, _, Facts} <- erlang:system_info({allocator, mseg_alloc}),
                                 {memkind, Kind} <- Facts, {status, Status} <- Kind,
                                 {cached_segments, Count} <- Status]),
    [word(["segments.cached"], Cached) | [word(Key, Sum) || {Key, Sum} <- maps:to_list(Counts)]].

instances(Name, Sums) ->
    case erlang:system_info({allocator, Name}) of
        false -> Sums;
        Instances ->
            lists:foldl(fun({instance, _, Facts}, Now) -> carriers(Name, Facts, Now) end, Sums,
                        Instances)
    end.

carriers(Name, Facts, Sums) ->
    Groups = [Group || {Kind, Group} <- Facts, lists:member(Kind, [mbcs, sbcs, mbcs_pool])],
    lists:foldl(
      fun(Group, Now) ->
              Own = ["allocator.", name(Name)],
              Counted = add([Own, ".carriers"], first(carriers, Group), Now),
              Sized = add([Own, ".carriers_size"], first(carriers_size, Group), Counted),
              lists:foldl(fun blocks/2, Sized, proplists:get_value(blocks, Group, []))
      end, Sums, Groups).

blocks({Name, Facts}, Sums) ->
    Own = ["blocks.", name(Name)],
    add([Own, ".size"], first(size, Facts), add([Own, ".count"], first(count, Facts), Sums)).

%% {Name, Now}, or {Name, Now, Highest, HighestEver}.
first(Name, Facts) ->
    case lists:keyfind(Name, 1, Facts) of
        false -> 0;
        Fact -> element(2, Fact)
    end.

add(Key, Number, Sums) ->
    maps:update_with(iolist_to_binary(Key), fun(Sum) -> Sum + Number end, Number, Sums).

name(Name) -> atom_to_list(Name).

word(Name, Number) -> [Name, $=, integer_to_list(Number)].

peak() ->
    Self = self(),
    Work = fun() ->
                   List = lists:seq(1, 400000),
                   Binaries = [binary:copy(<<0>>, 100000) || _ <- lists:seq(1, 40)],
                   Self ! {self(), length(List) + length(Binaries)},
                   receive stop -> ok end,
                   Self ! {length(List), length(Binaries)}
           end,
    Workers = [spawn_monitor(Work) || _ <- lists:seq(1, 8)],
    lists:foreach(fun({Pid, _}) -> receive {Pid, _} -> ok end end, Workers),
    lists:foreach(fun({Pid, Monitor}) ->
                          exit(Pid, kill),
                          receive {'DOWN', Monitor, process, Pid, _} -> ok end
                  end, Workers),
    true = erlang:garbage_collect(),
    ok.
