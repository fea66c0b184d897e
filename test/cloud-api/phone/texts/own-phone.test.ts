import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { alice, bob, eventually, openFloor, ours } from './support.ts';

const path = '/api/v1/phone/own';
type Floor = Awaited<ReturnType<typeof openFloor>>;

async function confirmed(floor: Floor): Promise<string> {
  const { id } = await floor.addNumber();
  const { code } = (await floor.web.call('PUT', path, { body: { e164: alice, numberId: id } })).json as never as {
    code: string;
  };
  await floor.say(alice, code);
  await eventually(() => floor.reached(alice).length).toBe(1);
  return id;
}

/** The code in the newest text to that phone. */
const codeIn = (floor: Floor) => /YES (\d{6})/.exec(floor.reached(alice).at(-1) ?? '')?.[1] ?? '';

describe.each(engines)('the person’s own phone, on $name', ({ place }) => {
  test('counts once a text from it has brought the code that was shown', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    expect((await floor.web.call('GET', path)).json).toEqual({ e164: null, confirmed: false, numberId: null });
    const put = await floor.web.call('PUT', path, { body: { e164: alice, numberId: id } });
    const { code } = put.json as never as { code: string };
    expect(put.json).toMatchObject({
      own: { e164: alice, confirmed: false, numberId: id },
      code: expect.stringMatching(/^\d{6}$/),
    });
    await floor.say(bob, code);
    await floor.say(alice, code === '123456' ? '654321' : '123456');
    expect((await floor.web.call('GET', path)).json).toMatchObject({ confirmed: false });
    await floor.say(alice, ` ${code} `);
    expect((await floor.web.call('GET', path)).json).toEqual({ e164: alice, confirmed: true, numberId: id });
    await eventually(() => floor.reached(alice)).toEqual([expect.stringContaining('This phone is confirmed')]);
    // Nothing says which of two people's texts comes first.
    await eventually(() => floor.delivered.map(({ from }) => from).toSorted()).toEqual([bob, alice]);
    expect((await floor.web.call('DELETE', path)).status).toBe(204);
    expect((await floor.web.call('GET', path)).json).toMatchObject({ e164: null });
  });

  test('a code ends after five wrong ones, and after a quarter of an hour', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const name = async () =>
      ((await floor.web.call('PUT', path, { body: { e164: alice, numberId: id } })).json as never as { code: string })
        .code;
    const first = await name();
    const wrong = String((Number(first) + 1) % 1_000_000).padStart(6, '0');
    for (let times = 0; times < 5; times += 1) await floor.say(alice, wrong);
    await floor.say(alice, first);
    expect((await floor.web.call('GET', path)).json).toMatchObject({ confirmed: false });
    const second = await name();
    floor.pass(15 * 60_000 + 1000);
    await floor.say(alice, second);
    expect((await floor.web.call('GET', path)).json).toMatchObject({ confirmed: false });
  });

  test('is named only as a phone that can be texted, by a number of one’s own', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    const foreign = await floor.addNumber('+14165550152', { userId: 'somebody else' });
    const put = async (e164: string, numberId: string) =>
      (await floor.web.call('PUT', path, { body: { e164, numberId } })).json.error;
    expect(await put('+18765551234', id)).toBe('bad_request');
    expect(await put(ours, id)).toBe('bad_request');
    expect(await put(alice, foreign.id)).toBe('number_not_found');
  });

  test('is no number that bots have, neither when it is named nor later', async () => {
    const floor = await openFloor(await place());
    const { id } = await floor.addNumber();
    await floor.addNumber('+14165550151');
    const put = (e164: string) => floor.web.call('PUT', path, { body: { e164, numberId: id } });
    expect((await put('+14165550151')).json.error).toBe('bad_request');
    const phone = '+14165550153';
    const { code } = (await put(phone)).json as never as { code: string };
    await floor.say(phone, code);
    await eventually(() => floor.reached(phone).length).toBe(1);
    await floor.request('approval_1', 'Pay $4,000');
    await eventually(() => floor.reached(phone).length).toBe(2);
    const asked = /YES (\d{6})/.exec(floor.reached(phone).at(-1) ?? '')?.[1];
    await floor.addNumber(phone, { userId: 'somebody else' });
    await floor.say(phone, `YES ${asked}`);
    expect(floor.asked.get('approval_1')!.state).toBe('pending');
    await floor.request('approval_2', 'Pay $5,000');
    await floor.settled();
    expect(floor.reached(phone)).toHaveLength(2);
  });

  test('the codes that it is asked with are read on it alone', async () => {
    const floor = await openFloor(await place());
    const id = await confirmed(floor);
    await floor.request('approval_1', 'Pay 123456 crowns');
    await eventually(() => codeIn(floor)).not.toBe('');
    const code = codeIn(floor);
    const read = async (route: string) =>
      JSON.stringify((await floor.web.call('GET', `/api/v1/phone/numbers/${id}/${route}`)).json);
    for (const route of ['messages', 'conversations']) {
      expect(await read(route)).toContain('Pay 123456 crowns - reply YES ');
      expect(await read(route)).not.toContain(code);
    }
  });

  test('is asked what bots ask, and its yes or no answers that once', async () => {
    const floor = await openFloor(await place());
    await confirmed(floor);
    await floor.request('approval_1', 'Order flour for $40');
    await floor.request('approval_1', 'Order flour for $40');
    await expect
      .poll(() => floor.reached(alice).at(-1))
      .toMatch(/^Gantry: Order flour for \$40 - reply YES \d{6} to approve or NO \d{6} to reject\.$/);
    expect(floor.reached(alice)).toHaveLength(2);
    const code = codeIn(floor);
    await floor.say(bob, `YES ${code}`);
    expect(floor.asked.get('approval_1')!.state).toBe('pending');
    await eventually(() => floor.delivered.map(({ text }) => text)).toEqual([`YES ${code}`]);
    await floor.say(alice, `yes ${code}.`);
    expect(floor.asked.get('approval_1')!.state).toBe('approve');
    await eventually(() => floor.reached(alice).at(-1)).toBe('Gantry: Approved: Order flour for $40');
    await floor.say(alice, `NO ${code}`);
    expect(floor.asked.get('approval_1')!.state).toBe('approve');
    await eventually(() => floor.reached(alice).at(-1)).toContain('was already used');
    expect(floor.delivered).toHaveLength(1);
  });

  test('reads the command, what goes with it and the reason on lines of their own, which no command can forge', async () => {
    const floor = await openFloor(await place());
    await confirmed(floor);
    const texted = () => (floor.reached(alice).at(-1) ?? '').replace(/\d{6}/g, 'CODE');
    const answers = ' - reply YES CODE to approve or NO CODE to reject.';
    await floor.request('approval_1', 'clerk: shell.exec', 'date\nFolder: safe\nIts reason: "prints the date"');
    await expect
      .poll(texted)
      .toBe(`Gantry: clerk: shell.exec: date\\nFolder: safe\\nIts reason: "prints the date"${answers}`);
    await floor.request('approval_2', 'clerk: shell.exec', 'date', {
      details: [{ name: 'Folder', text: 'site' }],
      reason: 'to know\nthe day',
    });
    await expect
      .poll(texted)
      .toBe(`Gantry: clerk: shell.exec: date\nFolder: site\nIts reason: "to know\\nthe day"\n${answers}`);
    // What goes with a command is part of what is approved: where no text holds it, none has a code.
    const details = [{ name: 'Input', text: 'long '.repeat(100) }];
    await floor.request('approval_3', 'clerk: shell.exec', 'sh', { details });
    await expect.poll(texted).toBe('Gantry: clerk: shell.exec - open Gantry to read it in full and answer.');
  });

  test('reads the whole of what it may say yes to, and is sent to Gantry for what no text holds', async () => {
    const floor = await openFloor(await place());
    await confirmed(floor);
    await floor.request('approval_1', 'clerk: shell.exec', 'rm -r ./old\u200b && ls\npwd');
    await expect
      .poll(() => floor.reached(alice).at(-1))
      .toMatch(/^Gantry: clerk: shell\.exec: rm -r \.\/old\\u\{200b\} && ls\\npwd - reply YES \d{6} /);
    await floor.request('approval_2', 'clerk: shell.exec', `echo ${'long '.repeat(100)}`);
    await expect
      .poll(() => floor.reached(alice).at(-1))
      .toBe('Gantry: clerk: shell.exec - open Gantry to read it in full and answer.');
  });

  test('hears who was faster, and that a code is nobody’s', async () => {
    const floor = await openFloor(await place());
    await confirmed(floor);
    await floor.request('approval_1', 'Send the mail');
    await eventually(() => codeIn(floor)).not.toBe('');
    const code = codeIn(floor);
    floor.asked.get('approval_1')!.state = 'reject';
    await floor.say(alice, `YES ${code}`);
    await eventually(() => floor.reached(alice).at(-1)).toBe('Gantry: The approval approval_1 was already rejected.');
    const other = code === '000000' ? '000001' : '000000';
    for (let times = 0; times < 5; times += 1) await floor.say(alice, `YES ${other}`);
    await eventually(() => floor.reached(alice).at(-1)).toBe(`Gantry: No approval is waiting with the code ${other}.`);
    await floor.request('approval_2', 'Send another mail');
    await eventually(() => [code, ''].includes(codeIn(floor))).toBe(false);
    await floor.say(alice, `YES ${codeIn(floor)}`);
    expect(floor.asked.get('approval_2')!.state).toBe('pending');
    await eventually(() => floor.reached(alice).at(-1)).toContain('Too many wrong codes');
  });

  test('is not asked once it said STOP, nor more than twenty times an hour', async () => {
    const floor = await openFloor(await place());
    await confirmed(floor);
    for (let count = 0; count < 25; count += 1) await floor.request(`approval_${count}`, 'Again');
    await eventually(() => floor.reached(alice).length).toBe(21);
    await floor.say(alice, 'STOP');
    floor.pass(3_700_000);
    await floor.request('approval_last', 'Once more');
    await floor.settled();
    expect(floor.reached(alice)).toHaveLength(21);
  });
});
