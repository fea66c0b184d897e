/**
 * A program that speaks the executor's wire and acts on nothing: it writes down what it is told to do, in `acts.log` of its folder, before
 * it answers, and answers what `script.json` there says. Run by the tests of the gate.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { createFrameReader, frames } from '../../../../src/kit/process/frames.ts';
import {
  type Acted,
  type AnswerHead,
  type EventHead,
  maxHeadLength,
  type ProgramEvent,
  type RequestHead,
} from '../../../../src/programs/executor/protocol.ts';
import type { Script } from './rig.ts';

const folder = process.argv[2]!;
const screen = { width: 1280, height: 800, scale: 1, frame_width: 1280, frame_height: 800 };
const page = 'https://site.test/form';
const held = new Map<string, () => void>();

const script = (): Script => {
  const file = join(folder, 'script.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Script) : {};
};
function send(head: AnswerHead | EventHead, body?: Uint8Array): void {
  for (const piece of frames(head, body)) process.stdout.write(piece);
}
const emit = (event: ProgramEvent, body?: Uint8Array) =>
  send({ ...event, id: 0, size: body?.length ?? 0 } as EventHead, body);
const note = (line: Record<string, unknown>) => appendFileSync(join(folder, 'acts.log'), `${JSON.stringify(line)}\n`);

async function answer(head: RequestHead): Promise<void> {
  const { id } = head;
  const said = script();
  const ok = (more: Partial<Extract<AnswerHead, { ok: true }>> = {}, body?: Uint8Array) =>
    send({ id, size: body?.length ?? 0, ok: true, ...more } as AnswerHead, body);
  switch (head.do) {
    case 'look': {
      note({ do: 'look', member: head.member, input: head.input });
      if (said.dieAt === 'look') process.exit(9);
      if (said.lookFault !== undefined) return send({ id, size: 0, ok: false, fault: said.lookFault });
      const looked = { url: page, credential: false, element: null, region: null, ...said.looked };
      return ok({ looked: { ...looked, screen: said.screen ?? screen } });
    }
    case 'act': {
      const { seen } = head;
      const now = { url: said.looked?.url ?? page, screen: said.screen ?? screen };
      if (seen !== undefined && !isDeepStrictEqual(seen, now)) {
        const fault = { sort: 'page', code: 'changed', message: 'The page is another.' } as const;
        return send({ id, size: 0, ok: false, fault });
      }
      note({ do: 'act', member: head.member, input: head.input, place: head.place, ...(seen && { seen }) });
      if (said.dieAt === 'act') process.exit(9);
      if (said.ask !== undefined) emit({ event: 'host', question: 7, session: 'default', ...said.ask });
      if (said.hang === true) {
        const key = JSON.stringify(head.place);
        await new Promise<void>((resolve) => held.set(key, resolve));
        held.delete(key);
        const fault = { sort: 'page', code: 'cancelled', message: 'Stopped.', unknownEnd: true } as const;
        return send({ id, size: 0, ok: false, fault });
      }
      if (said.actFault !== undefined) return send({ id, size: 0, ok: false, fault: said.actFault });
      const picture = head.member === 'screenshot' ? Buffer.from('a picture') : undefined;
      const image = picture === undefined ? null : ({ media_type: 'image/png', width: 1280, height: 800 } as const);
      const acted: Acted = {
        text: said.text ?? null,
        image,
        browser_state: null,
        screen: said.screen ?? screen,
      };
      return ok({ acted }, picture);
    }
    case 'stop':
      note({ do: 'stop', place: head.place });
      held.get(JSON.stringify(head.place))?.();
      return ok();
    case 'host':
      note({ do: 'host', allow: head.allow, why: head.why });
      return ok();
    case 'watch':
      note({ do: 'watch', place: head.place, fps: head.fps });
      ok();
      if (head.fps === 0) return;
      emit({ event: 'frame', place: head.place, width: 2, height: 1 }, Buffer.from('jpeg'));
      return void emit({ event: 'pointer', place: head.place, x: 3, y: 4 });
    case 'open':
      note({ do: 'open', session: head.session, headless: head.headless });
      ok();
      for (const event of said.events ?? []) emit(event);
      return;
    case 'close':
      note({ do: 'close', session: head.session, wipe: head.wipe });
      return ok();
    default:
      note({ do: head.do });
      return ok({ file: null });
  }
}

const take = createFrameReader<RequestHead>({ head: maxHeadLength, body: 0 }, (head) => void answer(head));
process.stdin.on('data', (chunk: Buffer) => take(chunk));
process.stdin.on('end', () => process.exit(0));
