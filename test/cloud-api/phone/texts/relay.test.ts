import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, computerId, eventually, openFloor } from './support.ts';

const dayMs = 24 * 60 * 60_000;

describe.each(engines)('a text on its way to its bot, on $name', ({ place }) => {
  test('waits while the computer sleeps, and comes in order once it answers', async () => {
    const floor = await openFloor(await place());
    await floor.addNumber();
    floor.linked.delete(computerId);
    for (const text of ['one', 'two', 'three']) await floor.say(alice, text);
    expect(floor.delivered).toEqual([]);
    floor.linked.add(computerId);
    floor.texts.wake('another computer');
    floor.texts.wake(computerId);
    await eventually(() => floor.delivered.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
    expect(floor.delivered.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    await eventually(() => floor.pushed.length).toBe(3);
  });

  test('is told again with its attempt after a fault, and pushed once', async () => {
    const floor = await openFloor(await place());
    await floor.addNumber();
    const answers = [500, 401, 200];
    const attempts: number[] = [];
    floor.setAnswer(({ attempt }) => {
      attempts.push(attempt);
      return answers.shift() ?? 200;
    });
    await floor.say(alice, 'Hello');
    await eventually(() => floor.pushed.length).toBe(1);
    expect(attempts).toEqual([1, 2, 3]);
    expect(floor.pushed[0]).toMatchObject({
      computerId,
      message: {
        messageId: floor.delivered[0]!.messageId,
        provider: 'sms',
        from: alice,
        text: 'Hello',
        botId: 'bot_1',
      },
    });
  });

  test('one conversation that does not get through holds up no other', async () => {
    const floor = await openFloor(await place());
    await floor.addNumber();
    floor.setAnswer(({ from }) => (from === alice ? 503 : 200));
    await floor.say(alice, 'Hello');
    await floor.say(bob, 'Hi');
    await eventually(() => floor.delivered.map(({ from }) => from)).toEqual([bob]);
  });

  test('of a bot that is gone is given up, and its person is told', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    floor.setAnswer(() => 410);
    await floor.say(alice, 'Hello');
    await floor.say(alice, 'Anybody?');
    await expect
      .poll(async () => (await floor.list(id)).messages.map(({ reason }) => reason))
      .toEqual(['The bot is gone from its computer.', 'The bot is gone from its computer.']);
    expect(floor.pushed).toEqual([]);
    expect(new Set(floor.emitted.map(({ sourceId }) => sourceId)).size).toBe(1);
    expect(floor.emitted[0]).toMatchObject({
      type: 'thread.needs_user',
      data: { botId: 'bot_1', reason: expect.stringContaining(alice) },
    });
  });

  test('that waited 24 hours is given up, and its person is told', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    floor.linked.delete(computerId);
    await floor.say(alice, 'Hello');
    floor.pass(dayMs + 1000);
    await expect
      .poll(async () => (await floor.list(id)).messages[0]?.reason)
      .toBe('It waited 24 hours for the computer of its bot.');
    floor.linked.add(computerId);
    floor.texts.wake(computerId);
    await floor.settled();
    expect(floor.delivered).toEqual([]);
    expect(floor.emitted).toHaveLength(1);
  });

  test('goes to the bot that had the number when it came; the next one to the bot that has it now', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    floor.linked.delete(computerId);
    await floor.say(alice, 'before');
    await floor.store.write((tx) =>
      floor.rows.assign(tx, id, { runtimeId: 'computer_2', botId: 'bot_2', botName: 'Two' }),
    );
    await floor.say(alice, 'after');
    await eventually(() => floor.delivered.map(({ text, botId }) => `${text} ${botId}`)).toEqual(['after bot_2']);
    floor.linked.add(computerId);
    floor.texts.wake(computerId);
    await expect
      .poll(() => floor.delivered.map(({ text, botId }) => `${text} ${botId}`))
      .toEqual(['after bot_2', 'before bot_1']);
    await eventually(() => floor.pushed.map((one) => one.computerId)).toEqual(['computer_2', computerId]);
  });
});
