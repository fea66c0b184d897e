/** Owns lists of control words of RTF by what becomes of their text. Must not know how they are read. */

const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

/** Groups that are no text: what only says how it looks, pictures, page headers, bookkeeping. */
export const skippedDestinations = words(`
  colortbl filetbl listtable listoverridetable rsidtbl generator pict objdata nonshppict header headerl headerr headerf footer
  footerl footerr footerf ftnsep ftnsepc aftnsep aftnsepc xmlnstbl themedata colorschememapping datastore latentstyles bkmkstart
  bkmkend pn pnseclvl revtbl private tc xe sp shprslt atnid atnref atndate atrfstart atrfend wgrffmtfilter
`);

/** Kept although they begin with `\\*`, which tells readers that do not know them to leave them out. */
export const preservedDestinations = words('fldinst shppict footnote annotation atnauthor pntext listtext shpinst');

/** What a document says of itself. */
export const infoFields = words('title subject author keywords doccomm company operator category');

export const charactersByWord: ReadonlyMap<string, string> = new Map(
  'emdash —,endash –,lquote ‘,rquote ’,ldblquote “,rdblquote ”,bullet •'.split(',').map((pair) => {
    const [word = '', character = ''] = pair.split(' ');
    return [word, character] as const;
  }),
)
  .set('tab', ' ')
  .set('emspace', ' ')
  .set('enspace', ' ')
  .set('qmspace', ' ')
  .set('zwj', '\u200d')
  .set('zwnj', '\u200c');
