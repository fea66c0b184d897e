/** How to connect a person's program to these tools: the address, and the command that prints its configuration. */
import { Command } from '../../ui/copy.tsx';

export function ConnectClient() {
  return (
    <section
      aria-labelledby="connect-client"
      className="flex shrink-0 flex-wrap items-center gap-x-6 gap-y-2 border-line bg-panel px-3 py-2 max-sm:border-t sm:border-b"
    >
      <div className="min-w-52 flex-1">
        <h2 id="connect-client" className="font-semibold">
          Connect a client
        </h2>
        <p className="text-muted">
          Every MCP client can use these tools. The command prints what to paste into yours, with its key.
        </p>
      </div>
      <dl className="flex min-w-0 flex-col gap-1">
        <div className="grid grid-cols-[64px_minmax(0,1fr)] items-center gap-2">
          <dt className="text-muted">Command</dt>
          <dd className="min-w-0">
            <Command text="npx gantry tools connect" />
          </dd>
        </div>
        <div className="grid grid-cols-[64px_minmax(0,1fr)] items-center gap-2">
          <dt className="text-muted">Address</dt>
          <dd className="min-w-0">
            <Command text={`${window.location.origin}/mcp/server?names=safe`} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
