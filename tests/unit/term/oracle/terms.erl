%% Makes what make-texts merges into terms.txt: what the VM itself prints for a
%% few hundred terms. Standard output: erlang:display/1's texts, one a line
%% (erl_printf_term.c without a budget). The file named by TERMS_OUT: the same
%% terms in external format, base64, one a line. SIZES_OUT: their flat sizes.
-module(terms).
-export([main/0]).

main() ->
    _ = rand:seed(exsss, {25, 2, 3}),
    Terms = fixed() ++ [term(N rem 6) || N <- lists:seq(1, 300)],
    External = [[base64:encode(term_to_binary(Term)), $\n] || Term <- Terms],
    ok = file:write_file(os:getenv("TERMS_OUT"), External),
    Sizes = [[integer_to_list(erts_debug:flat_size(copy(Term))), $\n] || Term <- Terms],
    ok = file:write_file(os:getenv("SIZES_OUT"), Sizes),
    lists:foreach(fun erlang:display/1, Terms),
    halt().

%% What a decoder of the external format builds: the same kinds of binaries as the test's.
copy(Term) -> binary_to_term(term_to_binary(Term)).

fixed() ->
    [0, -1, (1 bsl 59) - 1, -(1 bsl 59), 1 bsl 59, -(1 bsl 59) - 1,
     1 bsl 63, 1 bsl 64, -(1 bsl 64), 10000000000000000000, 99999999999999999999,
     1 bsl 4096, -(1 bsl 100000) + 7,
     0.0, -0.0, 1.0, -1.5, 1.0e300, -1.0e-300, 4.9e-324, 1.7976931348623157e308, 0.1,
     123456789.123,
     '', a, 'A', aB_9, '_a', 'a@b', 'a b', '9a', 'a-b', 'it\'s', 'a\\b', 'a"b', undefined,
     '\n\f\t\r\b\v', 'a\x{0}b', 'a\x{1f}', 'a\x{7f}', 'a\x{80}', 'a\x{9f}', 'a\x{a0}',
     'é', 'aé', 'É', 'aÉ', '×', 'a×', '÷', 'a÷', 'ß', 'aß', 'ÿ', 'aÿ',
     'Ж', 'ж', 'aж', 'ā', 'aā', '漢', 'a漢', '😀', 'a😀', list_to_atom(lists:duplicate(255, $x)),
     list_to_atom(lists:duplicate(255, 16#10ffff)),
     [], [[]], {}, {{}}, #{}, [[], []], [a], [a | b], [a, b | c], [1, 2, 3], [256], [255],
     "abc", "a\"b", "a\\b", "\t\n\r", "\v", "\e", "\d", [127], [128], [159], [160], "é", [0],
     "abc" ++ [256], "abc" ++ d, ["abc" | d], ["abc", "def"], [$a | [$b | x]], {"", ''},
     <<>>, <<0>>, <<"abc">>, <<"a\"b">>, <<"a\\b">>, <<"a\nb">>, <<127>>, <<" ~">>, <<255>>,
     <<1:1>>, <<0:1>>, <<5:7>>, <<"abc", 1:1>>, <<1, 2, 3:3>>, <<"é"/utf8>>,
     binary:copy(<<"x">>, 64), binary:copy(<<"x">>, 65), binary:copy(<<"xyz">>, 2000),
     binary:copy(<<0, 255>>, 1500), <<(binary:copy(<<1>>, 100))/binary, 3:2>>,
     self(), make_ref(), hd(erlang:ports()), erlang:alias(),
     fun lists:map/2, fun 'A b':'C'/3, fun lists:lists/0, fun(X) -> X end,
     #{a => 1}, #{a => 1, "b" => #{<<"c">> => [d]}},
     maps:from_list([{I, I * I} || I <- lists:seq(1, 32)]),
     {a, {b, {c, [d, {e, "f"}]}}}, [{a, 1}, {b, 2}], list_to_tuple(lists:seq(1, 300))].

term(0) ->
    lists:nth(rand:uniform(9),
              [rand:uniform(1000) - 500, rand:uniform(1 bsl 80) - (1 bsl 79), atom(),
               rand:normal() * 1.0e10, string(), binary(), bits(), [], {}]);
term(D) ->
    case rand:uniform(8) of
        1 -> list_to_tuple(several(D));
        2 -> several(D);
        3 -> [term(D - 1) | term(0)];
        4 -> maps:from_list(lists:zip(several(D, 3), several(D, 3)));
        5 -> string() ++ several(D);
        6 -> {term(D - 1), term(D - 1)};
        7 -> [term(D - 1)];
        8 -> term(0)
    end.

several(D) -> several(D, rand:uniform(5) - 1).
several(D, N) -> [term(D - 1) || _ <- lists:seq(1, N)].
atom() -> list_to_atom(lists:sublist([character() || _ <- lists:seq(1, 6)], rand:uniform(6))).
string() -> [rand:uniform(94) + 31 || _ <- lists:seq(1, rand:uniform(8))].
binary() -> rand:bytes(rand:uniform(100)).
bits() -> Size = rand:uniform(99), <<(rand:uniform(1 bsl 60)):Size>>.
character() ->
    case rand:uniform(10) of
        1 -> rand:uniform(256) - 1;
        2 -> 16#400 + rand:uniform(255);
        _ -> $a + rand:uniform(26) - 1
    end.
