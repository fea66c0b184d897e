/**
 * Draws opencode's composer and serves its HTTP server's doors as the real one does, for faults that need a certain moment. `STAND_IN`
 * names one: `mute` stores nothing, `no-event` says nothing of what it stored, `refuse` answers a message with 500, `late` begins to
 * listen after a second, `hangs` takes calls and answers none,
 * `goes-on` ends no turn. A line on stdin is an event; `gone` closes the server, `back` opens it again, `quit` ends. With `STAND_IN_WORK` keys go
 * into its composer, and each prompt is carried out (see `stand-in-composer.mjs`).
 */
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { createTurn, work } from './stand-in-composer.mjs';

const mode = process.env.STAND_IN ?? '';
const port = Number(process.argv[process.argv.indexOf('--port') + 1]);
const wanted = `Basic ${Buffer.from(`opencode:${process.env.OPENCODE_SERVER_PASSWORD}`).toString('base64')}`;
const streams = new Set();
const messages = [];
const permissions = new Map();
const resumed = process.argv.indexOf('--session') + 1;
/** The one conversation that it has. */
const session = resumed > 0 ? process.argv[resumed] : work ? `ses_${process.pid}` : 'ses_1';
let server = null;
let hangs = mode === 'hangs';
let draft = '';
let turn = null;

const draw = () =>
  process.stdout.write(
    `\x1b[?1049h\x1b[H\x1b[2J  ┃ ${draft}\r\n  ┃  Build\r\n  ╹${'▀'.repeat(60)}\r\n   /project   ctrl+p commands`,
  );
const say = (text) => {
  for (const stream of streams) stream.write(`data: ${text}\n\n`);
};
const event = (type, properties) => say(JSON.stringify({ type, properties }));
globalThis.ask = (id) => {
  const asked = { id, sessionID: session, permission: 'bash', patterns: ['ls'], metadata: { command: 'ls' } };
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
  if (path === '/session' && request.method === 'POST') return send(200, { id: session });
  if (path === '/session') return send(200, [{ id: session }, { id: 'ses_child', parentID: session }]);
  if (path === '/session/status') return send(200, {});
  if (path === '/permission') return send(200, [...permissions.values()]);
  if (path === '/tui/select-session') {
    if (work) process.stdout.write('\x1b]0;OC | a conversation\x07');
    return send(200, true);
  }
  if (path.endsWith('/prompt_async')) {
    if (mode === 'refuse') return send(500, { message: 'no' });
    const [part] = JSON.parse(body).parts;
    if (mode !== 'mute') messages.push({ info: { role: 'user' }, parts: [part] });
    if (mode === '') event('message.part.updated', { part: { ...part, sessionID: session } });
    send(204);
    if (mode === '') event('session.status', { sessionID: session, status: { type: 'busy' } });
    if (work) begin(part.text);
    return undefined;
  }
  if (path.endsWith('/message')) return send(200, messages);
  const [, ended] = /^\/session\/([^/]+)\/abort$/.exec(path) ?? [];
  if (ended !== undefined) {
    turn?.interrupt();
    if (mode !== 'goes-on') event('session.idle', { sessionID: ended });
    return send(200, true);
  }
  const [, id] = /^\/permission\/([^/]+)\/reply$/.exec(path) ?? [];
  if (id === undefined || !permissions.delete(id)) return send(404, { _tag: 'PermissionNotFoundError' });
  process.stdout.write(`\x1b]0;reply ${id} ${JSON.parse(body).reply}\x07`);
  event('permission.replied', { sessionID: session, requestID: id, reply: JSON.parse(body).reply });
  turn?.answer?.(JSON.parse(body).reply !== 'reject');
  return send(200, true);
}

function begin(prompt) {
  turn = createTurn(() => {});
  work(prompt, turn).finally(() => event('session.idle', { sessionID: session }));
}

/** A person's keys in its composer. */
function press(key) {
  if (key === '\x15') draft = '';
  else if (key >= ' ') draft += key;
  draw();
}

function open() {
  server = createServer((request, answer) => void serve(request, answer).catch(() => answer.destroy()));
  server.listen(port, '127.0.0.1');
}

draw();
process.stdin.setRawMode?.(true);
setTimeout(open, mode === 'late' ? 1000 : 0);
if (work) process.stdin.on('data', (keys) => [...String(keys)].forEach(press));
else
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
