%% A node with several problems at once, each of which the summary must name: a mailbox that nobody
%% reads, a large table, a large dictionary, atoms made from input, many processes of one kind, calls
%% that wait for each other, parts that keep large binaries alive, old code that still runs.
-module(ailing).
-export([start/1, write/1, mailbox/1, sender/3, dictionary/2, table/2, idle/1, server/2, caller/2,
         parts/3]).

-define(MESSAGES, 20000).
-define(ENTRIES, 12000).
-define(ROWS, 60000).
-define(ATOMS, 15000).
-define(PROCESSES, 1100).
-define(CALLERS, 60).
-define(BEHIND_SLOW, 40).
-define(BINARIES, 3000).
-define(BINARY_BYTES, 14000).

start(_Scale) ->
    _ = [list_to_atom("param_" ++ integer_to_list(N)) || N <- lists:seq(1, ?ATOMS)],
    new(ailing_mailbox, mailbox, []),
    new(ailing_sender, sender, [ailing_mailbox, ?MESSAGES * 3 div 4]),
    new(ailing_other, sender, [ailing_mailbox, ?MESSAGES div 4]),
    new(ailing_dictionary, dictionary, [?ENTRIES]),
    new(ailing_table_owner, table, [?ROWS]),
    new(ailing_parts, parts, [?BINARIES, ?BINARY_BYTES]),
    _ = [started(spawn(?MODULE, idle, [self()])) || _ <- lists:seq(1, ?PROCESSES)],
    new(ailing_inventory, server, [ailing_stock]),
    new(ailing_stock, server, [ailing_inventory]),
    Callers = [started(spawn(?MODULE, caller, [self(), ailing_inventory]))
               || _ <- lists:seq(1, ?CALLERS)],
    _ = [Name ! go || Name <- [ailing_inventory, ailing_stock]],
    new(ailing_slow, mailbox, []),
    Behind = [started(spawn(?MODULE, caller, [self(), ailing_slow]))
              || _ <- lists:seq(1, ?BEHIND_SLOW)],
    wait_for_calls([whereis(ailing_inventory), whereis(ailing_stock) | Callers ++ Behind]),
    planted:run_old_code(),
    ok.

new(Name, Function, Arguments) ->
    Pid = spawn(?MODULE, Function, [self() | Arguments]),
    true = register(Name, Pid),
    started(Pid).

started(Pid) ->
    receive {Pid, ready} -> Pid end.

ready(Owner) ->
    Owner ! {self(), ready}.

rest(State) ->
    receive stop -> State end.

mailbox(Owner) ->
    ready(Owner),
    receive never -> ok end.

sender(Owner, To, Count) ->
    _ = [To ! {order, N} || N <- lists:seq(1, Count)],
    ready(Owner),
    rest(nothing).

dictionary(Owner, Count) ->
    _ = [put({session, N}, N) || N <- lists:seq(1, Count)],
    ready(Owner),
    rest(nothing).

table(Owner, Rows) ->
    ailing_table = ets:new(ailing_table, [named_table, public]),
    Held = lists:seq(1, 40),
    _ = [ets:insert(ailing_table, {N, Held}) || N <- lists:seq(1, Rows)],
    ready(Owner),
    rest(nothing).

parts(Owner, Count, Bytes) ->
    Parts = [binary:part(binary:copy(<<N:32>>, Bytes div 4), 100, 100) || N <- lists:seq(1, Count)],
    erlang:garbage_collect(),
    ready(Owner),
    rest(Parts).

idle(Owner) ->
    ready(Owner),
    rest(nothing).

server(Owner, Calls) ->
    ready(Owner),
    receive
        go -> gen:call(whereis(Calls), '$gen_call', {from, Calls}, infinity);
        stop -> ok
    end.

caller(Owner, Server) ->
    ready(Owner),
    gen:call(whereis(Server), '$gen_call', item, infinity).

wait_for_calls(Pids) ->
    case [Pid || Pid <- Pids, process_info(Pid, current_function) =/=
                                  {current_function, {gen, do_call, 4}}] of
        [] -> ok;
        _ -> timer:sleep(5), wait_for_calls(Pids)
    end.

%% What the node says of itself, a line each, words separated by spaces.
write(Path) ->
    Info = fun(Name, Item) -> element(2, process_info(whereis(Name), Item)) end,
    {binary, Binaries} = process_info(whereis(ailing_parts), binary),
    InCalls = [Pid || Pid <- processes(),
                      process_info(Pid, current_function) =:= {current_function, {gen, do_call, 4}}],
    Idle = [Pid || Pid <- processes(),
                   process_info(Pid, initial_call) =:= {initial_call, {?MODULE, idle, 1}}],
    Runs = [Pid || Pid <- processes(), Pid =/= self(),
                   erlang:check_process_code(Pid, planted_old)],
    Numbers = [{messages, Info(ailing_mailbox, message_queue_len)},
               {entries, length(Info(ailing_dictionary, dictionary))},
               {table_bytes, ets:info(ailing_table, memory) * erlang:system_info(wordsize)},
               {rows, ets:info(ailing_table, size)},
               {atoms, erlang:system_info(atom_count)},
               {atom_limit, erlang:system_info(atom_limit)},
               {idle, length(Idle)},
               {processes, erlang:system_info(process_count)},
               {in_calls, length(InCalls)},
               {behind_slow, Info(ailing_slow, message_queue_len)},
               {run_old_code, length(Runs)},
               {binaries, length(Binaries)},
               {binary_bytes, lists:sum([Size || {_, Size, _} <- Binaries])}],
    Pids = [{Name, whereis(Name)} || Name <- registered(), is_pid(whereis(Name))],
    Lines = [[io_lib:format("number ~s ~b~n", [Name, Number]) || {Name, Number} <- Numbers],
             [io_lib:format("name ~s ~p~n", [Name, Pid]) || {Name, Pid} <- Pids]],
    ok = file:write_file(Path, Lines),
    <<"written">>.
