/**
 * The rows of the conformance kit: what is promised of every adapter, whatever it drives. A row plays one promise on a bot that is ready for a message,
 * throws where it is broken, and leaves the bot ready. Must not know an adapter.
 */
import assert from 'node:assert/strict';
import { type Sent, type Subject, until } from './subject.ts';
import { unicodeKinds } from './unicode.ts';

export const rowNames = [
  'states',
  'witness',
  'ten while busy',
  'dialog holds',
  'interrupt',
  'resume',
  'usage',
  'unicode',
  '20 kB',
  'multi-line',
  'command signs',
  'draft',
] as const;
export type RowName = (typeof rowNames)[number];

export interface Row {
  /** One sentence. */
  readonly promises: string;
  play(subject: Subject): Promise<void>;
}

/** With the line of the sender it stays below the size at which composers show a marker in place of a paste. */
const kindsInOneMessage = 3;

export const rows: Readonly<Record<RowName, Row>> = {
  states: {
    promises: 'a turn is working, then idle',
    async play(subject) {
      const before = subject.states().length;
      await verified(subject, 'say hello');
      await subject.quiet();
      const seen = subject.states().slice(before);
      assert.ok(seen.includes('working'), `it was ${seen.join(', ') || 'nothing else'} during a turn`);
      assert.equal(await subject.state(), 'idle');
    },
  },
  witness: {
    promises: 'a message is verified by the witness that is promised, and was taken',
    async play(subject) {
      const { evidence } = await verified(subject, 'who sees this');
      assert.equal(evidence, subject.witness, 'another witness than the one that is promised');
      await taken(subject, 'who sees this');
    },
  },
  'ten while busy': {
    promises: 'ten messages to a busy bot arrive after its turn, in order, each once',
    async play(subject) {
      await verified(subject, 'BUSY for a while');
      const early = await subject.offer('into the turn');
      assert.equal(early.state, 'held', 'a message was given to a bot in a turn');
      const words = Array.from({ length: 10 }, (_, at) => `the message number ${at + 1} of ten`);
      const sent = await Promise.all(words.map((one) => subject.send(one)));
      for (const [at, one] of sent.entries()) assert.equal(one.state, 'verified', `number ${at + 1}: ${told(one)}`);
      await taken(subject, String(words.at(-1)));
      await subject.quiet();
      const arrived = subject.prompts().flatMap((prompt) => words.filter((one) => prompt.includes(one)));
      assert.deepEqual(arrived, words);
      assert.ok(!takes(subject, 'into the turn'), 'a message that was held arrived');
    },
  },
  'dialog holds': {
    promises: 'a question of the program holds messages until it is answered, and then the command runs',
    async play(subject) {
      const before = subject.ran();
      await verified(subject, 'RUNSHELL please');
      await until('its question', async () => (await subject.state()) === 'needs_you');
      const offered = await subject.offer('into the question');
      assert.equal(offered.state, 'held', 'a message was given to a bot that asks');
      assert.equal(await subject.state(), 'needs_you', 'the question is gone, and nobody answered it');
      await subject.answer();
      await subject.quiet();
      assert.equal(subject.ran(), before + 1, 'the command that was allowed did not run once');
      await verified(subject, 'after the question');
      await taken(subject, 'after the question');
      assert.ok(!takes(subject, 'into the question'), 'a message that was held arrived');
    },
  },
  interrupt: {
    promises: 'an interrupt ends the turn, is seen to, and the next message arrives',
    async play(subject) {
      await verified(subject, 'SLOW, until somebody stops it');
      await subject.atWork();
      assert.equal(await subject.interrupt(), true, 'its turn was not seen to end');
      assert.notEqual(await subject.state(), 'working', 'it is said to be interrupted, and works');
      await subject.quiet();
      await verified(subject, 'after the interrupt');
      await taken(subject, 'after the interrupt');
    },
  },
  resume: {
    promises: 'after kill -9 it continues its conversation',
    async play(subject) {
      await verified(subject, 'remember this');
      await taken(subject, 'remember this');
      await subject.quiet();
      await subject.kill();
      await subject.begin({ resume: true });
      await verified(subject, 'and continue');
      await taken(subject, 'and continue');
      await subject.quiet();
      assert.ok(subject.together('remember this', 'and continue'), 'it began another conversation');
    },
  },
  usage: {
    promises: 'the tokens of an answer are counted',
    async play(subject) {
      const ids = async () => new Map((await subject.usage()).map((line) => [line.id, line]));
      const before = await ids();
      await verified(subject, 'count this');
      await subject.quiet();
      await until('an answer that is counted', async () => (await ids()).size > before.size, { ms: 10_000 });
      const fresh = [...(await ids()).values()].filter(({ id }) => !before.has(id));
      for (const { input, output } of fresh) assert.ok(input > 0 && output > 0, `${input} tokens in, ${output} out`);
    },
  },
  unicode: {
    promises: 'thirty kinds of characters arrive as they were sent',
    async play(subject) {
      const kinds = Object.entries(unicodeKinds);
      for (let at = 0; at < kinds.length; at += kindsInOneMessage) {
        const some = kinds.slice(at, at + kindsInOneMessage);
        await verified(subject, some.map(([kind, characters]) => `${kind}: ${characters}`).join('\n'));
        await taken(subject, `${some.at(-1)?.[0]}: `);
      }
      const lost = kinds.filter(([kind, characters]) => !takes(subject, `${kind}: ${characters}`));
      assert.deepEqual(
        lost.map(([kind]) => kind),
        [],
      );
    },
  },
  '20 kB': {
    promises: 'a message of 20 kB arrives whole',
    async play(subject) {
      const words = Array.from({ length: 2048 }, (_, at) => `no${at + 1_000_000}`).join(' ');
      assert.equal(words.length, 20 * 1024 - 1);
      await verified(subject, words);
      await taken(subject, words);
    },
  },
  'multi-line': {
    promises: 'the lines of a message stay lines',
    async play(subject) {
      const lines = ['the first line', '', '  the third, which is indented', 'the last line'];
      await verified(subject, lines.join('\n'));
      await taken(subject, 'the last line');
      const prompt = subject.prompts().findLast((one) => one.includes('the last line')) ?? '';
      const arrived = prompt.split('\n').map((line) => line.trim());
      const from = arrived.indexOf('the first line');
      assert.deepEqual(
        arrived.slice(from, from + lines.length),
        lines.map((line) => line.trim()),
      );
    },
  },
  'command signs': {
    promises: 'a message that begins like a command of the program is text',
    async play(subject) {
      for (const words of ['!touch forged', '/status of this', '# a note', '@nobody is here']) {
        await verified(subject, words);
        await taken(subject, words);
      }
    },
  },
  draft: {
    promises: 'what a person has half typed is neither sent nor lost',
    async play(subject) {
      const { draft } = subject;
      assert.ok(draft, 'there is no composer, and no reason is given');
      await draft.type('my own words');
      const { state } = await subject.offer('beside a draft');
      assert.ok(state === 'held' || state === 'verified', state);
      if (state === 'verified') await taken(subject, 'beside a draft');
      assert.ok(draft.stands('my own words'), 'the draft is gone');
      await draft.clear();
      await subject.quiet();
      await verified(subject, 'after the draft');
      await taken(subject, 'after the draft');
      assert.ok(!takes(subject, 'my own words'), 'the draft was sent');
    },
  },
};

const told = (sent: Sent): string => JSON.stringify(sent);

async function verified(subject: Subject, words: string): Promise<Sent> {
  const sent = await subject.send(words);
  assert.equal(sent.state, 'verified', told(sent));
  return sent;
}

const takes = (subject: Subject, words: string): boolean => subject.prompts().some((prompt) => prompt.includes(words));

/** A program may take a prompt a moment after it was seen to. */
const taken = (subject: Subject, words: string): Promise<void> =>
  until(`"${words.slice(0, 40)}" in what it took`, () => takes(subject, words), {
    ms: 10_000,
    seen: () => `Last: ${JSON.stringify(subject.prompts().at(-1)?.slice(0, 200))}`,
  });
