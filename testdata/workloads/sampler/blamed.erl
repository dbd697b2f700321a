%% A node with processes, each of which makes the emulator do one kind of native work for one
%% known function.
-module(blamed).
-export([start/1, tell/1, sender/1, receiver/0, appender/0, builder/0, collector/1]).

start(_Scale) ->
    Term = [{N, <<"text">>, [N]} || N <- lists:seq(1, 20000)],
    register(blamed_sender, spawn(?MODULE, sender, [Term])),
    register(blamed_appender, spawn(?MODULE, appender, [])),
    register(blamed_builder, spawn(?MODULE, builder, [])),
    register(blamed_collector, spawn(?MODULE, collector, [lists:seq(1, 300000)])),
    ok.

%% "sends": how many messages were copied so far.
tell(<<"sends">>) ->
    blamed_sender ! {sends, self()},
    receive {sends, Count} -> integer_to_binary(Count) end.

%% Large messages, each copied into the receiver's heap.
sender(Term) -> send_all(spawn_link(?MODULE, receiver, []), Term, 0).

receiver() ->
    receive {copy, From, _} -> From ! received end,
    receiver().

send_all(Receiver, Term, Count) ->
    copying(Receiver, Term),
    receive
        {sends, From} -> From ! {sends, Count + 1}
    after 0 -> ok
    end,
    send_all(Receiver, Term, Count + 1).

copying(Receiver, Term) ->
    Receiver ! {copy, self(), Term},
    receive received -> ok end.

%% A binary that grows byte by byte, and is copied when there is no room.
appender() ->
    _ = appending(200000, <<>>),
    appender().

appending(0, Bytes) -> byte_size(Bytes);
appending(Times, Bytes) -> appending(Times - 1, <<Bytes/binary, Times:64>>).

%% Heaps that are full, which is seen by tests for room in Erlang code.
builder() ->
    _ = building(10000, []),
    builder().

building(0, List) -> length(List);
building(Times, List) -> building(Times - 1, [{Times, List} | tl([Times | List])]).

%% Collections of a heap that is in use.
collector(Kept) ->
    collecting(),
    collector(Kept).

collecting() ->
    erlang:garbage_collect(),
    ok.
