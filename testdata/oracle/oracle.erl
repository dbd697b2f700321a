%% What the node itself says of its processes, one JSON object a line: the answers that a dump taken
%% just before is compared with. Atoms and functions are in Erlang's own spelling. Asking makes a
%% process run, so always capture first.
-module(oracle).
-export([write/1, write/2, describe/1, line/1]).

%% Writes all processes except the calling one to File. Returns their number.
write(File) -> write_all(File, []).

%% And what texts.erl is asked for in Directory.
write(File, Directory) ->
    Wanted = texts:open(Directory),
    Count = write_all(File, Wanted),
    ok = texts:close(Wanted),
    Count.

write_all(File, Wanted) ->
    {ok, Device} = file:open(File, [write, raw, delayed_write]),
    Pids = processes() -- [self()],
    Known = lists:filter(fun(Pid) -> write_process(Device, Wanted, Pid) end, Pids),
    ok = file:close(Device),
    length(Known).

items() ->
    [registered_name, current_function, initial_call, status, message_queue_len,
     total_heap_size, heap_size, stack_size, reductions, links, monitors, monitored_by,
     priority, trap_exit, group_leader, memory, current_location, error_handler, parent,
     message_queue_data, garbage_collection, garbage_collection_info, current_stacktrace,
     suspending, catchlevel, sequential_trace_token, binary] -- lacking().

%% process_info/2 has parent from OTP 25 on.
lacking() ->
    case list_to_integer(erlang:system_info(otp_release)) of
        Release when Release < 25 -> [parent];
        _ -> []
    end.

%% False if the process has ended since the list of processes was made. The VM answers the last item
%% first: the terms come after the facts, for to copy a binary that is being appended to shrinks it.
write_process(Device, Wanted, Pid) ->
    Items = texts:items(Wanted, Pid),
    case process_info(Pid, Items ++ items()) of
        undefined ->
            false;
        Info ->
            {Terms, Facts} = lists:split(length(Items), Info),
            ok = file:write(Device, line([{pid, Pid} | marks(Terms) ++ Facts])),
            ok = texts:write(Wanted, Pid, Info),
            true
    end.

%% What stands in the dictionary, if that was asked for.
marks(Terms) ->
    case lists:keyfind(dictionary, 1, Terms) of
        {dictionary, Dictionary} ->
            [{translated_initial_call,
              [proc_lib:translate_initial_call(Terms)
               || {'$initial_call', _} <- Dictionary]},
             {label, [Label || {'$process_label', Label} <- Dictionary]}];
        false ->
            []
    end.

describe(Pid) ->
    line([{pid, Pid} | process_info(Pid, items())]).

%% One JSON object in the form of the oracle's answers.
line(Members) -> [object(Members), $\n].

object(Members) ->
    [${, lists:join($,, [[string(atom_to_binary(Key)), $:, value(Key, Value)]
                         || {Key, Value} <- Members]), $}].

value(_, {text, Text}) -> string(list_to_binary(Text));
value(_, {term, Term}) -> string(term(Term));
value(registered_name, []) -> <<"null">>;
value(registered_name, Name) -> string(as_the_vm(term(Name)));
value(current_function, undefined) -> <<"null">>;
value(Key, {M, F, A}) when Key =:= current_function; Key =:= initial_call ->
    string(unicode:characters_to_binary(io_lib:format("~tp:~tp/~b", [M, F, A])));
value(Key, []) when Key =:= translated_initial_call; Key =:= label -> <<"null">>;
value(translated_initial_call, [{M, F, A}]) ->
    string(unicode:characters_to_binary(io_lib:format("~tp:~tp/~b", [M, F, A])));
value(label, [Label]) -> string(texts:display(Label));
value(sequential_trace_token, Token) -> string(texts:display(Token));
value(current_stacktrace, Trace) ->
    array([array([value(initial_call, {M, F, A}), value(current_location, Entry)])
           || {M, F, A, _} = Entry <- Trace]);
value(suspending, Suspending) -> array([string(texts:display(Entry)) || Entry <- Suspending]);
%% Without how many refer to it: the asking changes that.
value(binary, Binaries) ->
    array([array([integer_to_binary(Id), integer_to_binary(Size)]) || {Id, Size, _} <- Binaries]);
value(current_location, {_, _, _, [{file, File}, {line, Line}]}) ->
    string(unicode:characters_to_binary(io_lib:format("~ts:~b", [File, Line])));
value(current_location, _) -> <<"null">>;
value(Key, Value) when Key =:= status; Key =:= priority; Key =:= message_queue_data;
                       Key =:= error_handler -> string(term(Value));
value(trap_exit, Value) -> atom_to_binary(Value);
value(parent, undefined) -> string(<<"undefined">>);
value(Key, Pid) when Key =:= pid; Key =:= group_leader; Key =:= parent -> identifier(Pid);
value(monitors, Monitors) -> array([monitor_target(Target) || {_, Target} <- Monitors]);
value(Key, List) when Key =:= links; Key =:= monitored_by ->
    array([identifier(Other) || Other <- List]);
value(garbage_collection, Items) ->
    object([{Key, Value} || {Key, Value} <- Items, is_integer(Value)]
           ++ [{max_heap_size, maps:get(size, proplists:get_value(max_heap_size, Items))}]);
value(garbage_collection_info, Items) -> object(Items);
value(_, Number) when is_integer(Number) -> integer_to_binary(Number).

%% Somebody monitored by registered name is {Name, Node}; as a dump, in the VM's spelling.
monitor_target(Target) when is_tuple(Target); is_atom(Target) -> string(texts:display(Target));
monitor_target(Other) -> identifier(Other).

%% Identifiers of other nodes are numbered alike here and in a dump.
identifier(Pid) when is_pid(Pid) -> string(list_to_binary(pid_to_list(Pid)));
identifier(Port) when is_port(Port) -> string(list_to_binary(port_to_list(Port)));
identifier(Ref) when is_reference(Ref) -> string(list_to_binary(ref_to_list(Ref))).

%% As the shell prints it, on one line.
%% An atom's text as the VM itself prints it, in backtraces: there an @ needs quotes.
as_the_vm(Text = <<"'", _/binary>>) -> Text;
as_the_vm(Text) ->
    case binary:match(Text, <<"@">>) of
        nomatch -> Text;
        _ -> <<"'", Text/binary, "'">>
    end.

term(Term) -> unicode:characters_to_binary(io_lib:format("~0tp", [Term])).

array(Elements) -> [$[, lists:join($,, Elements), $]].

string(Text) -> [$", << <<(escape(C))/binary>> || <<C/utf8>> <= Text >>, $"].

escape($") -> <<"\\\"">>;
escape($\\) -> <<"\\\\">>;
escape(C) when C < 32 -> list_to_binary(io_lib:format("\\u~4.16.0b", [C]));
escape(C) -> <<C/utf8>>.
