%% Things that a search of the whole node must find: atoms made from input, parts of a binary, a pid
%% and a reference held in many places, a supervision tree, old code that still runs, terms that a
%% pattern matches.
-module(planted).
-behaviour(supervisor).
-export([start/1, write/1, init/1, start_child/1, child/2, whole/2, part/2, garbage/2, holder/3,
         keeper/4, mailbox/1, server/2, caller/3, run_old_code/0, literal/0]).

-define(BYTES, 280000).

start(_Scale) ->
    _ = [list_to_atom("planted_param_" ++ integer_to_list(N)) || N <- lists:seq(1, 500)],
    Target = new(planted_target, mailbox, []),
    Ref = make_ref(),
    {ok, _} = supervisor:start_link({local, planted_sup}, ?MODULE, []),
    Big = binary:copy(<<"planted">>, ?BYTES div 7),
    new(planted_whole, whole, [Big]),
    new(planted_part, part, [Big]),
    new(planted_garbage, garbage, [?BYTES]),
    new(planted_holder, holder, [Target, Ref]),
    new(planted_keeper, keeper, [Target, Ref, Big]),
    Mailbox = new(planted_mailbox, mailbox, []),
    Mailbox ! {planted, [{target, Target}]},
    run_old_code(),
    new(planted_server, server, [none]),
    _ = [new(Name, caller, [planted_server, Name]) || Name <- [planted_first, planted_second]],
    new(planted_left, server, [planted_right]),
    new(planted_right, server, [planted_left]),
    _ = [Name ! go || Name <- [planted_left, planted_right]],
    wait_for_calls([planted_first, planted_second, planted_left, planted_right]),
    ok.

new(Name, Function, Arguments) ->
    Pid = spawn(?MODULE, Function, [self() | Arguments]),
    true = register(Name, Pid),
    receive {Pid, ready} -> Pid end.

ready(Owner) ->
    Owner ! {self(), ready}.

wait_for_calls(Names) ->
    Waiting = [Name || Name <- Names,
                       process_info(whereis(Name), current_function) =:=
                           {current_function, {gen, do_call, 4}}],
    case Waiting of
        Names -> ok;
        _ -> timer:sleep(5), wait_for_calls(Names)
    end.

%% The children are told apart by their number only.
init([]) ->
    Children = [#{id => N, start => {?MODULE, start_child, [N]}} || N <- lists:seq(1, 3)],
    {ok, {#{}, Children}}.

start_child(N) ->
    proc_lib:start_link(?MODULE, child, [self(), N]).

child(Parent, N) ->
    case erlang:function_exported(proc_lib, set_label, 1) of
        true -> apply(proc_lib, set_label, [planted_label]);
        false -> ok
    end,
    proc_lib:init_ack(Parent, {ok, self()}),
    rest({child, N}).

whole(Owner, Big) ->
    ready(Owner),
    rest(#{big => Big}).

part(Owner, Big) ->
    <<_:1000/binary, Part:100/binary, _/binary>> = Big,
    put(planted_part, {part, Part}),
    erlang:garbage_collect(),
    ready(Owner),
    rest(nothing).

garbage(Owner, Bytes) ->
    erlang:garbage_collect(),
    true = byte_size(binary:copy(<<0>>, Bytes)) =:= Bytes,
    ready(Owner),
    rest(nothing).

holder(Owner, Target, Ref) ->
    put(planted_list, [first, Target]),
    put(planted_reference, {reference, Ref}),
    link(Target),
    monitor(process, Target),
    Many = maps:from_list([{N, N * N} || N <- lists:seq(1, 100)]),
    ready(Owner),
    rest({planted_state, 7, #{id => 7, name => <<"planted name">>, Target => key},
          Many#{planted_key => "planted text"}}).

%% Owns a table, one whose rows cannot be read, and one whose rows show little of their binaries.
keeper(Owner, Target, Ref, Big) ->
    planted_table = ets:new(planted_table, [named_table, public]),
    ets:insert(planted_table, [{key_one, {planted_row, [Target, Ref]}}, {key_two, Big}]),
    planted_compressed = ets:new(planted_compressed, [named_table, public, compressed]),
    ets:insert(planted_compressed, {key_three, {planted_row, lists:seq(1, 100)}}),
    planted_parts = ets:new(planted_parts, [named_table, public]),
    ets:insert(planted_parts, [{N, small_part(N)} || N <- [1, 2, 3]]),
    persistent_term:put(planted_part, small_part(4)),
    erlang:garbage_collect(),
    ready(Owner),
    rest(nothing).

small_part(N) ->
    binary:part(binary:copy(<<N>>, ?BYTES div 2), 1000, 100).

literal() ->
    [planted_literal, {planted_row, in_code}].

mailbox(Owner) ->
    ready(Owner),
    rest(nothing).

rest(State) ->
    receive stop -> State end.

server(Owner, Calls) ->
    ready(Owner),
    receive
        go -> gen:call(whereis(Calls), '$gen_call', {from, Calls}, infinity);
        stop -> ok
    end.

caller(Owner, Server, Name) ->
    ready(Owner),
    gen:call(whereis(Server), '$gen_call', Name, infinity).

run_old_code() ->
    Load = fun(Literal) ->
                   Source = ["-module(planted_old).", "-export([run/1, literal/0]).",
                             "run(Owner) -> Owner ! {self(), ready}, receive stop -> ok end.",
                             io_lib:format("literal() -> ~w.", [Literal])],
                   Forms = [begin
                                {ok, Tokens, _} = erl_scan:string(lists:flatten(Form)),
                                {ok, Parsed} = erl_parse:parse_form(Tokens),
                                Parsed
                            end || Form <- Source],
                   {ok, planted_old, Code} = compile:forms(Forms),
                   {module, _} = code:load_binary(planted_old, "planted_old", Code)
           end,
    Load({first, [1, 2, 3]}),
    Pid = spawn(planted_old, run, [self()]),
    true = register(planted_old_user, Pid),
    receive {Pid, ready} -> ok end,
    Load({second, lists:seq(1, 20)}).

%% What the node says of itself, a line each, words separated by spaces.
write(Path) ->
    Pids = [{Name, whereis(Name)} || Name <- registered()],
    {dictionary, Dictionary} = process_info(whereis(planted_holder), dictionary),
    {reference, Ref} = proplists:get_value(planted_reference, Dictionary),
    Lines =
        [io_lib:format("atoms ~b ~b~n", [erlang:system_info(atom_count),
                                         erlang:system_info(atom_limit)]),
         [io_lib:format("module ~s ~s~n", [Module, hex(Module:module_info(md5))])
          || {Module, _} <- code:all_loaded()],
         [io_lib:format("vsn ~s ~ts~n", [Module, version(Module:module_info(attributes))])
          || {Module, _} <- code:all_loaded()],
         [io_lib:format("application ~s ~p ~ts~n", [Module, Application, Version])
          || {Application, _, Version} <- application:loaded_applications(),
             {ok, Modules} <- [application:get_key(Application, modules)],
             Module <- Modules, code:is_loaded(Module) =/= false],
         [io_lib:format("name ~s ~p~n", [Name, Pid]) || {Name, Pid} <- Pids],
         [io_lib:format("child ~p~n", [Pid])
          || {_, Pid, _, _} <- supervisor:which_children(planted_sup)],
         io_lib:format("reference ~p~n", [Ref]),
         io_lib:format("literal ~b~n", [erts_debug:flat_size(planted_old:literal())]),
         [io_lib:format("binary ~p ~b ~b ~b~n", [Pid, Id, Size, References])
          || Pid <- processes(), Pid =/= self(),
             {binary, Binaries} <- [process_info(Pid, binary)],
             {Id, Size, References} <- Binaries],
         [io_lib:format("process ~p ~p ~b~n",
                        [Pid, status(Pid), element(2, process_info(Pid, memory))])
          || {_, Pid} <- Pids, is_pid(Pid)]],
    ok = file:write_file(Path, Lines),
    <<"written">>.

version(Attributes) ->
    case proplists:get_value(vsn, Attributes) of
        [Version] -> io_lib:format("~tp", [Version]);
        Version -> io_lib:format("~tp", [Version])
    end.

status(Pid) ->
    {status, Status} = process_info(Pid, status),
    Status.

hex(Bytes) ->
    [io_lib:format("~2.16.0b", [Byte]) || <<Byte>> <= Bytes].
