/** Text and data: the encoding is found, the kind is read from the content, and what is shown is what is there. */
import iconv from 'iconv-lite';
import { afterAll, expect, test } from 'vitest';
import { failure, startConverter } from '../../support/documents/converter.ts';

const { convert, close } = startConverter();
afterAll(close);

/** In an encoding that Node cannot write: written in Windows' own Japanese code (name, age; Sato, 30; Miki, 25; Takahashi, 35). */
const japanese = Buffer.from('96bc914f2c944e97ee0a8db293a12c33300a8e4f96d82c32350afbfc8bb42c33350a', 'hex');
const windows1251 = Buffer.from(
  'cff0e8e2e5f22c20ece8f02e20ddf2ee20f2e5eaf1f220ede020f0f3f1f1eaeeec20ffe7fbeae52e',
  'hex',
);

const encodings: [string, Uint8Array, string, string][] = [
  ['UTF-8 with a mark', Buffer.from('\ufeffGrüße'), 'utf-8', 'Grüße'],
  ['UTF-8 without one', Buffer.from('Grüße'), 'utf-8', 'Grüße'],
  ['UTF-16 with a mark', Buffer.from('\ufeffGrüße', 'utf16le'), 'utf-16le', 'Grüße'],
  ['UTF-16 without one', Buffer.from('plain words here', 'utf16le'), 'utf-16le', 'plain words here'],
  ['UTF-16, the other way round', Buffer.from('\ufeffwords', 'utf16le').swap16(), 'utf-16be', 'words'],
  [
    'a western encoding',
    Buffer.from('Grüße, déjà vu, naïve café', 'latin1'),
    'windows-1252',
    'Grüße, déjà vu, naïve café',
  ],
  ['quotes of Windows', Buffer.from('it\u0092s a \u0093test\u0094', 'latin1'), 'windows-1252', 'it’s a “test”'],
  ['Russian of Windows', windows1251, 'windows-1251', 'Привет, мир. Это текст на русском языке.'],
  ['Japanese of Windows', japanese, 'shift_jis', '佐藤'],
  ['Japanese for mail', Buffer.from('1b2442467c4b5c1b2842', 'hex'), 'iso-2022-jp', '日本'],
];

test.each(encodings)('%s is found and read', async (_name, bytes, charset, text) => {
  const found = await convert(bytes, 'a.txt');
  expect(found.charset).toBe(charset);
  expect(found.markdown).toContain(text);
});

/** What people write, in the encodings that their programs wrote it in before UTF-8. */
const languages: [string, string][] = [
  [
    'windows-1251',
    'Привет всем. Это длинный текст на русском языке, в котором говорится о погоде, дорогах и людях. Утром мы вышли из дома и пошли к реке, где стояла старая лодка.',
  ],
  [
    'windows-1251',
    'Добрий день. Це довгий текст українською мовою, в якому йдеться про погоду, дороги й людей. Вранці ми вийшли з дому і пішли до річки, де стояв старий човен.',
  ],
  [
    'koi8-r',
    'Привет всем. Это длинный текст на русском языке, в котором говорится о погоде, дорогах и людях. Утром мы вышли из дома и пошли к реке, где стояла старая лодка.',
  ],
  [
    'gbk',
    '大家好。这是一篇很长的中文文章，讲的是天气、道路和人们。早上我们离开家，走到河边，那里有一条旧船。我们坐在船上，看着水面，谈论过去的事情。',
  ],
  [
    'big5',
    '大家好。這是一篇很長的中文文章，講的是天氣、道路和人們。早上我們離開家，走到河邊，那裡有一條舊船。我們坐在船上，看著水面，談論過去的事情。',
  ],
  [
    'euc-kr',
    '안녕하세요. 이것은 날씨와 도로와 사람들에 대한 긴 한국어 글입니다. 아침에 우리는 집을 나와 강가로 걸어갔고 거기에는 오래된 배가 있었습니다.',
  ],
  [
    'shift_jis',
    '皆さん、こんにちは。これは天気と道と人々についての長い日本語の文章です。朝、私たちは家を出て川まで歩きました。そこには古い船がありました。',
  ],
  [
    'euc-jp',
    '皆さん、こんにちは。これは天気と道と人々についての長い日本語の文章です。朝、私たちは家を出て川まで歩きました。そこには古い船がありました。',
  ],
  [
    'windows-1250',
    'Dzień dobry. To jest długi tekst po polsku, w którym mówi się o pogodzie, drogach i ludziach. Rano wyszliśmy z domu i poszliśmy nad rzekę, gdzie stała stara łódź. Źle się działo, żeby ktoś śpiewał.',
  ],
  [
    'windows-1252',
    'Guten Tag. Dies ist ein längerer Text auf Deutsch, in dem es um das Wetter, die Straßen und die Menschen geht. Früh gingen wir über die Brücke zum Fluß, wo ein altes Boot lag. Schöne Grüße – „bis bald“.',
  ],
  [
    'windows-1252',
    'Bonjour à tous. Ceci est un long texte en français où l’on parle de la météo, des routes et des gens. Le matin, nous sommes sortis de la maison et allés à la rivière, où était amarré un vieux bateau. Ça a été très agréable.',
  ],
  [
    'windows-1253',
    'Καλημέρα σας. Αυτό είναι ένα μεγάλο κείμενο στα ελληνικά, που μιλά για τον καιρό, τους δρόμους και τους ανθρώπους. Το πρωί βγήκαμε από το σπίτι και πήγαμε στο ποτάμι.',
  ],
  [
    'windows-1254',
    'Merhaba. Bu, havadan, yollardan ve insanlardan söz eden uzun bir Türkçe metindir. Sabah evden çıktık ve eski bir kayığın durduğu ırmağa yürüdük. Güneş doğuyordu, şarkılar söyledik.',
  ],
  [
    'windows-1255',
    'שלום לכולם. זהו טקסט ארוך בעברית, שמדבר על מזג האוויר, הדרכים והאנשים. בבוקר יצאנו מהבית והלכנו אל הנהר, שם עמדה סירה ישנה.',
  ],
  [
    'windows-1256',
    'مرحبا بكم. هذا نص طويل باللغة العربية يتحدث عن الطقس والطرق والناس. في الصباح خرجنا من البيت وذهبنا إلى النهر حيث كان هناك قارب قديم.',
  ],
  [
    'windows-1257',
    'Laba diena. Tai ilgas tekstas lietuvių kalba, kuriame kalbama apie orą, kelius ir žmones. Rytą išėjome iš namų ir nuėjome prie upės, kur stovėjo sena valtis. Ąžuolas šlamėjo, žvaigždė švietė.',
  ],
  ['windows-1258', 'Xin chào. Đây là một văn bản dài bằng tiếng Việt nói về thời tiết, đường xá và con người.'],
];

test.each(languages)(
  '%s is found in a text of any length, also where it begins with much that is ASCII: %s',
  async (encoding, text) => {
    // What the encoding has no letter for is no letter of the test.
    const kept = iconv.decode(iconv.encode(text, encoding), encoding);
    for (const whole of [kept, `${kept}\n`.repeat(600), `${'plain words\n'.repeat(8000)}${`${kept}\n`.repeat(20)}`]) {
      const { markdown, notes } = await convert(iconv.encode(whole, encoding), 'a.txt');
      expect(markdown.trim().endsWith(kept), markdown.slice(-200)).toBe(true);
      expect(notes.join()).toContain('was guessed');
    }
  },
);

test('a charset that was given is taken before any guess, and a guess is told', async () => {
  const bytes = Buffer.from('\u00e4\u00f6', 'latin1');
  expect(await convert(bytes, 'a.txt', { mimeType: 'text/plain; charset=iso-8859-5' })).toMatchObject({
    charset: 'iso-8859-5',
    markdown: 'фі',
    notes: [],
  });
  expect((await convert(bytes, 'a.txt')).notes.join()).toContain('windows-1252 was guessed');
});

const kinds: [string, string, string][] = [
  ['csv', 'a.csv', 'a,b\n1,2\n'],
  ['csv', '', 'name;place\nAnn;Rome\nBen;Oslo\n'],
  ['tsv', '', 'a\tb\n1\t2\n3\t4\n'],
  ['json', '', '{"a": 1}'],
  ['json', 'x.txt', '[1, 2]'],
  ['jsonl', '', '{"a":1}\n{"a":2}\n'],
  ['ipynb', 'wrong.pdf', '{"nbformat":4,"cells":[]}'],
  ['xml', '', '<?xml version="1.0"?><a/>'],
  ['html', '', '<!doctype html><p>x'],
  ['html', 'x.csv', '<html><body>x</body></html>'],
  ['feed', '', '<?xml version="1.0"?><rss version="2.0"><channel></channel></rss>'],
  ['eml', '', 'From: a@b.c\nTo: d@e.f\nSubject: x\n\nbody'],
  ['rtf', 'x.doc', '{\\rtf1 x}'],
  ['markdown', 'a.md', '# x'],
  ['text', '', 'One sentence, with commas, and so on.\nAnother one.\nA third, here.'],
  ['text', '', '{ not json at all'],
];

test.each(kinds)('%s is known by its content (%s)', async (kind, filename, text) => {
  const found = await convert(text, filename).catch((error: Error) => error.message);
  expect(typeof found === 'string' ? found : found.kind).toContain(kind);
});

test('a table keeps its cells, whatever stands in them', async () => {
  const { markdown, metadata } = await convert(
    'Name,Remark\n"Smith, J.","5"" | pipe\nsecond line"\n*x*,"<b>"\n',
    'a.csv',
  );
  expect(markdown).toBe(
    '| Name | Remark |\n| --- | --- |\n| Smith, J. | 5" \\| pipe second line |\n| \\*x\\* | &lt;b> |\n',
  );
  expect(metadata).toEqual({ rows: 2, columns: 2, separator: ',' });
});

test('ragged rows and quotes that do not match are read and told', async () => {
  const ragged = await convert('a,b\n1\n1,2,3\n', 'a.csv');
  expect(ragged.notes).toEqual(['Its rows have different numbers of cells.']);
  const quotes = await convert('a,b\n"1,2\n3,4\n', 'a.csv');
  expect(quotes.markdown).toContain('| 3 | 4 |');
  expect(quotes.notes.join()).toContain('quotes do not match');
});

test('a long table is cut with a word about it', async () => {
  const { markdown, notes } = await convert(`a,b\n${'1,2\n'.repeat(20_000)}`, 'a.csv');
  expect(markdown.split('\n')).toHaveLength(5003);
  expect(notes.join()).toContain('5000 of about 20000 rows');
});

test('JSON is set out, and what was cut off in the middle is shown as it is', async () => {
  expect((await convert('{"a":[1,{"b":"```"}]}', 'a.json')).markdown).toContain('````json\n{\n  "a": [\n    1,\n');
  const broken = await convert('{"a":[1,2', 'a.json');
  expect(broken.markdown).toBe('```json\n{"a":[1,2\n```\n');
  expect(broken.notes.join()).toContain('not valid JSON');
});

test('XML is set out without a change to its text, and no entity is expanded', async () => {
  const { markdown } = await convert(
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><r><a x="1">t &e;</a><b><c/></b></r>',
    'a.xml',
  );
  expect(markdown).toContain('\n  <a x="1">t &e;</a>\n  <b>\n    <c/>\n  </b>\n');
});

test('a notebook gives its text, its code in the language of its kernel, its outputs as text', async () => {
  const notebook = {
    nbformat: 4,
    metadata: { kernelspec: { display_name: 'R', language: 'R' }, language_info: { name: 'R' } },
    cells: [
      { cell_type: 'markdown', source: ['# Title\n', 'words'] },
      {
        cell_type: 'code',
        source: 'print(1)',
        outputs: [
          { output_type: 'stream', text: ['1\n'] },
          { output_type: 'display_data', data: { 'image/png': 'AAAA', 'text/plain': '<Figure>' } },
          { output_type: 'error', ename: 'ValueError', evalue: 'no' },
        ],
      },
    ],
  };
  const { markdown, metadata, notes } = await convert(JSON.stringify(notebook), 'a.ipynb');
  expect(markdown).toBe(
    '# Title\nwords\n\n```R\nprint(1)\n```\n\nOutput:\n\n```\n1\n```\n\nOutput:\n\n```\nValueError: no\n```\n',
  );
  expect(metadata).toMatchObject({ title: 'Title', language: 'R', kernel: 'R', cells: 2 });
  expect(notes).toEqual(['1 output is a picture and not shown.']);
});

test('what is nothing, and what nobody knows, is told as such', async () => {
  expect((await failure(convert('', 'a.pdf'))).fact).toContain('empty');
  expect((await failure(convert(Buffer.from([1, 2, 3, 0, 255, 0, 1, 2, 3, 4, 5, 6, 7]), 'a.bin'))).fact).toContain(
    'an unknown format',
  );
  expect((await failure(convert(Buffer.from('7f454c46020101000000000000000000', 'hex')))).fact).toContain('elf');
});
