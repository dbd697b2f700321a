%% A term as crashdump_viewer gives it, as text in one form only, whatever the order of its maps, so
%% that two texts are equal when the terms are. tests/live/support/canonical.py brings what the VM or
%% the analyzer prints into the same form:
%%   an atom         a"text", with \ before " and \
%%   a number        7  1.500000e+00, with as many digits as the VM prints
%%   a list          [1,2|3]  a tuple {1,2}
%%   a map           #{1=>2}, its pairs sorted by their text
%%   a binary        <<0aff>>, bits at its end <<0a80:1>>
%%   an identifier   <0.1.0> #Port<0.1> #Ref<0.1.2.3>; where the crash dump has it in the external
%%                   format, another node's number is not in it: <*.1.0> #Port<*.1> #Ref<*.1.2.3>
%%   a fun           #Fun<a"lists".1.2>  fun a"lists":a"map"/2
%%   what is missing %CDVIncompleteHeap and the like, as crashdump_viewer calls it
-module(crash_dump_terms).
-export([text/2]).

%% Of is what must be known of the dump: its node's name, and a function that gives the bytes of a binary
%% that crashdump_viewer has left in the file.
text(Atom, _) when is_atom(Atom) ->
    case atom_to_binary(Atom) of
        <<"#CDV", Missing/binary>> -> [<<"%CDV">>, Missing];
        Text -> [<<"a\"">>, escaped(Text), $"]
    end;
text(Integer, _) when is_integer(Integer) -> integer_to_binary(Integer);
text(Float, _) when is_float(Float) -> float_to_binary(Float, [{scientific, 6}]);
text(['#CDVPid' | Numbers], _) -> [$<, dotted(Numbers), $>];
text(['#CDVPort' | Numbers], _) -> [<<"#Port<">>, dotted(Numbers), $>];
text(['#CDVBin', Offset, Size, Position], Of) ->
    text((maps:get(expand, Of))({Offset, Size, Position}), Of);
text([], _) -> <<"[]">>;
text([Head | Tail], Of) -> [$[, text(Head, Of), tail(Tail, Of)];
text(Tuple, Of) when is_tuple(Tuple) ->
    [${, lists:join($,, [text(Element, Of) || Element <- tuple_to_list(Tuple)]), $}];
text(Map, Of) when is_map(Map) ->
    Pairs = [iolist_to_binary([text(Key, Of), <<"=>">>, text(Value, Of)])
             || {Key, Value} <- maps:to_list(Map)],
    [<<"#{">>, lists:join($,, lists:sort(Pairs)), $}];
text(Bits, _) when is_bitstring(Bits) -> bits(Bits);
text(Pid, #{node := Node}) when is_pid(Pid) -> of_node(pid_to_list(Pid), node(Pid), Node);
text(Port, #{node := Node}) when is_port(Port) -> of_node(port_to_list(Port), node(Port), Node);
text(Reference, #{node := Node}) when is_reference(Reference) ->
    of_node(ref_to_list(Reference), node(Reference), Node);
text(Fun, _) when is_function(Fun) -> function(Fun);
text(Other, _) -> [<<"%Other">>, escaped(unicode:characters_to_binary(io_lib:format("~0tp", [Other])))].

tail([], _) -> "]";
tail([Head | Tail], Of) when Head =/= '#CDVPid', Head =/= '#CDVPort', Head =/= '#CDVBin' ->
    [$,, text(Head, Of) | tail(Tail, Of)];
tail(Tail, Of) -> [$|, text(Tail, Of), $]].

dotted(Numbers) -> lists:join($., [integer_to_binary(Number) || Number <- Numbers]).

bits(Bytes) when is_binary(Bytes) -> [<<"<<">>, hex(Bytes), <<">>">>];
bits(Bits) ->
    Size = bit_size(Bits),
    Padding = 8 - Size rem 8,
    [<<"<<">>, hex(<<Bits/bitstring, 0:Padding>>), $:, integer_to_binary(Size rem 8), <<">>">>].

hex(Bytes) -> << <<(digit(Nibble))>> || <<Nibble:4>> <= Bytes >>.

digit(Nibble) when Nibble < 10 -> $0 + Nibble;
digit(Nibble) -> $a + Nibble - 10.

%% The text of an identifier, with the number by which the dump's node knows the node it is of.
of_node(Text, Node, DumpNode) ->
    {Kind, "<" ++ Numbers} = lists:splitwith(fun(Character) -> Character =/= $< end, Text),
    Channel = case atom_to_binary(Node) of
                  DumpNode -> $0;
                  _ -> $*
              end,
    [Kind, $<, Channel, lists:dropwhile(fun(Character) -> Character =/= $. end, Numbers)].

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
