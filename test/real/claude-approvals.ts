/**
 * Scenes of `claude.ts`: the real Claude Code as a bot of a team asks to run a command, and the question is answered from the
 * inbox over HTTP and in a browser, in the pane, and around a runtime that is killed while it waits. The model answers RUNSHELL with one command.
 */
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import { openBrowser, visit } from '../e2e/support/browser.ts';
import { picture } from '../e2e/support/looks.ts';
import { buildRenderer } from '../e2e/support/renderer.ts';
import { type Product, type ScratchHome, scratchHome, startProduct, teamUp } from '../support/bench/product.ts';
import { agreeToAll } from '../support/trust.ts';
import { readDialog } from './scenes.ts';

export interface InboxScenes {
  /** Approved over HTTP: the tool runs, and no key is typed. */
  approve(): Promise<string>;
  reject(): Promise<string>;
  /** Approved in a real Chromium that opened the printed address: the tool runs, and no key is typed. */
  approveInBrowser(): Promise<string>;
  /** A key at the dialog: the approval is withdrawn. */
  inPane(): Promise<string>;
  /** kill -9 while the hook waits, a new start on another port, the answer from the inbox. */
  killed(): Promise<string>;
  /** kill -9 while the hook waits, a new start, a key at the dialog. */
  killedThenPane(): Promise<string>;
  /** policy.yaml allows it: no approval, no key. */
  ruled(): Promise<string>;
  close(): Promise<void>;
}

const command = 'touch made && ls';
const dialog = 'Do you want to proceed?';

export async function openInbox(env: Readonly<Record<string, string>>, toolResult: () => string): Promise<InboxScenes> {
  const home = scratchHome({ inbox: 'bots:\n  - bot: web\n    harness: claude\n' });
  const place: ScratchHome = { ...home, env: { ...home.env, ...env } };
  const made = join(place.workspace, 'made');
  writeFileSync(
    join(String(place.env.HOME), '.claude.json'),
    JSON.stringify({
      hasCompletedOnboarding: true,
      theme: 'dark',
      projects: { [place.workspace]: { hasTrustDialogAccepted: true } },
    }),
  );
  let product: Product = await startProduct(place);
  const [agent] = await teamUp(product, 'inbox');
  assert.ok(agent);
  const { id } = agent;

  const approvals = async (state: 'pending' | 'resolved') =>
    (await product.web.call<{ approvals: Approval[] }>('GET', `/api/factory/approvals?state=${state}`)).approvals;
  const resolve = (approval: Approval, body: { decision: 'approve' | 'reject'; note?: string }) =>
    product.web.call<Approval>('POST', `/api/factory/approvals/${approval.id}/resolve`, body);
  const screen = async () =>
    (await product.web.call<{ text: string }>('GET', `/api/factory/agents/${id}/capture?lines=40`)).text;
  const agentNow = () =>
    product.web.call<{ state: string; stateReason: string | null }>('GET', `/api/factory/agents/${id}`);
  const press = (text: string) => product.web.call('POST', `/api/factory/agents/${id}/input`, { text });

  async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    for (let tries = 0; tries < 300; tries += 1) {
      const found = await look();
      if (found) return found;
      await delay(50);
    }
    const seen = await product.web.call('GET', `/api/factory/agents/${id}/explain`);
    throw new Error(`${what}: not within 15 s; ${JSON.stringify(seen)}`);
  }
  const idle = () => until('idle', async () => (await agentNow()).state === 'idle');
  const ended = (approval: Approval) =>
    until('an ended approval', async () => (await approvals('resolved')).find((each) => each.id === approval.id));

  /** Sends the prompt; resolves once the dialog stands and its question is in the inbox. */
  async function question(): Promise<Approval> {
    rmSync(made, { force: true });
    await idle();
    const sent = await product.web.call<{ state: string }>('POST', '/api/factory/send', {
      to: 'web@inbox',
      text: 'RUNSHELL please',
    });
    // After a person's key it is held for a moment.
    assert.ok(['verified', 'queued'].includes(sent.state), sent.state);
    const approval = await until('an approval', async () => (await approvals('pending'))[0]);
    assert.equal((await approvals('pending')).length, 1);
    const { source, kind, summary, agentId, risk } = approval;
    assert.deepEqual({ source, kind, summary, agentId, risk }, askedFor(id));
    await until('the dialog', async () => (await screen()).includes(dialog));
    const now = await agentNow();
    assert.deepEqual([now.state, now.stateReason], ['needs_you', `asks to run: ${command}`]);
    const explained = await product.web.call<{ approvals: string[] }>('GET', `/api/factory/agents/${id}/explain`);
    assert.deepEqual(explained.approvals, [approval.id]);
    return approval;
  }

  async function restart(): Promise<number> {
    await product.kill();
    // Away for longer than a question waits before it asks again.
    await delay(1500);
    const from = performance.now();
    product = await startProduct(place);
    return from;
  }

  return {
    async approve() {
      const approval = await question();
      const from = performance.now();
      await resolve(approval, { decision: 'approve' });
      await until('the file', async () => existsSync(made));
      const ran = Math.round(performance.now() - from);
      await idle();
      const after = await ended(approval);
      assert.equal(after.decision, 'approve');
      return `the tool ran ${ran} ms after the answer, no key typed; answered by ${after.resolvedBy?.user} via ${after.resolvedBy?.surface}`;
    },
    async reject() {
      const approval = await question();
      await resolve(approval, { decision: 'reject', note: 'not on a Sunday' });
      await idle();
      assert.equal(existsSync(made), false);
      assert.match(toolResult(), /A person rejected this: not on a Sunday/);
      return `the model was told: ${toolResult()}`;
    },
    async approveInBrowser() {
      await buildRenderer();
      const approval = await question();
      const browser = await openBrowser();
      try {
        const { page, errors } = await visit(browser, product.url);
        const changes: string[] = [];
        page.on('request', (request) => {
          if (request.method() !== 'GET') changes.push(`${request.method()} ${new URL(request.url()).pathname}`);
        });
        await page.getByRole('link', { name: '1 waiting: Inbox' }).click();
        const card = page.locator(`[data-approval="${approval.id}"]`);
        await card.getByText(command, { exact: true }).first().waitFor();
        await card.getByText('web@inbox').first().waitFor();
        await card.getByText(/ left$/).waitFor();
        await picture(page, 'claude-inbox');
        assert.equal(existsSync(made), false);
        const from = performance.now();
        await card.getByRole('button', { name: 'Approve' }).click();
        await until('the file', async () => existsSync(made));
        const ran = Math.round(performance.now() - from);
        await page.getByText(/Approved by you in the browser/).waitFor();
        await idle();
        const after = await ended(approval);
        assert.deepEqual([after.decision, after.resolvedBy?.surface], ['approve', 'browser']);
        assert.equal(toolResult().includes('made'), true, toolResult());
        // Nothing but the answer went out: no key for a pane.
        // That the inbox was looked at is told besides.
        const answers = changes.filter((change) => change !== 'POST /api/v1/notifications/read');
        assert.deepEqual(answers, [`POST /api/factory/approvals/${approval.id}/resolve`]);
        assert.deepEqual(errors, []);
        return `Chromium ${browser.version()}; the tool ran ${ran} ms after the click; answered by ${after.resolvedBy?.user} via ${after.resolvedBy?.surface}; the page sent ${changes.join(', ')}`;
      } finally {
        await browser.close();
      }
    },
    async inPane() {
      const approval = await question();
      await readDialog();
      const from = performance.now();
      await press('1');
      const after = await ended(approval);
      const took = Math.round(performance.now() - from);
      assert.deepEqual([after.decision, after.resolvedBy?.surface], [null, 'pane']);
      await idle();
      assert.ok(existsSync(made));
      await assert.rejects(resolve(approval, { decision: 'reject' }), /409/);
      return `withdrawn ${took} ms after the key; a late answer is refused with 409`;
    },
    async killed() {
      const approval = await question();
      const from = await restart();
      assert.ok((await screen()).includes(dialog), 'the dialog did not stay');
      await until('the question again', async () => {
        const { approvals: now } = await product.web.call<{ approvals: string[] }>(
          'GET',
          `/api/factory/agents/${id}/explain`,
        );
        return now.length === 1 && now[0] === approval.id;
      });
      const asked = Math.round(performance.now() - from);
      assert.deepEqual(
        (await approvals('pending')).map((each) => each.id),
        [approval.id],
      );
      assert.equal(existsSync(made), false);
      await resolve(approval, { decision: 'approve' });
      await until('the file', async () => existsSync(made));
      await idle();
      return `asked again under the same id within ${asked} ms of the new start (another port), then approved: the tool ran`;
    },
    async killedThenPane() {
      const approval = await question();
      await restart();
      await until('the dialog', async () => (await agentNow()).state === 'needs_you');
      await readDialog();
      await press('1');
      const after = await ended(approval);
      assert.deepEqual([after.decision, after.resolvedBy?.surface], [null, 'pane']);
      await idle();
      assert.deepEqual(await approvals('pending'), []);
      return 'withdrawn with surface pane';
    },
    async ruled() {
      const rule = `{ when: { tool: shell.exec, command: "${command}", bot: web@inbox }, then: allow }`;
      writeFileSync(join(place.workspace, '.gantry', 'policy.yaml'), `rules:\n  - ${rule}\n`);
      await agreeToAll(`${product.engineUrl}/api/factory`, { authorization: `Bearer ${product.token}` });
      const before = (await approvals('resolved')).length;
      rmSync(made, { force: true });
      await idle();
      const text = 'RUNSHELL please';
      await product.web.call('POST', '/api/factory/send', { to: 'web@inbox', text });
      await until('the file', async () => existsSync(made));
      await idle();
      assert.deepEqual([(await approvals('resolved')).length, await approvals('pending')], [before, []]);
      const { steps } = await product.web.call<{ steps: { evidence: string }[] }>(
        'GET',
        `/api/factory/agents/${id}/explain`,
      );
      return steps.findLast(({ evidence }) => evidence.includes('without asking'))?.evidence ?? assert.fail('no rule');
    },
    async close() {
      await product.stop();
      await place.remove();
    },
  };
}

const askedFor = (agentId: string) => ({
  source: 'harness',
  kind: 'permission',
  summary: command,
  agentId,
  risk: 'high',
});
