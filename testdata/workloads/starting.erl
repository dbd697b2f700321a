%% A node that starts processes which end at once: tell(<<"some">>) 5,000 of them, tell(<<"go">>) as
%% many as it can from then on.
-module(starting).
-export([start/1, tell/1]).

-define(SOME, 5000).

start(_Scale) -> ok.

tell(<<"some">>) ->
    _ = [begin {Pid, Monitor} = spawn_monitor(fun() -> ok end),
               receive {'DOWN', Monitor, process, Pid, _} -> ok end
         end || _ <- lists:seq(1, ?SOME)],
    integer_to_binary(?SOME);
tell(<<"go">>) ->
    _ = [spawn(fun go/0) || _ <- lists:seq(1, erlang:system_info(schedulers))],
    <<"going">>.

go() ->
    _ = spawn(fun() -> ok end),
    go().
