/**
 * Loaded into the servers by `npm run dev` (scripts/dev.mjs) in place of src/cloud-api/pages: passes requests for pages on to the Vite server that this
 * module's own address names. Nothing of the product knows it.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request as ask } from 'node:http';
import { registerHooks } from 'node:module';
import { contentSecurityPolicy, type createPages as createBuiltPages } from '../src/cloud-api/pages/index.ts';

// For this program alone, not for those that it starts.
delete process.env.NODE_COMPILE_CACHE;
const given = new URL(import.meta.url).searchParams;
const vite = new URL(given.get('vite') ?? '');
const builtPages = new URL('../src/cloud-api/pages/index.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url === builtPages ? { ...found, url: import.meta.url } : found;
  },
});

/** Node tells it of each port and socket; the first one of a start is that of the pages, where requests wait until the servers answer. */
const listening = 'tracing:net.server.listen:asyncEnd';
subscribe(listening, function tell() {
  unsubscribe(listening, tell);
  process.send?.('listening');
});
// Without the program that started it nobody would end it.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();

/** The page's own policy, and what Vite adds: one script in the page, and the connection on which it hears of changes. */
const policy = contentSecurityPolicy
  .replace("script-src 'self'", `script-src 'self' 'nonce-${given.get('nonce')}'`)
  .replace("connect-src 'self'", `connect-src 'self' ws://${vite.host}`);

export const createPages: typeof createBuiltPages = () => {
  return [
    (request, response, next) => {
      const { url: path, method, headers } = request;
      const passed = ask(vite, { path, method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, { ...answer.headers, 'content-security-policy': policy });
        answer.pipe(response);
      });
      passed.on('error', next);
      request.pipe(passed);
    },
  ];
};
