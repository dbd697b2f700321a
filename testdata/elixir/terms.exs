# A node with the terms of term_zoo.exs in the dictionary of a process, their texts in a file, and a
# GenServer's state.
#
# elixir terms.exs CONTROL TEXTS

Code.require_file("term_zoo.exs", __DIR__)

[control, texts] = System.argv()

{:ok, server} = GenServer.start_link(Zoo.Server, Zoo.Terms.state())

Process.register(server, :zoo_server)
main = self()

# A supervisor of Elixir's own kind, whose child has failed five times. It outlives this script.
{:ok, dynamic} =
  DynamicSupervisor.start_link(name: :zoo_dynamic, max_restarts: 1000, max_seconds: 3600)

Process.unlink(dynamic)

failures = :counters.new(1, [])

failing = fn ->
  pid =
    spawn_link(fn ->
      :counters.add(failures, 1, 1)
      if :counters.get(failures, 1) <= 5, do: exit(:shutdown), else: Process.sleep(:infinity)
    end)

  {:ok, pid}
end

{:ok, _} =
  DynamicSupervisor.start_child(dynamic, %{id: :failing, start: {:erlang, :apply, [failing, []]}})

keeper =
  spawn(fn ->
    Zoo.Terms.keep(texts)
    send(main, :kept)
    Process.sleep(:infinity)
  end)

Process.register(keeper, :zoo_terms)

receive do
  :kept -> :ok
end

Enum.find(Stream.repeatedly(fn -> Process.sleep(10) end), fn _ ->
  :counters.get(failures, 1) > 5 and length(:sys.get_state(dynamic).restarts) == 5
end)

:control.start([String.to_charlist(control)])
