%% A table whose rows cannot be compressed, so that a dump of it is large: 100,000 rows of 480 bytes by
%% default. A registered process, random_rows_owner, has it.
-module(random_rows).
-export([start/1]).

-define(ROWS, 100000).
-define(BINARIES, 6).
-define(HEAP_BINARY, 64).  % bytes of the largest binary that is part of its row

start(Scale) ->
    Self = self(),
    Owner = spawn(fun() -> own(Self, round(?ROWS * Scale)) end),
    receive {Owner, ready} -> ok end.

own(Starter, Rows) ->
    register(random_rows_owner, self()),
    ets:new(random_rows, [named_table, public]),
    _ = [ets:insert(random_rows, {N, binaries(rand:bytes(?BINARIES * ?HEAP_BINARY))})
         || N <- lists:seq(1, Rows)],
    erlang:garbage_collect(),
    Starter ! {self(), ready},
    receive never -> ok end.

binaries(<<>>) -> [];
binaries(<<First:?HEAP_BINARY/binary, Rest/binary>>) -> [binary:copy(First) | binaries(Rest)].
