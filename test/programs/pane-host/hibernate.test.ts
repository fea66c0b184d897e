import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import { freshId, readAll, sleep, spec, testHost, testPane, until } from './support.ts';

const tui = String.raw`stty -echo; printf 'scrollback\n%.0s' $(seq 60); printf '\033]0;title 漢\007\033[?1049h\033[?2004h\033[?25l\033[5;7Hwide 漢字 \033[31mred\033[3'; read -r x; printf '2mgreen %s' "$x"; read -r x; printf '\033[?1049lback %s' "$x"; sleep 60`;

test('a pane that sleeps looks as it did, and goes on in the middle of a sequence', async () => {
  const pane = await testPane(spec(freshId(), tui));
  await until('it drew', () => pane.facts().altScreen && pane.capture(3).text.includes('red'));
  const look = () => ({
    info: pane.info(),
    draw: pane.draw(),
    snapshot: pane.snapshot(),
    lines: pane.scrollback(undefined, 999),
  });
  const before = look();
  const { info } = before;
  expect(pane.sleep()).toBe(true);
  expect(pane.asleep).toBe(true);
  // Whoever asks what it is wakes it not.
  expect(pane.info()).toEqual(info);
  expect(pane.asleep).toBe(true);
  expect(look()).toEqual(before);
  expect(pane.asleep).toBe(false);
  expect(pane.sleep()).toBe(true);
  pane.pty.write(Buffer.from('one\n'));
  await until('it went on', () => pane.capture(3).text.includes('green one'));
  expect(pane.draw().ansi).toContain('\x1b[0;32mgreen one');
  expect(pane.facts().revision).toBeGreaterThan(info.facts.revision);
  expect(pane.sleep()).toBe(true);
  pane.resize(70, 24);
  expect(pane.asleep).toBe(false);
  pane.pty.write(Buffer.from('two\n'));
  await until('it left the other screen', () => pane.facts().bottom.at(-1)?.includes('back two'));
  expect(pane.capture(100).text.match(/scrollback/g)).toHaveLength(60);
});

test('panes that nobody needs fall asleep by themselves; one that is watched does not; each answers with all of its text', async () => {
  const { connection, events, home } = await testHost();
  const [idle, watched] = [freshId(), freshId()];
  await connection.request({ op: 'observe', seen: {} });
  for (const id of [idle, watched]) {
    await connection.request({
      op: 'create',
      spec: spec(id, "seq 300; printf 'at the end'; read -r x; echo woke $x; exec cat"),
    });
  }
  await connection.request({ op: 'watch', pane: watched });
  await until('both printed', () =>
    [idle, watched].every((id) =>
      events.some(
        ({ event }) => event.ev === 'facts' && event.pane === id && event.facts.bottom.at(-1) === 'at the end',
      ),
    ),
  );
  const all = await readAll(connection, idle);
  await connection.request({ op: 'settings', sleepAfterMs: 100 });
  // A pane tells nobody that it fell asleep, and asking would wake it: several times as long as it stays awake.
  await sleep(600);
  expect(await readAll(connection, idle)).toEqual(all);
  const { tail } = await connection.request({ op: 'capture', pane: idle, lines: 400 });
  expect(Buffer.from(tail).toString().split('\n')).toEqual([
    ...Array.from({ length: 300 }, (_, index) => `${index + 1}`),
    'at the end',
  ]);
  // Asleep again, for the same reason.
  await sleep(400);
  await connection.request({ op: 'write', pane: idle }, Buffer.from('up\n'));
  await until('it goes on', () =>
    events.some(({ event }) => event.ev === 'facts' && event.facts.bottom.includes('woke up')),
  );
  expect(events.some(({ event }) => event.ev === 'screen' && event.pane === watched)).toBe(true);
  expect(hostFiles(home).panes).toBeTruthy();
});

test('when the disk takes no more the pane lives on and says so, and is whole again when it does', async () => {
  const { connection, home } = await testHost();
  const id = freshId();
  await connection.request({ op: 'create', spec: spec(id, 'exec cat') });
  const info = async () =>
    (await connection.request({ op: 'observe', seen: {} })).ok.panes.find((pane) => pane.id === id);
  // Its folder is gone: the next file cannot be made.
  rmSync(hostFiles(home).panes, { recursive: true, force: true });
  await connection.request({ op: 'write', pane: id }, Buffer.from('first\n'));
  const faulty = await until('it says so', async () => {
    const now = await info();
    return now?.fault ? now : null;
  });
  expect(faulty).toMatchObject({ alive: true, fault: expect.stringMatching(/ENOENT/) });
  // The terminal's echo meets the fault; what the program answers to it may still be on its way.
  await until('it shows the line and its echo', async () => {
    const { tail } = await connection.request({ op: 'capture', pane: id, lines: 10 });
    return Buffer.from(tail).toString() === 'first\nfirst';
  });
  mkdirSync(join(hostFiles(home).panes), { recursive: true });
  await connection.request({ op: 'write', pane: id }, Buffer.from('second\n'));
  await until('it is kept again', async () => (await info())?.fault === null);
  await connection.request({ op: 'write', pane: id }, Buffer.from('third\n'));
  await until('it goes on', async () => {
    const { tail: now } = await connection.request({ op: 'capture', pane: id, lines: 10 });
    return Buffer.from(now).toString().endsWith('third\nthird');
  });
});
