/** The address of a cloud, as a person types it. Must not call it. */
import ipaddr from 'ipaddr.js';
import { AppError } from '../../contracts/common/errors.ts';

const privateRanges = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat']);

/**
 * `https://gantry.example` without a path. Plain http only where no stranger can listen: this computer, a private address, a name
 * without a dot. Throws `usage`.
 */
export function parseCloudUrl(text: string): string {
  const given = text.trim();
  const url = parse(given.includes('://') ? given : `https://${given}`);
  const shown = JSON.stringify(given.slice(0, 200));
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '') {
    throw new AppError('usage', `${shown} is not the address of a cloud.`, 'Give it as https://gantry.example.', bad);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '' || url.pathname !== '/') {
    throw new AppError('usage', `${shown} has more than a host and a port.`, `Give it as ${url.origin}.`, bad);
  }
  if (url.protocol === 'http:' && !isNear(url.hostname)) {
    throw new AppError(
      'usage',
      `${shown} is not encrypted: others on the network could read and change the traffic.`,
      `Give it as https://${url.host}.`,
      bad,
    );
  }
  return url.origin;
}

const bad = { wireCode: 'bad_request' } as const;

function parse(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

function isNear(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '');
  if (ipaddr.isValid(name)) return privateRanges.has(ipaddr.process(name).range());
  return !name.includes('.') || name.endsWith('.localhost');
}
