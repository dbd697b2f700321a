%% Binaries and bit strings: on the heap, reference-counted, parts of each and parts of parts.
-module(zoo_binaries).
-export([bytes/0, bits/0, parsed/2]).

bytes() ->
    Heap = bytes(50),
    Large = bytes(5000),
    Text = binary:copy(zoo_terms:id(<<"readable text, ">>), 40),
    [{empty, zoo_terms:id(<<>>)}, {heap, Heap}, {large, Large}, {text, Text},
     {short_text, binary:copy(zoo_terms:id(<<"abc">>))},
     {quoted, binary:copy(zoo_terms:id(<<"a\"b\\c">>))},
     {newline, binary:copy(zoo_terms:id(<<"a\nb">>))},
     {delete, binary:copy(zoo_terms:id(<<127>>))},
     {utf8, binary:copy(zoo_terms:id(<<"åäö漢"/utf8>>))}]
        ++ [{{size, Size}, bytes(Size)} || Size <- [1, 7, 8, 9, 63, 64, 65, 256, 65536, 150000]]
        ++ [{part_of_heap, binary:part(Heap, 3, 20)}, {part_of_large, binary:part(Large, 7, 100)},
            {long_part_of_large, binary:part(Large, 1, 4000)},
            {text_in_large, binary:part(<<Large/binary, Text/binary>>, 5003, 200)},
            {part_of_part, binary:part(binary:part(Large, 100, 1000), 33, 66)},
            {empty_part, binary:part(Large, 5000, 0)},
            {whole_part, binary:part(Large, 0, 5000)},
            {split, binary:split(Text, <<", ">>, [global])},
            {appended, appended(200)}, {appended_part, binary:part(appended(300), 10, 50)},
            {rest, rest(Large)}, {many_parts, [binary:part(Large, N, N) || N <- lists:seq(1, 99)]},
            {copies, {Large, Large, binary:copy(Large)}},
            {made_of_list, iolist_to_binary([Heap, [Large | Text]])},
            {inflated, zlib:unzip(zlib:zip(Text))}].

bits() ->
    Heap = bytes(40),
    Large = bytes(3000),
    <<_:3, Shifted:100/bitstring, _/bitstring>> = Heap,
    <<_:5, ShiftedLarge:2000/bitstring, _/bitstring>> = Large,
    <<_:7, Bytes:20/binary, _/bitstring>> = Large,
    <<_:1, Odd:1999/bitstring, _/bitstring>> = Large,
    <<_:4, Text:72/bitstring, _/bitstring>> = <<5:4, (zoo_terms:id(<<"nine char">>))/binary, 0:4>>,
    <<_:2, Half/bitstring>> = Odd,
    [{{width, Width}, <<(zoo_terms:id(16#5a5a)):Width>>}
     || Width <- [1, 2, 7, 9, 15, 17, 63, 65, 511, 513, 1001]]
        ++ [{shifted, Shifted}, {shifted_large, ShiftedLarge}, {shifted_bytes, Bytes}, {odd, Odd},
            {shifted_text, Text}, {part_of_odd, Half},
            {text_and_a_bit, <<(zoo_terms:id(<<"abc">>))/binary, 1:1>>},
            {eight_bits_across, [eight(Heap, N) || N <- lists:seq(0, 15)]},
            {single_bits, [B || <<B:1/bitstring>> <= binary:part(Heap, 0, 4)]},
            {nothing_at_bit_3, nothing(Heap)}].

%% Stays on the stack as a match context while the receive waits, with Rest a sub binary before it.
parsed(<<Length:16, Field:Length/binary, Tail/binary>>, Wait) ->
    Wait(),
    [Field | parsed(Tail, Wait)];
parsed(<<>>, _) ->
    [].

eight(Binary, Skip) ->
    <<_:Skip, Eight:8/bitstring, _/bitstring>> = Binary,
    Eight.

nothing(Binary) ->
    <<_:3, Nothing:0/bitstring, _/bitstring>> = Binary,
    Nothing.

rest(<<_:16, Rest/binary>>) -> Rest.

appended(Count) ->
    lists:foldl(fun(N, Binary) -> <<Binary/binary, N:16>> end, zoo_terms:id(<<>>),
                lists:seq(1, Count)).

bytes(Size) ->
    << <<(N * 37 rem 251)>> || N <- lists:seq(1, Size) >>.
