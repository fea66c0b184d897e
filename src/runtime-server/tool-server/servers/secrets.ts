/**
 * Which parts of a transport are secrets: values of the environment, of headers, the client secret of OAuth. They are taken out
 * before a transport is kept or shown, and put back before it is used. Pure. Must not know how they are sealed.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { hiddenSecret, type Transport } from '../../../contracts/tool-server/servers.ts';

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

/** What was sent as {@link hiddenSecret} is what was there before. Throws `usage` where there was nothing. */
export function restoreSecrets(sent: Transport, before: TransportSecrets): Transport {
  return mapSecrets(sent, (place, value) => {
    if (value !== hiddenSecret) return value;
    const kept = Object.hasOwn(before, place) ? before[place] : undefined;
    if (kept !== undefined) return kept;
    throw new AppError('usage', `transport.${place} has no secret that could be kept.`, 'Send the secret itself.', {
      wireCode: 'bad_request',
    });
  });
}

/** A text that the other side wrote, without the secrets that it was given. */
export function withoutSecrets(text: string, secrets: TransportSecrets): string {
  const values = Object.values(secrets).flatMap((value) => [value, value.replace(/^(?:Bearer|Basic|Token)\s+/i, '')]);
  return values.reduce((clean, value) => (value.length < 6 ? clean : clean.replaceAll(value, hiddenSecret)), text);
}
