%% A node for what can go wrong around a capture: standard's processes, a few that never rest, and a
%% library (the one that BEAMDUMP_FAULTS_NIF names, without ".so") that feels stops and counts signals.
-module(faults).
-export([start/1, tell/1, hang/1]).

start(Scale) ->
    ok = erlang:load_nif(os:getenv("BEAMDUMP_FAULTS_NIF"), 0),
    ok = standard:start(Scale),
    spawn(fun() -> register(faults_spinning, self()), spin(0) end),
    ok.

hang(_) -> erlang:nif_error(not_loaded).

%% hang MILLISECONDS: a thread of the node is in uninterruptible sleep so long, or until released.
tell([<<"hang">>, Milliseconds]) ->
    spawn(fun() -> hang(binary_to_integer(Milliseconds)) end),
    <<"ok">>;
%% hold PATH: that file is open, by its own descriptor, until let_go.
tell([<<"hold">>, Path]) ->
    Node = self(),
    register(faults_holding, spawn(fun() -> hold(Node, Path) end)),
    receive open -> <<"ok">> end;
tell([<<"let_go">>]) ->
    Monitor = monitor(process, faults_holding),
    faults_holding ! let_go,
    receive {'DOWN', Monitor, process, _, _} -> <<"ok">> end;
%% restless COUNT: a process with so many cells of heap wakes every millisecond.
tell([<<"restless">>, Count]) ->
    register(restless, spawn(restless, wake, [lists:seq(1, binary_to_integer(Count)), 0])),
    true = erlang:garbage_collect(),
    <<"ok">>;
%% filter: from here on making a process kills the node.
tell([<<"filter">>]) ->
    ok = filtered:filter(),
    <<"ok">>.

hold(Node, Path) ->
    {ok, File} = file:open(Path, [read, raw]),
    Node ! open,
    receive let_go -> file:close(File) end.

spin(N) -> spin((N + 1) band 16#ffffff).
