%% Schedulers at work, each process running or in a run queue: processes that never wait, some of
%% them of low priority, and native functions that occupy the one dirty CPU scheduler that is online
%% and, for a part, the dirty I/O schedulers, which files need.
-module(run_queues).
-export([start/1]).

-define(LOW, 2).

%% On a node where they are at work already: more of them.
start(Scale) when Scale > 1 ->
    spin(lists:duplicate(round(Scale), normal));
start(_) ->
    %% Loading code needs a dirty CPU scheduler.
    [{module, _} = code:ensure_loaded(Module) || Module <- [control, node_facts]],
    _ = erlang:system_flag(dirty_cpu_schedulers_online, 1),
    [spawn(fun() -> erts_debug:dirty_cpu(wait, 1000000) end) || _ <- lists:seq(1, 4)],
    [spawn(fun() -> erts_debug:dirty_io(wait, 1000000) end) || _ <- lists:seq(1, 3)],
    Spinning = erlang:system_info(schedulers) + 5,
    spin(lists:duplicate(?LOW, low) ++ lists:duplicate(Spinning - ?LOW, normal)).

spin(Priorities) ->
    _ = [spawn_opt(fun() -> count(0) end, [{priority, Priority}]) || Priority <- Priorities],
    ok.

count(Number) -> count(Number + 1).
