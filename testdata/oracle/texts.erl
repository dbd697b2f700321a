%% What the VM prints of processes' terms, as it prints them: bytes, in no encoding in particular.
%% Asked together with a process's facts, in one call: asking twice, the second answer might be one
%% that the first question has changed (it may cause a garbage collection).
%%
%% Directory/backtraces.pids and Directory/terms.pids name the processes, one a line. An answer is a
%% line "PID COUNT", then so many texts, each a line with its length and then so many bytes.
%%   Directory/backtraces: what process_info(P, backtrace) says.
%%   Directory/terms: the number of the dictionary's entries, their keys and values, the messages,
%%   as erlang:display/1 prints them, then the flat sizes of those values and messages, in words.
%%   Terms are copied whole: not for a process whose terms are large when flat.
-module(texts).
-export([open/1, close/1, items/2, write/3, display/1]).

open(Directory) ->
    [{Items, pids(Directory, Name), device(Directory, Name)}
     || {Name, Items} <- [{"backtraces", [backtrace]}, {"terms", [dictionary, messages]}]].

pids(Directory, Name) ->
    {ok, Lines} = file:read_file(filename:join(Directory, Name ++ ".pids")),
    Pids = [list_to_pid(Line) || Line <- string:lexemes(binary_to_list(Lines), "\n")],
    maps:from_keys(Pids, asked).

device(Directory, Name) ->
    {ok, Device} = file:open(filename:join(Directory, Name), [write, raw, delayed_write]),
    Device.

close(Wanted) ->
    lists:foreach(fun({_, _, Device}) -> ok = file:close(Device) end, Wanted).

%% The items of process_info that are requested in addition to the facts.
items(Wanted, Pid) ->
    lists:append([Items || {Items, Pids, _} <- Wanted, is_map_key(Pid, Pids)]).

write(Wanted, Pid, Info) ->
    lists:foreach(fun({Items, Pids, Device}) when is_map_key(Pid, Pids) ->
                          Values = [proplists:get_value(Item, Info) || Item <- Items],
                          write_texts(Device, Pid, texts(Items, Values));
                     (_) ->
                          ok
                  end, Wanted).

texts([backtrace], [Text]) ->
    [Text];
texts([dictionary, messages], [Dictionary, Messages]) ->
    [integer_to_binary(length(Dictionary))
     | lists:append([[display(Key), display(Value)] || {Key, Value} <- Dictionary])]
        ++ [display(Message) || Message <- Messages]
        ++ [integer_to_binary(erts_debug:flat_size(Term))
            || Term <- [Value || {_, Value} <- Dictionary] ++ Messages].

write_texts(Device, Pid, Texts) ->
    ok = file:write(Device, [pid_to_list(Pid), $\s, integer_to_list(length(Texts)), $\n]),
    ok = file:write(Device, [[integer_to_binary(byte_size(Text)), $\n, Text] || Text <- Texts]).

%% As the VM prints a term. Up to OTP 25 the one function that gives that away also prints it on the
%% node's standard output, and ends it with a newline.
display(Term) ->
    case erlang:function_exported(erts_internal, term_to_string, 2) of
        true ->
            list_to_binary(apply(erts_internal, term_to_string, [Term, undefined]));
        false ->
            Text = list_to_binary(apply(erts_debug, display, [Term])),
            binary:part(Text, 0, byte_size(Text) - 1)
    end.
