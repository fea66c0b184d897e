/** Owns which encoding a code page or a font's character set of RTF is, as `TextDecoder` names it. */

const pairs = <V>(list: string, value: (text: string) => V): ReadonlyMap<number, V> =>
  new Map(list.split(' ').map((pair) => [Number(pair.split('=')[0]), value(pair.split('=')[1] ?? '')]));

const pageByCharset = pairs(
  '77=10000 128=932 129=949 134=936 136=950 161=1253 162=1254 163=1258 177=1255 178=1256 186=1257 204=1251 222=874 238=1250',
  Number,
);

const encodingByPage = pairs(
  '866=ibm866 874=windows-874 932=shift_jis 936=gbk 949=euc-kr 950=big5 10000=macintosh 10007=x-mac-cyrillic 20866=koi8-r ' +
    '21866=koi8-u 28592=iso-8859-2 65001=utf-8',
  (text) => text,
);

/** Null if the font names no charset (ANSI, default, symbols). */
export function pageOfFont(charset: number): number | null {
  return pageByCharset.get(charset) ?? null;
}

export function encodingOfPage(page: number): string {
  if (page >= 1250 && page <= 1258) return `windows-${page}`;
  return encodingByPage.get(page) ?? 'windows-1252';
}
