%% Parts of large binaries, in every place where a term can be: what they show lies far behind the
%% first bytes of the whole, whose bytes are numbers of nine digits and a comma.
-module(parts).
-export([start/1, holder/2, mailbox/1, many/1]).

-define(NUMBERS, 200000).
-define(MANY, 1000).

start(_Scale) ->
    Whole = whole(),
    Holder = started(holder, [Whole]),
    true = register(parts_holder, Holder),
    Mailbox = started(mailbox, []),
    true = register(parts_mailbox, Mailbox),
    Mailbox ! {part, copied(Whole, 110000)},
    Many = started(many, []),
    true = register(parts_many, Many),
    parts_rows = ets:new(parts_rows, [named_table, public]),
    true = ets:insert(parts_rows, [{N, copied(Whole, 120000 + 100 * N)} || N <- lists:seq(1, 5)]),
    true = ets:give_away(parts_rows, Holder, nothing),
    ok = persistent_term:put(parts_term, {part, copied(Whole, 130000)}).

whole() ->
    << <<(digits(N))/binary, $,>> || N <- lists:seq(0, ?NUMBERS - 1) >>.

digits(N) ->
    list_to_binary(io_lib:format("~9..0b", [N])).

part(Whole, N) ->
    binary:part(Whole, 10 * N, 20).

%% Too long to become a binary on the heap where it is copied.
copied(Whole, N) ->
    binary:part(Whole, 10 * N, 200).

started(Function, Arguments) ->
    Pid = spawn(?MODULE, Function, [self() | Arguments]),
    receive {Pid, ready} -> Pid end.

holder(Parent, Whole) ->
    put(part, part(Whole, 100000)),
    put(long_part, binary:part(Whole, 1400000, 5000)),
    put(begins_inside, binary:part(Whole, 50, 100)),
    <<_:800003, Shifted:800/bitstring, _/bitstring>> = Whole,
    put(shifted, Shifted),
    <<Expected:800>> = Shifted,
    put(expected, Expected),
    erlang:garbage_collect(),
    Parent ! {self(), ready},
    receive stop -> Whole end.

mailbox(Parent) ->
    Parent ! {self(), ready},
    receive stop -> ok end.

many(Parent) ->
    Whole = whole(),
    put(many, [binary:part(Whole, 2000 * N, 100) || N <- lists:seq(1, ?MANY - 1)]),
    erlang:garbage_collect(),
    Parent ! {self(), ready},
    receive stop -> Whole end.
