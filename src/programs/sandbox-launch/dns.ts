/**
 * Answers questions of DNS (RFC 1035) without asking anybody: every name of the internet has one IPv4 address, which is local, and nothing else. So no
 * name leaves the sandbox by being looked up. Pure, except for `addressOf`.
 */

const codes = { formatError: 1, noName: 3, notImplemented: 4 } as const;
const types = { a: 1, any: 255 } as const;
const internet = 1;
const headerBytes = 12;
/** Seconds. */
const secondsToLive = 60;
/** Names of this computer or of its neighbours, and those that stand for an address. */
const localOnly = /(?:^|\.)(?:local|localhost|arpa)$/;
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

interface Question {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  /** Where it ends in the message. */
  readonly end: number;
}

/** Null: not a question. */
export function answer(message: Buffer, addressOf: (name: string) => string): Buffer | null {
  // An answer is never answered: two servers would never stop.
  if (message.length < headerBytes || (message[2]! & 0x80) !== 0) return null;
  if ((message[2]! & 0x78) !== 0) return reply(message, headerBytes, codes.notImplemented);
  const question = message.readUInt16BE(4) === 1 ? questionIn(message) : null;
  if (question === null) return reply(message, headerBytes, codes.formatError);
  const { name, type, end } = question;
  if (name === 'localhost') return reply(message, end, 0, type === types.a ? '127.0.0.1' : null);
  if (!isOfInternet(name)) return reply(message, end, codes.noName);
  const wanted = question.class === internet && (type === types.a || type === types.any);
  return reply(message, end, 0, wanted ? addressOf(name) : null);
}

function questionIn(message: Buffer): Question | null {
  const labels: string[] = [];
  let at = headerBytes;
  for (;;) {
    const length = message[at];
    // Longer than 63: a reference to another name, which a question has no use for.
    if (length === undefined || length > 63) return null;
    at += 1;
    if (length === 0) break;
    labels.push(message.toString('latin1', at, at + length));
    at += length;
  }
  if (at + 4 > message.length) return null;
  const name = labels.join('.').toLowerCase();
  return { name, type: message.readUInt16BE(at), class: message.readUInt16BE(at + 2), end: at + 4 };
}

function isOfInternet(name: string): boolean {
  const labels = name.split('.');
  const last = labels.at(-1) ?? '';
  return (
    labels.length > 1 &&
    name.length <= 253 &&
    labels.every((each) => label.test(each)) &&
    // An address that is written in numbers is no name.
    !/^(?:\d+|0x[0-9a-f]*)$/.test(last) &&
    !localOnly.test(name)
  );
}

/** `end`: where the question ends, or the header if there is no question. */
function reply(message: Buffer, end: number, code: number, address: string | null = null): Buffer {
  const header = Buffer.from(message.subarray(0, headerBytes));
  // An answer, with the "recursion desired" of the question, and recursion available.
  header[2] = 0x80 | (message[2]! & 0x79);
  header[3] = 0x80 | code;
  header.writeUInt16BE(end > headerBytes ? 1 : 0, 4);
  header.writeUInt16BE(address === null ? 0 : 1, 6);
  header.writeUInt32BE(0, 8);
  const asked = message.subarray(headerBytes, end);
  if (address === null) return Buffer.concat([header, asked]);
  const record = Buffer.alloc(16);
  // Its name is the one asked for, at the end of the header.
  record.writeUInt16BE(0xc000 | headerBytes, 0);
  record.writeUInt16BE(types.a, 2);
  record.writeUInt16BE(internet, 4);
  record.writeUInt32BE(secondsToLive, 6);
  record.writeUInt16BE(4, 10);
  record.set(address.split('.').map(Number), 12);
  return Buffer.concat([header, asked, record]);
}
