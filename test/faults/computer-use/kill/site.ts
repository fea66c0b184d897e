/**
 * A page that tells its server each click, by run and button: the witness outside of Gantry of what was done, and how often. It waits for
 * the server before the click is over in the page: told later, a click that is known to be done would be lost with its browser.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CountingSite {
  readonly port: number;
  /** Address of the page of one run. */
  page(run: string): string;
  /** Clicks that arrived, by run and button. */
  readonly clicks: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

export const columns = 10;
export const rows = 8;
const cell = 60;

/** The middle of a button, in the frame. */
export const middleOf = (button: number): { readonly x: number; readonly y: number } => ({
  x: (button % columns) * cell + cell / 2,
  y: Math.floor(button / columns) * cell + cell / 2,
});

export async function startCountingSite(): Promise<CountingSite> {
  const clicks = new Map<string, number>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://site');
    if (url.pathname === '/click') {
      const name = `${url.searchParams.get('run')} ${url.searchParams.get('button')}`;
      clicks.set(name, (clicks.get(name) ?? 0) + 1);
      response.writeHead(204).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(pageOf(url.searchParams.get('run') ?? ''));
  });
  // A connection that it ends itself, in the moment in which a click comes over it, would lose the click.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    clicks,
    page: (run) => `http://127.0.0.1:${port}/?run=${encodeURIComponent(run)}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function pageOf(run: string): string {
  const buttons = Array.from({ length: columns * rows }, (_, button) => {
    const place = `left:${(button % columns) * cell}px;top:${Math.floor(button / columns) * cell}px`;
    return `<button style="position:absolute;${place};width:${cell}px;height:${cell}px" data-button="${button}">${button}</button>`;
  });
  return `<!doctype html><title>Counting</title><body style="margin:0">${buttons.join('')}<script>
    addEventListener('click', ({ target }) => {
      const { button } = target.dataset;
      if (button === undefined) return;
      const told = new XMLHttpRequest();
      told.open('POST', '/click?run=' + encodeURIComponent(${JSON.stringify(run)}) + '&button=' + button, false);
      told.send();
    });
  </script>`;
}
