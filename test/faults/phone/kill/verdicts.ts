/** What counts against a phone that was killed: a step at the carrier that was repeated, and one that was acknowledged and is missing. Pure. */

/** As the carrier keeps it. */
export interface CarrierBooks {
  readonly charges: readonly { readonly what: string; readonly ref: string }[];
  readonly brands: Readonly<Record<string, { readonly asked: Readonly<Record<string, unknown>> }>>;
  readonly campaigns: Readonly<Record<string, { readonly brandId: string; readonly status: string }>>;
  readonly texts: readonly { readonly direction: string; readonly own: boolean; readonly text: string }[];
}

/** What a person has of it. */
export interface Told {
  readonly name: string;
  readonly e164: string;
  readonly approved: boolean;
  readonly released: boolean;
  /** Of texts whose sending was answered with yes. */
  readonly sent: readonly string[];
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

const twice = (names: readonly string[], what: string) =>
  [...counted(names)].filter(([, times]) => times > 1).map(([name, times]) => `${name}: ${what} ${times} times`);

const nameOf = (books: CarrierBooks, brandId: string) => String(books.brands[brandId]?.asked.companyName ?? brandId);
/** Texts that left, by their words. */
export const out = ({ texts }: CarrierBooks): string[] =>
  texts.filter(({ direction, own }) => direction === 'outbound' && !own).map(({ text }) => text);

/** What happened more often than it was asked for. */
export function repeated(books: CarrierBooks): string[] {
  const paid = (what: string) => books.charges.filter((charge) => charge.what === what).map(({ ref }) => ref);
  return [
    ...twice(paid('number'), 'was bought'),
    ...twice(
      paid('brand').map((id) => nameOf(books, id)),
      'the business was filed',
    ),
    ...twice(
      paid('campaign').map((id) => nameOf(books, books.campaigns[id]?.brandId ?? id)),
      'a campaign was filed',
    ),
    ...twice(out(books), 'was texted'),
  ];
}

/** What was told as done and is not, and what still costs though it is over. */
export function missing(books: CarrierBooks, told: readonly Told[]): string[] {
  const texts = new Set(out(books));
  const live = Object.values(books.campaigns).filter(({ status }) => status === 'ACTIVE');
  return told.flatMap((one) => {
    const lost = one.sent.filter((text) => !texts.has(text)).map((text) => `${text}: was answered and never texted`);
    if (!one.approved) return [...lost, `${one.name} was never approved`];
    const campaigns = live.filter(({ brandId }) => nameOf(books, brandId) === one.name).length;
    if (one.released && campaigns > 0) lost.push(`${one.name}: the campaign goes on after ${one.e164} was released`);
    if (!one.released && campaigns === 0) lost.push(`${one.name}: there is no campaign`);
    return lost;
  });
}
