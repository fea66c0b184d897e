/**
 * `npm run dev`: `gantry start` from the sources, for people who change them. A Vite server makes the pages (scripts/dev-pages.ts brings them to
 * Gantry's own address) and replaces what changed in the browser. A change in the servers starts them again; the pane host keeps the bots'
 * terminals meanwhile. Options are those of `gantry start`; it opens no browser and no window.
 */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { createServer } from 'node:http';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createBuilder, createServer as createVite, normalizePath } from 'vite';
import { findNode, root } from './node-runtime.mjs';

const configFile = join(root, 'vite.config.ts');
/** The mark of the one script that Vite writes into the page itself: the page's policy allows no other (scripts/dev-pages.ts). */
const nonce = 'dev';

const http = createServer((request, response) => {
  if (request.url === '/sw.js') void serveWorker(response);
  else starting.then((vite) => vite.middlewares(request, response));
});
await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
const { port } = http.address();
const starting = createVite({
  configFile,
  clearScreen: false,
  html: { cspNonce: nonce },
  plugins: [
    {
      name: 'servers',
      enforce: 'pre',
      applyToEnvironment: ({ name }) => name === 'client',
      // A page that loads again while nothing listens would show the browser's own error and stay there.
      hotUpdate: ({ file }) => (isOfServers(file) ? servers.restart(file) : servers.restarted()),
    },
  ],
  server: {
    middlewareMode: true,
    // Gantry's own port takes over no connection for Vite.
    ws: { server: http, host: '127.0.0.1', clientPort: port },
    // The packages of a worktree may be those of another clone.
    fs: { allow: [root, fileURLToPath(new URL('../../..', import.meta.resolve('vite')))] },
  },
  // Its one file has no dependencies to look for.
  environments: { worker: { optimizeDeps: { noDiscovery: true } } },
});
const servers = startServers();
(await starting).watcher.add(['src', 'tools'].map((folder) => join(root, folder)));

/** Whether the servers are made of this file; `file` has forward slashes. */
function isOfServers(file) {
  const [top, folder] = file.startsWith(`${normalizePath(root)}/`) ? file.slice(root.length + 1).split('/') : [];
  return top === 'tools' || (top === 'src' && !['renderer', 'main', 'preload'].includes(folder));
}

function startServers() {
  /** When a source was last changed, and the restart under way. */
  let changed = 0;
  let work = null;
  let ending = false;
  let child = begin();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      ending = true;
      if (child.exitCode !== null || child.signalCode !== null) process.exit(0);
      // A terminal sends its Ctrl-C to the whole group.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }

  function begin() {
    const pages = pathToFileURL(join(root, 'scripts', 'dev-pages.ts'));
    pages.search = new URLSearchParams({ vite: `http://127.0.0.1:${port}`, nonce });
    const main = join(root, 'src', 'cli', 'main.ts');
    const words = ['--import', pages.href, main, 'start', '--headless', ...process.argv.slice(2)];
    // Reading the sources again is most of a restart.
    const env = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'node-compile'), ...process.env };
    const one = spawn(findNode(), words, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
    one.began = Date.now();
    const first = changed === 0;
    one.ended = new Promise((resolve) => {
      one.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
    });
    one.listens = Promise.race([new Promise((resolve) => one.once('message', resolve)), one.ended]);
    one.ended.then((code) => {
      if (one.replaced) return;
      if (ending || first || code === 0) process.exit(code);
      console.error('The servers ended. The next change starts them again.');
    });
    return one;
  }

  async function restart() {
    do {
      // Many files are often saved at once.
      await new Promise((resolve) => setTimeout(resolve, 50));
      child.replaced = true;
      child.kill('SIGTERM');
      const code = await child.ended;
      if (ending) process.exit(code);
      child = begin();
      await child.listens;
    } while (changed >= child.began);
    work = null;
  }

  return {
    /** Resolves when the servers listen again. One save may be reported twice, and late: what was there when they began is in them. */
    restart(file) {
      changed = Math.max(changed, statSync(file, { throwIfNoEntry: false })?.ctimeMs ?? Date.now());
      if (changed >= child.began) work ??= restart();
      return work;
    },
    restarted: () => work,
  };
}

/** The page's worker is one script without imports, as the build makes it. */
async function serveWorker(response) {
  try {
    const options = { configFile, logLevel: 'warn', environments: { worker: { build: { write: false } } } };
    const builder = await createBuilder(options);
    const { output } = await builder.build(builder.environments.worker);
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(output[0].code);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}
