import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, openFloor } from './support.ts';

type Page = {
  conversations: { with: string; mayText: boolean; mayCall: boolean; optedOut: boolean; last: { text: string } }[];
  nextCursor: string | null;
};

describe.each(engines)('lists of a number, on $name', ({ place }) => {
  test('conversations stand newest first, with what may be done', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hello');
    await floor.say(bob, 'STOP');
    await floor.say('72975', 'Your code');
    const { conversations } = (await floor.web.call('GET', `/api/v1/phone/numbers/${id}/conversations`))
      .json as never as Page;
    const brief = conversations.map((one) => [one.with, one.last.text, one.optedOut, one.mayText, one.mayCall]);
    expect(brief).toEqual([
      ['72975', 'Your code', false, false, false],
      [bob, 'STOP', true, false, false],
      [alice, 'Hello', false, true, true],
    ]);
    await floor.say(alice, 'Again');
    const first = (await floor.web.call('GET', `/api/v1/phone/numbers/${id}/conversations?limit=2`))
      .json as never as Page;
    expect(first.conversations.map((one) => one.with)).toEqual([alice, '72975']);
    const rest = await floor.web.call(
      'GET',
      `/api/v1/phone/numbers/${id}/conversations?limit=2&cursor=${first.nextCursor}`,
    );
    expect((rest.json as never as Page).conversations.map((one) => one.with)).toEqual([bob]);
    expect((rest.json as never as Page).nextCursor).toBeNull();
  });

  test('texts go on page by page, also of one conversation', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    for (const text of ['1', '2', '3', '4', '5']) await floor.say(alice, text);
    await floor.say(bob, 'other');
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page: Awaited<ReturnType<typeof floor.list>> = await floor.list(
        id,
        `?with=${encodeURIComponent(alice)}&limit=2${more}`,
      );
      seen.push(...page.messages.map(({ text }) => text));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(['5', '4', '3', '2', '1']);
    expect((await floor.web.call('GET', `/api/v1/phone/numbers/${id}/messages?cursor=nonsense`)).status).toBe(400);
  });

  test('the person notes that somebody asked in another way, and only their own START ends it', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.say(alice, 'Hello');
    const opted = `/api/v1/phone/numbers/${id}/opt-outs`;
    const noted = await floor.web.call('POST', opted, { body: { e164: alice, evidence: 'She said so on the phone.' } });
    expect([noted.status, noted.json]).toEqual([
      201,
      { entry: expect.objectContaining({ e164: alice, action: 'stop', source: 'owner' }) },
    ]);
    expect((await floor.send(id, alice, 'Hi')).json.error).toBe('recipient_opted_out');
    expect((await floor.web.call('POST', opted, { body: { e164: '+19765551234', evidence: 'x' } })).json.error).toBe(
      'bad_request',
    );
    expect(floor.stopped).toEqual([`${id} ${alice}`]);
    floor.clock.move(1000);
    await floor.say(alice, 'start');
    expect((await floor.send(id, alice, 'Hi')).status).toBe(200);
    const { entries } = (await floor.web.call('GET', opted)).json as never as {
      entries: { action: string; source: string }[];
    };
    expect(entries.map(({ action, source }) => `${action} ${source}`)).toEqual(['start text', 'stop owner']);
  });

  test('a foreign number is not there', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber('+14165550152', { userId: 'somebody else' });
    for (const list of ['messages', 'conversations', 'opt-outs']) {
      expect((await floor.web.call('GET', `/api/v1/phone/numbers/${id}/${list}`)).status).toBe(404);
    }
  });
});
