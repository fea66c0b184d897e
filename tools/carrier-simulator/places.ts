/** Area codes with a place, and the price of a number. Any other area code has numbers, too, without a place. */

export const tollFreeCodes: readonly string[] = ['800', '833', '844', '855', '866', '877', '888'];

interface Place {
  readonly code: string;
  readonly city: string;
  readonly state: string;
  readonly country: 'US' | 'CA';
}

const rows = `202 Washington DC US|206 Seattle WA US|212 New York NY US|213 Los Angeles CA US|214 Dallas TX US|215 Philadelphia PA US
|303 Denver CO US|305 Miami FL US|312 Chicago IL US|404 Atlanta GA US|415 San Francisco CA US|503 Portland OR US|505 Albuquerque NM US
|512 Austin TX US|602 Phoenix AZ US|612 Minneapolis MN US|615 Nashville TN US|617 Boston MA US|702 Las Vegas NV US|713 Houston TX US
|801 Salt Lake City UT US|808 Honolulu HI US|907 Anchorage AK US|919 Raleigh NC US|970 Fort Collins CO US
|403 Calgary AB CA|416 Toronto ON CA|514 Montreal QC CA|604 Vancouver BC CA|613 Ottawa ON CA|780 Edmonton AB CA`;

export const places: readonly Place[] = rows.split('|').map((row) => {
  const words = row.trim().split(' ');
  return {
    code: words[0] as string,
    city: words.slice(1, -2).join(' '),
    state: words.at(-2) as string,
    country: words.at(-1) as Place['country'],
  };
});

const canadian = new Set(
  '204 226 236 249 250 263 289 306 343 354 365 367 368 382 403 416 418 428 431 437 438 450 468 474 506 514 519 548 579 581 584 587 604 613 639 647 672 683 705 709 742 753 778 780 782 807 819 825 867 873 879 902 905'.split(
    ' ',
  ),
);

export function placeOf(code: string): Place {
  const known = places.find((place) => place.code === code);
  return known ?? { code, city: `Area ${code}`, state: '', country: canadian.has(code) ? 'CA' : 'US' };
}

/** Dollars. */
export function prices(type: 'local' | 'toll_free'): { readonly monthly: number; readonly upfront: number } {
  return type === 'toll_free' ? { monthly: 2, upfront: 1 } : { monthly: 1, upfront: 1 };
}
