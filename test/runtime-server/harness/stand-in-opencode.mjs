/**
 * Draws opencode's composer and serves its HTTP server's doors as the real one does, for faults that need a certain moment. `STAND_IN`
 * names one: `mute` stores nothing, `no-event` says nothing of what it stored, `refuse` answers a message with 500, `late` begins to
 * listen after a second, `hangs` takes calls and answers none,
 * `goes-on` ends no turn. A line on stdin is an event; `gone` closes the server, `back` opens it again, `quit` ends.
 */
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const mode = process.env.STAND_IN ?? '';
const port = Number(process.argv[process.argv.indexOf('--port') + 1]);
const wanted = `Basic ${Buffer.from(`opencode:${process.env.OPENCODE_SERVER_PASSWORD}`).toString('base64')}`;
const streams = new Set();
const messages = [];
const permissions = new Map();
let server = null;
let hangs = mode === 'hangs';

const draw = () =>
  process.stdout.write(
    `\x1b[?1049h\x1b[H\x1b[2J  ┃\r\n  ┃  Build\r\n  ╹${'▀'.repeat(60)}\r\n   /project   ctrl+p commands`,
  );
const say = (text) => {
  for (const stream of streams) stream.write(`data: ${text}\n\n`);
};
const event = (type, properties) => say(JSON.stringify({ type, properties }));
globalThis.ask = (id) => {
  const asked = { id, sessionID: 'ses_1', permission: 'bash', patterns: ['ls'], metadata: { command: 'ls' } };
  permissions.set(id, asked);
  event('permission.asked', asked);
};

async function serve(request, answer) {
  let body = '';
  for await (const piece of request) body += piece;
  const send = (status, value) => answer.writeHead(status).end(value === undefined ? '' : JSON.stringify(value));
  if (request.headers.authorization !== wanted) return send(401);
  const path = request.url.split('?')[0];
  if (hangs) return undefined;
  if (path === '/event') {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.write('data: {"type":"server.connected","properties":{}}\n\n');
    streams.add(answer);
    answer.once('close', () => streams.delete(answer));
    return undefined;
  }
  if (path === '/session' && request.method === 'POST') return send(200, { id: 'ses_1' });
  if (path === '/session') return send(200, [{ id: 'ses_1' }, { id: 'ses_child', parentID: 'ses_1' }]);
  if (path === '/session/status') return send(200, {});
  if (path === '/permission') return send(200, [...permissions.values()]);
  if (path === '/tui/select-session') return send(200, true);
  if (path.endsWith('/prompt_async')) {
    if (mode === 'refuse') return send(500, { message: 'no' });
    const [part] = JSON.parse(body).parts;
    if (mode !== 'mute') messages.push({ info: { role: 'user' }, parts: [part] });
    if (mode === '') event('message.part.updated', { part: { ...part, sessionID: 'ses_1' } });
    send(204);
    if (mode === '') event('session.status', { sessionID: 'ses_1', status: { type: 'busy' } });
    return undefined;
  }
  if (path.endsWith('/message')) return send(200, messages);
  const [, ended] = /^\/session\/([^/]+)\/abort$/.exec(path) ?? [];
  if (ended !== undefined) {
    if (mode !== 'goes-on') event('session.idle', { sessionID: ended });
    return send(200, true);
  }
  const [, id] = /^\/permission\/([^/]+)\/reply$/.exec(path) ?? [];
  if (id === undefined || !permissions.delete(id)) return send(404, { _tag: 'PermissionNotFoundError' });
  process.stdout.write(`\x1b]0;reply ${id} ${JSON.parse(body).reply}\x07`);
  event('permission.replied', { sessionID: 'ses_1', requestID: id, reply: JSON.parse(body).reply });
  return send(200, true);
}

function open() {
  server = createServer((request, answer) => void serve(request, answer).catch(() => answer.destroy()));
  server.listen(port, '127.0.0.1');
}

draw();
process.stdin.setRawMode?.(true);
setTimeout(open, mode === 'late' ? 1000 : 0);
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'gone') {
    server.close();
    server.closeAllConnections();
  } else if (line === 'back') open();
  else if (line === 'hang') hangs = true;
  else if (line === 'answer') hangs = false;
  else if (line === 'quit') process.exit(0);
  else if (line.startsWith('ask ')) globalThis.ask(line.slice(4));
  // Answered somewhere where nobody heard of it.
  else if (line.startsWith('forget ')) {
    permissions.delete(line.slice(7));
    process.stdout.write(`\x1b]0;forgot ${line.slice(7)}\x07`);
  } else say(line);
});
