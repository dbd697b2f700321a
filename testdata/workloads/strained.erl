%% A node after a peak: its carriers have a few blocks each; a process that does nearly all of the
%% work; and timers for a process that has exited. tests/live/answers/test_findings.py finds all three.
-module(strained).
-export([start/1]).

-define(PROCESSES, 3000).
-define(HEAP_WORDS, 8000).
-define(KEPT, 10).
-define(REDUCTIONS, 12000000000).
%% The VM counts no more at once.
-define(AT_ONCE, 4000).
-define(TIMERS, 2000).

start(_Scale) ->
    Pids = [spawn_opt(fun() -> receive stop -> ok end end, [{min_heap_size, ?HEAP_WORDS}])
            || _ <- lists:seq(1, ?PROCESSES)],
    _ = [stop(Pid) || {N, Pid} <- lists:zip(lists:seq(1, length(Pids)), Pids), N rem ?KEPT =/= 0],
    _ = [erlang:send_after(3600000, strained_gone, {tick, N}) || N <- lists:seq(1, ?TIMERS)],
    Hot = spawn(fun burn/0),
    true = register(strained_hot, Hot),
    wait(Hot).

stop(Pid) ->
    Reference = monitor(process, Pid),
    Pid ! stop,
    receive {'DOWN', Reference, process, Pid, _} -> ok end.

burn() ->
    true = erlang:bump_reductions(?AT_ONCE),
    burn().

wait(Pid) ->
    case process_info(Pid, reductions) of
        {reductions, Count} when Count > ?REDUCTIONS -> ok;
        _ -> timer:sleep(20), wait(Pid)
    end.
