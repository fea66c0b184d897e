/**
 * One agent program as a bot in `sandbox: closed`, named by the first argument; the second is the folder that everything is in. It changes a repository
 * and commits, asks before it does, reaches a destination that nobody knew, and works with a key of which it has a placeholder. Ends with 1 if not.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { agentsOf, type Product, scratchHome, startProduct } from '../support/bench/product.ts';
import { certify } from '../support/certify.ts';
import { text } from '../support/model-server/script.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { elsewhere, model as place } from './closed-place.ts';
import { plays } from './closed-plays.ts';
import { createScenes, readDialog, until } from './scenes.ts';

const [, , name, folder = ''] = process.argv;
const play = plays.find((one) => one.name === name);
if (play === undefined) throw new Error(`There is no scene for "${name}".`);
const { key, tools } = play;
const value = `sk-real-${'0123456789abcdef'.repeat(2)}`;
const sent = key.form === 'bearer' ? `Bearer ${value}` : value;
const url = `https://${place.name}`;

const certificate = certify(join(folder, 'certificate.pem'), [place.name, elsewhere.name]);
const tls = { cert: readFileSync(certificate), key: readFileSync(`${certificate}.key`) };
createServer(tls, (_, answer) => void answer.end('words from elsewhere\n')).listen(443, elsewhere.address);

const command = [
  "printf 'words\\n' >> README.md",
  // Gemini CLI keeps most variables from its commands, and so the one that names git's settings.
  "git -c user.name=Ada -c user.email=ada@example.org commit -qam 'Add words'",
  `curl -sS -m 120 https://${elsewhere.name}/`,
  `printenv ${key.variable}; true`,
].join(' && ');
const model = await startModelServer(
  ({ lastUser, toolResults, tools: offered }) => {
    if (toolResults.length > 0 && !lastUser.includes('From owner')) return text('It is done.');
    if (lastUser.includes('Reply with ONLY')) return text('{}');
    return lastUser.includes('CHANGE') && offered.length > 0 ? tools.run(command) : text('A plain answer.');
  },
  { secure: { tls, host: place.address, port: 443 } },
);

const env = { ...play.env({ url }), [key.variable]: 'vault:MODEL_KEY' };
const lines = Object.entries(env)
  // The sandbox has its own folders.
  .filter(([variable]) => variable !== 'TMPDIR')
  .map(([variable, is]) => `${variable}: ${JSON.stringify(is)}`);
const bot = `{ bot: web, ${play.bot}, sandbox: closed, env: { ${lines.join(', ')} } }`;
const scratch = scratchHome({ real: `name: real\nversion: 1\nbots:\n  - ${bot}\n` }, folder);
const { workspace } = scratch;
const home = String(scratch.env.HOME);
const rule = `rules:\n  - { when: { tool: network, host: "${place.name}:443" }, then: allow }\n`;
for (const [file, words] of Object.entries({
  [join(home, '.gitconfig')]: '[user]\n\tname = Ada\n\temail = ada@example.org\n',
  [join(workspace, 'README.md')]: '# A project\n',
  [join(workspace, '.gantry', 'policy.yaml')]: rule,
})) {
  writeFileSync(file, words);
}
const git = (...args: string[]) =>
  execFileSync('git', ['-C', workspace, ...args], {
    env: { PATH: process.env.PATH, HOME: home },
    encoding: 'utf8',
  }).trim();
git('init', '-q');
git('add', 'README.md');
git('commit', '-qm', 'First');
play.furnish({ home, work: workspace }, { url });

interface Delivery {
  readonly id: string;
  readonly state: string;
  readonly evidence: string | null;
}
interface Approval {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly summary: string;
}
interface Shown {
  readonly state: string;
  readonly stateReason: string | null;
  readonly sandbox: string;
}

/** Says yes to everything until `isOver`, in the inbox, and where the program's question is only in its pane, there. Answers what was asked. */
async function agree({ web, engine }: Product, id: string, isOver: () => Promise<boolean>): Promise<Approval[]> {
  const asked: Approval[] = [];
  await until(
    'the end of the work',
    async () => {
      const { approvals } = await web.call<{ approvals: Approval[] }>('GET', '/api/factory/approvals?state=pending');
      for (const approval of approvals) {
        asked.push(approval);
        await web.call('POST', `/api/factory/approvals/${approval.id}/resolve`, { decision: 'approve' });
      }
      const { state, stateReason } = await engine.call<Shown>('GET', `/api/factory/agents/${id}`);
      if (play?.answered === 'pane' && state === 'needs_you' && stateReason?.startsWith('asks')) {
        await readDialog();
        asked.push({ id: 'pane', kind: 'pane', title: stateReason, summary: stateReason });
        await engine.call('POST', `/api/factory/agents/${id}/input`, { keys: ['Enter'] });
        await until('the answer taken', async () => {
          const now = await engine.call<Shown>('GET', `/api/factory/agents/${id}`);
          return now.stateReason !== stateReason;
        });
      }
      return isOver();
    },
    180_000,
  );
  return asked;
}

/** Whatever a program of the bot or its person could read: files, and variables and arguments of processes. */
function placesOf(words: string): string[] {
  const has = (file: string) => {
    try {
      return readFileSync(file).includes(words);
    } catch {
      // It has ended, or is a socket.
      return false;
    }
  };
  const ended = /^\d+$/;
  const processes = readdirSync('/proc')
    .filter((one) => ended.test(one))
    .flatMap((pid) => ['environ', 'cmdline'].map((what) => `/proc/${pid}/${what}`));
  const files = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return [...processes, ...files].filter(has);
}

const scenes = createScenes(async () => {
  const bots = await agentsOf(product.engine, 'real').catch(() => []);
  console.log(`     ${JSON.stringify(bots)}`);
  const capture = (await product.engine
    .call<{ text: string }>('GET', '/api/factory/agents/web@real/capture')
    .catch((error: Error) => ({ text: error.message }))) as { text: string };
  console.log(capture.text.split('\n').slice(-40).join('\n'));
  console.log(`     ${model.requests.length} requests; unknown: ${model.unknown.join(', ')}`);
});
let product = {} as Product;
try {
  product = await startProduct({ ...scratch, env: { ...scratch.env, NODE_EXTRA_CA_CERTS: certificate } });
  const { engine, web } = product;
  await scenes.scene(`${name}: changes a repository in a closed sandbox, with a key that it never has`, async () => {
    const destination = { host: place.name, port: 443, header: key.header, form: key.form, methods: null };
    await engine.call('PUT', '/api/factory/vault/MODEL_KEY', { value, destination });
    await engine.call('POST', '/api/factory/teams/real/up', {});
    const [web1] = await agentsOf(engine, 'real');
    assert.ok(web1);
    const shown = () => engine.call<Shown>('GET', `/api/factory/agents/${web1.id}`);
    const first = await agree(product, web1.id, async () => (await shown()).state === 'idle');
    assert.equal((await shown()).sandbox, 'closed');
    const { id } = await web.call<Delivery>('POST', '/api/factory/send', {
      to: 'web@real',
      text: 'CHANGE the README, please',
    });
    // It is queued first where the screen is just being drawn again.
    const delivery = await until('the message to leave the queue', async () => {
      const { deliveries } = await web.call<{ deliveries: Delivery[] }>('GET', '/api/factory/deliveries');
      return deliveries.find((one) => one.id === id && !['accepted', 'queued'].includes(one.state));
    });
    assert.equal(delivery.state, 'verified', JSON.stringify(delivery));
    const results = () => model.requests.flatMap(({ toolResults }) => toolResults.map((one) => one.text)).join('\n');
    const asked = await agree(product, web1.id, async () => results() !== '' && (await shown()).state === 'idle');
    assert.ok(results().includes('words from elsewhere'), results());
    const own = asked.filter(
      ({ kind, summary }) => kind === 'pane' || (kind !== 'destination' && summary.includes('Add words')),
    );
    const reached = asked.filter(({ kind }) => kind === 'destination').map(({ summary }) => summary);
    assert.equal(own.length, 1, JSON.stringify(asked));
    assert.deepEqual(reached, [`connect to ${elsewhere.name}:443`]);
    assert.equal(git('log', '--format=%s %an', '-1'), 'Add words Ada');
    assert.ok(git('show', '--stat', 'HEAD').includes('README.md'));
    const keys = new Set(model.requests.map(({ headers }) => headers[key.header]));
    assert.deepEqual([...keys], [sent], 'its model was sent another key');
    assert.ok(!results().includes(value), 'its command saw the key');
    const held = placesOf(`${key.variable}=`).filter((at) => at.endsWith('/environ'));
    assert.ok(held.length > 0, 'no program of it has the variable');
    assert.deepEqual(placesOf(value), [], 'the key lies somewhere');
    return [
      ...(first.length === 0 ? [] : [`at its start: ${first.map(({ title }) => title).join('; ')}`]),
      `${delivery.state} by ${delivery.evidence}`,
      `asked: ${asked.map(({ kind, title }) => `${title}${kind === 'pane' ? ' (pane)' : ''}`).join('; ')}`,
      `${model.requests.length} requests with the key`,
    ].join('; ');
  });
} catch (error) {
  if (scenes.failed() === 0) scenes.fail(String(name), error as Error);
} finally {
  await product.stop?.();
  await scratch.remove();
}
process.exit(scenes.failed() === 0 ? 0 : 1);
