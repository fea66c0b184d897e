/**
 * Requests in a text to the service itself: STOP, START, HELP. A word counts only as the whole message. Whole clauses that any reader would take for
 * "stop" count too (47 CFR 64.1200(a)(10)); a text that may mean it is delivered and marked for the owner. Pure. Must not know who wrote.
 */

export type Keyword = 'stop' | 'start' | 'help';

interface ReadKeyword {
  /** `unclear`: it may mean STOP. */
  readonly kind: Keyword | 'unclear';
  /** The matching words, as compared: lower case without punctuation. */
  readonly matched: string;
}

/** Gantry's own keywords, then those that carriers and regulators name as well. */
export const stopWords: readonly string[] = [
  ...['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit'],
  ...['stop all', 'revoke', 'opt out', 'optout', 'remove', 'arret'],
];
export const startWords: readonly string[] = ['start', 'unstop', 'un stop'];
/** Words of the first list that mean nothing else. */
const plainStop = ['stop', 'stopall', 'unsubscribe', 'revoke', 'optout', 'arret'];
export const helpWords: readonly string[] = ['help'];

const politeHead = /^(?:please|pls|plz|kindly|hi|hey|hello|ok|okay|just) /;
const politeTail =
  / (?:please|pls|plz|thanks|thank you|thankyou|many thanks|thx|ty|now|right now|at once|immediately|asap|sent from my (?:iphone|ipad|phone|android|galaxy|samsung))$/;

const who = '(?:me|us|this number|my number|my phone|here)';
const ever =
  '(?: (?:again|anymore|any more|ever|ever again|at all|any longer|to me|to us|to my phone|to this number))*';
const not = '(?:do not|dont|never|stop|quit|cease)';
const texts =
  '(?:texts?|text messages?|messages?|msgs?|sms|spam|notifications?|alerts?|promotions?|marketing|communications?)';
const some = '(?:(?:any|more|these|this|those|your|the|all|such|of) )*';

/** Clauses that mean it. Each is matched as a whole, without polite words around it. */
const stopClauses: readonly RegExp[] = [
  `${not} (?:text|texting|messag(?:e|ing)|msg|contact|contacting|call|calling|sms|writ(?:e|ing)|bother|bothering|harass|harassing|spam|spamming) (?:to )?${who}${ever}`,
  `(?:do not|dont|stop|quit) (?:text|texting|message|messaging|spamming)${ever}`,
  `(?:do not|dont|never|stop|quit|cease|no more) (?:send(?:ing)? )?(?:(?:me|us) )?${some}${texts}${ever}`,
  `(?:do not|dont|stop|quit) send(?:ing)? (?:me|us) (?:anything|things|this|these|that|stuff)${ever}`,
  '(?:take|get|remove|delete) (?:me|us|my number|my phone number|this number) (?:off|from|out of)(?: of)?(?: (?:your|the|this|that|all|any|these|those))*(?: (?:text|texting|sms|mailing|contact|call|messaging|marketing|phone))?(?: (?:lists?|database|contacts|system|records|texts|messages))?',
  '(?:remove|delete|lose|forget|erase) (?:me|us|my number|my phone number|this number)',
  '(?:take|get) (?:me|us) off',
  '(?:i )?unsubscribe(?: (?:me|us|this number|my number))?(?: from .{1,60})?',
  '(?:i (?:want|would like|wish|need)|id like|i have decided) to (?:unsubscribe|opt out|be removed|be taken off|be unsubscribed|stop (?:receiving|getting)|revoke)(?: .{1,60})?',
  '(?:i (?:am|would like to|want to) |im )?opt(?:ing)?(?: (?:me|us))? out(?: of .{1,60})?',
  '(?:i )?(?:hereby )?(?:revoke|withdraw)(?: (?:all|my|any|prior))* (?:consent|permission)(?: .{1,60})?',
  'leave (?:me|us) alone',
  `i (?:do not|dont|no longer) (?:want|wish|care) (?:to )?(?:receive |get |hear )?${some}(?:${texts}|from you)(?: from .{1,40})?${ever}`,
  'no (?:more|further) (?:contact|communications?)',
  'cease and desist',
].map((clause) => new RegExp(`^(?:${clause})$`));

/** Words before such a clause that address somebody or insist. */
const clauseHead =
  /^(?:and|so|but|no|again|seriously|listen|can you|could you|would you|will you|you need to|you must|i said|i told you(?: to)?|i asked you(?: to)?|i am asking you to|im asking you to|for the last time) /;

/** Words of emphasis, without a meaning of their own. */
const curse = /\b(?:fucking|fuckin|freaking|frigging|bloody|damn|goddamn) /g;

/** Ordinary words in which the same letters mean something else. */
const harmless =
  /\b(?:bus|train|tram|metro|subway|truck|pit|rest|full|next|last|first|non|one|door|short|tour) stops?\b|\bstop(?:ped|s|ping|over)?(?: \w+)? (?:by|in|at|over|off|light|sign|watch)\b/g;
const mayMeanStop =
  /\b(?:stop|stopall|unsubscribe|unsubscribed|optout|opt out|opt me out|opted out|revoke|spam|(?:do not|dont|never|quit) (?:text|texting|message|messaging|contact|call|calling|send|sending)|remove (?:me|my number)|take me off|leave me alone|harassment|lawyer|do not call list|fcc|tcpa)\b/;

/** Phones send these when somebody marks a message with a heart or a thumb: the text quotes us. */
const reaction =
  /^\s*(?:liked|loved|disliked|laughed at|emphasi[sz]ed|questioned|reacted .{1,16} to|removed an? .{1,20} from)\s+["“«'‘]/iu;

/** No STOP is longer; a longer text is read only this far, so that it costs no more. */
const maxReadSize = 2000;

/** The form for comparing words: one form of each letter, lower case, no accents, signs or pictures between words. */
export function plain(text: string): string {
  const spelled = text
    .slice(0, maxReadSize)
    .normalize('NFKD')
    // Accents, joiners and invisible characters are within words.
    .replace(/[\p{M}\p{Cf}'’‘`´]/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(/\bun subscribe\b/g, 'unsubscribe')
    .trim();
  // S.T.O.P
  return /^(?:\p{L} )+\p{L}$/u.test(spelled) ? spelled.replaceAll(' ', '') : spelled;
}

/** STOP in other languages of people who text US numbers: the service answers in English, so a person looks at it. */
const foreignStop: readonly string[] = [
  ...['alto', 'parar', 'pare', 'paren', 'basta', 'detener', 'cancelar', 'baja', 'dar de baja', 'no mas'],
  ...[
    'stopp',
    'halt',
    'aufhören',
    'abmelden',
    'arrêter',
    'arrêtez',
    'désabonner',
    'se désabonner',
    'fermare',
    'cancella',
  ],
  ...['sair', 'descadastrar', 'стоп', 'отмена', 'отписаться', 'dừng', 'dừng lại', 'hủy', 'hinto', 'itigil', 'tigil'],
  ...[
    '停止',
    '停',
    '退订',
    '退訂',
    '取消',
    '中止',
    'ストップ',
    'やめて',
    '중지',
    '그만',
    '정지',
    'قف',
    'توقف',
    'ايقاف',
    'إلغاء',
  ],
].map(plain);

/** STOP with its letters doubled or swapped, as a thumb types it: "stpo", "STOPP", "stoop". Words of their own mean themselves. */
function isMistyped(word: string): boolean {
  const letters = [...word.replace(/(.)\1+/g, '$1')];
  return word.startsWith('s') && word !== 'spot' && letters.length === 4 && letters.sort().join('') === 'opst';
}

/** The request to the service; null: the text is for the owner of the number. */
export function readKeyword(text: string): ReadKeyword | null {
  const whole = plain(text);
  if (whole === '' || reaction.test(text)) return null;
  if (startWords.includes(whole)) return { kind: 'start', matched: whole };
  if (helpWords.includes(whole)) return { kind: 'help', matched: whole };
  const bare = withoutPolite(whole);
  const word = stopWord(bare);
  if (word !== null) return { kind: 'stop', matched: word };
  for (const clause of clausesOf(text)) {
    if (stopClauses.some((pattern) => pattern.test(clause))) return { kind: 'stop', matched: clause };
  }
  if (foreignStop.includes(bare) || isMistyped(bare)) return { kind: 'unclear', matched: bare };
  const found = mayMeanStop.exec(whole.replace(harmless, ' '));
  return found === null ? null : { kind: 'unclear', matched: found[0] };
}

/** The keyword that makes up the whole text, said once, repeatedly, or with others of the list. */
function stopWord(bare: string): string | null {
  if (stopWords.includes(bare)) return bare;
  const said = bare.replace(/\bopt out\b/g, 'optout').split(' ');
  // "Cancel. And stop" may speak of an order.
  const words = plainStop.includes(said[0] as string) ? said.filter((word) => word !== 'and' && word !== 'or') : said;
  if (!words.every((word) => stopWords.includes(word))) return null;
  return words.find((word) => plainStop.includes(word) || words.every((other) => other === word)) ?? null;
}

function withoutPolite(bare: string): string {
  let left = bare;
  for (let before = ''; left !== before; ) {
    before = left;
    left = left.replace(politeTail, '').replace(politeHead, '');
  }
  return left;
}

/** Each with and without its opening words: "no more texts" begins like "no, stop texting me". */
function clausesOf(text: string): string[] {
  const clauses = [text, ...text.slice(0, maxReadSize).split(/[.!?;\n\r]+/)].map((clause) =>
    plain(clause).replace(curse, ''),
  );
  return clauses.flatMap((clause) => [withoutPolite(clause), withoutHeads(clause)]).filter((clause) => clause !== '');
}

function withoutHeads(clause: string): string {
  let left = clause;
  for (let before = ''; left !== before; ) {
    before = left;
    left = withoutPolite(left).replace(clauseHead, '');
  }
  return left;
}
