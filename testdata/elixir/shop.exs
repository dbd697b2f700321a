# An Elixir application at rest: carts below a dynamic supervisor, found by a registry; an agent, a
# table, a task that waits, and a process whose messages nobody takes.

defmodule Shop.Item do
  defstruct [:name, price: 0.0, tags: []]
end

defmodule Shop.CartServer do
  use GenServer

  def start_link(id) do
    GenServer.start_link(__MODULE__, id, name: {:via, Registry, {Shop.Registry, id}})
  end

  @impl true
  def init(id) do
    Process.put(:cart, id)
    # Process labels exist from Elixir 1.17 on.
    if function_exported?(Process, :set_label, 1), do: apply(Process, :set_label, [{:cart, id}])

    items =
      for n <- 1..5 do
        %Shop.Item{name: "item #{id}-#{n}", price: n * 1.5, tags: [:new, kind: rem(n, 3)]}
      end

    {:ok, %{id: id, items: items, seen: MapSet.new(0..rem(id, 40)), since: ~D[2026-11-23]}}
  end
end

defmodule Shop.Application do
  use Application

  @carts 200

  @impl true
  def start(_type, _args) do
    :ets.new(:shop_prices, [:named_table, :public, read_concurrency: true])
    for n <- 1..1000, do: :ets.insert(:shop_prices, {"item #{n}", %Shop.Item{name: "item #{n}"}})

    children = [
      {Registry, keys: :unique, name: Shop.Registry},
      {DynamicSupervisor, name: Shop.Carts},
      {Task.Supervisor, name: Shop.Tasks},
      %{id: :audit, start: {Agent, :start_link, [fn -> [level: :info, lines: ["a", 'b']] end,
                                                 [name: Shop.AuditSink]]}}
    ]

    {:ok, top} = Supervisor.start_link(children, strategy: :one_for_one, name: Shop.Supervisor)

    for id <- 1..@carts do
      {:ok, _} = DynamicSupervisor.start_child(Shop.Carts, {Shop.CartServer, id})
    end

    {:ok, waiting} = Task.Supervisor.start_child(Shop.Tasks, fn -> Process.sleep(:infinity) end)
    for n <- 1..20, do: send(waiting, {:order, %Shop.Item{name: "order #{n}", price: n}})
    {:ok, top}
  end
end

:ok =
  :application.load(
    {:application, :shop,
     [vsn: '1.0', modules: [], registered: [], applications: [:kernel, :stdlib, :elixir],
      mod: {Shop.Application, []}]}
  )

{:ok, _} = :application.ensure_all_started(:shop)
[control] = System.argv()
:control.start([String.to_charlist(control)])
