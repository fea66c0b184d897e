/** A scene of `claude.ts`: Claude Code as a bot of a team lists and calls the tools of this computer, and a person allows one call. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Product, scratchHome, startProduct, teamUp } from '../support/bench/product.ts';
import { type ModelReply, type ModelRequest, text, tools } from '../support/model-server/script.ts';

/** Begins the words of a message that this scene's script answers. */
export const toolWords = 'USETOOLS';
const attachedServer = fileURLToPath(new URL('../support/mcp/two-tools.ts', import.meta.url));

const calls = [
  { name: 'mcp__gantry__time_now', input: { timezone: 'UTC' } },
  { name: 'mcp__gantry__document_convert', input: { path: 'page.html' } },
  { name: 'mcp__gantry__pair_echo', input: { text: 'from a pane' } },
  { name: 'mcp__gantry__shell_exec', input: { command: 'sh', args: ['-c', 'echo ran >> ran.txt'] } },
] as const;

/** One call after another, each after the result of the one before. Null: the request is of another scene. */
export function createToolScript(): {
  answer(request: ModelRequest): ModelReply | null;
  readonly results: readonly string[];
  /** What Claude Code told its model of tasks: a call that waits for a person becomes one, and its result comes as such a message. */
  readonly told: readonly string[];
  readonly offered: ReadonlySet<string>;
} {
  const results: string[] = [];
  const told: string[] = [];
  const offered = new Set<string>();
  let next: number | null = null;
  return {
    results,
    told,
    offered,
    answer(request) {
      if (request.lastUser.includes('task-notification')) told.push(request.lastUser);
      if (request.lastUser.includes(toolWords)) next = 0;
      else if (next === null || request.toolResults.length === 0) return null;
      else results.push(...request.toolResults.map((result) => result.text));
      // It names them among what can be loaded, and tells the model no more of each before it is.
      for (const [name] of JSON.stringify(request.body).matchAll(/mcp__gantry__[a-z0-9_]+/g)) offered.add(name);
      const call = calls[next];
      next = call === undefined ? null : next + 1;
      return call === undefined ? text('All tools were called.') : tools(call);
    },
  };
}

interface Shown {
  readonly state: string;
  readonly stateReason: string | null;
}

/** `env`: how Claude Code finds its model server. Answers what was seen, in words. */
export async function playTools(
  env: Readonly<Record<string, string>>,
  script: ReturnType<typeof createToolScript>,
): Promise<string> {
  const place = scratchHome({ real: 'bots:\n  - bot: web\n    harness: claude\n' });
  const { workspace } = place;
  writeFileSync(join(workspace, 'page.html'), '<h1>Converted</h1><p>by a tool</p>');
  writeFileSync(
    join(String(place.env.HOME), '.claude.json'),
    JSON.stringify({
      hasCompletedOnboarding: true,
      theme: 'dark',
      projects: { [workspace]: { hasTrustDialogAccepted: true } },
      // What a person has set up for themselves acts as them; the bot's own must win.
      mcpServers: {
        gantry: { type: 'http', url: 'http://127.0.0.1:9/mcp/server', headers: { Authorization: 'Bearer x' } },
      },
    }),
  );
  try {
    const product = await startProduct({ ...place, env: { ...place.env, ...env } });
    await product.engine.call('POST', '/mcp/servers', {
      name: 'pair',
      transport: { type: 'stdio', command: process.execPath, args: [attachedServer] },
    });
    await until('the attached server', async () => {
      const { servers } = await product.engine.call<{ servers: { status: string }[] }>('GET', '/mcp/servers');
      return servers[0]?.status === 'connected';
    });
    const [bot] = await teamUp(product, 'real');
    assert.ok(bot);
    await until('an idle bot', async () => (await shown(product, bot.id)).state === 'idle');
    const sent = await product.web.call<{ state: string }>('POST', '/api/factory/send', {
      to: 'web@real',
      text: `${toolWords} please`,
    });
    assert.equal(sent.state, 'verified', JSON.stringify(sent));
    // What an attached server does nobody here knows, and a command can do anything: both are asked about, one after the other.
    for (const summary of [/pair\.echo of the attached server pair/, /echo ran >> ran\.txt/]) {
      const asked = await waiting(product);
      assert.deepEqual([asked.length, asked[0]?.agentId], [1, bot.id]);
      assert.match(asked[0]!.summary, summary);
      assert.notEqual((await shown(product, bot.id)).state, 'needs_you', 'Claude Code asks, too');
      await product.web.call('POST', `/api/factory/approvals/${asked[0]!.id}/resolve`, { decision: 'approve' });
    }
    await until('the last result', async () => script.results.length === calls.length);
    await until('an idle bot', async () => (await shown(product, bot.id)).state === 'idle');
    assert.equal(readFileSync(join(workspace, 'ran.txt'), 'utf8'), 'ran\n');
    for (const { name } of calls) assert.ok(script.offered.has(name), `${name} is not on offer`);
    const [time = '', converted = ''] = script.results;
    assert.match(time, /UTC/);
    assert.match(converted, /# Converted[\s\S]*by a tool/);
    await until('what the attached server said', async () =>
      [...script.results, ...script.told].some((one) => one.includes('from a pane')),
    );
    await product.stop();
    return `${script.offered.size} tools on offer; results: ${script.results.map((one) => one.slice(0, 60).replaceAll('\n', ' ')).join(' | ')}`;
  } finally {
    await place.remove();
  }
}

interface Asked {
  readonly id: string;
  readonly agentId: string | null;
  readonly summary: string;
}

async function waiting(product: Product): Promise<readonly Asked[]> {
  let found: readonly Asked[] = [];
  await until('a question', async () => {
    const path = '/api/factory/approvals?state=pending';
    found = (await product.web.call<{ approvals: readonly Asked[] }>('GET', path)).approvals;
    return found.length > 0;
  });
  return found;
}

const shown = (product: Product, id: string) => product.web.call<Shown>('GET', `/api/factory/agents/${id}`);

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await holds()) return;
    await delay(100);
  }
  throw new Error(`${what}: not within 40 s`);
}
