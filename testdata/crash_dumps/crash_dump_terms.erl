%% A term as crashdump_viewer gives it, as text in one form only, whatever the order of its maps, so
%% that two texts are equal when the terms are. tests/live/support/canonical.py brings what the VM or
%% the analyzer prints into the same form:
%%   an atom         a"text", with \ before " and \
%%   a number        7  1.500000e+00, with as many digits as the VM prints
%%   a list          [1,2|3]  a tuple {1,2}
%%   a map           #{1=>2}, its pairs sorted by their text
%%   a binary        <<0aff>>, bits at its end <<0a80:1>>
%%   an identifier   <0.1.0> #Port<0.1> #Ref<0.1.2.3>; of a reference of another node, the node's
%%                   number is not in the crash dump: #Ref<*.1.2.3>
%%   a fun           #Fun<a"lists".1.2>  fun a"lists":a"map"/2
%%   what is missing %CDVIncompleteHeap and the like, as crashdump_viewer calls it
-module(crash_dump_terms).
-export([text/2]).

%% Expand gives the bytes of a binary that crashdump_viewer has left in the file.
text(Atom, _) when is_atom(Atom) ->
    case atom_to_binary(Atom) of
        <<"#CDV", Missing/binary>> -> [<<"%CDV">>, Missing];
        Text -> [<<"a\"">>, escaped(Text), $"]
    end;
text(Integer, _) when is_integer(Integer) -> integer_to_binary(Integer);
text(Float, _) when is_float(Float) -> float_to_binary(Float, [{scientific, 6}]);
text(['#CDVPid' | Numbers], _) -> [$<, dotted(Numbers), $>];
text(['#CDVPort' | Numbers], _) -> [<<"#Port<">>, dotted(Numbers), $>];
text(['#CDVBin', Offset, Size, Position], Expand) ->
    text(Expand({Offset, Size, Position}), Expand);
text([], _) -> <<"[]">>;
text([Head | Tail], Expand) -> [$[, text(Head, Expand), tail(Tail, Expand)];
text(Tuple, Expand) when is_tuple(Tuple) ->
    [${, lists:join($,, [text(Element, Expand) || Element <- tuple_to_list(Tuple)]), $}];
text(Map, Expand) when is_map(Map) ->
    Pairs = [iolist_to_binary([text(Key, Expand), <<"=>">>, text(Value, Expand)])
             || {Key, Value} <- maps:to_list(Map)],
    [<<"#{">>, lists:join($,, lists:sort(Pairs)), $}];
text(Bits, _) when is_bitstring(Bits) -> bits(Bits);
text(Pid, _) when is_pid(Pid) -> pid_to_list(Pid);
text(Port, _) when is_port(Port) -> port_to_list(Port);
text(Reference, _) when is_reference(Reference) -> reference(Reference);
text(Fun, _) when is_function(Fun) -> function(Fun);
text(Other, _) -> [<<"%Other">>, escaped(unicode:characters_to_binary(io_lib:format("~0tp", [Other])))].

tail([], _) -> "]";
tail([Head | Tail], Expand) when Head =/= '#CDVPid', Head =/= '#CDVPort', Head =/= '#CDVBin' ->
    [$,, text(Head, Expand) | tail(Tail, Expand)];
tail(Tail, Expand) -> [$|, text(Tail, Expand), $]].

dotted(Numbers) -> lists:join($., [integer_to_binary(Number) || Number <- Numbers]).

bits(Bytes) when is_binary(Bytes) -> [<<"<<">>, hex(Bytes), <<">>">>];
bits(Bits) ->
    Size = bit_size(Bits),
    Padding = 8 - Size rem 8,
    [<<"<<">>, hex(<<Bits/bitstring, 0:Padding>>), $:, integer_to_binary(Size rem 8), <<">>">>].

hex(Bytes) -> << <<(digit(Nibble))>> || <<Nibble:4>> <= Bytes >>.

digit(Nibble) when Nibble < 10 -> $0 + Nibble;
digit(Nibble) -> $a + Nibble - 10.

reference(Reference) ->
    "#Ref<" ++ Numbers = ref_to_list(Reference),
    case node(Reference) =:= node() of
        true -> [<<"#Ref<">>, Numbers];
        false -> [<<"#Ref<*">>, lists:dropwhile(fun(Character) -> Character =/= $. end, Numbers)]
    end.

function(Fun) ->
    {type, Type} = erlang:fun_info(Fun, type),
    {module, Module} = erlang:fun_info(Fun, module),
    case Type of
        external ->
            {name, Name} = erlang:fun_info(Fun, name),
            {arity, Arity} = erlang:fun_info(Fun, arity),
            [<<"fun ">>, text(Module, none), $:, text(Name, none), $/, integer_to_binary(Arity)];
        local ->
            {index, Index} = erlang:fun_info(Fun, index),
            {uniq, Uniq} = erlang:fun_info(Fun, uniq),
            [<<"#Fun<">>, text(Module, none), $., dotted([Index, Uniq]), $>]
    end.

escaped(Text) ->
    binary:replace(Text, [<<"\\">>, <<"\"">>], <<"\\">>, [global, {insert_replaced, 1}]).
