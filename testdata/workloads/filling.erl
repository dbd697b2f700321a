%% A process that fills the node's memory by 20 MB a second, from tell(Kind) on until the node dies: Kind
%% is mailbox, heap, rows or binaries. The process is registered as filling_ and the kind; the owner of the
%% mailbox does not read it.
-module(filling).
-export([tell/1, fill/1]).

-define(PAUSE_MS, 50).
-define(BYTES, 1048576).

tell(Kind) ->
    Name = binary_to_atom(<<"filling_", Kind/binary>>),
    Pid = spawn(?MODULE, fill, [Kind]),
    register(Name, Pid),
    <<"filling">>.

fill(<<"mailbox">>) ->
    Self = self(),
    spawn(fun() -> every(fun(_) -> send(Self) end, none) end),
    receive never -> ok end;
fill(<<"heap">>) ->
    every(fun(Kept) -> [lists:seq(1, ?BYTES div 16) | Kept] end, []);
fill(<<"rows">>) ->
    Table = ets:new(filling_rows, [public]),
    every(fun(_) -> ets:insert(Table, {make_ref(), lists:seq(1, ?BYTES div 16)}) end, none);
fill(<<"binaries">>) ->
    every(fun(Kept) -> [binary:copy(<<1>>, ?BYTES) | Kept] end, []).

send(To) ->
    [To ! {event, N, lists:seq(1, 100)} || N <- lists:seq(1, ?BYTES div 1700)],
    none.

every(Fill, State) ->
    receive after ?PAUSE_MS -> every(Fill, Fill(State)) end.
