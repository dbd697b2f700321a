%% Ends the node with a crash dump. What runs out must have been limited from outside: atoms with +t,
%% processes with +P, memory with setrlimit.
-module(crash).
-export([now/1, rest/0]).

now(<<"halt">>) ->
    erlang:halt("Ended on purpose, é and all");
now(<<"atoms">>) ->
    make_atoms(0);
now(<<"processes">>) ->
    %% No more processes is no reason to crash; that the kernel cannot start one again is.
    spawn_all(),
    exit(whereis(code_server), kill);
now(<<"memory">>) ->
    grow([]).

make_atoms(N) ->
    _ = list_to_atom("crash_" ++ integer_to_list(N)),
    make_atoms(N + 1).

spawn_all() ->
    try spawn(?MODULE, rest, []) of
        _ -> spawn_all()
    catch
        error:system_limit -> full
    end.

rest() ->
    receive never -> ok end.

grow(List) ->
    grow([[] | List]).
