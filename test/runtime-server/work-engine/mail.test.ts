import { beforeAll, expect, test } from 'vitest';
import type { Mail, MailSummary } from '../../../src/contracts/factory/work-engine/mail.ts';
import { sharedEngine } from '../engine.ts';
import { startShells } from '../shells.ts';

const shared = sharedEngine();
let a: { address: string; token: string };
let b: typeof a;
beforeAll(async () => {
  const team = await startShells(shared.current, 'a', 'b');
  const bot = async (slug: string) => {
    const address = `${slug}@${team}`;
    return { address, token: await shared.current.botToken(address) };
  };
  [a, b] = [await bot('a'), await bot('b')];
});

interface Inbox {
  readonly mail: MailSummary[];
  readonly unread: number;
  readonly nextCursor: string | null;
}
const send = (body: unknown, token?: string, headers?: Record<string, string>) =>
  shared.current.call<Mail>('POST', '/mail', body, { ...(token && { token }), ...(headers && { headers }) });
const inbox = (query = '', token?: string) =>
  shared.current.call<Inbox>('GET', `/mail${query}`, undefined, token === undefined ? {} : { token });

test('a mail is in the inbox of its recipient, unread until the recipient says so', async () => {
  const { status, body } = await send({ to: b.address, subject: 'Hello', text: 'x'.repeat(300) }, a.token);
  expect(status).toBe(201);
  expect(body).toMatchObject({ from: a.address, to: b.address, subject: 'Hello', readAt: null, inReplyTo: null });
  const seen = await inbox('', b.token);
  expect(seen.body).toMatchObject({ mail: [{ id: body.id, preview: 'x'.repeat(200) }], unread: 1, nextCursor: null });
  expect((await inbox('?box=out', a.token)).body.mail.map((one) => one.id)).toEqual([body.id]);
  const call = (method: string, path: string, token: string, given?: unknown) =>
    shared.current.call<Mail>(method, path, given, { token });
  expect((await call('POST', `/mail/${body.id}/read`, a.token, {})).status).toBe(403);
  const dry = await call('POST', `/mail/${body.id}/read`, b.token, { dryRun: true });
  expect(dry.body).toEqual({ dryRun: true, plan: { id: body.id, records: ['mail.read'] } });
  expect((await inbox('?unread=1', b.token)).body.unread).toBe(1);
  const read = await call('POST', `/mail/${body.id}/read`, b.token, {});
  expect(read.body.readAt).not.toBeNull();
  expect((await call('POST', `/mail/${body.id}/read`, b.token, {})).body.readAt).toBe(read.body.readAt);
  expect((await inbox('?unread=1', b.token)).body).toMatchObject({ mail: [], unread: 0 });
});

test('a bot sees its own mail alone; the person sees every inbox', async () => {
  const toOwner = (await send({ to: 'owner', subject: 'Done', text: 'All of it.' }, a.token)).body;
  expect((await inbox(`?bot=${a.address}`, b.token)).status).toBe(403);
  expect((await inbox('?bot=owner', b.token)).status).toBe(403);
  expect((await inbox(`?bot=${b.address}`, b.token)).status).toBe(200);
  const foreign = await shared.current.call('GET', `/mail/${toOwner.id}`, undefined, { token: b.token });
  expect(foreign.status).toBe(404);
  expect((await inbox()).body.mail[0]).toMatchObject({ id: toOwner.id, to: 'owner', from: a.address });
  expect((await inbox(`?bot=${b.address}`)).status).toBe(200);
  const answer = await send({ to: a.address, subject: 'Re', text: 'Thanks', inReplyTo: toOwner.id });
  expect(answer.body).toMatchObject({ from: 'owner', inReplyTo: toOwner.id });
  expect((await send({ to: a.address, subject: 'Re', text: 'x', inReplyTo: toOwner.id }, b.token)).status).toBe(404);
});

test('a repeated key sends once, a dry run sends nothing, and the ledger holds no text', async () => {
  const before = (await inbox('', b.token)).body.unread;
  const body = { to: b.address, subject: 'Once', text: 'a secret sentence' };
  const dry = await send({ ...body, dryRun: true }, a.token);
  expect(dry.body).toEqual({
    dryRun: true,
    plan: { from: a.address, to: b.address, subject: 'Once', records: ['mail.sent'] },
  });
  const key = { 'idempotency-key': 'k1' };
  const [first, second] = await Promise.all([send(body, a.token, key), send(body, a.token, key)]);
  expect(second.body.id).toBe(first.body.id);
  expect((await send({ ...body, text: 'other' }, a.token, key)).status).toBe(409);
  expect((await inbox('', b.token)).body.unread).toBe(before + 1);
  const rows = await shared.current.ledger.read('0', 1000, ['mail.sent']);
  expect(rows.some((row) => row.subject === `mail:${first.body.id}`)).toBe(true);
  expect(JSON.stringify(rows)).not.toContain('secret sentence');
});

test.each([
  ['an unknown recipient', { to: 'nobody@none', subject: 's', text: 't' }, 404],
  ['oneself', { to: 'owner', subject: 's', text: 't' }, 400],
  ['no subject', { to: 'owner', text: 't' }, 400],
  ['an empty text', { to: 'owner', subject: 's', text: '' }, 400],
  ['a text beyond the limit', { to: 'owner', subject: 's', text: 'x'.repeat(65_537) }, 400],
  ['an unknown field', { to: 'owner', subject: 's', text: 't', x: 1 }, 400],
])('%s is refused', async (_name, body, status) => {
  expect((await send(body)).status).toBe(status);
});

test('pages follow each other without gap or repeat; a bad cursor is refused', async () => {
  for (let n = 0; n < 5; n += 1) await send({ to: a.address, subject: `page ${n}`, text: 't' }, b.token);
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { body }: { body: Inbox } = await inbox(`?box=out&limit=2${cursor && `&cursor=${cursor}`}`, b.token);
    seen.push(...body.mail.map((one) => one.subject));
    cursor = body.nextCursor;
  }
  expect(seen.slice(0, 5)).toEqual(['page 4', 'page 3', 'page 2', 'page 1', 'page 0']);
  expect((await inbox('?cursor=xx')).status).toBe(400);
});
