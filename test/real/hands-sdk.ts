/** The same from a program: `ComputerUseClient` in Node, with an API key for what a key may do and the owner's own credential for the answer. */
import assert from 'node:assert/strict';
import { ComputerUseClient } from '../../src/client/computer-use.ts';
import type { AppError } from '../../src/contracts/common/errors.ts';
import type { RunAction, RunEvent } from '../../src/contracts/computer-use/run.ts';
import type { Product } from '../support/bench/product.ts';
import type { ModelServer } from '../support/model-server/server.ts';
import { orders, places, type Shop } from './hands-site.ts';
import { type Scenes, seconds, until } from './scenes.ts';

const browser = (member: string, input: Record<string, unknown> = {}): RunAction => ({
  toolset: 'browser',
  member,
  input,
});
const click = (place: string) => {
  const [x, y] = place.split(',').map(Number);
  return browser('left_click', { target: { type: 'coordinate', x, y } });
};

export async function playSdk({
  scenes,
  product,
  shop,
  model,
}: {
  readonly scenes: Scenes;
  readonly product: Product;
  readonly shop: Shop;
  readonly model: ModelServer;
}): Promise<void> {
  const { origin: baseUrl } = product;
  const owner = new ComputerUseClient({ baseUrl, token: product.token });
  const wish = { name: 'hands', scopes: ['compute'] };
  const { secret } = await product.web.call<{ secret: string }>('POST', '/api/v1/keys', wish);
  const program = new ComputerUseClient({ baseUrl, token: secret });

  await scenes.scene('from the SDK: executeDirect with a key; what it types asks, and the owner approves', async () => {
    const note = 'from a program';
    const actions = [
      browser('navigate', { url: `${shop.origin}/pay` }),
      click(places.second),
      browser('type', { text: note }),
      click(places.button),
      browser('get_page_text'),
    ];
    const run = await program.executeDirect(actions, { target_scope: 'browser', metadata: { name: 'By a program' } });
    const told: RunEvent[] = [];
    const stream = program.subscribeToRun(run.run_id, (event) => told.push(event));
    const asked = await program.waitForApproval(run.run_id);
    const refused = await program.approve(run.run_id, { decision: 'approve', approval_id: asked.id }).then(
      () => 'nobody',
      (error: AppError) => `${error.options.status} ${error.options.wireCode}`,
    );
    const from = performance.now();
    await owner.approve(run.run_id, { decision: 'approve', approval_id: asked.id });
    const heard = seconds(from);
    const ended = await program.waitForRun(run.run_id);
    assert.equal(ended.status, 'completed', JSON.stringify(ended.error));
    assert.equal(await stream.ended, null);
    assert.deepEqual(
      told.map(({ index }) => index),
      told.map((_, at) => at),
    );
    assert.equal(shop.orders.at(-1)?.note, note);
    return `it asks ${JSON.stringify(asked.words)} (${asked.risk}); the key’s own yes is refused with ${refused}, the owner’s is heard in ${heard}; ${told.length} events without a gap; ${ended.result?.text}`;
  });

  await scenes.scene(
    'from the SDK: executeIntent with a key, by functions; approved, paused, resumed, waited for',
    async () => {
      const order = { name: 'Alan Turing', mail: 'alan@example.com', town: 'Wilmslow', country: 'France', pin: '1912' };
      model.script(orders(shop, order, 'functions', 3));
      const before = model.requests.length;
      const task = `Order at ${shop.origin}/ for Alan Turing.`;
      const run = await program.executeIntent(task, {
        target_scope: 'browser',
        model: 'local/scripted',
        max_steps: 30,
      });
      const told: string[] = [];
      const stream = program.subscribeToRun(run.run_id, ({ event_type: type }) => told.push(type));
      const questions: string[] = [];
      // A key is no person: each step that acts and that no rule allows asks.
      for (;;) {
        const asked = await program.waitForApproval(run.run_id);
        questions.push(`${asked.member} (${asked.risk})`);
        await owner.approve(run.run_id, { decision: 'approve', approval_id: asked.id });
        if (asked.member === 'type') break;
      }
      await until('that it waits', async () => (await program.getRun(run.run_id)).usage.actions >= 8);
      const from = performance.now();
      const paused = await program.pauseRun(run.run_id, { comment: 'A look first.' });
      const held = await until('a paused run', async () => {
        const now = await program.getRun(run.run_id);
        return now.status === 'paused' ? now : null;
      });
      const pausedIn = seconds(from);
      assert.equal(held.pause?.reason, 'person');
      await program.resumeRun(run.run_id);
      const ended = await program.waitForRun(run.run_id);
      assert.equal(ended.status, 'completed', JSON.stringify(ended.error));
      await stream.ended;
      assert.deepEqual(shop.orders.at(-1), { ...order, note: '' });
      assert.equal(told.at(-1), 'run.ended');
      const { input_tokens: read, output_tokens: written, cost_usd: cost } = ended.usage;
      return `asked for ${questions.join(', ')}; pause answered ${paused.status}, held after ${pausedIn}; ${ended.steps} of ${ended.max_steps} steps, ${model.requests.length - before} requests, ${read} + ${written} tokens, $${cost}; ${told.length} events; ${ended.result?.text?.replace(/\s+/g, ' ')}`;
    },
  );
}
