/** Checks of a transport beyond the contract's schema. Pure. */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Transport } from '../../../contracts/tool-server/servers.ts';

/** `transport` with its secrets; `isOwn`: whether an address is Gantry's own tool server on this computer. Throws `usage`. */
export function checkTransport(transport: Transport, isOwn: (url: URL) => boolean): void {
  if (transport.type === 'stdio') return;
  const bad = (fact: string, action: string) => new AppError('usage', fact, action, { wireCode: 'bad_request' });
  const { url } = transport;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')) {
    throw bad(
      `transport.url ${JSON.stringify(url.slice(0, 200))} is not an http address.`,
      'Give it as https://host/mcp.',
    );
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw bad('transport.url carries a credential.', 'Give it as a header: transport.headers.');
  }
  if (isOwn(parsed)) {
    throw bad(
      'transport.url is Gantry’s own tool server on this computer: it would list its own tools in a loop.',
      'Its tools are already here. Attach another server; name another computer’s with ?computer=<id>.',
    );
  }
  try {
    new Headers(transport.headers ?? {});
  } catch {
    throw bad('transport.headers has an invalid name or value.', 'Correct it.');
  }
}
