%% The standard node: what captures are measured on. At scale 1 it holds
%%   20,000 workers, each with a tuple of a map, 50 users and a 1 KiB binary;
%%   one process (standard_state) whose state is 1,000,000 users;
%%   one process (standard_deep) 200,000 non-tail-recursive calls deep;
%%   one process (standard_queue) with 200,000 messages it does not take;
%%   one ETS table (standard_table) of 100,000 rows.
%% Another scale multiplies each of these counts.
-module(standard).
-export([start/1, worker/2, state/2, deep/2, queue/1, table/2]).

start(Scale) ->
    Count = fun(AtScaleOne) -> max(1, round(AtScaleOne * Scale)) end,
    start_workers(Count(20000)),
    await(register_new(standard_state, spawn(?MODULE, state, [self(), Count(1000000)]))),
    await(register_new(standard_deep, spawn(?MODULE, deep, [self(), Count(200000)]))),
    await(register_new(standard_table_owner, spawn(?MODULE, table, [self(), Count(100000)]))),
    Queue = register_new(standard_queue, spawn(?MODULE, queue, [self()])),
    await(Queue),
    send_users(Queue, Count(200000)),
    settle(Queue),
    await_trimmed(resident_pages()).

%% One after another, each with a heap that needs no growing: the node shall not peak far above what
%% it holds in the end.
start_workers(Count) ->
    lists:foreach(fun(N) ->
                      await(spawn_opt(?MODULE, worker, [self(), N], [{min_heap_size, 2586}]))
                  end, lists:seq(1, Count)).

register_new(Name, Pid) ->
    true = register(Name, Pid),
    Pid.

await(Pid) ->
    receive {Pid, ready} -> ok end.

worker(Owner, N) ->
    Held = {held, #{number => N, region => N rem 16, label => {worker, N},
                    recent => lists:seq(N, N + 99)},
            workload_data:users(N * 50, 50), workload_data:blob(N)},
    erlang:garbage_collect(),
    Owner ! {self(), ready},
    hold(Held).

state(Owner, Count) ->
    Users = workload_data:users(1, Count),
    erlang:garbage_collect(),
    Owner ! {self(), ready},
    hold({state, Count, Users}).

hold(Held) ->
    receive
        {give, To} -> To ! Held, hold(Held);
        drop -> dropped
    end.

deep(Owner, Depth) ->
    descend(Owner, Depth, Depth).

descend(Owner, _, 0) ->
    Owner ! {self(), ready},
    receive climb -> 0 end;
descend(Owner, Depth, Left) ->
    Local = {Depth - Left, Left rem 10},
    Sum = descend(Owner, Depth, Left - 1),
    Sum + element(1, Local).

queue(Owner) ->
    Owner ! {self(), ready},
    receive never -> ok end.

send_users(_, 0) ->
    ok;
send_users(Queue, Left) ->
    Queue ! {order, Left, workload_data:user(Left)},
    send_users(Queue, Left - 1).

%% Waits until the receiver has looked at every message and waits again.
settle(Pid) ->
    case process_info(Pid, [status, reductions]) of
        [{status, waiting}, {reductions, Before}] ->
            timer:sleep(200),
            case process_info(Pid, [status, reductions]) of
                [{status, waiting}, {reductions, After}] when After - Before < 50 -> ok;
                _ -> settle(Pid)
            end;
        _ ->
            timer:sleep(50),
            settle(Pid)
    end.

%% The runtime gives freed memory back to the system little by little; waits until it has.
await_trimmed(Before) ->
    timer:sleep(1500),
    case resident_pages() of
        Now when Now < Before * 0.995 -> await_trimmed(Now);
        _ -> ok
    end.

resident_pages() ->
    {ok, Statistics} = file:read_file("/proc/self/statm"),
    [_, Resident | _] = string:lexemes(Statistics, " "),
    binary_to_integer(Resident).

table(Owner, Rows) ->
    standard_table = ets:new(standard_table, [named_table, public, set]),
    fill(Rows),
    Owner ! {self(), ready},
    hold({rows, Rows}).

fill(0) ->
    ok;
fill(Row) ->
    ets:insert(standard_table, {Row, workload_data:user(Row)}),
    fill(Row - 1).
