import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundaryOf, readParts } from '../../../src/kit/http/multipart.ts';

async function* inPieces(bytes: Buffer, cuts: readonly number[]) {
  let from = 0;
  for (const cut of [...cuts].map((one) => one % (bytes.length + 1)).sort((a, b) => a - b)) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
  yield bytes.subarray(from);
}

async function readAll(bytes: Buffer, cuts: readonly number[] = [], skip = -1) {
  const found: { name: string; filename: string | null; type: string | null; body: string }[] = [];
  for await (const part of readParts(inPieces(bytes, cuts), 'XX')) {
    const chunks: Uint8Array[] = [];
    if (found.length === skip) {
      // A reader that stops after the first piece.
      for await (const chunk of part.body) {
        void chunk;
        break;
      }
    } else for await (const chunk of part.body) chunks.push(chunk);
    found.push({
      name: part.name,
      filename: part.filename,
      type: part.type,
      body: Buffer.concat(chunks).toString('latin1'),
    });
  }
  return found;
}

const form = (...parts: [headers: string, body: string][]) =>
  Buffer.from(
    `${parts.map(([headers, body]) => `--XX\r\n${headers}\r\n\r\n${body}\r\n`).join('')}--XX--\r\n`,
    'latin1',
  );
const named = (name: string, more = '') => `Content-Disposition: form-data; name="${name}"${more}`;

test('a form is read byte for byte wherever the network cuts it, also what looks like a boundary', async () => {
  const body = fc.string({ unit: fc.constantFrom('\r', '\n', '-', 'X', 'a', '\0', '\xff'), maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(body, body, fc.array(fc.nat(500), { maxLength: 12 }), async (one, two, cuts) => {
      fc.pre(!`\r\n${one}`.includes('\r\n--XX') && !`\r\n${two}`.includes('\r\n--XX'));
      const bytes = form(
        [named('line'), one],
        [`${named('file', '; filename="a b.png"')}\r\nContent-Type: image/png`, two],
      );
      expect(await readAll(bytes, cuts)).toEqual([
        { name: 'line', filename: null, type: null, body: one },
        { name: 'file', filename: 'a b.png', type: 'image/png', body: two },
      ]);
    }),
    { numRuns: 300 },
  );
});

test('a part that is not read to its end is passed over, and the next one is whole', async () => {
  const bytes = form([named('a'), 'x'.repeat(100)], [named('b'), 'yes']);
  for (const cuts of [[], [60, 80, 100], [170]]) {
    expect((await readAll(bytes, cuts, 0)).map((one) => one.body)).toEqual(['', 'yes']);
  }
});

test('the form that a browser makes is read', async () => {
  const data = new FormData();
  data.set('line', 'tests pass');
  data.set('file', new File(['hello'], 'a "b".txt', { type: 'text/plain' }));
  const request = new Request('http://x/', { method: 'POST', body: data });
  const found = [];
  for await (const part of readParts(
    request.body as AsyncIterable<Uint8Array>,
    boundaryOf(request.headers.get('content-type') ?? ''),
  )) {
    let body = '';
    for await (const chunk of part.body) body += Buffer.from(chunk).toString();
    found.push([part.name, part.filename, body]);
  }
  expect(found).toEqual([
    ['line', null, 'tests pass'],
    ['file', 'a _b_.txt', 'hello'],
  ]);
});

test('what is cut off or is no form is refused', async () => {
  const whole = form([named('a'), 'x']);
  for (const bytes of [whole.subarray(0, -6), Buffer.from(''), Buffer.from('nothing here'), form(['X: y', 'x'])]) {
    await expect(readAll(bytes)).rejects.toMatchObject({ code: 'usage' });
  }
  await expect(readAll(form([`${named('a')}\r\nX: ${'y'.repeat(20_000)}`, 'x']))).rejects.toMatchObject({
    code: 'usage',
  });
  expect(() => boundaryOf('multipart/form-data')).toThrow('no boundary');
});

test('a form that could be understood in two ways is refused, never read without the part in question', async () => {
  const whole = named('a');
  const forms = {
    'a header too long, with the name behind it': form([`X: ${'y'.repeat(20_000)}\r\n${whole}`, 'x']),
    'headers that never end': Buffer.from(`--XX\r\n${whole}\r\nX: y\r\n--XX--\r\n`),
    'a boundary with something behind it': Buffer.from(
      `--XX\r\n${whole}\r\n\r\nx\r\n--XXjunk\r\n${named('b')}\r\n\r\ny\r\n--XX--\r\n`,
    ),
    'more parts than anybody sends': form(
      ...Array.from({ length: 21 }, (_, n): [string, string] => [named(`a${n}`), 'x']),
    ),
  };
  for (const [what, bytes] of Object.entries(forms)) {
    const said = await readAll(bytes).then(
      (parts) => parts.length,
      (error: { code?: string }) => error.code,
    );
    expect([what, said]).toEqual([what, 'usage']);
  }
});
