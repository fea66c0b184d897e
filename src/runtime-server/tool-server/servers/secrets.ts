/**
 * Separates the secrets of a transport: values of the environment, of headers, the client secret of OAuth. They are taken out before a transport is
 * kept or shown, and put back before it is used. Pure. Must not know how they are sealed.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { hiddenSecret, placeOf, type Transport } from '../../../contracts/tool-server/servers.ts';

/** By place: `env.TOKEN`, `headers.authorization`, `oauth.clientSecret`. */
export type TransportSecrets = Readonly<Record<string, string>>;

/** The transport with `change` applied to each secret in it. */
function mapSecrets(transport: Transport, change: (place: string, value: string) => string): Transport {
  const pairs = (kind: string, given: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [name, change(`${kind}.${name}`, value)]));
  if (transport.type === 'stdio') {
    return transport.env === undefined ? transport : { ...transport, env: pairs('env', transport.env) };
  }
  const { headers, oauth } = transport;
  return {
    ...transport,
    ...(headers === undefined ? {} : { headers: pairs('headers', headers) }),
    ...(oauth?.clientSecret === undefined
      ? {}
      : { oauth: { ...oauth, clientSecret: change('oauth.clientSecret', oauth.clientSecret) } }),
  };
}

export function hideSecrets(transport: Transport): { hidden: Transport; secrets: TransportSecrets } {
  const secrets: Record<string, string> = {};
  const hidden = mapSecrets(transport, (place, value) => {
    secrets[place] = value;
    return hiddenSecret;
  });
  return { hidden, secrets };
}

/** Puts back the secrets that {@link hiddenSecret} replaces. Throws `usage` where one is missing. */
export const restoreSecrets = (hidden: Transport, secrets: TransportSecrets): Transport =>
  keepSecrets(hidden, { hidden, secrets });

/**
 * A changed transport with the secrets that it keeps. They were given for one program or one address: another one gets none of them unless the
 * person sends them again, or anybody who may change a server could read secrets hidden from them. Throws `usage`.
 */
export function keepSecrets(
  sent: Transport,
  before: { readonly hidden: Transport; readonly secrets: TransportSecrets | null },
): Transport {
  const secrets = before.secrets ?? {};
  const bad = (fact: string, action: string) => new AppError('usage', fact, action, { wireCode: 'bad_request' });
  return mapSecrets(sent, (place, value) => {
    if (value !== hiddenSecret) return value;
    const kept = Object.hasOwn(secrets, place) ? secrets[place] : undefined;
    if (kept === undefined)
      throw bad(`transport.${place} has no secret that could be kept.`, 'Send the secret itself.');
    if (placeOf(sent) === placeOf(before.hidden)) return kept;
    const other = sent.type === 'http' ? 'address' : 'command';
    throw bad(
      `The secret transport.${place} was given for another ${other}.`,
      `Send the secret again for this ${other}, or leave it out.`,
    );
  });
}

/** A text that the other side wrote, without the secrets that it was given. */
export function withoutSecrets(text: string, secrets: TransportSecrets): string {
  const values = Object.values(secrets).flatMap((value) => [value, value.replace(/^(?:Bearer|Basic|Token)\s+/i, '')]);
  return values.reduce((clean, value) => (value.length < 6 ? clean : clean.replaceAll(value, hiddenSecret)), text);
}
