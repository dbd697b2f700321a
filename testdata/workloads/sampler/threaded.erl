%% A node whose threads wait for mutexes, read, and use processors in native code, of the library that
%% BEAMDUMP_THREADED_NIF names, without ".so".
-module(threaded).
-export([start/1, tell/1, threads/0, wanting/0, burning/0, reading/0, resource/0]).

-define(FIRES_MS, 200).

start(_Scale) ->
    ok = erlang:load_nif(os:getenv("BEAMDUMP_THREADED_NIF"), 0).

threads() -> erlang:nif_error(not_loaded).
wanting() -> erlang:nif_error(not_loaded).
burning() -> erlang:nif_error(not_loaded).
reading() -> erlang:nif_error(not_loaded).
resource() -> erlang:nif_error(not_loaded).

%% "threads": the library's own ones. "holder wanter mutex planted_mutex", as numbers.
tell(<<"threads">>) ->
    {Holder, Wanter, Mutex, Planted} = threads(),
    io_lib:format("~b ~b ~b ~b", [Holder, Wanter, Mutex, Planted]);
%% A process in a call that does not return: its pid.
tell(Call) when Call =:= <<"wanting">>; Call =:= <<"burning">>; Call =:= <<"reading">> ->
    Native = binary_to_existing_atom(Call),
    pid_to_list(spawn(fun() ->
        register(Native, self()),
        exit({returned, ?MODULE:Native()})
    end));
%% One process reads 200,000 objects of a table at a time, the other one writes to it. A busy machine would
%% leave them on one scheduler.
tell(<<"table">>) ->
    Owner = spawn(fun() ->
        Table = ets:new(threaded_table, [duplicate_bag, public, named_table]),
        [ets:insert(Table, [{key, Number} || _ <- lists:seq(1, 1000)]) || Number <- lists:seq(1, 200)],
        register(threaded_reader, spawn_opt(fun() -> read(Table) end, [{scheduler, 2}])),
        register(threaded_writer, spawn_opt(fun() -> write(Table) end, [{scheduler, 3}])),
        register(threaded_owner, self()),
        receive never -> ok end
    end),
    pid_to_list(Owner);
%% The message of a timer, to a name that nobody has, has the only reference to a resource: the
%% scheduler that the timer fires on calls its destructor, for no process.
tell(<<"timer">>) ->
    {Maker, Monitor} = spawn_monitor(fun() ->
        erlang:send_after(?FIRES_MS, nobody_has_this_name, {message, resource()})
    end),
    receive {'DOWN', Monitor, process, Maker, normal} -> <<"ok">> end.

read(Table) ->
    _ = ets:lookup(Table, key),
    read(Table).

write(Table) ->
    true = ets:insert(Table, {other, 1}),
    true = ets:delete(Table, other),
    write(Table).
