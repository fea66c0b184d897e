/** Rules of subscriptions over HTTP, at both mounts: what they take, what they refuse, versions, dry runs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type { AutomationBot, Rule, RulePlan } from '../../../../src/contracts/connectors/rule.ts';
import type { SubscriptionRef } from '../../../../src/runtime-server/connectors/ports.ts';
import { type Floor, openFloor } from '../../hosted-bots/support.ts';
import { type Automated, automate, connectorId } from './support.ts';

let floor: Floor;
let automated: Automated;
let botId: string;
let subscription: SubscriptionRef;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const onEnd = (end: () => Promise<void>) => void ends.push(end);
  floor = await openFloor({ onEnd });
  automated = await automate(floor, { onEnd });
  botId = (await floor.engine.agent(await floor.team('dev'))).id;
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});
const fresh = () => {
  subscription = automated.subscribe(botId);
  return subscription;
};
const create = (body: unknown) => automated.call('POST', subscription, '/rules', body);

test('a rule has a default for all but its instructions, its own id and version 1, and reads the same at both mounts', async () => {
  fresh();
  const rule = await automated.rule(subscription, { instructions: 'Triage it.' });
  expect(rule).toMatchObject({
    subscriptionId: subscription.id,
    botId,
    instructions: 'Triage it.',
    expectedOutput: '',
    executionMode: 'REQUIRE_APPROVAL',
    paused: false,
    batchSeconds: 0,
    maxRunsPerDay: 20,
    timeoutSeconds: 300,
    dailySpendThresholdUsd: null,
    match: null,
    version: 1,
  });
  const read = await automated.call<{ rules: Rule[] }>('GET', subscription, '/rules', undefined, '/mcp/connectors');
  expect(read.body.rules).toEqual([rule]);
});

test('a rule for an event that is offered no more is refused, tried or saved, and one that is there can still be changed', async () => {
  fresh();
  const rule = await automated.rule(subscription, {});
  automated.unadvertise(
    subscription,
    new AppError('not_found', 'The server does not offer it.', 'Choose another.', { wireCode: 'event_not_found' }),
  );
  for (const dryRun of [false, true]) {
    expect(await create({ instructions: 'x', dryRun })).toMatchObject({
      status: 404,
      body: { error: 'event_not_found' },
    });
  }
  const read = await automated.call<{ rules: Rule[] }>('GET', subscription, '/rules');
  expect(read.body.rules).toEqual([rule]);
  expect((await automated.call('PATCH', subscription, `/rules/${rule.id}`, { paused: true })).status).toBe(200);
});

test('version counts edits, a change that changes nothing is none, and what is not named stays', async () => {
  fresh();
  const rule = await automated.rule(subscription, {});
  const change = (body: unknown) => automated.call<Rule>('PATCH', subscription, `/rules/${rule.id}`, body);
  expect((await change({ batchSeconds: 60, match: { a: 1, b: 2 } })).body).toMatchObject({
    version: 2,
    batchSeconds: 60,
  });
  expect((await change({ match: { b: 2, a: 1 }, batchSeconds: 60 })).body.version).toBe(2);
  expect((await change({ paused: true })).body).toMatchObject({ version: 3, batchSeconds: 60, paused: true });
  expect((await automated.call('DELETE', subscription, `/rules/${rule.id}`)).status).toBe(204);
  expect((await change({ paused: false })).status).toBe(404);
});

test('an unknown field, a mode that bypasses permissions and numbers out of bounds are refused', async () => {
  fresh();
  const bad: [string, Record<string, unknown>][] = [
    ['unknown field', { instructions: 'x', autoApprove: true }],
    ['bypass', { instructions: 'x', executionMode: 'BYPASS_PERMISSIONS' }],
    ['no instructions', {}],
    ['empty instructions', { instructions: '' }],
    ['batch', { instructions: 'x', batchSeconds: 3601 }],
    ['runs', { instructions: 'x', maxRunsPerDay: 0 }],
    ['timeout', { instructions: 'x', timeoutSeconds: 29 }],
    ['spend', { instructions: 'x', dailySpendThresholdUsd: 0 }],
    ['match', { instructions: 'x', match: [] }],
  ];
  for (const [what, body] of bad) expect((await create(body)).status, what).toBe(400);
  const rule = await automated.rule(subscription, {});
  const changed = await automated.call('PATCH', subscription, `/rules/${rule.id}`, {
    executionMode: 'BYPASS_PERMISSIONS',
  });
  expect(changed.status).toBe(400);
  expect((await automated.call('PATCH', subscription, `/rules/${rule.id}`, { colour: 'red' })).status).toBe(400);
});

test('instructions take 16,000 bytes of UTF-8 and expected output 4,000, and not one more, of whatever characters', async () => {
  fresh();
  expect((await create({ instructions: 'x'.repeat(16_000), expectedOutput: 'y'.repeat(4000) })).status).toBe(201);
  expect((await create({ instructions: 'x'.repeat(16_001) })).status).toBe(400);
  expect((await create({ instructions: '€'.repeat(5333) })).status).toBe(201);
  // 5,334 characters are 16,002 bytes.
  expect((await create({ instructions: '€'.repeat(5334) })).status).toBe(400);
  expect((await create({ instructions: 'x', expectedOutput: 'é'.repeat(2001) })).status).toBe(400);
});

test('a rule does not inherit a bypass from its subscription: it has to say a mode', async () => {
  subscription = automated.subscribe(botId, 'BYPASS_PERMISSIONS');
  const refused = await create({ instructions: 'x' });
  expect(refused).toMatchObject({ status: 400, body: { error: 'bad_request' } });
  expect(refused.body.message).toContain('BYPASS_PERMISSIONS');
  expect((await create({ instructions: 'x', executionMode: 'PLAN_ONLY' })).status).toBe(201);
  subscription = automated.subscribe(botId, 'PLAN_ONLY');
  expect((await automated.rule(subscription, {})).executionMode).toBe('PLAN_ONLY');
});

test('only bots that can be held to a mode: a program in a pane without exec mode and a vendor’s app are refused with the reason', async () => {
  fresh();
  const { engine } = floor;
  engine.team(
    'panes',
    'bots:\n  - { bot: pane, harness: shell }\n  - { bot: code, harness: claude }\n  - { bot: app, binding: vendor, vendor: linear }\n',
  );
  await engine.call('GET', '/teams');
  const refused = await create({ instructions: 'x', botId: 'pane@panes' });
  expect(refused).toMatchObject({ status: 409, body: { error: 'bot_not_enforceable' } });
  expect(refused.body.message).toContain('shell');
  expect(await create({ instructions: 'x', botId: 'app@panes' })).toMatchObject({ status: 409 });
  expect(await create({ instructions: 'x', botId: 'nobody@panes' })).toMatchObject({
    status: 404,
    body: { error: 'bot_not_found' },
  });
  const { body: rule } = await create({ instructions: 'x', botId: 'code@panes' });
  expect(rule).toMatchObject({ botId: (await engine.agent('code@panes')).id });
  const listed = await automated.call<{ bots: AutomationBot[] }>('GET', subscription, '/../../bots');
  const reasons = new Map(listed.body.bots.map(({ name, reason }) => [name, reason]));
  expect(reasons.get('dev')).toBeNull();
  expect(reasons.get('code')).toBeNull();
  expect(reasons.get('pane')).toContain('cannot enforce permissions');
  expect(reasons.get('app')).toContain('vendor’s app');
});

test('a match that is a bomb, remote or no schema is refused before anything is kept', async () => {
  fresh();
  const remote = { $ref: 'http://127.0.0.1:1/schema.json' };
  const expression = { properties: { a: { pattern: '((x{1,1000}){1,1000}){1,1000}' } } };
  for (const match of [remote, { type: 'wish' }, expression]) {
    const refused = await create({ instructions: 'x', match });
    expect(refused).toMatchObject({ status: 400, body: { error: 'bad_request' } });
    expect(refused.body.message).toContain('match');
  }
  expect((await automated.call<{ rules: Rule[] }>('GET', subscription, '/rules')).body.rules).toEqual([]);
});

test('a subscription has at most 50 rules', async () => {
  fresh();
  for (let n = 0; n < 50; n += 1) await automated.rule(subscription, {});
  expect(await create({ instructions: 'x' })).toMatchObject({ status: 409, body: { error: 'too_many_rules' } });
});

test('a dry run says which past events a rule would have taken and how many runs they would have been, and keeps nothing', async () => {
  fresh();
  for (const [index, kind] of ['bug', 'idea', 'bug', 'bug'].entries()) {
    await automated.event(subscription, { kind, ...(index > 0 && { title: `Case ${index}` }) }, `e${index}`);
    await automated.clock.advance(60_000);
  }
  const match = { type: 'object', properties: { kind: { const: 'bug' } }, required: ['kind'] };
  const body = { instructions: 'x', match, batchSeconds: 90, dryRun: true };
  const planned = await automated.call<RulePlan>('POST', subscription, '/rules', body);
  expect(planned.status).toBe(200);
  expect(planned.body.plan).toMatchObject({ looked: 4, runs: 2, pending: [] });
  expect(planned.body.plan.matches.map(({ eventId, about }) => [eventId, about])).toEqual([
    ['e3', 'Case 3'],
    ['e2', 'Case 2'],
    ['e0', null],
  ]);
  expect((await automated.call<{ rules: Rule[] }>('GET', subscription, '/rules')).body.rules).toEqual([]);
  expect(await automated.jobs(subscription)).toEqual([]);
});

test('the default rule has the subscription’s id, stays as it is when it is saved again, and becomes another version when not', async () => {
  fresh();
  const { area } = automated;
  const save = (instructions: string) =>
    floor.engine.store.write((tx) => area.saveDefault(tx, subscription, { instructions }));
  const rules = async () => (await automated.call<{ rules: Rule[] }>('GET', subscription, '/rules')).body.rules;
  await save('Look.');
  await save('Look.');
  expect(await rules()).toMatchObject([{ id: `${subscription.id}:default`, version: 1, botId }]);
  await save('Look twice.');
  expect(await rules()).toMatchObject([{ id: `${subscription.id}:default`, version: 2, instructions: 'Look twice.' }]);
  await expect(area.checkDefault(subscription, { instructions: 'x', botId: 'nobody' })).rejects.toMatchObject({
    options: { wireCode: 'bot_not_found' },
  });
  expect((await automated.call('DELETE', subscription, `/rules/${subscription.id}:default`)).status).toBe(204);
});

test('rules of a connector or a subscription that is not there are not found', async () => {
  fresh();
  const other = { ...subscription, connectorId: 'server_other' };
  expect(await automated.call('GET', other, '/rules')).toMatchObject({
    status: 404,
    body: { error: 'connector_not_found' },
  });
  const gone = { ...subscription, connectorId, id: 'sub_000000000000000000000000' };
  for (const path of ['/rules', '/runs', '/runs/job_1']) {
    expect(await automated.call('GET', gone, path)).toMatchObject({
      status: 404,
      body: { error: 'subscription_not_found' },
    });
  }
  expect(await automated.call('GET', subscription, '/runs/job_1')).toMatchObject({
    status: 404,
    body: { error: 'run_not_found' },
  });
  expect(await automated.call('GET', subscription, '/runs?cursor=x')).toMatchObject({ status: 400 });
});
