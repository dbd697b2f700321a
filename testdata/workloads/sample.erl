%% A small node to try the tools on: a server with a large state, a process deep in recursion, one
%% that lets its mail pile up, a few hundred sessions, and a clock that never rests.
-module(sample).
-export([start/1, session/2, deep/2, inbox/1, clock/1]).

start(Scale) ->
    Count = fun(AtScaleOne) -> max(1, round(AtScaleOne * Scale)) end,
    {ok, _} = sample_accounts:start_link(Count(20000)),
    lists:foreach(fun(N) -> await(spawn(?MODULE, session, [self(), N])) end,
                  lists:seq(1, Count(300))),
    await(register_new(sample_deep, spawn(?MODULE, deep, [self(), Count(1000)]))),
    Inbox = register_new(sample_inbox, spawn(?MODULE, inbox, [self()])),
    await(Inbox),
    [Inbox ! {order, N, workload_data:user(N)} || N <- lists:seq(1, Count(500))],
    register_new(sample_clock, spawn(?MODULE, clock, [0])),
    ok.

register_new(Name, Pid) ->
    true = register(Name, Pid),
    Pid.

await(Pid) ->
    receive {Pid, ready} -> ok end.

session(Owner, N) ->
    link(whereis(sample_accounts)),
    put(session, N),
    Owner ! {self(), ready},
    session_loop(#{user => workload_data:user(N), page => workload_data:blob(N)}).

session_loop(Session) ->
    receive
        {visit, Page} -> session_loop(Session#{page := Page});
        leave -> left
    end.

deep(Owner, 0) ->
    Owner ! {self(), ready},
    receive climb -> 0 end;
deep(Owner, Left) ->
    Local = {frame, Left, <<"local">>},
    Sum = deep(Owner, Left - 1),
    Sum + element(2, Local).

inbox(Owner) ->
    Owner ! {self(), ready},
    receive never -> ok end.

clock(Ticks) ->
    receive stop -> stopped after 5 -> clock(Ticks + 1) end.
