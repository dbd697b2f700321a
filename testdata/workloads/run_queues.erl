%% Schedulers at work, each process running or in a run queue: processes that never wait, some of
%% them of low priority, and native functions that occupy dirty I/O schedulers, three more than there
%% are. One dirty CPU scheduler is online.
-module(run_queues).
-export([start/1, spinning/0, occupying/0]).

-define(LOW, 2).

start(_Scale) ->
    _ = erlang:system_flag(dirty_cpu_schedulers_online, 1),
    [spawn(fun() -> erts_debug:dirty_io(wait, 1000000) end) || _ <- lists:seq(1, occupying())],
    [spawn_opt(fun() -> spin(0) end, [{priority, Priority}])
     || Priority <- lists:duplicate(?LOW, low) ++ lists:duplicate(spinning() - ?LOW, normal)],
    ok.

spinning() -> erlang:system_info(schedulers) + 5.

occupying() -> erlang:system_info(dirty_io_schedulers) + 3.

spin(Count) -> spin(Count + 1).
