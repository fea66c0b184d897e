/** An invite is one page for one person: it shows what is agreed to, takes one yes with those words, and is over then. */
import { describe, expect, test } from 'vitest';
import type { Invite } from '../../../../src/contracts/phone/number.ts';
import { engines } from '../../../support/engines.ts';
import { forSale, numberIn, openWorld, type Replica } from './support.ts';

const numbers = '/api/v1/phone/numbers';
const pathOf = ({ url }: Invite) => new URL(url).pathname;

async function invited(replica: Replica) {
  const { id } = numberIn(await replica.buy(forSale(150)));
  const made = await replica.ada('POST', `${numbers}/${id}/invites`);
  return { id, made, invite: (made.json as unknown as { invite: Invite }).invite };
}

const submit = (replica: Replica, path: string, form: Record<string, string>) =>
  replica.nobody('POST', path, undefined, {
    raw: new URLSearchParams(form).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'test browser',
      origin: `http://127.0.0.1:${replica.web.port}`,
      host: `127.0.0.1:${replica.web.port}`,
    },
  });

/** The code that the page shows. */
const codeOn = ({ text }: { readonly text: string }) => /<strong>(\d{6})<\/strong>/.exec(text)?.[1] ?? '';

const prove = (replica: Replica, numberId: string, e164: string, code: string) =>
  replica.store.write((tx) => replica.part.invites.prove(tx, { numberId, e164, code, by: 'Proven by a test.' }));

describe.each(engines)('on $name', ({ place }) => {
  test('the page says who would call; one yes is kept with the words that were shown, and a second finds nothing', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const { id, made, invite } = await invited(replica);
    expect([made.status, invite.usedAt]).toEqual([201, null]);
    expect(invite.url).toMatch(/^https:\/\/gantry\.example\/sms\/invite\/[0-9a-f]{64}$/);
    expect(Date.parse(invite.expiresAt) - world.clock.now()).toBeGreaterThan(6.9 * 24 * 3600_000);
    const page = await replica.nobody('GET', pathOf(invite));
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*form-action 'self'/);
    expect(page.headers['cache-control']).toBe('no-store');
    expect(page.text).toContain('Ada &#60;b&#62;');
    expect(page.text).not.toContain('<b>');
    const agreed = await submit(replica, pathOf(invite), { phone: '(202) 555-0123', agree: 'yes' });
    expect([agreed.status, agreed.text]).toEqual([200, expect.stringContaining('from +12025550123')]);
    const code = codeOn(agreed);
    expect(world.consents).toEqual([]);
    expect((await submit(replica, pathOf(invite), { code })).text).toContain(
      'Nothing has arrived from +12025550123 yet.',
    );
    expect(await prove(replica, id, '+12025550123', code)).toBe(true);
    expect((await submit(replica, pathOf(invite), { code })).text).toContain(
      'You agreed to be called at +12025550123.',
    );
    expect(world.consents).toEqual([
      {
        numberId: id,
        e164: '+12025550123',
        source: 'invite',
        evidence: expect.stringMatching(
          /^Ticked on the page of the invite \S+ at \S+Z from 198\.51\.100\.7 with "test browser": “I agree that Ada <b> may.*Proven by a test\.$/,
        ),
      },
    ]);
    const [words] = /“(.*)”/.exec(world.consents[0]?.evidence ?? '')?.slice(1) ?? [];
    expect(page.text).toContain((words ?? '-').replace('<b>', '&#60;b&#62;'));
    const again = await submit(replica, pathOf(invite), { phone: '2025550124', agree: 'yes' });
    const never = await replica.nobody('GET', `/sms/invite/${'0'.repeat(64)}`);
    expect([again.status, again.text]).toEqual([404, never.text]);
    expect([(await replica.nobody('GET', '/sms/invite/x')).text, world.consents.length]).toEqual([never.text, 1]);
    const list = (await replica.ada('GET', `${numbers}/${id}/invites`)).json as unknown as { invites: Invite[] };
    expect(list.invites).toEqual([{ ...invite, usedAt: expect.any(String) }]);
    expect((await replica.ada('DELETE', `${numbers}/${id}/invites/${invite.id}`)).status).toBe(404);
  });

  test('once the number is registered the page names its business, as calls do', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const { id, invite } = await invited(replica);
    world.brands.set(id, 'Blue Bottle');
    const page = await replica.nobody('GET', pathOf(invite));
    expect(page.text).toContain('I agree that Blue Bottle may');
    expect(page.text).not.toContain('Ada');
    const agreed = await submit(replica, pathOf(invite), { phone: '2025550123', agree: 'yes' });
    await prove(replica, id, '+12025550123', codeOn(agreed));
    expect(world.consents[0]?.evidence).toContain('“I agree that Blue Bottle may');
  });

  test('a number that somebody else typed in counts for nothing: only that phone, with the code, in time', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const { id, invite } = await invited(replica);
    const other = numberIn(await replica.buy(forSale(151))).id;
    const code = codeOn(await submit(replica, pathOf(invite), { phone: '2025550123', agree: 'yes' }));
    const wrong = code === '123456' ? '654321' : '123456';
    expect(await prove(replica, id, '+12025550124', code)).toBe(false);
    expect(await prove(replica, id, '+12025550123', wrong)).toBe(false);
    expect(await prove(replica, other, '+12025550123', code)).toBe(false);
    expect((await submit(replica, pathOf(invite), { code: wrong })).status).toBe(404);
    world.clock.move(15 * 60_000 + 1);
    expect(await prove(replica, id, '+12025550123', code)).toBe(false);
    expect((await submit(replica, pathOf(invite), { code })).status).toBe(404);
    expect(world.consents).toEqual([]);
    expect(world.simulated.sim.state.texts).toEqual([]);
    const later = codeOn(await submit(replica, pathOf(invite), { phone: '2025550123', agree: 'yes' }));
    expect(await prove(replica, id, '+12025550123', later)).toBe(true);
  });

  test('a yes that is ticked again keeps its code; another number begins anew; two proofs at once count once', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const { id, invite } = await invited(replica);
    const first = codeOn(await submit(replica, pathOf(invite), { phone: '2025550123', agree: 'yes' }));
    expect(codeOn(await submit(replica, pathOf(invite), { phone: '2025550123', agree: 'yes' }))).toBe(first);
    const second = codeOn(await submit(replica, pathOf(invite), { phone: '2025550124', agree: 'yes' }));
    expect(await prove(replica, id, '+12025550123', first)).toBe(false);
    const both = await Promise.all([1, 2].map(() => prove(replica, id, '+12025550124', second)));
    expect(both.sort()).toEqual([false, true]);
    expect(world.consents.map(({ e164 }) => e164)).toEqual(['+12025550124']);
  });

  test('a number of a bot cannot be named: what comes from it is no word of a person', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const { invite } = await invited(replica);
    await replica.buy(forSale(151));
    await expect
      .poll(async () => (await replica.list()).map(({ voiceState }) => voiceState))
      .toEqual(['active', 'active']);
    const reply = await submit(replica, pathOf(invite), { phone: forSale(151), agree: 'yes' });
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('belongs to a bot')]);
  });

  test('what is no number, cannot be called or was not agreed to leaves the invite open', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const { invite } = await invited(replica);
    const forms: Record<string, string>[] = [
      {},
      { phone: 'x'.repeat(3000), agree: 'yes' },
      { phone: '<script>', agree: 'yes' },
      { phone: '+18765550123', agree: 'yes' },
      { phone: '+19005550123', agree: 'yes' },
      { phone: '+12025550123' },
    ];
    for (const form of forms) {
      const reply = await submit(replica, pathOf(invite), form);
      expect([form, reply.status, reply.text.includes('<script>')]).toEqual([form, 400, false]);
    }
    expect((await replica.nobody('POST', pathOf(invite), { phone: '+12025550123' })).status).toBe(415);
    expect((await submit(replica, pathOf(invite), { phone: 'x'.repeat(5000) })).status).toBe(413);
    expect(world.consents).toEqual([]);
    expect((await submit(replica, pathOf(invite), { phone: '+12025550123', agree: 'yes' })).status).toBe(200);
  });

  test('an invite ends after seven days, when it is withdrawn, and with its number; it follows a move', async () => {
    const world = await openWorld(await place());
    const replica = await world.open();
    const { id, invite } = await invited(replica);
    const another = async () =>
      ((await replica.ada('POST', `${numbers}/${id}/invites`)).json as unknown as { invite: Invite }).invite;
    const status = async (one: Invite) => (await replica.nobody('GET', pathOf(one))).status;
    await replica.ada('PATCH', `${numbers}/${id}`, { botId: 'bot_2', botName: 'Iris' });
    expect((await replica.nobody('GET', pathOf(invite))).text).toContain('Iris');
    expect((await replica.bob('DELETE', `${numbers}/${id}/invites/${invite.id}`)).status).toBe(404);
    expect((await replica.ada('DELETE', `${numbers}/${id}/invites/${invite.id}`)).status).toBe(204);
    expect(await status(invite)).toBe(404);
    const old = await another();
    world.clock.move(7 * 24 * 3600_000 + 1);
    expect(await status(old)).toBe(404);
    const last = await another();
    expect(await status(last)).toBe(200);
    await replica.ada('DELETE', `${numbers}/${id}`);
    expect(await status(last)).toBe(404);
    expect(await replica.store.all('SELECT 1 AS one FROM phone_invite WHERE used_at IS NULL')).toEqual([]);
  });
});
