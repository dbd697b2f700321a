%% A node that auto makes a twin of: a process with some 60 MB of heap wakes every millisecond, so
%% that it never holds still for as long as copying it takes, and it is too large for a short stop.
%% Besides, the node holds the file that BEAMDUMP_HELD_FILE names open, and listens on a port of
%% loopback, whose number is in the file "port" of its directory; it keeps what connects there.
-module(restless).
-export([start/1, wake/2]).

start(Scale) ->
    spawn(fun hold/0),
    Owner = self(),
    spawn(fun() -> listen(Owner) end),
    receive listening -> ok end,
    register(restless, spawn(?MODULE, wake, [lists:seq(1, round(4000000 * Scale)), 0])),
    %% Not later: on the same scheduler, restless would hold still for as long as that takes.
    true = erlang:garbage_collect(),
    ok.

wake(State, Times) ->
    receive after 1 -> wake(State, Times + 1) end.

hold() ->
    case os:getenv("BEAMDUMP_HELD_FILE") of
        false -> ok;
        Name -> {ok, _} = file:open(Name, [read, raw])
    end,
    receive after infinity -> ok end.

listen(Owner) ->
    {ok, Listener} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, false}]),
    {ok, Port} = inet:port(Listener),
    ok = file:write_file("port", integer_to_binary(Port)),
    Owner ! listening,
    keep(Listener, []).

keep(Listener, Sockets) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    keep(Listener, [Socket | Sockets]).
