%% Pids, ports and references: the node's own, other nodes', and magic ones.
-module(zoo_identifiers).
-export([all/0, magic/0, foreign_fun/0, foreign_pid/3]).

all() ->
    Here = atom_to_binary(node()),
    Far = <<"far@away.example">>,
    Utf8 = <<"n\x{f6}d@v\x{e4}rd"/utf8>>,
    [{self, self()}, {init, whereis(init)}, {gone, list_to_pid("<0.32767.8191>")},
     {first_port, hd(erlang:ports())}, {high_port, list_to_port("#Port<0.268435455>")},
     {reference, make_ref()}, {alias, alias()}, {monitor, monitor(process, init)},
     {monitor_with_alias, monitor(process, init, [{alias, demonitor}])},
     {timer, erlang:start_timer(1000000000, self(), zoo)},
     {far_pid, foreign_pid(Far, 77, 7)}, {far_pid_again, foreign_pid(Far, 16#7fff, 16#1fff)},
     {far_pid_after_restart, pid(Far, 77, 7, 2)}, {largest_far_pid, pid(Far, -1, -1, -1)},
     {pid_of_utf8_node, foreign_pid(Utf8, 1, 2)},
     {own_name_other_creation, pid(Here, 99, 0, 12345)},
     {far_port, decode([89, atom(Far), <<1234:32, 1:32>>])},
     {far_wide_port, decode([120, atom(Far), <<(1 bsl 63 + 5):64, 1:32>>])},
     {far_small_wide_port, decode([120, atom(Far), <<5:64, 1:32>>])},
     {own_port_other_creation, decode([89, atom(Here), <<17:32, 777:32>>])}]
        ++ [{{far_reference, Numbers},
             decode([<<90, Numbers:16>>, atom(Far), <<1:32>>,
                     [<<(N * 1000003):32>> || N <- lists:seq(1, Numbers)]])}
            || Numbers <- [1, 2, 3, 4, 5]]
        ++ [{own_reference_other_creation,
             decode([<<90, 3:16>>, atom(Here), <<4711:32, 1:32, 2:32, 3:32>>])},
            {all_in_one, {foreign_pid(Far, 3, 4), [self() | make_ref()]}}].

%% References that keep something of the runtime alive.
magic() ->
    Counters = counters:new(3, [write_concurrency]),
    Table = ets:new(zoo_table, [public]),
    {ok, File} = file:open("/dev/null", [read, raw]),
    [{atomics, atomics:new(2, [])}, {counters, counters:new(2, [])},
     {write_concurrent_counters, Counters}, {table, Table}, {twice, {Table, Table, Counters}},
     {patterns, binary:compile_pattern([<<"abc">>, <<"bcd">>])},
     {pattern, binary:compile_pattern(<<"abc">>)},
     {resource, zlib:open()}, {file, File},
     {match_spec, ets:match_spec_compile([{'$1', [], ['$1']}])},
     {deterministic_random, rand:seed_s(exsss, 1)}].

foreign_pid(Node, Number, Serial) -> pid(Node, Number, Serial, 1).

%% Of a module that this node has never seen, with an environment and a foreign creator.
foreign_fun() ->
    {_, Creator} = split_binary(term_to_binary(self()), 1),
    Free = [<<97, 42>>, <<107, 0, 3, "abc">>],
    Body = [<<1, 16#1234567890abcdef:128, 7:32, (length(Free)):32>>, atom(<<"never_seen">>),
            <<97, 7, 98, 16#55aa55:32>>, Creator, Free],
    decode([112, <<(iolist_size(Body) + 4):32>>, Body]).

pid(Node, Number, Serial, Creation) ->
    decode([88, atom(Node), <<Number:32, Serial:32, Creation:32>>]).

atom(Name) -> [119, byte_size(Name), Name].

decode(Data) -> binary_to_term(iolist_to_binary([131 | Data])).
